# SPDX-License-Identifier: Apache-2.0
"""softmax and log_softmax over any axis; 16-bit floats are computed in float32 and rounded once."""

from __future__ import annotations

from typing import Any

from axisfold import te
from axisfold.compat.tvm.topi.axes import Folding, axis_number
from axisfold.errors import AxisError


def softmax(x: te.Tensor, axis: int = -1) -> Any:
    """Return ``exp(x - max) / sum(exp(x - max))`` along an axis."""
    fold = _folded(x, axis, "softmax")
    exponential, total = _exponentials(fold, _largest(fold))
    return te.compute(
        x.shape,
        lambda *i: te.cast(x.dtype, exponential[i] / total[_without(i, fold)]),
        name="T_softmax_norm",
        tag="softmax_output",
    )


def log_softmax(x: te.Tensor, axis: int = -1) -> Any:
    """Return ``x - max - log(sum(exp(x - max)))`` along an axis."""
    fold = _folded(x, axis, "log_softmax")
    largest = _largest(fold)
    _, total = _exponentials(fold, largest)
    log_total = te.compute(fold.shape, lambda *i: te.log(total[i]), name="T_softmax_logsum")

    def body(*i: Any) -> Any:
        kept = _without(i, fold)
        return te.cast(x.dtype, _wide(x[i]) - largest[kept] - log_total[kept])

    return te.compute(x.shape, body, name="T_log_softmax", tag="log_softmax_output")


def _folded(x: te.Tensor, axis: int, what: str) -> Folding:
    if not x.ndim:
        raise AxisError(f"{what} of a 0-d tensor: it has no axis.", code="A323")
    return Folding(x, (axis_number(axis, x.ndim, what),), keepdims=False)


def _largest(fold: Folding) -> Any:
    axes = fold.reduce_axes()
    return te.compute(
        fold.shape,
        lambda *i: te.max(_wide(fold.element(i, axes)), axis=axes),
        name="T_softmax_maxelem",
    )


def _exponentials(fold: Folding, largest: Any) -> tuple[Any, Any]:
    """Return ``exp(x - max)`` and its sum along the axis."""
    exponential = te.compute(
        fold.data.shape,
        lambda *i: te.exp(_wide(fold.data[i]) - largest[_without(i, fold)]),
        name="T_softmax_exp",
    )
    axes = fold.reduce_axes()
    terms = Folding(exponential, fold.axes, keepdims=False)
    total = te.compute(
        fold.shape,
        lambda *i: te.sum(terms.element(i, axes), axis=axes),
        name="T_softmax_expsum",
    )
    return exponential, total


def _wide(value: Any) -> Any:
    return value.astype("float32") if value.dtype.is_half else value


def _without(indices: tuple[Any, ...], fold: Folding) -> tuple[Any, ...]:
    return tuple(indices[a] for a in fold.kept)
