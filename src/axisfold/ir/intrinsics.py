# SPDX-License-Identifier: Apache-2.0
"""The pure functions that a Call may name: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from axisfold.dtypes import DType

Result = Literal["same", "bool"]
Arguments = Literal["floats", "any", "words"]


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A pure function of real arguments of one dtype.

    Parameters
    ----------
    name
        Name in IR and in te.
    arity
        Number of arguments.
    result
        ``same``: the arguments' dtype; ``bool``: a truth value.
    takes
        Legal arguments: ``floats`` (te converts integers to one first), ``any`` dtype, or
        ``words``, integers of 32 or 64 bits.
    meaning
        One line for readers.
    """

    name: str
    arity: int
    result: Result
    takes: Arguments
    meaning: str


SHORT_LIFT: Final = 2.0**64
"""What ``exp_short`` multiplies by: CPUs take a hundred cycles for subnormal numbers."""

_ROWS: Final = (
    Intrinsic("abs", 1, "same", "any", "magnitude; the least integer maps to itself"),
    Intrinsic("sqrt", 1, "same", "floats", "square root, NaN below zero"),
    Intrinsic("exp", 1, "same", "floats", "e**x"),
    Intrinsic("exp_nonpositive", 1, "same", "floats", "e**x for x <= 0, else any number"),
    Intrinsic("exp_rounded", 1, "same", "floats", "e**x for x <= 0 that was rounded before"),
    Intrinsic("exp_short", 1, "same", "floats", "2**64 e**x for x <= 0 of elements of 16 bits"),
    Intrinsic("exp_difference", 2, "same", "floats", "e**(x - a) for x <= a + 1 and a few whole a"),
    Intrinsic("exp2", 1, "same", "floats", "2**x"),
    Intrinsic("expm1", 1, "same", "floats", "e**x - 1 without cancellation"),
    Intrinsic("log", 1, "same", "floats", "natural logarithm"),
    Intrinsic("log2", 1, "same", "floats", "base-2 logarithm"),
    Intrinsic("log10", 1, "same", "floats", "base-10 logarithm"),
    Intrinsic("log1p", 1, "same", "floats", "log(1 + x) without cancellation"),
    Intrinsic("sin", 1, "same", "floats", "sine"),
    Intrinsic("cos", 1, "same", "floats", "cosine"),
    Intrinsic("tan", 1, "same", "floats", "tangent"),
    Intrinsic("tanh", 1, "same", "floats", "hyperbolic tangent"),
    Intrinsic("erf", 1, "same", "floats", "error function"),
    Intrinsic("floor", 1, "same", "floats", "largest integer <= x"),
    Intrinsic("ceil", 1, "same", "floats", "smallest integer >= x"),
    Intrinsic("trunc", 1, "same", "floats", "x without its fraction"),
    Intrinsic("round", 1, "same", "floats", "nearest integer, ties to even (as NumPy)"),
    Intrinsic("power", 2, "same", "floats", "a**b"),
    Intrinsic("fmod", 2, "same", "floats", "remainder with the sign of a"),
    Intrinsic("copysign", 2, "same", "floats", "magnitude of a, sign of b"),
    Intrinsic("isnan", 1, "bool", "floats", "whether x is a NaN"),
    Intrinsic("isinf", 1, "bool", "floats", "whether x is +inf or -inf"),
    Intrinsic("isfinite", 1, "bool", "floats", "whether x is neither infinite nor a NaN"),
    Intrinsic("mulhi", 2, "same", "words", "upper half of the exact product a * b"),
    Intrinsic("likely", 1, "same", "any", "its argument; marks the guard of a tail"),
)

INTRINSICS: Final[dict[str, Intrinsic]] = {row.name: row for row in _ROWS}


def takes(row: Intrinsic, dtype: DType) -> bool:
    """Return whether arguments of a dtype are legal."""
    if row.takes == "floats":
        return dtype.is_float
    return row.takes == "any" or (dtype.is_integer and dtype.bits >= 32)
