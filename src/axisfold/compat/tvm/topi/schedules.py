# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs of the computations of topi, and of others of the same form.

Outer data axes run in parallel.  A reduction along the contiguous axis goes by vectors of partial
results (rfactor); one along another axis keeps a run of neighbouring results in vectors.
"""

from __future__ import annotations

from typing import Any, Final

from axisfold import te
from axisfold.ir.build import as_int
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import post_order, uses
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.compute import ComputeOp
from axisfold.tensor.tensor import TensorLoad

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
            elif not _steps_along_kept(stage):
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
    tensors = list(outs) if isinstance(outs, (tuple, list)) else [outs]
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
    if _steps_along_kept(stage):
        _fold_columns(s, stage)
        return
    if not stage.op.axis and _elements(stage) >= SERIAL_ELEMENTS:
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
    parts = s.rfactor(_outputs(stage), outer)
    _fold(s, s[parts[0] if isinstance(parts, tuple) else parts])


def _fold_columns(s: te.Schedule, stage: Stage) -> None:
    """Fold a tile of columns at a time: results in the first-level cache, a few rows per visit."""
    width = _lanes(stage)
    tile = max(COLUMN_TILE_BYTES // _state_bytes(stage) // width, 1) * width
    outputs = stage.op.outputs
    made = s.cache_write(outputs if len(outputs) > 1 else outputs[0], "global")
    folded = s[made[0] if isinstance(made, tuple) else made]
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
    inner = next((a for a in stage.op.reduce_axis if _reads({a.var}, _inner_indices(stage))), None)
    extent = None if inner is None else as_int(inner.extent)
    if inner is None or (extent is not None and extent < 2 * width):
        return []
    _, block = stage.split(inner, factor=width * VECTORS)
    _, lane = stage.split(block, factor=width)
    by_lane = s.rfactor(_outputs(stage), lane, factor_axis=-1)
    vectors = s[by_lane[0] if isinstance(by_lane, tuple) else by_lane]
    by_vector = s.rfactor(by_lane, vectors.op.reduce_axis[-1], factor_axis=-2)
    elements = s[by_vector[0] if isinstance(by_vector, tuple) else by_vector]
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
    total = next(x for x in producers if x.name == "T_softmax_expsum")
    load = next(
        n
        for n in post_order(total.op.body[0])
        if isinstance(n, TensorLoad) and n.tensor.ndim == len(output.op.axis)
    )
    folded: set[Var] = {total.op.reduce_axis[0].var}
    position = next(i for i, e in enumerate(load.indices) if uses(e, folded))
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


def _outputs(stage: Stage) -> Any:
    outputs = stage.op.outputs
    return outputs if len(outputs) > 1 else outputs[0]


def _inner_indices(stage: Stage) -> list[Expr]:
    """Return the last index of everything that a reduction reads."""
    loads = (n for n in post_order(stage.op.body[0]) if isinstance(n, TensorLoad))
    return [load.indices[-1] for load in loads if load.indices]


def _steps_along_kept(stage: Stage) -> bool:
    """Return whether neighbours in memory belong to neighbouring results."""
    return bool(stage.op.axis) and _reads({stage.op.axis[-1].var}, _inner_indices(stage))


def _reads(variables: set[Var], indices: list[Expr]) -> bool:
    return any(uses(index, variables) for index in indices)


def _state_bytes(stage: Stage) -> int:
    return sum(e.dtype.itemsize for e in stage.op.body)


def _lanes(stage: Stage) -> int:
    widest = max(e.dtype.itemsize for e in stage.op.body)
    return max(Target("llvm").vector_bytes // widest, 1)


def _elements(stage: Stage) -> int:
    """Return how many elements a reduction folds; unknown extents count as large."""
    product = 1
    for axis in stage.op.reduce_axis:
        extent = as_int(axis.extent)
        product *= SERIAL_ELEMENTS if extent is None else extent
    return product
