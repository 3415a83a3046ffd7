# SPDX-License-Identifier: Apache-2.0
"""What a row of the catalogue says, and NumPy's rules for the dtypes of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from axisfold.api.catalog.parameters import parse_signature
from axisfold.dtypes import BOOL, FLOAT64, INT64, UINT64, DType
from axisfold.tensor.reducer import Reducer


@dataclass(frozen=True, slots=True)
class DTypeRule:
    """From the dtype of the elements to another, with the rule in words."""

    text: str
    rule: Callable[[DType], DType]

    def __call__(self, dtype: DType) -> DType:
        """Apply the rule."""
        return self.rule(dtype)


def _summed(dtype: DType) -> DType:
    if dtype.kind in ("bool", "int"):
        return INT64
    return UINT64 if dtype.kind == "uint" else dtype


def _inexact(dtype: DType) -> DType:
    return dtype if dtype.is_float or dtype.is_complex else FLOAT64


def _real_inexact(dtype: DType) -> DType:
    return DType("float", dtype.bits // 2) if dtype.is_complex else _inexact(dtype)


SAME: Final = DTypeRule("that of the elements", lambda d: d)
SUMMED: Final = DTypeRule(
    "int64 for integers and truth values, uint64 for unsigned integers, else that of the elements",
    _summed,
)
INEXACT: Final = DTypeRule(
    "float64 for integers and truth values, else that of the elements", _inexact
)
REAL_INEXACT: Final = DTypeRule(
    "float64 for integers and truth values, that of the parts for complex elements, else that of "
    "the elements",
    _real_inexact,
)
INDEX: Final = DTypeRule("int64", lambda d: INT64)
TRUTH: Final = DTypeRule("bool", lambda d: BOOL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One named reduction.

    Attributes
    ----------
    name, summary
        Name of the function and first line of its docstring.
    formula
        What it computes.
    make
        Returns the reducer; takes the function's own arguments, such as ``correction``.
    result
        From the element dtype to the result dtype.
    compute
        From the element dtype to the dtype in which elements are folded.
    make_partial
        As ``make``, for folds that may pass over every element; None if that makes no difference.
    make_plain
        As ``make``, for elements of dtypes without NaN; None if that makes no difference.
    make_truth
        As ``make``, for truth values; None if that makes no difference.
    nan_by
        How elements that are NaN are passed over: by a ``"mask"``, by the ``"reducer"`` itself, or,
        if "", not at all.
    check
        Refuses results on the host, which a device must not wait for.
    fields
        Names of the results, if there are several.
    signature
        Names of the parameters after ``x``, in order, as in a definition:
        ``"axis, out, *, where"``.  :data:`PARAMETERS` says what each is.
    unfolded
        Results of the input's shape at elements that ``where=`` passes over.
    takes_complex, takes_bool
        Whether complex elements, and truth values, have a result.
    numerics
        Accumulator and error bound.
    nan
        What a NaN among the elements does.
    empty
        The result of no elements; None if that is an error.
    ties
        Which of several equal elements counts; "" where that makes no difference.
    numpy_name
        What NumPy (or SciPy) calls it; "" if it has no such function.
    example
        A line of Python and what it prints.
    """

    name: str
    summary: str
    formula: str
    make: Callable[..., Reducer]
    result: DTypeRule
    compute: DTypeRule = SAME
    make_partial: Callable[..., Reducer] | None = None
    make_plain: Callable[..., Reducer] | None = None
    make_truth: Callable[..., Reducer] | None = None
    nan_by: Literal["", "mask", "reducer"] = ""
    check: Callable[[str, Sequence[Any]], None] | None = None
    fields: tuple[str, ...] = ()
    signature: str
    unfolded: float | None = None
    takes_complex: bool = True
    takes_bool: bool = True
    numerics: str
    nan: str
    empty: str | None
    ties: str = ""
    numpy_name: str
    example: tuple[str, str]

    @property
    def needs_elements(self) -> bool:
        """Whether folding nothing is an error."""
        return self.empty is None

    def takes(self, parameter: str) -> bool:
        """Return whether the function has a parameter."""
        return parameter in parse_signature(self.signature)[1]
