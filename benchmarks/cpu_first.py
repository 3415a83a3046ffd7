# SPDX-License-Identifier: Apache-2.0
"""First calls of the CPU cases, in processes that have no other library at work.

Beside others a first call waits for their threads, and for memory that they hold.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.cases import CASES, ours
from benchmarks.cpu import prepare

PROCESSES: Final = 5
# Of the large arrays at most: memory for results of a GiB takes longer than a kernel, and each time
# as much more or less.
LARGEST: Final = 1 / 8


def first_calls(names: Sequence[str], scale: float, threads: int) -> dict[str, float]:
    """Return how many seconds the first call of each case takes longer than the next.

    They come one after the other, with no cache on disk; the median of some processes counts.
    """
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.cpu_first"]
    asked = json.dumps([list(names), min(scale, LARGEST), threads])
    rounds: list[dict[str, float]] = []
    for _ in range(PROCESSES):
        done = subprocess.run(command, input=asked, check=True, stdout=subprocess.PIPE, text=True)
        rounds.append(json.loads(done.stdout))
    return {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}


def first_call(call: Callable[[], Any]) -> float:
    """Return how many seconds a call takes longer than the next: planning and compiling."""
    results: list[Any] = []  # kept, so that the next call finds no memory that is written
    taken = []
    for _ in range(2):
        time.sleep(0.02)
        start = time.perf_counter()
        results.append(call())
        taken.append(time.perf_counter() - start)
    return max(taken[0] - taken[1], 0.0)


def _measured(names: Sequence[str], scale: float, threads: int) -> dict[str, float]:
    prepare(threads)
    seconds = {}
    for case in CASES:
        function = ours(case.op)
        if case.name in names and function is not None:
            arrays = case.data(scale if case.group == "memory" else 1.0)
            seconds[case.name] = first_call(lambda f=function, a=arrays, c=case: f(*a, c.axis))
    return seconds


if __name__ == "__main__":
    json.dump(_measured(*json.load(sys.stdin)), sys.stdout)
