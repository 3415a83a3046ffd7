# SPDX-License-Identifier: Apache-2.0
"""Names of the element types of arrays, as NumPy and DLPack say them."""

from __future__ import annotations

from typing import Any, Final

# DLPack's numbers of families whose name has the bits, and of types of 8 bits or fewer.
_FAMILIES: Final = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}
_TYPES: Final = {
    6: "bool", 7: "float8_e3m4", 8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn",
    11: "float8_e4m3fnuz", 12: "float8_e5m2", 13: "float8_e5m2fnuz", 14: "float8_e8m0fnu",
    15: "float6_e2m3fn", 16: "float6_e3m2fn", 17: "float4_e2m1fn",
}  # fmt: skip


def name_of(dtype: Any) -> str:
    """Return the name of a NumPy dtype, in which a foreign byte order shows."""
    return str(dtype.name) if dtype.isnative else str(dtype.str)


def dlpack_name(code: int, bits: int, lanes: int) -> str:
    """Return the name of a type of DLPack."""
    family = _FAMILIES.get(code)
    name = _TYPES.get(code, f"opaque{bits}") if family is None else f"{family}{bits}"
    return name if lanes == 1 else f"{name}x{lanes}"
