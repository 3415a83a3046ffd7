# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs of the computations of topi, and of others of the same form.

Every stage that is left is bound to threads.  What goes element by element is computed where it is
read; a reduction and what goes through its results are one launch.  How a reduction is shared
follows from where its axes lie in memory and from its constant extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold import te
from axisfold.compat.tvm.topi.forms import (
    SOFTMAX_TAGS,
    as_list,
    element_count,
    first_of,
    is_box,
    is_elementwise,
    outputs_of,
    read_by,
    softmax_position,
    steps_along_kept,
)
from axisfold.ir.build import as_int
from axisfold.ir.walk import post_order
from axisfold.schedule.stage import Stage
from axisfold.tensor.tensor import TensorLoad

WARP: Final = 32
# Threads of a block, that go through elements or fold a row together.
BLOCK: Final = 256
# Warps of a block that have a row each.
WARPS: Final = 8
# Threads of a tile of columns: neighbours along the columns, the rest along the rows.
TILE: Final = 512
# Blocks that share one fold, and those that share the rows of a few columns.
PARTS: Final = 1024
COLUMN_PARTS: Final = 64
# Loads of a thread that are under way at once.
UNROLL: Final = 4
# Elements that are folded into one: fewer than each of these are short, moderate, middle.
SHORT, MODERATE, MIDDLE = 16, 2048, 1 << 16
FEW_OUTPUTS: Final = 256


def schedule_injective(outs: Any) -> te.Schedule:
    """Schedule element by element, reductions and softmax, whatever leads to the outputs.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.

    Returns
    -------
    Schedule
        With threads and blocks bound, for targets ``"cuda"`` and ``"sim"``.
    """
    tensors = as_list(outs)
    s = te.create_schedule([t.op for t in tensors])
    softmaxes = [x for x in s.stages if getattr(x.op, "tag", "") in SOFTMAX_TAGS]
    for stage in s.stages:
        if is_elementwise(stage) and not stage.is_output and stage not in softmaxes:
            stage.compute_inline()
    scheduled = [x for x in s.stages if x.is_inlined or not x.op.body]
    for output in softmaxes:
        producers = [x for x in read_by(s, output) if x.name.startswith("T_softmax")]
        _softmax(output, producers)
        scheduled += [output, *producers]
    for stage in list(s.stages):
        if stage.reduction is not None and stage not in scheduled:
            result = _finisher(s, stage) or stage
            _reduction(s, stage, result)
            scheduled += [stage, result]
    for stage in s.stages:
        if not stage.bindings and stage.attachment is None and stage not in scheduled:
            _by_threads(stage)
    return s


schedule_elemwise = schedule_broadcast = schedule_reduce = schedule_softmax = schedule_injective


def _finisher(s: te.Schedule, reduction: Stage) -> Stage | None:
    """Return the stage that alone reads a reduction, in place: one launch computes both."""
    readers = [x for x in s.stages if not x.is_inlined and reduction in read_by(s, x)]
    if reduction.is_output or len(readers) != 1 or readers[0].reduction is not None:
        return None
    reader = readers[0]
    in_place = read_by(s, reader) == [reduction] and _reads_in_place(s, reader, reduction)
    return reader if in_place else None


def _reads_in_place(s: te.Schedule, stage: Stage, reduction: Stage) -> bool:
    """Return whether an element reads the reduction at its own indices only."""
    here = [axis.var for axis in stage.op.axis]
    for load in (n for body in stage.op.body for n in post_order(body)):
        if not isinstance(load, TensorLoad):
            continue
        producer = s[load.tensor]
        leads = reduction is producer or (producer.is_inlined and reduction in read_by(s, producer))
        same = len(load.indices) == len(here) and all(
            index is var for index, var in zip(load.indices, here, strict=True)
        )
        if leads and not (
            same and (producer is reduction or _reads_in_place(s, producer, reduction))
        ):
            return False
    return True


def _by_threads(stage: Stage) -> te.Axis:
    """Give each element a thread, and return the loop of the threads."""
    block, thread = stage.split(stage.fuse(*stage.op.axis), factor=BLOCK)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    stage.bind(thread, te.thread_axis("threadIdx.x"))
    return thread


def _by_rows(stage: Stage, axes: Sequence[te.Axis], *, by_warp: bool) -> te.Axis:
    """Give each row a block, or a warp of one, and return the loop of these."""
    row = stage.fuse(*axes)
    if not by_warp:
        stage.bind(row, te.thread_axis("blockIdx.x"))
        return row
    block, warp = stage.split(row, factor=WARPS)
    stage.bind(block, te.thread_axis("blockIdx.x"))
    stage.bind(warp, te.thread_axis("threadIdx.y"))
    return warp


def _by_columns(stage: Stage, axes: Sequence[te.Axis]) -> te.Axis:
    """Give neighbouring columns neighbouring threads, and return the loop of these."""
    tile, column = stage.split(axes[-1], factor=_columns(axes[-1]))
    stage.reorder(*axes[:-1], tile, column)
    stage.bind(stage.fuse(*axes[:-1], tile), te.thread_axis("blockIdx.x"))
    stage.bind(column, te.thread_axis("threadIdx.x"))
    return column


