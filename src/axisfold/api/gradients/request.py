# SPDX-License-Identifier: Apache-2.0
"""Requests as text, for graphs that hold only arrays, numbers and text; and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from axisfold.api import dispatch
from axisfold.api.arguments import member_of, normalize_axes, resolve_row, wanted_dtype
from axisfold.api.catalog import Row
from axisfold.api.finish import packed_names
from axisfold.api.options import Item, Operands, Request
from axisfold.dtypes import DType, parse
from axisfold.errors import ArgumentError
from axisfold.tensor.reducer import Reducer, by_token
from axisfold.tensor.trace import trace


def encode(request: Request, initial: tuple[Any, ...] | None = None) -> str:
    """Return a request, and the values that are folded beside the elements, as text.

    Named reductions are the same text in every process; a Reducer is named by a token that only
    this process knows.
    """
    found: dict[str, Any] = {f.name: getattr(request, f.name) for f in fields(request) if f.init}
    found["items"] = [_encode_item(item) for item in request.items]
    wanted = wanted_dtype(request.dtype)
    found["dtype"] = None if wanted is None else wanted.name
    found["initial"] = initial
    return json.dumps(found, default=_encode_value)


def _encode_item(item: Item) -> list[Any]:
    match item.reduction:
        case Row(name=name):
            return [{"name": name}, item.arguments]
        case Reducer(token=token):
            return [{"token": token}, item.arguments]


def _encode_value(value: Any) -> Any:
    if isinstance(value, complex):
        return {"re": value.real, "im": value.imag}
    if hasattr(value, "item"):  # a scalar of NumPy, or an array of one element
        return value.item()
    return value.__index__()


@lru_cache(maxsize=4096)
def decode(text: str) -> tuple[Request, tuple[Any, ...] | None]:
    """Return the request of a text, and the values that are folded beside the elements."""
    found = json.loads(text, object_hook=_decode_value)
    initial = found.pop("initial")
    found["items"] = tuple(_decode_item(*item) for item in found["items"])
    if isinstance(found["axis"], list):
        found["axis"] = tuple(found["axis"])
    return Request(**found), None if initial is None else tuple(initial)


def _decode_value(value: dict[str, Any]) -> Any:
    return complex(value["re"], value["im"]) if value.keys() == {"re", "im"} else value


def _decode_item(which: dict[str, str], arguments: list[list[Any]]) -> Item:
    own = tuple((name, value) for name, value in arguments)
    if "name" in which:
        return Item(resolve_row(which["name"]), own)
    return Item(by_token(which["token"]), own)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a request gives, for inputs of some dtypes.

    Attributes
    ----------
    request, initial
        The request, and the values that are folded beside the elements.
    dtypes
        Of the results.
    widths
        How many results each item has.
    packed
        Names of the fields of the tuple that the caller gets; None for an array.
    is_spread
        Whether the results have the elements' shape.
    """

    request: Request
    initial: tuple[Any, ...] | None
    dtypes: tuple[DType, ...]
    widths: tuple[int, ...]
    packed: tuple[str, ...] | None
    is_spread: bool

    def result_shape(self, shape: Sequence[Any], *, keepdims: bool) -> tuple[Any, ...]:
        """Return the extents of the results for elements of a shape; extents may be symbols."""
        if self.is_spread:
            return tuple(shape)
        axes = normalize_axes(self.request.axis, len(shape))
        return tuple(
            1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes
        )


@lru_cache(maxsize=4096)
def outcome(text: str, dtypes: tuple[str, ...]) -> Outcome:
    """Return what a request gives for inputs of some dtypes, the last one of a mask, if any."""
    request, initial = decode(text)
    elements = [parse(d) for d in (dtypes[:-1] if request.is_masked else dtypes)]
    wanted = wanted_dtype(request.dtype)
    members = [member_of(item, elements, wanted, request) for item in request.items]
    traced = trace(members, elements, is_masked=request.is_masked)
    return Outcome(
        request,
        initial,
        tuple(r.dtype for r in traced.results),
        traced.widths,
        packed_names(request, traced.results),
        traced.is_spread,
    )


def initial_of(operands: Operands) -> tuple[Any, ...] | None:
    """Return the values that are folded beside the elements, one for each input."""
    value = operands.initial
    return value if value is None or isinstance(value, tuple) else (value,)


def check_out(operands: Operands) -> None:
    """Refuse arrays to write into.

    Raises
    ------
    ArgumentError
        ``A360``: there is one.
    """
    if operands.out is not None:
        raise ArgumentError(
            "out= was given, but a gradient or a trace depends on the input: results that are "
            "written into an array have no part in either.",
            code="A360",
            hint="Leave out= away, or call on x.detach().",
        )


def fold_on_host(text: str, *arrays: Any) -> Sequence[Any]:
    """Run a request on NumPy arrays and return its results."""
    if decode(text)[0].is_masked:  # a mask adds no elements, not even those of a batch
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        arrays = (np.broadcast_to(arrays[0], shape), *arrays[1:])
    return fold_plainly(text, arrays)


def fold_plainly(text: str, inputs: Sequence[Any]) -> Sequence[Any]:
    """Run a request on arrays that nothing watches, and return all of its results."""
    request, initial = decode(text)
    given = None if initial is None else initial if len(initial) > 1 else initial[0]
    operands = Operands(initial=given)
    results: Sequence[Any] = dispatch.run_unwatched(
        replace(request, is_list=True), inputs, operands
    )
    return results
