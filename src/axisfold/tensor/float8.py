# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 bits as elements of a fold: read as bytes, widened to float32 by the kernel.

They are formats to store numbers in: every value is one of float32, in which folds compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from axisfold.dtypes import FLOAT32, INT32, DType, parse
from axisfold.ir import build
from axisfold.ir.expr import Expr

_UINT8: Final = DType("uint", 8)


@dataclass(frozen=True, slots=True)
class Float8:
    """A format: sign, exponent and mantissa from the highest bit to the lowest.

    Attributes
    ----------
    name
        That of ml_dtypes and PyTorch.
    exponent_bits, mantissa_bits
        Widths.
    bias
        The exponent of 1.0 as it is stored.
    special
        What is no number: in ``"ieee"`` formats the highest exponent is of infinities and NaNs, in
        ``"fn"`` all bits set are a NaN, in ``"fnuz"`` the sign alone is.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: Literal["ieee", "fn", "fnuz"]

    is_complex = False
    itemsize = 1
    names = ("",)
    real = _UINT8
    dtype = FLOAT32

    def assemble(self, parts: Sequence[Expr]) -> Expr:
        """Return the value of a byte."""
        bits = build.cast(INT32, parts[0])
        has_sign = self.exponent_bits + self.mantissa_bits == 7
        magnitude = bits & 0x7F if has_sign else bits
        exponent = magnitude >> self.mantissa_bits
        mantissa = magnitude & ((1 << self.mantissa_bits) - 1)
        value = self._finite(exponent, mantissa)
        nan = build.const(float("nan"), FLOAT32)
        top = (1 << self.exponent_bits) - 1
        match self.special:
            case "ieee":
                infinity = build.const(float("inf"), FLOAT32)
                wide = build.select(mantissa.equal(0), infinity, nan)
                value = build.select(exponent.equal(top), wide, value)
            case "fn":
                all_set = (top << self.mantissa_bits) | ((1 << self.mantissa_bits) - 1)
                value = build.select(magnitude.equal(all_set), nan, value)
            case "fnuz":
                value = build.select(bits.equal(0x80), nan, value)
        return build.select(bits >= 0x80, build.negate(value), value) if has_sign else value

    def _finite(self, exponent: Expr, mantissa: Expr) -> Expr:
        """Return (mantissa + its hidden bit) * 2**(exponent - bias - mantissa_bits), exactly."""
        if not self.mantissa_bits:
            return self._power(exponent)
        hidden = 1 << self.mantissa_bits
        is_normal = exponent > 0
        whole = build.select(is_normal, mantissa + hidden, mantissa)
        power = build.select(is_normal, exponent, build.const(1, INT32))
        scale = build.const(2.0 ** (-self.bias - self.mantissa_bits), FLOAT32)
        value: Expr = build.cast(FLOAT32, whole) * scale
        for bit in range(self.exponent_bits):
            value = value * _factor(power, bit, 2.0 ** (1 << bit), 1.0)
        return value

    def _power(self, exponent: Expr) -> Expr:
        """Return 2**(exponent - 127): no step overflows, and only the result may be subnormal."""
        half = _factor(exponent, 7, 2.0**64, 1.0)
        value: Expr = half
        for bit in range(7):
            value = value * _factor(exponent, bit, 1.0, 2.0 ** -(1 << bit))
        return build.binary("mul", value, half)


def _factor(number: Expr, bit: int, if_set: float, if_clear: float) -> Expr:
    is_set = (number & (1 << bit)).not_equal(0)
    return build.select(is_set, build.const(if_set, FLOAT32), build.const(if_clear, FLOAT32))


FORMATS: Final[dict[str, Float8]] = {
    each.name: each
    for each in (
        Float8("float8_e3m4", 3, 4, 3, "ieee"),
        Float8("float8_e4m3", 4, 3, 7, "ieee"),
        Float8("float8_e4m3b11fnuz", 4, 3, 11, "fnuz"),
        Float8("float8_e4m3fn", 4, 3, 7, "fn"),
        Float8("float8_e4m3fnuz", 4, 3, 8, "fnuz"),
        Float8("float8_e5m2", 5, 2, 15, "ieee"),
        Float8("float8_e5m2fnuz", 5, 2, 16, "fnuz"),
        Float8("float8_e8m0fnu", 8, 0, 127, "fn"),
    )
}


def element_of(spec: Any) -> DType | Float8:
    """Return the type of an array's elements.

    Parameters
    ----------
    spec
        Its name or NumPy dtype.

    Raises
    ------
    DTypeError
        ``D101``: not one that axisfold reduces.
    """
    name = spec.name if isinstance(spec, np.dtype) else spec
    found = FORMATS.get(name) if isinstance(name, str) else None
    return parse(spec) if found is None else found


def value_dtype(element: DType | Float8) -> DType:
    """Return the dtype of the values that elements have in a kernel."""
    return FLOAT32 if isinstance(element, Float8) else element
