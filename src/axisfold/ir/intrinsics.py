# SPDX-License-Identifier: Apache-2.0
"""The pure functions that a Call may name: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Result = Literal["same", "bool"]


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
    takes_integers
        Whether integers are legal arguments; if not they are converted to a float first.
    meaning
        One line for readers.
    """

    name: str
    arity: int
    result: Result
    takes_integers: bool
    meaning: str


_ROWS: Final = (
    Intrinsic("abs", 1, "same", True, "magnitude; the least integer maps to itself"),
    Intrinsic("sqrt", 1, "same", False, "square root, NaN below zero"),
    Intrinsic("exp", 1, "same", False, "e**x"),
    Intrinsic("exp2", 1, "same", False, "2**x"),
    Intrinsic("expm1", 1, "same", False, "e**x - 1 without cancellation"),
    Intrinsic("log", 1, "same", False, "natural logarithm"),
    Intrinsic("log2", 1, "same", False, "base-2 logarithm"),
    Intrinsic("log10", 1, "same", False, "base-10 logarithm"),
    Intrinsic("log1p", 1, "same", False, "log(1 + x) without cancellation"),
    Intrinsic("sin", 1, "same", False, "sine"),
    Intrinsic("cos", 1, "same", False, "cosine"),
    Intrinsic("tan", 1, "same", False, "tangent"),
    Intrinsic("tanh", 1, "same", False, "hyperbolic tangent"),
    Intrinsic("erf", 1, "same", False, "error function"),
    Intrinsic("floor", 1, "same", False, "largest integer <= x"),
    Intrinsic("ceil", 1, "same", False, "smallest integer >= x"),
    Intrinsic("trunc", 1, "same", False, "x without its fraction"),
    Intrinsic("round", 1, "same", False, "nearest integer, ties to even (as NumPy)"),
    Intrinsic("power", 2, "same", False, "a**b"),
    Intrinsic("fmod", 2, "same", False, "remainder with the sign of a"),
    Intrinsic("copysign", 2, "same", False, "magnitude of a, sign of b"),
    Intrinsic("isnan", 1, "bool", False, "whether x is a NaN"),
    Intrinsic("isinf", 1, "bool", False, "whether x is +inf or -inf"),
    Intrinsic("isfinite", 1, "bool", False, "whether x is neither infinite nor a NaN"),
    Intrinsic("likely", 1, "same", True, "its argument; marks the guard of a tail"),
)

INTRINSICS: Final[dict[str, Intrinsic]] = {row.name: row for row in _ROWS}
