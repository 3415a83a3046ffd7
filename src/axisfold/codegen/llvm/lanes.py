# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on floats and on their bits, the same for a scalar and for each lane of a vector."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Final

from axisfold.codegen.llvm.arithmetic import intrinsic
from axisfold.codegen.llvm.types import value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import DType

PRECISIONS: Final = {32: 24, 64: 53}


class Lanes:
    """Appends operations on values of one float dtype of 32 or 64 bits.

    Nothing depends on the number of lanes, so scalars and vectors get the same bits.

    Attributes
    ----------
    mantissa_bits, bias
        Of the format: bits below the leading one, and the exponent field of 1.0.
    table
        Name of a table of the constants of vectors, which become operands in memory.
    held
        The constants that are in the table.
    """

    def __init__(self, w: Writer, dtype: DType, table: str = "") -> None:
        self.w, self.dtype = w, dtype
        self.words = DType("int", dtype.bits, dtype.lanes)
        self.mantissa_bits = PRECISIONS[dtype.bits] - 1
        self.bias = (1 << (dtype.bits - self.mantissa_bits - 2)) - 1
        # Adding it rounds a float to an integer, which is then in the low bits of the sum.
        self.shifter = 1.5 * 2.0**self.mantissa_bits
        self.table, self.held, self.start = table, list[str](), ""

    def const(self, value: float) -> str:
        """Return a constant, the same in every lane; that of a vector is read from the table."""
        text = self.w.const(value, self.dtype)
        if not self.table or self.dtype.lanes == 1:
            return text
        if text not in self.held:
            self.held.append(text)
        if not self.start:
            self.start = self.w.let(f"load ptr, ptr @{self.table}")
        kind = value_type(self.dtype)
        place = self.w.let(f"getelementptr {kind}, ptr {self.start}, i64 {self.held.index(text)}")
        return self.w.let(f"load {kind}, ptr {place}, align {self._align}")

    @property
    def _align(self) -> int:
        size = self.dtype.itemsize * self.dtype.lanes
        return size & -size

    def table_text(self) -> str:
        """Return the definition of the table, and of a pointer to it that LLVM does not look into.

        It would load constants into registers before a loop, and then keep states in memory.
        """
        kind, held = value_type(self.dtype), f"@{self.table}.values"
        values = ", ".join(f"{kind} {text}" for text in self.held)
        size = f"[{len(self.held)} x {kind}]"
        return (
            f"{held} = internal constant {size} [{values}], align {self._align}\n"
            f"@{self.table} = internal global ptr {held}"
        )

    def add(self, a: str, b: str) -> str:
        """Append a + b."""
        return self.w.binary("fadd", self.dtype, a, b)

    def sub(self, a: str, b: str) -> str:
        """Append a - b."""
        return self.w.binary("fsub", self.dtype, a, b)

    def mul(self, a: str, b: str) -> str:
        """Append a · b."""
        return self.w.binary("fmul", self.dtype, a, b)

    def div(self, a: str, b: str) -> str:
        """Append a / b."""
        return self.w.binary("fdiv", self.dtype, a, b)

    def muladd(self, a: str, b: str, c: str) -> str:
        """Append ``a * b + c``: rounded once where the machine can, otherwise twice."""
        return intrinsic(self.w, "fmuladd", self.dtype, a, b, c)

    def polynomial(self, x: str, square: str, coefficients: Sequence[float]) -> str:
        """Append a polynomial, lowest power first: even and odd powers side by side (Horner)."""
        even, odd = (self.horner(square, coefficients[n::2]) for n in (0, 1))
        return self.muladd(odd, x, even)

    def by_pairs(self, x: str, square: str, coefficients: Sequence[float]) -> str:
        """Append a polynomial, lowest power first: Horner in x², of pairs that wait for x only."""
        made = [self.horner(x, coefficients[n : n + 2]) for n in range(0, len(coefficients), 2)]
        result = made.pop()
        for pair in reversed(made):
            result = self.muladd(result, square, pair)
        return result

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """Append a polynomial, lowest power first, by the fewest operations."""
        result = self.const(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.muladd(result, x, self.const(coefficient))
        return result

    def fast_two_sum(self, a: str, b: str) -> tuple[str, str]:
        """Return a + b and its rounding error, for |a| >= |b| or a = 0 (Dekker)."""
        total = self.add(a, b)
        return total, self.sub(b, self.sub(total, a))

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """Return a + b and its rounding error (Knuth)."""
        total = self.add(a, b)
        part = self.sub(total, a)
        rest = self.sub(a, self.sub(total, part))
        return total, self.add(rest, self.sub(b, part))

    def magnitude(self, x: str) -> str:
        """Append |x|."""
        return intrinsic(self.w, "fabs", self.dtype, x)

    def with_sign(self, x: str, sign: str) -> str:
        """Append |x| with the sign of another value."""
        return intrinsic(self.w, "copysign", self.dtype, x, sign)

    def where(self, predicate: str, a: str, b: float, yes: str, no: str) -> str:
        """Append ``yes if a predicate b else no``."""
        condition = self.w.compare(predicate, self.dtype, a, self.const(b))
        return self.w.select(condition, self.dtype, yes, no)

    def clamped(self, x: str, low: float = -math.inf, high: float = math.inf) -> str:
        """Append x limited to an interval; a NaN stays one."""
        for predicate, limit in (("olt", low), ("ogt", high)):
            if math.isfinite(limit):
                x = self.where(predicate, x, limit, self.const(limit), x)
        return x

    def integer(self, operation: str, a: str, b: str | int) -> str:
        """Append an operation on bits."""
        operand = b if isinstance(b, str) else self.w.const(b, self.words)
        return self.w.binary(operation, self.words, a, operand)

    def raw(self, value: float) -> int:
        """Return the bits of a positive constant."""
        kinds = ("<f", "<i") if self.dtype.bits == 32 else ("<d", "<q")
        return int(struct.unpack(kinds[1], struct.pack(kinds[0], value))[0])

    def bits(self, x: str) -> str:
        """Append the bits of a float."""
        return self.w.let(f"bitcast {self.w.typed(x, self.dtype)} to {value_type(self.words)}")

    def of_bits(self, raw: str) -> str:
        """Append the float that some bits are."""
        return self.w.let(f"bitcast {self.w.typed(raw, self.words)} to {value_type(self.dtype)}")

    def rounded(self, shifted: str) -> str:
        """Append the integer that a sum with ``shifter`` was rounded to, as a float."""
        return self.sub(shifted, self.const(self.shifter))

    def power_of_two(self, shifted: str, less: int = 0) -> str:
        """Append 2**(n - less), a normal number, for a sum of n and ``shifter``."""
        field = self.integer("add", self.bits(shifted), self.bias - less)
        return self.of_bits(self.integer("shl", field, self.mantissa_bits))
