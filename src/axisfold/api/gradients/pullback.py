# SPDX-License-Identifier: Apache-2.0
"""From the gradients by a fold's results to those by its inputs, for any array library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from axisfold.api.arguments import normalize_axes
from axisfold.api.catalog import Row
from axisfold.api.gradients.derive import reducer_gradient
from axisfold.api.gradients.differentiate import Library
from axisfold.api.gradients.request import Outcome
from axisfold.api.gradients.rules import GRADIENTS, Fold, Gradient, broadcast
from axisfold.api.options import Item
from axisfold.tensor.reducer import Reducer


@dataclass(frozen=True, slots=True)
class Needs:
    """What a pullback reads beside shapes: the values of inputs, those of results."""

    inputs: bool
    results: bool


def needs_of(outcome: Outcome) -> Needs:
    """Return what has to be kept between a fold and its pullback."""
    rows = [_row_of(item) for item in outcome.request.items]
    return Needs(
        any(row is None or row.reads_inputs for row in rows),
        any(row is None or row.reads_results for row in rows),
    )


def _row_of(item: Item) -> Gradient | None:
    """Return how a named reduction's gradient is made; None for a Reducer."""
    return None if item.row is None else GRADIENTS[item.row.name]


def pull_back(
    outcome: Outcome,
    inputs: Sequence[Any],
    mask: Any,
    results: Sequence[Any],
    upstream: Sequence[Any],
    library: Library,
) -> list[Any]:
    """Return the gradient by each input, of its shape; None for all if nothing was asked for.

    Parameters
    ----------
    outcome
        What was folded.
    inputs, mask
        Arrays, in a dtype fit to compute with; None for no mask.
    results
        Results of the fold.
    upstream
        Gradients by the results, None for a result that the loss does not depend on.
    library
        The arrays' library.
    """
    shape = _broadcast([*inputs, *([] if mask is None else [mask])])
    axes = tuple(sorted(normalize_axes(outcome.request.axis, len(shape))))
    aligned = [_of_rank(x, len(shape)) for x in inputs]
    mask = None if mask is None else _of_rank(mask, len(shape))
    kept = outcome.result_shape(shape, keepdims=True)
    totals: list[Any] = [None] * len(inputs)
    first = 0
    for item, width in zip(outcome.request.items, outcome.widths, strict=True):
        span = slice(first, first + width)
        first += width
        if all(g is None for g in upstream[span]):
            continue
        given = [
            (y.reshape(kept), (library.xp.zeros_like(y) if g is None else g).reshape(kept))
            for y, g in zip(results[span], upstream[span], strict=True)
        ]
        ys, gs = zip(*given, strict=True)
        options = dict(item.arguments)
        fold = Fold(library.xp, tuple(aligned), shape, axes, mask, ys, gs, options, outcome.initial)
        gradients = _of_item(item, fold, outcome.request.min_count, library)
        totals = [g if t is None else t + g for t, g in zip(totals, gradients, strict=True)]
    xp = library.xp
    return [
        None if t is None else _sum_to(xp, broadcast(xp, t, shape), x.shape)
        for t, x in zip(totals, inputs, strict=True)
    ]


def _of_item(item: Item, fold: Fold, min_count: int, library: Library) -> tuple[Any, ...]:
    """Return the gradients of one item: 0 for what is not folded, or too few to have a result."""
    is_spread = False
    match item.reduction:
        case Row(name=name):
            fold = GRADIENTS[name].seen_by(fold)
            found = GRADIENTS[name].rule(fold)
        case Reducer() as reducer:
            found = reducer_gradient(reducer, fold, library)
            is_spread = reducer.spread is not None
    # A spread has results for the elements that are not folded.
    if fold.mask is not None and not is_spread:
        found = tuple(fold.xp.where(fold.mask, g, 0) for g in found)
    if not min_count:
        return found
    if fold.mask is None:
        return found if fold.count >= min_count else tuple(g * 0 for g in found)
    return tuple(fold.xp.where(fold.count >= min_count, g, 0) for g in found)


def _broadcast(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the common shape; extents may be symbols."""
    rank = max(len(a.shape) for a in arrays)
    shape: list[Any] = [1] * rank
    for array in arrays:
        for axis, extent in enumerate(array.shape, rank - len(array.shape)):
            if shape[axis] == 1:
                shape[axis] = extent
    return tuple(shape)


def _of_rank(array: Any, rank: int) -> Any:
    return array.reshape((1,) * (rank - len(array.shape)) + tuple(array.shape))


def _sum_to(xp: Any, values: Any, shape: Sequence[Any]) -> Any:
    """Sum what was broadcast, so that the shape is again the one before."""
    extra = len(values.shape) - len(shape)
    axes = tuple(range(extra)) + tuple(
        axis + extra
        for axis, extent in enumerate(shape)
        if extent == 1 and values.shape[axis + extra] != 1
    )
    return xp.sum(values, axes, keepdims=True).reshape(shape) if axes else values
