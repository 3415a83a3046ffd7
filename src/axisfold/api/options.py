# SPDX-License-Identifier: Apache-2.0
"""A call without its arrays: what is folded, and the options that NumPy's reductions have."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from axisfold.api.catalog import SPREADS, Row
from axisfold.api.catalog.parameters import parse_signature
from axisfold.api.checked import (
    checked_correction,
    checked_keepdims,
    checked_min_count,
    checked_order,
    checked_rule,
    checked_truth,
)
from axisfold.errors import ArgumentError, KeywordError
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
    mean
        About which a variance is.
    """

    where: Any = None
    initial: Any = None
    out: Any = None
    weights: Any = None
    mean: Any = None

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Operands:
        """Return the operands among options, and leave the others."""
        if options.keys().isdisjoint(cls.__slots__):
            return NO_OPERANDS
        where, *others = [options.pop(name, None) for name in cls.__slots__]
        return cls(None if where is True else where, *others)


NO_OPERANDS: Final = Operands()
# Those of which a request tells whether they are there.
_NAMED: Final = ("where", "initial", "weights", "mean")

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
    is_given = tuple(getattr(operands, name) is not None for name in _NAMED)
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
        freedom = checked_correction(row.name, options)
        found += [("correction", freedom), ("has_mean", operands.mean is not None)]
    if row.takes("empty"):
        found.append(("empty", checked_rule(row.name, options.get("empty", "nan"))))
    if row.takes("ord"):
        found.append(("ord", checked_order(row.name, options.get("ord"))))
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
