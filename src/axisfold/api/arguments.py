# SPDX-License-Identifier: Apache-2.0
"""What callers give: arrays, axes and names of reductions, checked and in one form."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from axisfold.api.catalog import CATALOG, SPREADS, Row
from axisfold.api.options import Item, Request
from axisfold.dtypes import DType, parse, promote
from axisfold.errors import ArgumentError, ArgumentTypeError, AxisError, DTypeError
from axisfold.interop import torch
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.trace import Member


def normalize_axes(axis: Any, rank: int) -> frozenset[int]:
    """Return the folded axes as non-negative positions.

    Raises
    ------
    AxisError
        ``A301``: out of range; ``A302``: named twice.
    ArgumentTypeError
        ``A303``: not an integer.

    Notes
    -----
    An array of no axes may be folded over axis 0 or -1, as NumPy allows.
    """
    if axis is None:
        return frozenset(range(rank))
    given = axis if isinstance(axis, tuple) else (axis,)
    found: list[int] = []
    for item in given:
        try:
            if isinstance(item, bool):
                raise TypeError
            position = operator.index(item)
        except TypeError:
            is_pattern = isinstance(item, str) and "->" in item
            raise ArgumentTypeError(
                f"axis {item!r} is not an integer.",
                code="A303",
                hint="Patterns are for axisfold.fold(x, name, pattern)."
                if is_pattern
                else "Use an integer or a tuple of them.",
            ) from None
        if rank == 0 and position in (0, -1) and not isinstance(axis, tuple):
            return frozenset()
        if not -rank <= position < rank:
            valid = f"from {-rank} to {rank - 1}" if rank else "none: it has no axes"
            raise AxisError(
                f"axis {item!r} is out of range for an array of {rank} axes.",
                code="A301",
                hint=f"Valid axes are {valid}.",
            )
        found.append(position % rank)
    if len(set(found)) != len(found):
        raise AxisError(
            f"axis {axis!r} names an axis twice.", code="A302", hint="Name each axis once."
        )
    return frozenset(found)


def wanted_dtype(dtype: Any) -> DType | None:
    """Return the dtype asked for, one of PyTorch's too; None if none was.

    Raises
    ------
    DTypeError
        ``D101``: not supported.
    """
    if dtype is None:
        return None
    return parse(str(dtype).removeprefix("torch.") if torch.is_dtype(dtype) else dtype)


def resolve_row(op: str) -> Row:
    """Return the row of a named reduction.

    Raises
    ------
    ArgumentError
        ``A305``: there is no such reduction.
    """
    row = CATALOG.get(op) or SPREADS.get(op)
    if row is None:
        raise ArgumentError(
            f"unknown reduction {op!r}.",
            code="A305",
            hint=f"Known are {', '.join([*CATALOG, *SPREADS])}; or pass a Reducer.",
        )
    return row


def item_of(given: Any) -> Item:
    """Return a fold's item for a name or a Reducer.

    Raises
    ------
    ArgumentError
        ``A306``: neither a name nor a Reducer; ``A305``: no such name.
    """
    if isinstance(given, Reducer):
        return Item(given)
    if isinstance(given, str):
        return Item(resolve_row(given))
    is_array = hasattr(given, "shape")
    value = f"the {type(given).__name__}" if is_array else repr(given)
    if is_array:
        hint = "Arrays come first, what is folded after them."
    elif isinstance(given, tuple):
        hint = "Several reducers go in a list."
    else:
        hint = f"Names are {', '.join([*CATALOG, *SPREADS])}."
    raise ArgumentError(
        f"{value} is neither the name of a reduction nor a Reducer.", code="A306", hint=hint
    )


def member_of(
    item: Item, dtypes: Sequence[DType], wanted: DType | None, request: Request | None = None
) -> Member:
    """Return a fold's member for an item.

    Parameters
    ----------
    item
        The reduction.
    dtypes
        Of the inputs' elements.
    wanted
        Dtype asked for.
    request
        The call that it is part of, for the options that touch every member.

    Raises
    ------
    DTypeError
        ``D301``: complex elements, or truth values, have no such reduction.
    """
    has_initial = request is not None and request.has_initial
    least = 0 if request is None else request.min_count
    if isinstance(item.reduction, Reducer):
        initial = tuple(dtypes) if has_initial else ()
        return Member(item.reduction, None, wanted, initial=initial, min_count=least)
    row = item.reduction
    source = wanted or _common(dtypes)
    if source.is_complex and not row.takes_complex:
        raise DTypeError(
            f"{row.name} of {source} is not defined.",
            code="D301",
            hint="Fold real numbers, such as abs(x).",
        )
    if source.is_bool and not row.takes_bool:
        raise DTypeError(
            f"{row.name} of {source} is not defined.",
            code="D301",
            hint="Convert the truth values to integers first.",
        )
    compute = row.compute(source)
    is_plain = wanted is None or not row.takes("dtype")
    # A mean that is given, maybe as a number of Python, makes no other dtype of a variance.
    own = dtypes[0] if row.takes("mean") and wanted is None else source
    result = row.result(own) if is_plain else _result(row, wanted or source)
    has_nan = any(d.is_float or d.is_complex for d in dtypes)
    is_masked = request is not None and request.is_masked
    special = row.make_partial if is_masked else None if has_nan else row.make_plain
    if compute.is_bool and not is_masked and row.make_truth is not None:
        special = row.make_truth
    skips_nan = has_nan and (row.nan_by == "mask" or (row.nan_by == "reducer" and least > 0))
    return Member(
        (special or row.make)(**dict(item.arguments)),
        None if all(d == compute for d in dtypes) else compute,
        result,
        row.name,
        _is_number if skips_nan else None,
        (row.result(source),) * len(dtypes) if has_initial else (),
        least,
        row.unfolded,
    )


def _is_number(x: Any, *others: Any) -> Any:
    return ~te.isnan(x)


def _common(dtypes: Sequence[DType]) -> DType:
    """Return NumPy's common dtype of several inputs."""
    if len(set(dtypes)) == 1:
        return dtypes[0]
    if any(d.kind == "bfloat" for d in dtypes):
        return functools.reduce(promote, dtypes)
    return parse(np.result_type(*(d.to_numpy() for d in dtypes)))


def _result(row: Row, wanted: DType) -> DType:
    """The dtype asked for; real for functions whose results are real."""
    return (
        row.result(wanted)
        if row.result(wanted).kind != wanted.kind and wanted.is_complex
        else wanted
    )
