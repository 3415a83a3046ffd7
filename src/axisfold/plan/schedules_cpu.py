# SPDX-License-Identifier: Apache-2.0
"""What the CPU's rules share: how many lanes and accumulators, and folds by lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Call
from axisfold.ir.walk import post_order
from axisfold.plan.graph import Graph
from axisfold.runtime.cpu import WIDE_VECTOR
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.tile_pass import TilePass, in_short_run

# Places of memory that a thread reads at once.  One stream of loads reaches two thirds of what a
# core can read, four to eight all of it.
STREAMS: Final = 8
# Places of a long row, each for whole lines of a cache; with vectors of 64 bytes, whose states of
# float64 take half a line of float32, more places are worth more than whole lines.
LONG_STREAMS, WIDE_LONG_STREAMS = 4, 8
# Vectors of a pass beside one that computes functions of elements: comparisons need no more.
FEW_VECTORS: Final = 4
# Lanes that are folded one after the other: so many rows have theirs side by side.
FEW_LANES: Final = 4


def lanes(combiner: Combiner, target: Target) -> int:
    """Return how many states fill one vector register, by the widest field."""
    widest = max(v.dtype.itemsize for v in combiner.lhs)
    return max(target.vector_bytes // widest, 1)


def pass_lanes(tile_pass: TilePass, target: Target) -> int:
    """Return the lanes of a pass over a tile: as many as a function such as exp is computed in."""
    own = lanes(in_short_run(tile_pass).combiner, target)
    return max(own, *(target.vector_bytes // c.dtype.itemsize for c in calls(tile_pass)), 1)


def calls(tile_pass: TilePass) -> list[Call]:
    """Return the functions, such as exp, that a pass over a tile computes."""
    nodes = (node for source in tile_pass.expressions for node in post_order(source))
    return [n for n in nodes if isinstance(n, Call) and n.dtype.is_float]


def accumulators(combiner: Combiner, target: Target) -> int:
    """Return how many vectors of states fit in three quarters of the registers: 2, 4 or 8."""
    budget = 24 if target.vector_bytes >= WIDE_VECTOR else 12
    count = 8
    while count > 2 and count * len(combiner.lhs) > budget:  # a register for each field
        count //= 2
    return count


def streams_of(graph: Graph) -> int:
    """Return how many places of each input are read at once.

    Places a power of two apart share their lines of the first-level cache, which has eight.
    """
    return max(STREAMS // len(graph.inputs), 1)


def long_streams(target: Target) -> int:
    """Return how many places of a long row are read at once, whatever the inputs."""
    return WIDE_LONG_STREAMS if target.vector_bytes >= WIDE_VECTOR else LONG_STREAMS


def element_bytes(graph: Graph) -> int:
    """Return the bytes of an element of the widest input."""
    return max(t.dtype.itemsize for parts in graph.inputs for t in parts)


def narrowest_bytes(graph: Graph) -> int:
    """Return the bytes of an element of the narrowest input."""
    return min(t.dtype.itemsize for parts in graph.inputs for t in parts)


def outputs_of(graph: Graph) -> str:
    """Return the class of the results, empty where no layout class is planned for."""
    return "" if graph.layout is None else graph.layout.outputs


def first(tensors: Any) -> Tensor:
    """Return the first of one or several tensors."""
    found: Tensor = tensors[0] if isinstance(tensors, tuple) else tensors
    return found


def share(stage: Stage, axes: Sequence[Axis]) -> Axis:
    """Let threads take the rounds of all of ``axes``, the outermost leaves; return their loop."""
    loop = stage.fuse(*axes) if len(axes) > 1 else axes[0]
    stage.parallel(loop)
    return loop


def write_results(graph: Graph, stage: Stage, loop: Axis) -> None:
    """Write the results of a loop past the caches where the layout class says so."""
    if graph.layout is not None and graph.layout.stores:
        stage.pragma(loop, graph.layout.stores, 1)


def fold_by_lanes(
    s: Schedule,
    tensors: Any,
    parent: Stage,
    at: Axis | None,
    width: int,
    many: int,
    *,
    streams: int = 1,
    row: int | None = None,
    ahead: int = 0,
    is_long: bool = False,
    axis: Axis | None = None,
) -> None:
    """Fold the last reduce axis of a stage by ``many`` vectors of ``width`` partial states.

    The partial states are factored out twice, lanes first: vectors are folded lane by lane, and the
    lanes of the last one by one, or a few at a time; in loops where merging takes much text.

    Parameters
    ----------
    s
        The schedule.
    tensors
        What the stage computes.
    parent, at
        The loop that it is computed in; None: those of the stage itself, shared by threads.
    width, many
        Lanes of a vector, and vectors.
    streams
        Runs that the axis is cut into, all read at once; the vectors of each lie side by side.
    row
        Which data axis numbers results that are computed side by side, if there are several.
    ahead
        How many bytes ahead inputs are asked for, or 0.
    is_long
        Whether it takes so long that the time of merging lanes does not count, but its text.
    axis
        The reduce axis, where the last one is a part of the outermost.
    """
    stage, is_inside, beside = s[first(tensors)], axis is not None, max(many // streams, 1)
    axis = axis or stage.op.reduce_axis[-1]
    if streams > 1:
        vector, axis = stage.split(axis, nparts=streams)
    rest, lane = stage.split(axis, factor=width * beside)
    if many > 1 and streams == 1:
        vector, lane = stage.split(lane, factor=width)
    elif beside > 1:
        one, lane = stage.split(lane, factor=width)
        stage.reorder(rest, vector, one, lane)
        vector = stage.fuse(vector, one)
    by_lane: Any = s.rfactor(tensors, lane, factor_axis=-1)
    made = [by_lane]
    if many > 1:
        place = -2 if streams > 1 and beside == 1 else -1
        vector = s[first(by_lane)].op.reduce_axis[place]
        made.append(s.rfactor(by_lane, vector, factor_axis=-2))
    few = None if is_long else _few_lanes(s, tensors, width)
    in_loop = row is None and (is_long or _has_fields(tensors))
    at = share(parent, parent.op.axis) if at is None else at  # rfactor gives a stage new axes
    for partial in made:
        inner, is_last = s[first(partial)], partial is made[-1]
        inner.compute_at(parent, at)
        axes = list(inner.op.axis[-2 if is_last and many > 1 else -1 :])
        if row is not None:
            axes.insert(0, inner.op.axis[row])
        folds = inner.op.reduce_axis
        if is_inside and is_last:
            folds = (folds[-2], *folds[:-2], folds[-1])
        if not is_last:
            inner.reorder(*axes[:-1], *folds, axes[-1])
            if not in_loop:
                inner.unroll(folds[0])
        else:
            inner.reorder(*folds, *axes)
            if ahead:
                inner.pragma(folds[0], "prefetch", ahead)
        _unroll(inner, axes[:-1])
        if is_last and many > 1 and streams == 1 and row is None:
            inner.pragma(axes[0], "any_place", 1)
        inner.vectorize(axes[-1])
        if row is not None:
            repeat_last(inner, row)
    if few is not None:
        _fold_few(s[first(few)], parent, at, row)
    _fold_last(stage, row, in_loop=in_loop)


def _unroll(stage: Stage, axes: Sequence[Axis]) -> None:
    for axis in axes:
        stage.unroll(axis)


def _has_fields(tensors: Any) -> bool:
    return isinstance(tensors, tuple) and len(tensors) > 1


def _few_lanes(s: Schedule, tensors: Any, width: int) -> Any:
    """Return partial states of a few lanes, into which the others go; None: there are no more.

    States of several fields take many operations to merge: one lane after the other they would be
    a long chain.
    """
    if not _has_fields(tensors) or width <= FEW_LANES:
        return None
    stage = s[first(tensors)]
    _, lane = stage.split(stage.op.reduce_axis[0], factor=FEW_LANES)
    return s.rfactor(tensors, lane, factor_axis=-1)


def _fold_few(stage: Stage, parent: Stage, at: Axis, row: int | None) -> None:
    stage.compute_at(parent, at)
    axes = [*stage.op.reduce_axis, stage.op.axis[-1]]
    if row is not None:
        axes.insert(0, stage.op.axis[row])
        stage.unroll(axes[0])
        repeat_last(stage, row)
    stage.reorder(*axes)
    stage.vectorize(axes[-1])


def _fold_last(stage: Stage, row: int | None, *, in_loop: bool) -> None:
    if not in_loop:
        stage.unroll(stage.op.reduce_axis[0])
    if row is not None:
        stage.reorder(stage.op.reduce_axis[0], stage.op.axis[row])
        stage.vectorize(stage.op.axis[row])
        repeat_last(stage, row)


def repeat_last(stage: Stage, row: int) -> None:
    """Fold the last row again in the place of those of a tile that there are not.

    So nothing but their results is guarded, and no rest of the rows is another program.
    """
    stage.pragma(stage.op.axis[row], "repeat_edge", 1)
