# SPDX-License-Identifier: Apache-2.0
"""What explain() and tune() are given: a call of a function, on arrays that may not exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from axisfold.api import functions
from axisfold.api.arguments import item_of
from axisfold.api.catalog import CATALOG, SPREADS
from axisfold.api.checked import checked_keepdims
from axisfold.api.device import target_of
from axisfold.api.dispatch import fold
from axisfold.api.fold import Layout
from axisfold.api.launches import checked_views
from axisfold.api.options import NO_OPERANDS, Operands, Request, named_call
from axisfold.api.spec import ArraySpec
from axisfold.errors import KeywordError
from axisfold.interop import numpy
from axisfold.interop.libraries import BY_NAME
from axisfold.interop.views import HOST, Library, View
from axisfold.plan.planner import HOST as HOST_TARGET
from axisfold.target import Target

_ROWS = CATALOG | SPREADS


@dataclass(frozen=True, slots=True)
class Place:
    """Inputs, and where they are.

    Attributes
    ----------
    inputs
        What was given.
    arrays
        Layouts of the inputs.
    device
        Number of the device, :data:`axisfold.interop.views.HOST` for the host.
    target
        What programs for it are compiled for.
    library
        Whose arrays the results are.
    stream
        Returns the handle of the library's current stream.
    """

    inputs: tuple[Any, ...]
    arrays: tuple[Layout, ...]
    device: int
    target: Target
    library: Library
    stream: Callable[[], int]

    @property
    def is_real(self) -> bool:
        """Whether all inputs are arrays."""
        return not any(isinstance(x, ArraySpec) for x in self.inputs)

    def allocated(self, fill: int) -> tuple[Any, ...]:
        """Return the inputs, with new arrays in the place of what need not exist."""
        return tuple(x.allocate(fill) if isinstance(x, ArraySpec) else x for x in self.inputs)


def locate(inputs: Sequence[Any]) -> Place:
    """Return where inputs are; what need not exist is on the host.

    The errors are those of :func:`axisfold.api.launches.run_planned`.
    """
    given = tuple(inputs)
    if any(isinstance(x, ArraySpec) for x in given):
        layouts = tuple(x if isinstance(x, ArraySpec) else checked_views([x])[0][0] for x in given)
        return Place(given, layouts, HOST, HOST_TARGET, numpy, lambda: 0)
    views, where, library, stream = checked_views(given)
    target = HOST_TARGET if where == HOST else target_of(where)
    return Place(given, tuple(views), where, target, BY_NAME[library], stream)


def views_of(arrays: Sequence[Any]) -> list[View]:
    """Return arrays of the host as plain data."""
    return checked_views(arrays)[0]


def request_of(
    function: str, reducer: Any, axis: Any, keepdims: Any, options: dict[str, Any]
) -> tuple[Request, Operands]:
    """Return the request that a user's call makes, and its other arrays.

    Parameters
    ----------
    function
        What was called, for messages.
    reducer, axis, keepdims, options
        What :func:`axisfold.fold` takes, or the arguments of a named reduction.

    Raises
    ------
    KeywordError
        ``A340``: an argument that there is not.
    """
    if isinstance(reducer, str) and reducer in _ROWS:
        return named_call(_ROWS[reducer], (), axis, keepdims, options)
    unknown = next((name for name in options if name != "dtype"), None)
    if unknown is not None:
        raise KeywordError(
            f"{function} has no argument {unknown!r} for this reducer.",
            code="A340",
            hint="Options belong to named reductions, one at a time.",
        )
    is_list = isinstance(reducer, list)
    items = tuple(item_of(item) for item in (reducer if is_list else [reducer]))
    keep = checked_keepdims(function, keepdims)
    return Request("fold", items, is_list, axis, keep, options.get("dtype")), NO_OPERANDS


def call_of(
    reducer: Any, arrays: Sequence[Any], axis: Any, keepdims: Any, options: dict[str, Any]
) -> Callable[[], Any]:
    """Return the call that a user would write."""
    if isinstance(reducer, str) and reducer in _ROWS:
        function = getattr(functions, reducer)
        return partial(function, arrays[0], axis=axis, keepdims=keepdims, **options)
    x = arrays[0] if len(arrays) == 1 else tuple(arrays)
    return partial(fold, x, reducer, axis=axis, keepdims=keepdims, **options)


def fill_of(request: Request) -> int:
    """Return elements of which ``any`` and ``all`` read every one."""
    return 0 if any(i.row is not None and i.row.name == "any" for i in request.items) else 1
