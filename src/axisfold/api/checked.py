# SPDX-License-Identifier: Apache-2.0
"""Single arguments of calls, each in one form or refused."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from axisfold.errors import ArgumentError, ArgumentTypeError

_MOST_ELEMENTS: Final = 2**63 - 1


def checked_keepdims(function: str, value: Any) -> bool:
    """Return ``keepdims`` as a truth value."""
    return checked_truth(function, "keepdims", value)


def checked_truth(function: str, name: str, value: Any) -> bool:
    """Return a truth value.

    Raises
    ------
    ArgumentTypeError
        ``A341``: it is none.
    """
    if value is True or value is False:
        return bool(value)
    try:
        # NumPy's truth values are no integers.
        return bool(value) if isinstance(value, np.bool_) else bool(operator.index(value))
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: {name}={value!r} is no truth value.",
            code="A341",
            hint="Use True or False.",
        ) from None


def checked_min_count(function: str, value: Any) -> int:
    """Return a number of elements; no array has more than an int64 counts.

    Raises
    ------
    ArgumentTypeError
        ``A342``: it is no integer.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return min(max(operator.index(value), 0), _MOST_ELEMENTS)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: min_count={value!r} is no number of elements.",
            code="A342",
            hint="Use an integer, such as 1.",
        ) from None


def _as_number(value: Any) -> float:
    """Return a value as a number; NaN if it is none, as text of digits is none."""
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):  # an array, or a complex scalar of NumPy
        return math.nan


def checked_order(function: str, value: Any) -> float:
    """Return the order of a norm.

    Raises
    ------
    ArgumentError
        ``A345``: it is no number.
    """
    if value is None:
        return 2.0
    order = math.nan if isinstance(value, bool) else _as_number(value)
    if math.isnan(order):
        raise ArgumentError(
            f"{function}: ord={value!r} is no order of a norm of vectors.",
            code="A345",
            hint="Use None, a number, inf or -inf; norms of matrices are numpy.linalg's.",
        )
    return order


def checked_rule(function: str, given: Any) -> str:
    """Return the rule for rows of -inf.

    Raises
    ------
    ArgumentError
        ``A312``: there is no such rule.
    """
    if isinstance(given, str) and given in ("nan", "zero"):
        return given
    raise ArgumentError(
        f"{function}: empty={given!r} is no rule for a row of -inf.",
        code="A312",
        hint="Use 'nan' or 'zero'.",
    )


def checked_correction(function: str, options: Mapping[str, Any]) -> float:
    """Return what is taken off the degrees of freedom, whichever name it was given by.

    Raises
    ------
    ArgumentError
        ``A311``: both names were used, or the value is no finite number.
    """
    correction, ddof = options.get("correction"), options.get("ddof")
    if "correction" in options and ddof is not None and ddof != 0:
        raise ArgumentError(
            f"{function} was given both correction={correction!r} and ddof={ddof!r}.",
            code="A311",
            hint="They are two names of one number: give one.",
        )
    given = correction if "correction" in options else 0 if ddof is None else ddof
    value = _as_number(given)
    if not math.isfinite(value):
        raise ArgumentError(
            f"{function}: {given!r} is no finite number to take off the degrees of freedom.",
            code="A311",
            hint="Use 0 for the variance of a population, 1 for that of a sample.",
        )
    return value
