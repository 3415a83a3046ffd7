# SPDX-License-Identifier: Apache-2.0
"""First calls of the GPU cases, in a process that has no other library at work but PyTorch.

Beside others a first call waits for their threads, among which are those of ``torch.compile``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress

import torch
from benchmarks.gpu_cases import CASES

import axisfold


def first_calls(names: Sequence[str]) -> dict[str, float]:
    """Return the seconds of the first call of each case, in order, with an empty cache on disk."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"AXISFOLD_CACHE_DIR": folder}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.gpu_first"]
        done = subprocess.run(
            command, input=json.dumps(list(names)), env=environment, check=True,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _measured(names: Sequence[str]) -> dict[str, float]:
    axisfold.sum(torch.ones(3, 5, 7, device="cuda"), axis=(0, 2))  # loads the compiler
    seconds = {}
    for case in CASES:
        if case.name not in names:
            continue
        inputs = case.inputs()
        torch.cuda.synchronize()
        start = time.perf_counter()
        with suppress(NotImplementedError, TypeError, ValueError, RuntimeError):  # told by others
            case.ours(*inputs)
            torch.cuda.synchronize()
            seconds[case.name] = time.perf_counter() - start
    return seconds


if __name__ == "__main__":
    json.dump(_measured(json.load(sys.stdin)), sys.stdout)
