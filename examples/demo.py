# SPDX-License-Identifier: Apache-2.0
"""Fold a real record of sea temperatures, with NumPy's answers beside axisfold's."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import axisfold

FILE = Path(__file__).resolve().parent / "data" / "nino_sst.npy"
FIRST_YEAR = 1950
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
REGIONS = ("Niño 1+2", "Niño 3", "Niño 3.4", "Niño 4")
STATISTICS = ["mean", "std", "min", "max", "argmax"]


def with_axisfold(sst: np.ndarray) -> list[np.ndarray]:
    """Fold five statistics over years and months in one read, then find the warmest month."""
    folded = axisfold.fold(sst, STATISTICS, axis=(0, 1))
    return [*folded, axisfold.argmax(axisfold.mean(sst, axis=0), axis=0)]


def with_numpy(sst: np.ndarray) -> list[np.ndarray]:
    """Compute the same with NumPy, one read for each statistic."""
    record = sst.reshape(-1, sst.shape[-1]).argmax(axis=0)
    five = [getattr(sst, name)(axis=(0, 1)) for name in STATISTICS[:-1]]
    return [*five, record, sst.mean(axis=0).argmax(axis=0)]


def row(results: list[np.ndarray], region: int) -> list[str]:
    """Return one region's statistics as text."""
    *numbers, record, month = (r[region] for r in results)
    year, record_month = divmod(int(record), 12)
    when = f"{MONTHS[record_month]} {FIRST_YEAR + year}"
    return [*(f"{float(n):.3f}" for n in numbers), when, MONTHS[int(month)]]


def seconds(call: Callable[[], Any], repeats: int = 1) -> float:
    """Return the shortest time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the table, the largest difference, the times, and where to look next."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may know ASCII only
    console = Console(highlight=False)
    sst = np.load(FILE)
    first = seconds(lambda: with_axisfold(sst))
    again = seconds(lambda: with_axisfold(sst), 200)
    numpy_time = seconds(lambda: with_numpy(sst), 200)
    ours, numpys = with_axisfold(sst), with_numpy(sst)

    table = Table(
        title="Sea temperature, 1950 to 2010, in °C", title_justify="left", box=SIMPLE_HEAD
    )
    table.add_column("region", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("mean", "std", "min", "max", "record", "warmest"):
        table.add_column(name, justify="right", no_wrap=True)
    for position, region in enumerate(REGIONS):
        table.add_row(region, "axisfold", *row(ours, position), style="bold")
        table.add_row("", "NumPy", *row(numpys, position), end_section=True)
    console.print(table)

    largest = max(float(np.max(np.abs(a - b))) for a, b in zip(ours, numpys, strict=True))
    console.print(f"largest difference from NumPy: {largest:.2g}")
    console.print(
        f"first call {first * 1e3:.0f} ms, compilation included; "
        f"a repeated call {again * 1e6:.0f} µs (NumPy {numpy_time * 1e6:.0f} µs)"
    )
    console.print("\nThe code behind it, from the tensor expression to LLVM IR:")
    for only in ("te", "ir", "llvm"):
        command = ".venv/bin/axisfold show --op mean,std,min,max --shape 61,12,4 --axis 0,1"
        console.print(f"  {command} --only {only}", soft_wrap=True, markup=False)
    assert largest < 1e-12, "the answers differ"


if __name__ == "__main__":
    main()
