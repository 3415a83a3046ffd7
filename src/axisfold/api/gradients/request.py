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
from axisfold.api.arguments import member_of, resolve_row, wanted_dtype
from axisfold.api.catalog import Row
from axisfold.api.options import Item, Request
from axisfold.dtypes import DType, parse
from axisfold.tensor.reducer import Reducer, by_token
from axisfold.tensor.trace import trace


def encode(request: Request) -> str:
    """Return a request as text.

    Named reductions are the same text in every process; a Reducer is named by a token that only
    this process knows.
    """
    found = {f.name: getattr(request, f.name) for f in fields(request)}
    found["items"] = [_encode_item(item) for item in request.items]
    wanted = wanted_dtype(request.dtype)
    found["dtype"] = None if wanted is None else wanted.name
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
    if isinstance(value, np.generic):
        return value.item()
    return value.__index__()


@lru_cache(maxsize=4096)
def decode(text: str) -> Request:
    """Return the request of a text."""
    found = json.loads(text, object_hook=_decode_value)
    found["items"] = tuple(_decode_item(*item) for item in found["items"])
    if isinstance(found["axis"], list):
        found["axis"] = tuple(found["axis"])
    return Request(**found)


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
    request
        The request.
    dtypes
        Of the results.
    widths
        How many results each item has.
    names
        Of the results.
    """

    request: Request
    dtypes: tuple[DType, ...]
    widths: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def is_single(self) -> bool:
        """Whether the caller sees one array and no tuple."""
        return not self.request.is_list and len(self.names) == 1


@lru_cache(maxsize=4096)
def outcome(text: str, dtypes: tuple[str, ...]) -> Outcome:
    """Return what a request gives for inputs of some dtypes."""
    request = decode(text)
    elements = [parse(d) for d in dtypes]
    wanted = wanted_dtype(request.dtype)
    members = [member_of(item, elements, wanted, request) for item in request.items]
    parts = [trace([m], elements).results for m in members]
    results = [r for part in parts for r in part]
    return Outcome(
        request,
        tuple(r.dtype for r in results),
        tuple(len(part) for part in parts),
        tuple(r.name for r in results),
    )


def fold_on_host(text: str, *arrays: Any) -> Sequence[Any]:
    """Run a request on NumPy arrays and return its results."""
    results: Sequence[Any] = dispatch.run_unwatched(replace(decode(text), is_list=True), arrays)
    return results
