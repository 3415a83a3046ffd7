# SPDX-License-Identifier: Apache-2.0
"""Reductions in Halide as one writes them with its own guides: rfactor, vectors, parallel parts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

hl: Any = importlib.import_module("halide")

_CHUNK: Final = 1 << 16
_LANES: Final = 32
_STRIP: Final = 1024


def _wide(value: Any) -> Any:
    return hl.cast(hl.Float(64), value)


def _squared(x: Any, y: Any) -> Any:
    return (_wide(x) - _wide(y)) * (_wide(x) - _wide(y))


# What is folded, the first value, and how two values are put together.
_ROWS: Final[dict[str, tuple[Callable[..., Any], float | None, Callable[[Any, Any], Any]]]] = {
    "sum": (_wide, 0.0, lambda a, b: a + b),
    "max": (lambda x: x, -np.inf, hl.max),
    "min": (lambda x: x, np.inf, hl.min),
    "norm": (lambda x: _wide(x) * _wide(x), 0.0, lambda a, b: a + b),
    "dot": (lambda x, y: _wide(x) * _wide(y), 0.0, lambda a, b: a + b),
    "distance": (_squared, 0.0, lambda a, b: a + b),
}


class _Kernel:
    """One operation, compiled for one number of axes and one axis to fold."""

    def __init__(self, op: str, dtype: np.dtype[Any], rank: int, axis: int | None) -> None:
        lift, first, combine = _ROWS[op]
        kind = hl.Float(32) if dtype == np.float32 else hl.Float(64)
        count = 2 if op in ("dot", "distance") else 1
        self.inputs = [hl.ImageParam(kind, rank) for _ in range(count)]
        self.result = hl.Float(64) if op not in ("max", "min") else kind
        self.is_root, self.axis = op == "norm", axis
        own = hl.cast(self.result, hl.f64(first))
        self.function = hl.Func(op)
        if axis is None:
            self._full(lift, own, combine)
        elif axis == rank - 1:
            self._rows(lift, own, combine)
        else:
            self._columns(lift, own, combine)
        self.function.compile_jit()

    def _full(self, lift: Any, first: Any, combine: Any) -> None:
        f, along = self.function, hl.RDom([(0, self.inputs[0].width())])
        f[()] = first
        f[()] = combine(f[()], lift(*(x[along] for x in self.inputs)))
        chunk, inner, vector, lane = (hl.RVar(n) for n in ("chunk", "inner", "vector", "lane"))
        u, v = hl.Var("u"), hl.Var("v")
        f.update().split(along.x, chunk, inner, _CHUNK)
        part = f.update().rfactor(chunk, u)
        part.compute_root().update().parallel(u).split(inner, vector, lane, _LANES)
        lanes = part.update().rfactor(lane, v)
        lanes.compute_at(part, u).vectorize(v, _LANES)
        lanes.update().reorder(v, vector).vectorize(v, _LANES)

    def _rows(self, lift: Any, first: Any, combine: Any) -> None:
        f, along = self.function, hl.RDom([(0, self.inputs[0].width())])
        y, v = hl.Var("y"), hl.Var("v")
        f[y] = first
        f[y] = combine(f[y], lift(*(x[along, y] for x in self.inputs)))
        vector, lane = hl.RVar("vector"), hl.RVar("lane")
        block, row = hl.Var("block"), hl.Var("row")
        f.update().split(y, block, row, 16, hl.TailStrategy.GuardWithIf).parallel(block)
        f.update().split(along.x, vector, lane, _LANES)
        lanes = f.update().rfactor(lane, v)
        lanes.compute_at(f, row).vectorize(v, _LANES)
        lanes.update().reorder(v, vector).vectorize(v, _LANES)

    def _columns(self, lift: Any, first: Any, combine: Any) -> None:
        f, along = self.function, hl.RDom([(0, self.inputs[0].height())])
        x, strip, inner = hl.Var("x"), hl.Var("strip"), hl.Var("inner")
        sums = hl.Func("sums")
        sums[x] = first
        sums[x] = combine(sums[x], lift(*(p[x, along] for p in self.inputs)))
        f[x] = sums[x]
        f.split(x, strip, inner, _STRIP, hl.TailStrategy.GuardWithIf).parallel(strip)
        f.vectorize(inner, 8, hl.TailStrategy.GuardWithIf)
        sums.compute_at(f, strip).vectorize(x, 8, hl.TailStrategy.GuardWithIf)
        sums.update().unroll(along.x, 4).reorder(x, along.x)
        sums.update().vectorize(x, 8, hl.TailStrategy.GuardWithIf)

    def __call__(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        for parameter, array in zip(self.inputs, arrays, strict=True):
            parameter.set(hl.Buffer(array))
        kept = () if self.axis is None else (arrays[0].shape[1 - self.axis],)
        result = np.empty(kept, np.float32 if self.result == hl.Float(32) else np.float64)
        self.function.realize(hl.Buffer(result))
        return np.sqrt(result) if self.is_root else result


_kernels: dict[tuple[Any, ...], _Kernel] = {}


def _operation(op: str) -> Callable[..., Any]:
    def run(*given: Any) -> np.ndarray:
        *arrays, axis = given
        x = arrays[0]
        if x.dtype not in (np.float32, np.float64) or not x.flags.c_contiguous:
            raise NotImplementedError
        if axis is None:
            arrays = [a.reshape(-1) for a in arrays]
        elif x.ndim != 2 or not isinstance(axis, int):
            raise NotImplementedError
        key = (op, x.dtype, arrays[0].ndim, axis)
        if key not in _kernels:
            _kernels[key] = _Kernel(*key)
        return _kernels[key](arrays)

    return run


OPERATIONS: Final = {op: _operation(op) for op in _ROWS}
