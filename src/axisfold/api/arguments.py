# SPDX-License-Identifier: Apache-2.0
"""What callers give: arrays, axes and names of reductions, checked and in one form."""

from __future__ import annotations

import operator
import sys
from typing import Any, TypeAlias

import numpy as np

from axisfold.api.catalog import CATALOG, Row
from axisfold.dtypes import DType, parse
from axisfold.errors import ArgumentError, AxisError, DTypeError
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.trace import Member

Array: TypeAlias = np.ndarray[Any, Any]


def normalize_axes(axis: Any, rank: int) -> frozenset[int]:
    """Return the folded axes as non-negative positions.

    Raises
    ------
    AxisError
        ``A301``: out of range; ``A302``: named twice; ``A303``: not an integer.
    """
    if axis is None:
        return frozenset(range(rank))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    found: list[int] = []
    for item in given:
        try:
            if isinstance(item, bool):
                raise TypeError
            position = operator.index(item)
        except TypeError:
            is_pattern = isinstance(item, str) and "->" in item
            raise AxisError(
                f"axis {item!r} is not an integer.",
                code="A303",
                hint="Patterns are for axisfold.fold(x, name, pattern)."
                if is_pattern
                else "Use an integer or a tuple of them.",
            ) from None
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
    kind = getattr(sys.modules.get("torch"), "dtype", None)
    if kind is not None and isinstance(dtype, kind):
        return parse(str(dtype).removeprefix("torch."))
    return parse(dtype)


def as_array(value: Any, name: str = "x") -> Array:
    """Return a native NumPy array for an array, a scalar or nested lists of numbers.

    Raises
    ------
    DTypeError
        ``D101``: elements are no numbers.
    ArgumentError
        ``A304``: the value is no array; ``A309``: it is a masked array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{name} is a masked array, and its masked elements would be folded too.",
            code="A309",
            hint="Fold x.filled(value) with a value that does not count, or x.compressed().",
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            f"{name} is no array: {str(error).rstrip('.')}.",
            code="A304",
            hint="Pass a NumPy array or nested lists of numbers.",
        ) from error
    parse(array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def resolve_row(op: str) -> Row:
    """Return the row of a named reduction.

    Raises
    ------
    ArgumentError
        ``A305``: there is no such reduction.
    """
    row = CATALOG.get(op)
    if row is None:
        raise ArgumentError(
            f"unknown reduction {op!r}.",
            code="A305",
            hint=f"Known are {', '.join(CATALOG)}; or pass a Reducer.",
        )
    return row


def member_of(item: Any, dtype: DType, wanted: DType | None, **options: Any) -> tuple[Member, bool]:
    """Return a fold's member for a name or a Reducer, and whether it needs elements.

    Raises
    ------
    ArgumentError
        ``A306``: neither a name nor a Reducer.
    DTypeError
        ``D301``: complex elements have no such reduction.
    """
    if isinstance(item, Reducer):
        return Member(item, None, wanted), False
    if not isinstance(item, str):
        raise ArgumentError(
            f"{item!r} is neither the name of a reduction nor a Reducer.",
            code="A306",
            hint="Several reducers go in a list."
            if isinstance(item, tuple)
            else f"Names are {', '.join(CATALOG)}.",
        )
    row = resolve_row(item)
    source = wanted or dtype
    if source.is_complex and not row.takes_complex:
        raise DTypeError(
            f"{row.name} of {source} is not defined.",
            code="D301",
            hint="Fold real numbers, such as abs(x).",
        )
    compute = row.compute(source)
    result = row.result(source) if wanted is None or not row.takes_dtype else _result(row, wanted)
    return Member(
        row.make(**options), None if compute == dtype else compute, result
    ), row.needs_elements


def _result(row: Row, wanted: DType) -> DType:
    """The dtype asked for; real for functions whose results are real."""
    return (
        row.result(wanted)
        if row.result(wanted).kind != wanted.kind and wanted.is_complex
        else wanted
    )
