# SPDX-License-Identifier: Apache-2.0
"""Arrays between pages that nobody may read; run as a script, as a fault ends the process."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import axisfold

PROT_NONE = 0


def guarded(x: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Return copies of ``x``: one ends where a forbidden page starts, one starts after one ends."""
    page = mmap.PAGESIZE
    pages = -(-x.nbytes // page)
    for offset in (page * (pages + 1) - x.nbytes, page):
        memory = mmap.mmap(-1, page * (pages + 2))
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for forbidden in (start, start + page * (pages + 1)):
            if ctypes.CDLL(None).mprotect(ctypes.c_void_p(forbidden), page, PROT_NONE):
                raise OSError("mprotect failed")
        copy = np.frombuffer(memory, x.dtype, x.size, offset).reshape(x.shape)
        copy[...] = x
        yield copy


# NumPy computes var in float16 itself.
RTOL = {"float16": 1e-2}


def main() -> None:
    """Fold arrays of many widths, so that every kind of tail ends at the edge."""
    names, dtypes = sys.argv[1].split(","), sys.argv[2].split(",")
    widths = [int(w) for w in sys.argv[3].split(",")]
    for dtype in dtypes:
        for width in widths:
            x = np.random.default_rng(width).integers(0, 5, (3, width)).astype(dtype)
            for view in guarded(x):
                for shape in (view, view[::-1, ::-1], view.reshape(-1)):
                    for axis in (None, 0, -1):
                        for name in names:
                            got = getattr(axisfold, name)(shape, axis=axis)
                            want = getattr(np, name)(shape, axis=axis)
                            if not np.allclose(got, want, rtol=RTOL.get(dtype, 1e-5)):
                                raise ValueError(f"{name} of {dtype} {shape.shape}, axis {axis}")
    sys.stdout.write("no fault\n")


if __name__ == "__main__":
    main()
