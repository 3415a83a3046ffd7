# SPDX-License-Identifier: Apache-2.0
"""The bits of bfloat16, which NumPy does not have: the upper half of a float32."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_QUIET: Final = np.uint32(0x400000)


def value_of(bits: Array) -> Array:
    """Return the float32 values of uint16 bits."""
    return np.asarray(bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def bits_of(values: Array) -> Array:
    """Return the uint16 bits of the nearest bfloat16, ties to even, of any real dtype's values.

    A value is rounded once: where a step on the way to float32 is inexact, it rounds to odd, so
    that it decides nothing (Boldo and Melquiond, 2008, theorem 3).
    """
    with np.errstate(all="ignore"):
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
            values = _odd_double(values)
        single = values.astype(np.float32)
        if values.dtype.itemsize > 2:
            single = _odd(single, values.astype(np.float64))
    raw = np.asarray(single).view(np.uint32)
    even = np.uint32(0x7FFF) + ((raw >> np.uint32(16)) & np.uint32(1))
    nearest = np.where(np.isnan(single), raw | _QUIET, raw + even)
    return np.asarray((nearest >> np.uint32(16)).astype(np.uint16))


def _odd(near: Array, exact: Array) -> Array:
    """Return the float32 with an odd last bit beside each value that is none itself."""
    back = near.astype(np.float64)
    raw = np.asarray(near).view(np.uint32)
    towards_zero = np.where(np.abs(back) > np.abs(exact), raw - np.uint32(1), raw)
    is_exact = (back == exact) | np.isnan(exact)
    return np.where(is_exact, raw, towards_zero | np.uint32(1)).view(np.float32)


def _odd_double(values: Array) -> Array:
    """Return doubles on the same side of every shorter float as integers of 64 bits."""
    kind = values.dtype.type
    rest = values & kind(0x7FF)
    odd = (values - rest) | kind(0x800)  # 53 bits or fewer
    is_exact = (rest == 0) | (np.abs(values) < kind(1 << 53))
    return np.where(is_exact, values, odd).astype(np.float64)
