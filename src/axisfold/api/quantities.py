# SPDX-License-Identifier: Apache-2.0
"""Bytes, seconds and speeds as people read them."""

from __future__ import annotations


def bytes_text(size: float) -> str:
    """Return a number of bytes in three digits: ``64.0 MiB``."""
    if size < 1 << 10:
        return f"{size:.0f} bytes"
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
    unit = next((u for u, most in units.items() if size < 1000 * most), "TiB")
    return f"{_digits(size / units[unit])} {unit}"


def seconds_text(seconds: float) -> str:
    """Return a time in three digits: ``12.3 ms``."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def speed_text(speed: float) -> str:
    """Return bytes a second in three digits: ``21.4 GB/s``."""
    for unit, size in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6)):
        if speed >= size:
            return f"{_digits(speed / size)} {unit}"
    return f"{_digits(speed / 1e3)} kB/s"


def count_text(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 thread``, ``2 threads``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
