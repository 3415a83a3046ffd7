# SPDX-License-Identifier: Apache-2.0
"""cuda.compute, CUB's algorithms from Python, as a peer: whole arrays and contiguous rows.

Each reduction is built once for a shape and keeps its temporary memory and its result, as its
documentation advises where a call is repeated.  It takes no axis: rows are segments, whose ends are
an array; what is neither one run of memory nor rows of one it does not do.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from benchmarks.peers import Operation, Peer

# Name of the operator, the value that folds begin with, and the dtype of the result.
_OPERATORS: Final[dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "sum": ("PLUS", lambda d: d.type(0), lambda d: np.dtype("i8") if d.kind in "iu" else d),
    "prod": ("MULTIPLIES", lambda d: d.type(1), lambda d: d),
    "max": ("MAXIMUM", lambda d: d.type(-np.inf), lambda d: d),
    "min": ("MINIMUM", lambda d: d.type(np.inf), lambda d: d),
    "any": ("LOGICAL_OR", lambda d: d.type(False), lambda d: d),
}


def compute_peer() -> Peer:
    """Return the peer; CuPy brings its arrays.

    Raises
    ------
    ImportError
        It is not installed, or does not run with this driver or these libraries.
    """
    cupy = importlib.import_module("cupy")
    try:
        compute = importlib.import_module("cuda.compute")
        kinds = compute.OpKind
    except (AttributeError, RuntimeError) as error:
        raise ImportError(f"cuda.compute: {error}") from error
    return Peer(
        cupy.from_dlpack,
        {name: _Folds(cupy, compute, getattr(kinds, row[0]), *row[1:]).fold
         for name, row in _OPERATORS.items()},
    )  # fmt: skip


class _Folds:
    """The reductions by one operator, each built when it is first asked for."""

    def __init__(
        self,
        cupy: Any,
        compute: Any,
        operator: Any,
        start: Callable[[Any], Any],
        result: Callable[[Any], Any],
    ) -> None:
        self.cupy, self.compute, self.operator = cupy, compute, operator
        self.start, self.result = start, result
        self.built: dict[Any, Callable[[Any], Any]] = {}
        self.fold: Operation = self._fold

    def _fold(self, x: Any, axis: Any) -> Any:
        key = (x.shape, x.strides, x.dtype.str, axis)
        if key not in self.built:
            self.built[key] = self._build(x, axis)
        return self.built[key](x)

    def _build(self, x: Any, axis: Any) -> Callable[[Any], Any]:
        is_run = x.flags.c_contiguous or x.flags.f_contiguous
        is_rows = x.flags.c_contiguous and x.ndim == 2 and axis in (1, -1)
        if not (is_rows or (axis is None and is_run)):
            raise NotImplementedError("neither one run of memory nor rows of one")
        dtype = self.result(x.dtype)
        shared = {"op": self.operator, "h_init": np.array([self.start(dtype)], dtype)}
        if is_rows:
            return self._of_rows(x, dtype, shared)
        out = self.cupy.empty(1, dtype)
        reducer = self.compute.make_reduce_into(d_in=_run(x), d_out=out, **shared)
        return self._ready(reducer, out, lambda y: {"d_in": _run(y), "num_items": y.size, **shared})

    def _of_rows(self, x: Any, dtype: Any, shared: dict[str, Any]) -> Callable[[Any], Any]:
        rows, width = x.shape
        out = self.cupy.empty(rows, dtype)
        ends = self.cupy.arange(rows + 1, dtype="i4" if x.size < 1 << 31 else "i8") * width
        shared |= {"start_offsets_in": ends[:-1], "end_offsets_in": ends[1:]}
        reducer = self.compute.make_segmented_reduce(d_in=_run(x), d_out=out, **shared)
        shared |= {"num_segments": rows, "max_segment_size": width}
        return self._ready(reducer, out, lambda y: {"d_in": _run(y), **shared})

    def _ready(
        self, reducer: Any, out: Any, given: Callable[[Any], dict[str, Any]]
    ) -> Callable[[Any], Any]:
        """Return a call with its temporary memory."""
        held: list[Any] = []

        def run(y: Any) -> Any:
            arguments = {"d_out": out, **given(y)}
            if not held:
                size = reducer(temp_storage=None, **arguments)
                held.append(self.cupy.empty(max(size, 1), "u1"))
            reducer(temp_storage=held[0], **arguments)
            return out if out.size > 1 else out[0]

        return run


def _run(x: Any) -> Any:
    """Return the elements in the order of memory."""
    return x.ravel(order="K")
