# SPDX-License-Identifier: Apache-2.0
"""The rules for GPUs: which schedule for which layout class, and why.

The table is read from the top; the first rule that applies plans the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.rule import Rule
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis, ThreadAxis, thread_axis
from axisfold.tensor.trace import Traced

WARP: Final = 32
# Threads of a block that fold one element of the result together.
BLOCK: Final = 256
# Warps of a block that fold one element each.
WARPS: Final = 8
# Rows of threads that share a tile of WARP columns.
COLUMN_ROWS: Final = 16
# Blocks that share one fold, a few for each multiprocessor; and rows that share a few columns.
PARTS: Final = 1024
COLUMN_PARTS: Final = 64
# Loads of a thread that are under way at once.
UNROLL: Final = 4


def _axis(tag: str) -> ThreadAxis:
    return thread_axis(tag)


def _fused(stage: Stage, axes: Sequence[Axis]) -> Axis:
    return stage.fuse(*axes) if len(axes) > 1 else axes[0]


def _fold_by_threads(stage: Stage, traced: Traced, tag: str, width: int) -> None:
    """Share the fold of a stage among ``width`` threads of an index.

    Neighbours read neighbours, and each thread has several loads under way; the states of an
    ordered reducer have to be folded in order, so there each thread has a run of its own.
    """
    folded = _fused(stage, stage.op.reduce_axis)
    if traced.combiner.is_ordered:
        thread, _ = stage.split(folded, nparts=width)
        stage.bind(thread, _axis(tag))
        return
    rest, thread = stage.split(folded, factor=width)
    stage.bind(thread, _axis(tag))
    _, step = stage.split(rest, factor=UNROLL)
    stage.unroll(step)


def _first(tensors: Any) -> Any:
    return tensors[0] if isinstance(tensors, tuple) else tensors


def _over_blocks(s: Schedule, graph: Graph, parts: int) -> Stage:
    """Give each of ``parts`` blocks a run of the folded elements; the last block folds these."""
    state = s[graph.state[0]]
    part, _ = state.split(_fused(state, state.op.reduce_axis), nparts=parts)
    return s[_first(s.rfactor(graph.state, part))]


def _thread(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    result, state = s[graph.results[0]], s[graph.state[0]]
    block, thread = result.split(_fused(result, result.op.axis), factor=BLOCK)
    result.bind(block, _axis("blockIdx.x"))
    result.bind(thread, _axis("threadIdx.x"))
    state.compute_at(result, thread)


def _row_warp(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    result, state = s[graph.results[0]], s[graph.state[0]]
    block, warp = result.split(_fused(result, result.op.axis), factor=WARPS)
    result.bind(block, _axis("blockIdx.x"))
    result.bind(warp, _axis("threadIdx.y"))
    state.compute_at(result, warp)
    _fold_by_threads(state, traced, "threadIdx.x", WARP)


def _row_block(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    result, state = s[graph.results[0]], s[graph.state[0]]
    block = _fused(result, result.op.axis)
    result.bind(block, _axis("blockIdx.x"))
    state.compute_at(result, block)
    state.set_scope("local")
    _fold_by_threads(state, traced, "threadIdx.x", BLOCK)


def _row_split(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    partial = _over_blocks(s, graph, PARTS)
    result, state = s[graph.results[0]], s[graph.state[0]]
    part, *kept = partial.op.axis
    outputs = _fused(partial, kept)
    partial.reorder(outputs, part)
    partial.bind(outputs, _axis("blockIdx.y"))
    partial.bind(part, _axis("blockIdx.x"))
    _fold_by_threads(partial, traced, "threadIdx.x", BLOCK)
    output = _fused(result, result.op.axis)
    result.bind(output, _axis("blockIdx.y"))
    state.compute_at(result, output)
    state.set_scope("local")
    _fold_by_threads(state, traced, "threadIdx.x", BLOCK)
    result.last_block(partial)


def _column_tiles(stage: Stage, axes: Sequence[Axis]) -> Axis:
    """Bind kept axes: a tile of columns along x, its tile and all else over blocks."""
    tile, column = stage.split(axes[-1], factor=WARP)
    stage.bind(_fused(stage, [*axes[:-1], tile]), _axis("blockIdx.x"))
    stage.bind(column, _axis("threadIdx.x"))
    return column


def _column(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, _column_tiles(result, result.op.axis))
    _fold_by_threads(state, traced, "threadIdx.y", COLUMN_ROWS)


def _column_split(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    partial = _over_blocks(s, graph, COLUMN_PARTS)
    result, state = s[graph.results[0]], s[graph.state[0]]
    part, *kept = partial.op.axis
    partial.reorder(*kept, part)
    column = _column_tiles(partial, kept)
    partial.reorder(part, column)
    partial.bind(part, _axis("blockIdx.y"))
    _fold_by_threads(partial, traced, "threadIdx.y", COLUMN_ROWS)
    state.compute_at(result, _column_tiles(result, result.op.axis))
    _fold_by_threads(state, traced, "threadIdx.y", COLUMN_ROWS)
    result.last_block(partial)


def _is_column(layout: LayoutClass, traced: Traced) -> bool:
    return layout.inner_kind == "kept" and not traced.combiner.is_ordered


RULES: Final = (
    Rule(
        "thread",
        lambda c, t: c.run == "short",
        "only a few elements are folded into each: a thread for each element of the result",
        _thread,
    ),
    Rule(
        "column_split",
        lambda c, t: _is_column(c, t) and c.run == "long" and c.outputs == "few",
        "columns are contiguous and few for the card: rows are shared by blocks too, and the last "
        "of them to finish folds what they left",
        _column_split,
    ),
    Rule(
        "column",
        _is_column,
        "columns are contiguous: neighbouring threads read neighbouring columns, and rows of "
        "threads share the rows",
        _column,
    ),
    Rule(
        "row_split",
        lambda c, t: c.run == "long" and c.outputs == "few",
        "a few long folds: blocks share each, and the last of them to finish folds what they left",
        _row_split,
    ),
    Rule(
        "row_block",
        lambda c, t: c.run in ("long", "middle"),
        "long folds: a block of threads for each",
        _row_block,
    ),
    Rule(
        "row_warp",
        lambda c, t: True,
        "folds of moderate length: a warp for each",
        _row_warp,
    ),
)
