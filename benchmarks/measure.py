# SPDX-License-Identifier: Apache-2.0
"""Timing helpers: rivals interleaved round by round, medians, and the machine's name."""

from __future__ import annotations

import importlib.metadata
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import llvmlite
import numpy as np

import axisfold


def interleaved(rivals: Mapping[str, Callable[[], object]], rounds: int = 15) -> dict[str, float]:
    """Return each rival's median time in seconds; every round runs all of them once."""
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for function in rivals.values():
        function()
    for _ in range(rounds):
        for name, function in rivals.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def repeated(function: Callable[[], object], calls: int = 20000) -> float:
    """Return the mean time of a call in seconds, the best of five runs."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def machine() -> str:
    """Return one line that names the machine and the versions."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    versions = f"python {platform.python_version()}, numpy {np.__version__}"
    return f"{cpu}; {versions}, llvmlite {llvmlite.__version__}, axisfold {axisfold.__version__}"


def versions(names: Sequence[str]) -> str:
    """Return the versions of libraries in one line."""
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
