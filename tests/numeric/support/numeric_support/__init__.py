# SPDX-License-Identifier: Apache-2.0
"""Arrays in every layout, and what a reduction of them must give."""

from .arrays import DTYPES, FLAVOURS, LAYOUTS, make_array, poison
from .exact import check, expected_dtype, slices

__all__ = [
    "DTYPES", "FLAVOURS", "LAYOUTS", "check", "expected_dtype", "make_array", "poison", "slices",
]  # fmt: skip
