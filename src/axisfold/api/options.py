# SPDX-License-Identifier: Apache-2.0
"""A call without its arrays: what is folded, and the options that NumPy's reductions have."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from axisfold.api.catalog import SPREADS, Row
from axisfold.api.catalog.parameters import parse_signature
from axisfold.errors import ArgumentError, ArgumentTypeError, KeywordError
from axisfold.tensor.reducer import Reducer

MAX_REQUESTS: Final = 4096


@dataclass(frozen=True, slots=True)
class Item:
    """One reduction of a call.

    Attributes
    ----------
    reduction
        The row of a named reduction, or a Reducer.
    arguments
        Arguments of the reduction's own, such as ``correction``, by name.
    """

    reduction: Row | Reducer
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def row(self) -> Row | None:
        """The row of a named reduction."""
        return self.reduction if isinstance(self.reduction, Row) else None

    @property
    def needs_elements(self) -> bool:
        """Whether folding nothing is an error."""
        if self.row is None:
            return False
        return self.row.needs_elements or dict(self.arguments).get("ord") == -math.inf

    @property
    def name(self) -> str:
        """Name of the reduction."""
        return self.reduction.name

    @property
    def is_spread(self) -> bool:
        """Whether results have the input's shape."""
        if isinstance(self.reduction, Reducer):
            return self.reduction.spread is not None
        return self.reduction.name in SPREADS

    @property
    def key(self) -> Hashable:
        """What tells one item from another."""
        return (self.row.name if self.row is not None else self.reduction, self.arguments)


@dataclass(frozen=True, slots=True)
class Request:
    """What is folded, and how; everything of a call but its arrays.

    Attributes
    ----------
    function
        Name of the called function, for messages.
    items
        The reductions.
    is_list
        Whether several results are returned as a named tuple, even of one.
    axis, keepdims, dtype
        As NumPy's; ``axis`` is not checked yet, as the rank is not known.
    is_masked
        Whether the last of the inputs is ``where``.
    has_initial
        Whether values are folded beside the elements.
    min_count
        Results are NaN where fewer elements were folded.
    key
        What a launch depends on beside the arrays; it may turn out not to be hashable.

    Raises
    ------
    ArgumentError
        ``A316``: folded axes of extent 1 in results of the input's shape.
    """

    function: str
    items: tuple[Item, ...]
    is_list: bool = False
    axis: Any = None
    keepdims: bool = False
    dtype: Any = None
    is_masked: bool = False
    has_initial: bool = False
    min_count: int = 0
    key: Hashable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        spread = next((item.name for item in self.items if item.is_spread), None)
        if self.keepdims and spread is not None:
            raise ArgumentError(
                f"{self.function}: {spread} has results of the input's shape, for which "
                "keepdims=True means nothing.",
                code="A316",
                hint="Leave keepdims out.",
            )
        key = (
            tuple(item.key for item in self.items), self.is_list, axis_key(self.axis),
            self.keepdims, self.dtype, self.is_masked, self.has_initial, self.min_count,
        )  # fmt: skip
        object.__setattr__(self, "key", key)


@dataclass(frozen=True, slots=True)
class Operands:
    """The arrays of a call beside its inputs; None where there is none.

    Attributes
    ----------
    where
        Which elements are folded.
    initial
        A value that is folded beside them; of several inputs a tuple of values.
    out
        Where the result is written; of several results a tuple.
    weights
        Of the elements of an average.
    """

    where: Any = None
    initial: Any = None
    out: Any = None
    weights: Any = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Operands:
        """Return the operands among options, and leave the others."""
        if options.keys().isdisjoint(cls.__slots__):
            return NO_OPERANDS
        where, *others = [options.pop(name, None) for name in cls.__slots__]
        return cls(None if where is True else where, *others)


NO_OPERANDS: Final = Operands()

_requests: Final[dict[Hashable, Request]] = {}


def axis_key(axis: Any) -> Hashable:
    """Tell 1 from True and 1.0, which are one key to a dictionary."""
    return (axis, *map(type, axis)) if type(axis) is tuple else (axis, type(axis))


def named_call(
    row: Row, given: Sequence[Any], axis: Any, keepdims: Any, others: Mapping[str, Any]
) -> tuple[Request, Operands]:
    """Return the request of a call of a named reduction, and its other arrays.

    Parameters
    ----------
    row
        The reduction.
    given
        Arguments by position, after ``x``.
    axis, keepdims, others
        Arguments by name.

    Raises
    ------
    KeywordError
        ``A340``: an argument that the function does not have, or one given twice.
    """
    options = dict(others)
    if axis is not None:
        options["axis"] = axis
    if keepdims is not False:
        options["keepdims"] = keepdims
    if given:
        _place(row, given, options)
    names = tuple(options)
    operands = Operands.taken_from(options)
    kinds = [axis_key(value) for value in options.values()]
    is_given = (operands.where is None, operands.initial is None, operands.weights is None)
    key = (row.name, names, is_given, *kinds)
    return remembered(key, partial(_named_request, row, names, options, operands)), operands