def _columns(axis: te.Axis) -> int:
    """Return how many threads lie along the columns: a power of two, a warp if there are many."""
    extent = as_int(axis.extent)
    return WARP if extent is None else min(1 << max(extent - 1, 0).bit_length(), WARP)


def _share(stage: Stage, axes: Sequence[te.Axis], tag: str, threads: int) -> None:
    """Share a row or a fold among threads: neighbours have neighbours, and each several at once.

    The states of an ordered reducer have to be folded in order, so there each thread has a run.
    """
    along = stage.fuse(*axes)
    if stage.reduction is not None and stage.reduction.combiner.is_ordered:
        thread, _ = stage.split(along, nparts=threads)
        stage.bind(thread, te.thread_axis(tag))
        return
    rest, thread = stage.split(along, factor=threads)
    stage.bind(thread, te.thread_axis(tag))
    _, step = stage.split(rest, factor=UNROLL)
    stage.unroll(step)


def _reduction(s: te.Schedule, state: Stage, result: Stage) -> None:
    """Schedule a reduction and the stage that goes through its results, or is itself."""
    reduction: Any = state.reduction
    folded = element_count(state.op.reduce_axis)
    results = element_count(state.op.axis)
    is_short = folded is not None and folded < SHORT
    # Threads that share a fold would each count a start.
    if is_short or reduction.init or not is_box(state.op.reduce_axis):
        _attach(state, result, _by_threads(result))
        return
    is_column = steps_along_kept(state) and not reduction.combiner.is_ordered
    is_long = folded is None or folded >= MIDDLE
    if is_long and results is not None and results < FEW_OUTPUTS:
        _over_blocks(s, state, result, is_column)
    else:
        _in_block(state, result, is_column, result.op.axis)


def _attach(state: Stage, result: Stage, place: te.Axis) -> None:
    if state is not result:
        state.compute_at(result, place)
        state.set_scope("local")


def _in_block(state: Stage, result: Stage, is_column: bool, axes: Sequence[te.Axis]) -> None:
    """Fold each element of the result in one block."""
    if is_column:
        threads = TILE // _columns(axes[-1])
        place, tag = _by_columns(result, axes), "threadIdx.y"
    else:
        by_warp = _fits_warp(state.op.reduce_axis)
        threads = WARP if by_warp else BLOCK
        place, tag = _by_rows(result, axes, by_warp=by_warp), "threadIdx.x"
    _attach(state, result, place)
    _share(state, state.op.reduce_axis, tag, threads)


def _fits_warp(axes: Sequence[te.Axis]) -> bool:
    count = element_count(axes)
    return count is not None and count < MODERATE


def _over_blocks(s: te.Schedule, state: Stage, result: Stage, is_column: bool) -> None:
    """Share each fold among blocks too, each with a run of it; the last one folds their states."""
    parts = COLUMN_PARTS if is_column else PARTS
    part, _ = state.split(state.fuse(*state.op.reduce_axis), nparts=parts)
    partial = s[first_of(s.rfactor(outputs_of(state), part))]
    slot, *kept = partial.op.axis
    partial.reorder(*kept, slot)
    if is_column:
        column = _by_columns(partial, kept)
        partial.reorder(slot, column)
        threads, tag = TILE // _columns(kept[-1]), "threadIdx.y"
        place = _by_columns(result, result.op.axis)
    else:
        partial.bind(partial.fuse(*kept), te.thread_axis("blockIdx.x"))
        threads, tag = BLOCK, "threadIdx.x"
        place = _by_rows(result, result.op.axis, by_warp=False)
    partial.bind(slot, te.thread_axis("blockIdx.y"))
    _share(partial, partial.op.reduce_axis, tag, threads)
    _attach(state, result, place)
    _share(state, state.op.reduce_axis, tag, threads)
    result.last_block(partial)


def _softmax(output: Stage, producers: list[Stage]) -> None:
    """Schedule softmax or log_softmax: a block for each row, or for a tile of columns.

    Every thread keeps the largest element and the sum of its row; exponentials are computed anew
    where they are divided, as a row of any length has no room in a block.
    """
    kept = list(output.op.axis)
    along = kept.pop(softmax_position(output, producers))
    output.reorder(*kept, along)
    if along is output.op.axis[-1]:
        by_warp = _fits_warp([along])
        threads, tag = WARP if by_warp else BLOCK, "threadIdx.x"
        place = _by_rows(output, kept, by_warp=by_warp)
    else:
        threads, tag = TILE // _columns(kept[-1]), "threadIdx.y"
        place = _by_columns(output, kept)
    _share(output, [along], tag, threads)
    for stage in reversed(producers):
        _attach(stage, output, place)
        _share(stage, stage.op.reduce_axis, tag, threads)
