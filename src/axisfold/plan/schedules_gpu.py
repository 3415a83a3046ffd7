# SPDX-License-Identifier: Apache-2.0
"""Steps that the rules for GPUs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from axisfold.ir.expr import Expr
from axisfold.ir.walk import post_order
from axisfold.plan.graph import Graph
from axisfold.plan.sizes_gpu import BLOCK, WARP, GpuClass
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, thread_axis
from axisfold.tensor.tensor import Tensor, TensorLoad

# Units of a row in registers for which a block of its own pays.
OWN_UNITS: Final = 128


def first(tensors: Any) -> Any:
    """Return the first component of a state."""
    return tensors[0] if isinstance(tensors, tuple) else tensors


def fused(stage: Stage, axes: Sequence[Axis]) -> Axis:
    """Return one loop of all ``axes``."""
    return stage.fuse(*axes) if len(axes) > 1 else axes[0]


def bind(stage: Stage, axis: Axis, tag: str) -> None:
    """Let an index of the hardware count the rounds of a loop."""
    stage.bind(axis, thread_axis(tag))


def join_parts(s: Schedule, graph: Graph, stage: Stage, at: Axis) -> None:
    """Load all real components of elements, and of the lanes of a load, into registers at once.

    ``at`` is the loop of a stage around them, which reads one element in a round: where it reads
    another besides, what lies between them would be loaded too.
    """
    layout = graph.layout
    assert layout is not None  # noqa: S101  (the composer says it)
    for tensors, inner in zip(graph.inputs, layout.inner_steps, strict=False):
        whole = tensors[0]
        if whole.ndim == layout.kept + layout.reduced or len(_places(stage, whole)) != 1:
            continue
        copy = s[s.cache_read(whole, "local", [stage.op.output(0)])]
        copy.compute_at(stage, at)
        *axes, part = copy.op.axis
        if layout.lanes > 1 and inner == "unit":
            lane = axes.pop(layout.innermost)
            copy.reorder(*axes, lane, part)
            part = copy.fuse(lane, part)
        copy.vectorize(part)


def _places(stage: Stage, whole: Tensor) -> set[tuple[Expr, ...]]:
    """Return where a stage reads elements of an operand, whichever of their components."""
    nodes = (n for e in getattr(stage.op, "body", ()) for n in post_order(e))
    return {n.indices[:-1] for n in nodes if isinstance(n, TensorLoad) and n.tensor is whole}


def bind_team(stage: Stage, axis: Axis, gpu: GpuClass) -> Axis:
    """Let the threads of a team, also those of a cluster, count the rounds; return their loop."""
    if gpu.cluster > 1:
        block, axis = stage.split(axis, nparts=gpu.cluster)
        bind(stage, block, "clusterCtaIdx.x")
    bind(stage, axis, "threadIdx.x")
    return axis


def named(stage: Stage, name: str) -> Axis | None:
    """Return the axis of a stage's operation of a name, which rfactor keeps; None for no name."""
    return next((a for a in (*stage.op.axis, *stage.op.reduce_axis) if a.name == name), None)


def split_rows(result: Stage, graph: Graph, teams: int, tag: str = "") -> Axis:
    """Give each of a block's teams a row of the result, or several; return the loop over them.

    Rows of a team are as far apart as a block has teams, so that teams read side by side, and the
    loads of all of them are under way at once.
    """
    several = graph.gpu.rows
    tag = tag or ("threadIdx.y" if graph.gpu.team > 1 else "threadIdx.x")
    block, row = result.split(fused(result, result.op.axis), factor=teams * several)
    bind(result, block, "blockIdx.x")
    if several == 1:
        bind(result, row, tag)
        return row
    turn, team = result.split(row, factor=teams)
    result.reorder(team, turn)
    result.unroll(turn)
    bind(result, team, tag)
    return turn


def rows_of_block(gpu: GpuClass) -> int:
    """Return how many rows a block has: several only where a team is no longer than a warp.

    Whether a row is there is then not asked in front of every pass over it, and what one pass has
    loaded or computed stays in registers for the next.
    """
    is_alone = gpu.is_held and gpu.team * gpu.steps >= OWN_UNITS
    return 1 if gpu.team > WARP or (gpu.team == WARP and is_alone) else max(BLOCK // gpu.team, 1)
