# SPDX-License-Identifier: Apache-2.0
"""A call without its arrays: what is folded, and the options that NumPy's reductions have."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axisfold.api.catalog import PARAMETERS, Row
from axisfold.api.catalog.parameters import parse_signature
from axisfold.errors import ArgumentError, ArgumentTypeError, KeywordError, UnsupportedError
from axisfold.tensor.reducer import Reducer


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
    """

    function: str
    items: tuple[Item, ...]
    is_list: bool = False
    axis: Any = None
    keepdims: bool = False
    dtype: Any = None

    @property
    def key(self) -> Hashable:
        """What a launch depends on beside the arrays; it may turn out not to be hashable."""
        items = tuple(item.key for item in self.items)
        return (items, self.is_list, axis_key(self.axis), self.keepdims, self.dtype)


def axis_key(axis: Any) -> Hashable:
    """Tell 1 from True and 1.0, which are one key to a dictionary."""
    return (axis, *map(type, axis)) if type(axis) is tuple else (axis, type(axis))


def named_request(
    row: Row, given: Sequence[Any], axis: Any, keepdims: Any, others: Mapping[str, Any]
) -> Request:
    """Return the request of a call of a named reduction.

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
    _, names = parse_signature(row.signature)
    for name in options:
        if name not in names:
            raise KeywordError(
                f"{row.name} has no argument {name!r}.",
                code="A340",
                hint=f"It takes x, {row.signature}.",
            )
    for name in ("out", "where", "initial", "min_count", "ord"):
        if name in options and options[name] is not PARAMETERS[name].default:
            raise UnsupportedError(f"{row.name}: {name}= is not built yet.", code="A342")
    arguments: tuple[tuple[str, Any], ...] = ()
    if "correction" in names:
        freedom = _correction(row.name, options.get("correction", 0), options.get("ddof"))
        arguments = (("correction", freedom),)
    return Request(
        row.name,
        (Item(row, arguments),),
        False,
        options.get("axis"),
        checked_keepdims(row.name, options.get("keepdims", False)),
        options.get("dtype"),
    )


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
    """Return a truth value.

    Raises
    ------
    ArgumentTypeError
        ``A341``: it is none.
    """
    if value is True or value is False:
        return bool(value)
    try:
        if type(value).__name__ in ("bool", "bool_"):  # NumPy's truth values are no integers
            return bool(value)
        return bool(operator.index(value))
    except TypeError:
        raise ArgumentTypeError(
            f"{function}: keepdims={value!r} is no truth value.",
            code="A341",
            hint="Use True or False.",
        ) from None


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
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(
            f"{function}: {given!r} is no finite number to take off the degrees of freedom.",
            code="A311",
            hint="Use 0 for the variance of a population, 1 for that of a sample.",
        )
    return value