def remembered(key: Hashable, make: Callable[[], Request]) -> Request:
    """Return the request that was made for a key before, or a new one."""
    try:
        request = _requests.get(key)
    except TypeError:  # a list of axes, or an argument that is refused
        return make()
    if request is None:
        request = make()
        if len(_requests) >= MAX_REQUESTS:
            _requests.clear()
        _requests[key] = request
    return request


def _check_names(row: Row, given: Sequence[str]) -> None:
    _, names = parse_signature(row.signature)
    for name in given:
        if name not in names:
            raise KeywordError(
                f"{row.name} has no argument {name!r}.",
                code="A340",
                hint=f"It takes x, {row.signature}.",
            )


def _named_request(
    row: Row, names: Sequence[str], options: Mapping[str, Any], operands: Operands
) -> Request:
    _check_names(row, names)
    return Request(
        row.name,
        (Item(row, _own_arguments(row, options, operands)),),
        axis=options.get("axis"),
        keepdims=checked_keepdims(row.name, options.get("keepdims", False)),
        dtype=options.get("dtype"),
        is_masked=operands.where is not None,
        has_initial=operands.initial is not None,
        min_count=checked_min_count(row.name, options.get("min_count", 0)),
    )


def _own_arguments(
    row: Row, options: Mapping[str, Any], operands: Operands
) -> tuple[tuple[str, Any], ...]:
    """Return the arguments that the row's reducer depends on."""
    found: list[tuple[str, Any]] = []
    if row.takes("correction"):
        freedom = _correction(row.name, options.get("correction", 0), options.get("ddof"))
        found.append(("correction", freedom))
    if row.takes("empty"):
        found.append(("empty", _rule_of_empty(row.name, options.get("empty", "nan"))))
    if row.takes("ord"):
        found.append(("ord", _order(row.name, options.get("ord"))))
    if row.takes("weights"):
        found.append(("has_weights", operands.weights is not None))
        found.append(("returned", checked_truth(row.name, "returned", options.get("returned", 0))))
    return tuple(found)


def _place(row: Row, given: Sequence[Any], options: dict[str, Any]) -> None:
    """Give arguments by position their names."""
    positional, _ = parse_signature(row.signature)
    if len(given) > len(positional):
        raise KeywordError(
            f"{row.name} takes {len(positional) + 1} arguments by position at most, but "
            f"{len(given) + 1} were given.",
            code="A340",
            hint=f"Its arguments are x, {row.signature}.",
        )
    for name, value in zip(positional, given, strict=False):
        if name in options:
            raise KeywordError(
                f"{row.name} was given argument {name!r} twice, by position and by name.",
                code="A340",
                hint="Give it once.",
            )
        options[name] = value


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
    """Return a number of elements.

    Raises
    ------
    ArgumentTypeError
        ``A342``: it is no integer.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return max(operator.index(value), 0)
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: min_count={value!r} is no number of elements.",
            code="A342",
            hint="Use an integer, such as 1.",
        ) from None


def _number(value: Any) -> float:
    """Return a value as a number; NaN if it is none, as text of digits is none."""
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):  # an array, or a complex scalar of NumPy
        return math.nan


def _order(function: str, value: Any) -> float:
    """Return the order of a norm.

    Raises
    ------
    ArgumentError
        ``A345``: it is no number.
    """
    if value is None:
        return 2.0
    order = math.nan if isinstance(value, bool) else _number(value)
    if math.isnan(order):
        raise ArgumentError(
            f"{function}: ord={value!r} is no order of a norm of vectors.",
            code="A345",
            hint="Use None, a number, inf or -inf; norms of matrices are numpy.linalg's.",
        )
    return order


def _rule_of_empty(function: str, given: Any) -> str:
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


def _correction(function: str, correction: Any, ddof: Any) -> float:
    """Return what is taken off the degrees of freedom, whichever name it was given by.

    Raises
    ------
    ArgumentError
        ``A311``: both names were used, or the value is no finite number.
    """
    if ddof is not None and correction:
        raise ArgumentError(
            f"{function} was given both correction={correction!r} and ddof={ddof!r}.",
            code="A311",
            hint="They are two names of one number: give one.",
        )
    given = correction if ddof is None else ddof
    value = _number(given)
    if not math.isfinite(value):
        raise ArgumentError(
            f"{function}: {given!r} is no finite number to take off the degrees of freedom.",
            code="A311",
            hint="Use 0 for the variance of a population, 1 for that of a sample.",
        )
    return value
