# SPDX-License-Identifier: Apache-2.0
"""The reductions of topi.

The result has the dtype of the input, as te's rule is: an int8 sum wraps.  A float16 sum or
product is folded in float32 and rounded once.  NaN propagates through ``max`` and ``min``; the
first NaN, else the first of equal values, wins in ``argmax`` and ``argmin``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axisfold import te
from axisfold.compat.tvm.topi.axes import Folding, folding
from axisfold.dtypes import highest, lowest, parse

Reduction = Callable[..., Any]

_prod = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, t), "prod")
_all = te.comm_reducer(lambda x, y: x & y, lambda t: te.const(True, t), "all")
_any = te.comm_reducer(lambda x, y: x | y, lambda t: te.const(False, t), "any")


def sum(data: te.Tensor, axis: Any = None, keepdims: bool = False) -> Any:
    """Sum of elements; of truth values whether any holds."""
    if data.dtype.is_bool:
        return any(data, axis, keepdims)
    return _reduced("sum", data, axis, keepdims, te.sum, _accumulator(data))


def prod(data: te.Tensor, axis: Any = None, keepdims: bool = False) -> Any:
    """Product of elements; of truth values whether all hold."""
    if data.dtype.is_bool:
        return all(data, axis, keepdims)
    return _reduced("prod", data, axis, keepdims, _prod, _accumulator(data))


def max(data: te.Tensor, axis: Any = None, keepdims: bool = False) -> Any:
    """Largest element; a NaN wins."""
    folding(data, axis, keepdims, "max").check_not_empty("max")
    if data.dtype.is_bool:
        return any(data, axis, keepdims)
    return _reduced("max", data, axis, keepdims, te.max, str(data.dtype))


def min(data: te.Tensor, axis: Any = None, keepdims: bool = False) -> Any:
    """Smallest element; a NaN wins."""
    folding(data, axis, keepdims, "min").check_not_empty("min")
    if data.dtype.is_bool:
        return all(data, axis, keepdims)
    return _reduced("min", data, axis, keepdims, te.min, str(data.dtype))


def all(data: te.Tensor, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements differ from zero."""
    return _reduced("all", data, axis, keepdims, _all, "bool")


def any(data: te.Tensor, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element differs from zero."""
    return _reduced("any", data, axis, keepdims, _any, "bool")


def argmax(
    data: te.Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
) -> Any:
    """Index of the largest element among the folded ones in C order: the first, or the last."""
    return _arg("argmax", data, axis, keepdims, select_last_index)


def argmin(
    data: te.Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
) -> Any:
    """Index of the smallest element among the folded ones in C order: the first, or the last."""
    return _arg("argmin", data, axis, keepdims, select_last_index)


def _accumulator(data: te.Tensor) -> str:
    return "float32" if data.dtype.is_half else str(data.dtype)


def _convert(value: Any, dtype: str) -> Any:
    if dtype == "bool" and not value.dtype.is_bool:
        return value.not_equal(te.const(0, value.dtype))
    return te.cast(dtype, value)


def _reduced(
    what: str, data: te.Tensor, axis: Any, keepdims: bool, reduction: Reduction, dtype: str
) -> Any:
    """Return a reduction folded in ``dtype``; the result is rounded where that is wider."""
    fold = folding(data, axis, keepdims, what)
    result = "bool" if dtype == "bool" else str(data.dtype)
    name = f"{data.name}_red"
    if not fold.axes:
        return te.compute(
            fold.shape, lambda *ax: _convert(data[ax], result), name=name, tag="injective"
        )
    axes = fold.reduce_axes()
    folded = te.compute(
        fold.shape,
        lambda *ax: reduction(_convert(fold.element(ax, axes), dtype), axis=axes),
        name=name if dtype == result else f"{name}_temp",
        tag="comm_reduce",
    )
    if dtype == result:
        return folded
    return te.compute(
        fold.shape, lambda *ax: te.cast(result, folded[ax]), name=name, tag="elemwise"
    )


def _arg(what: str, data: te.Tensor, axis: Any, keepdims: bool, select_last: bool) -> Any:
    fold = folding(data, axis, keepdims, what)
    fold.check_not_empty(what)
    name = f"{data.name}_red"
    if not fold.axes:
        return te.compute(fold.shape, lambda *_: te.const(0, "int32"), name=name, tag="injective")
    axes = fold.reduce_axes()
    reducer = _arg_reducer(what, fold, axes, select_last)
    pair = te.compute(
        fold.shape,
        lambda *ax: reducer((fold.flat_index(axes), fold.element(ax, axes)), axis=axes),
        name=f"{name}_temp",
        tag="comm_reduce_idx",
    )
    return te.compute(fold.shape, lambda *ax: pair[0][ax], name=name, tag="injective")


def _arg_reducer(what: str, fold: Folding, axes: list[te.Axis], select_last: bool) -> Reduction:
    """Return the reducer of (index, value); index -1 is the identity and loses every tie."""
    is_max = what == "argmax"
    start = lowest(fold.data.dtype) if is_max else highest(fold.data.dtype)

    def earlier(a: Any, b: Any) -> Any:
        if select_last:
            return a > b
        wide = parse(f"uint{a.dtype.bits}")  # -1 becomes the largest
        return te.cast(wide, a) < te.cast(wide, b)

    def combine(a: Any, b: Any) -> Any:
        better = a[1] > b[1] if is_max else a[1] < b[1]
        same = a[1].equal(b[1])
        if fold.data.dtype.is_float:
            better = te.any(better, te.all(te.isnan(a[1]), b[1].equal(b[1])))
            same = te.any(same, te.all(te.isnan(a[1]), te.isnan(b[1])))
        takes_a = te.any(better, te.all(same, earlier(a[0], b[0])))
        return te.select(takes_a, a[0], b[0]), te.select(takes_a, a[1], b[1])

    def identity(index: str, value: str) -> Any:
        return te.const(-1, index), te.const(start, value)

    return te.comm_reducer(combine, identity, what)
