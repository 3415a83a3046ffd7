# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs of the computations of topi, and of others of the same form.

Outer data axes run in parallel.  A reduction along the contiguous axis goes by vectors of partial
results (rfactor); one along another axis keeps a run of neighbouring results in vectors.
"""

from __future__ import annotations

from typing import Any, Final

from axisfold import te
from axisfold.compat.tvm.topi.forms import (
    as_list,
    element_count,
    first_of,
    inner_indices,
    outputs_of,
    reads_along,
    softmax_position,
    steps_along_kept,
)
from axisfold.ir.build import as_int
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.compute import ComputeOp

VECTORS: Final = 4
PARTS: Final = 64
SERIAL_ELEMENTS: Final = 1 << 14
COLUMN_TILE_BYTES: Final = 8192
COLUMN_ROWS: Final = 8
SOFTMAX_COLUMNS: Final = 4


def schedule_injective(outs: Any) -> te.Schedule:
    """Schedule elementwise computations: outer axes in parallel, the last by vectors.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.
    """
    s, outputs = _schedule(outs)
    for stage in outputs:
        _by_vectors(stage, stage.op.axis[:-1])
    return s


schedule_elemwise = schedule_broadcast = schedule_injective


def schedule_reduce(outs: Any) -> te.Schedule:
    """Schedule reductions; what they read is computed in place, what follows goes by vectors.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.
    """
    s, outputs = _schedule(outs)
    for stage in outputs:
        _by_vectors(stage, stage.op.axis[:-1])
    return s


def schedule_softmax(outs: Any) -> te.Schedule:
    """Schedule softmax or log_softmax: all of its stages inside one parallel loop.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.
    """
    s, outputs = _schedule(outs)
    for output in outputs:
        producers = [x for x in s.stages if x is not output and x.name.startswith("T_softmax")]
        place = _softmax_loop(output, producers)
        for stage in reversed(producers):
            stage.compute_at(output, place)
            if stage.reduction is None:
                if len(stage.op.axis) == len(output.op.axis):
                    _last_by_vectors(stage)
            elif not steps_along_kept(stage):
                for partial in _factor_lanes(s, stage):
                    partial.compute_at(output, place)
            else:
                vector, lane = stage.split(stage.op.axis[-1], factor=_lanes(stage))
                stage.reorder(*stage.op.reduce_axis, vector, lane)
                stage.vectorize(lane)
    return s


def _schedule(outs: Any) -> tuple[te.Schedule, list[Stage]]:
    """Return a schedule and the output stages that are still to be scheduled.

    Reductions are scheduled; a producer that goes element by element and has one reader is
    computed there.
    """
    tensors = as_list(outs)
    s = te.create_schedule([t.op for t in tensors])
    outputs = [s[t] for t in tensors]
    for stage in list(s.stages):
        if not isinstance(stage.op, ComputeOp) or stage.name.startswith("T_softmax"):
            continue
        if stage.reduction is not None:
            _fold(s, stage)
            outputs = [x for x in outputs if x is not stage]
        elif not stage.is_output:
            readers = [x for x in s.stages if set(x.op.input_tensors) & set(stage.op.outputs)]
            if len(readers) == 1 and stage.op.num_outputs == 1:
                stage.compute_inline()
            else:
                _by_vectors(stage, stage.op.axis[:-1])
    return s, list(dict.fromkeys(outputs))


def _fold(s: te.Schedule, stage: Stage) -> None:
    """Schedule a reduction that stands at the top level."""
    if steps_along_kept(stage):
        _fold_columns(s, stage)
        return
    if not stage.op.axis and _is_large(stage):
        _fold_parts(s, stage)
        return
    partials = _factor_lanes(s, stage)
    place = stage.fuse(*stage.op.axis)
    if stage.op.axis:
        stage.parallel(place)
    for partial in partials:
        partial.compute_at(stage, place)


def _fold_parts(s: te.Schedule, stage: Stage) -> None:
    """Fold everything: a fixed number of parts in parallel, then the parts."""
    outer, _ = stage.split(stage.op.reduce_axis[0], nparts=PARTS)
    parts = s.rfactor(outputs_of(stage), outer)
    _fold(s, s[first_of(parts)])


def _fold_columns(s: te.Schedule, stage: Stage) -> None:
    """Fold a tile of columns at a time: results in the first-level cache, a few rows per visit."""
    width = _lanes(stage)
    tile = max(COLUMN_TILE_BYTES // _state_bytes(stage) // width, 1) * width
    made = s.cache_write(outputs_of(stage), "global")
    folded = s[first_of(made)]
    outer, inner = stage.split(stage.op.axis[-1], factor=tile)
    _, lane = stage.split(inner, factor=width)
    stage.vectorize(lane)
    place = stage.fuse(*stage.op.axis[:-1], outer)
    stage.parallel(place)
    folded.compute_at(stage, place)
    vector, lane = folded.split(folded.op.axis[-1], factor=width)
    *others, last = folded.op.reduce_axis
    rows, row = folded.split(last, factor=COLUMN_ROWS)
    folded.reorder(*others, rows, vector, row, lane)
    folded.unroll(row)
    folded.vectorize(lane)


def _factor_lanes(s: te.Schedule, stage: Stage) -> list[Stage]:
    """Fold the contiguous reduce axis by vectors of partial results; return the stages of these.

    The partial results are factored out twice: vectors are folded lane by lane, and only the
    lanes of the last one by one.  Nothing is done where no axis is contiguous, or it is short.
    """
    width = _lanes(stage)
    inner = next((a for a in stage.op.reduce_axis if reads_along(a, inner_indices(stage))), None)
    extent = None if inner is None else as_int(inner.extent)
    if inner is None or (extent is not None and extent < 2 * width):
        return []
    _, block = stage.split(inner, factor=width * VECTORS)
    _, lane = stage.split(block, factor=width)
    by_lane = s.rfactor(outputs_of(stage), lane, factor_axis=-1)
    vectors = s[first_of(by_lane)]
    by_vector = s.rfactor(by_lane, vectors.op.reduce_axis[-1], factor_axis=-2)
    elements = s[first_of(by_vector)]
    vector, lane = elements.op.axis[-2:]
    elements.reorder(*elements.op.reduce_axis, vector, lane)
    elements.unroll(vector)
    elements.vectorize(lane)
    vectors.reorder(vectors.op.reduce_axis[0], vectors.op.axis[-1])
    vectors.unroll(vectors.op.reduce_axis[0])
    vectors.vectorize(vectors.op.axis[-1])
    return [vectors, elements]


def _by_vectors(stage: Stage, outer: tuple[te.Axis, ...]) -> None:
    if stage.op.axis:
        _last_by_vectors(stage)
    if outer:
        stage.parallel(stage.fuse(*outer))


def _last_by_vectors(stage: Stage) -> None:
    _, lane = stage.split(stage.op.axis[-1], factor=_lanes(stage))
    stage.vectorize(lane)


def _softmax_loop(output: Stage, producers: list[Stage]) -> te.Axis:
    """Schedule the output of softmax and return the loop that holds the other stages."""
    position = softmax_position(output, producers)
    axes = list(output.op.axis)
    along = axes.pop(position)
    if position == len(axes):  # the last
        _last_by_vectors(output)
        place = output.fuse(*axes)
    else:
        width = _lanes(output)
        outer, inner = output.split(axes.pop(), factor=width * SOFTMAX_COLUMNS)
        vector, lane = output.split(inner, factor=width)
        output.reorder(*axes, outer, along, vector, lane)
        output.vectorize(lane)
        place = output.fuse(*axes, outer)
    if axes or position != len(axes):
        output.parallel(place)
    return place


def _state_bytes(stage: Stage) -> int:
    return sum(e.dtype.itemsize for e in stage.op.body)


def _lanes(stage: Stage) -> int:
    widest = max(e.dtype.itemsize for e in stage.op.body)
    return max(Target("llvm").vector_bytes // widest, 1)


def _is_large(stage: Stage) -> bool:
    """Return whether a reduction folds so much that threads pay; of variable extent, it does."""
    folded = element_count(stage.op.reduce_axis)
    return folded is None or folded >= SERIAL_ELEMENTS
