# SPDX-License-Identifier: Apache-2.0
"""Steps that the rules for GPUs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axisfold.plan.sizes_gpu import BLOCK, WARP
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, thread_axis


def first(tensors: Any) -> Any:
    """Return the first component of a state."""
    return tensors[0] if isinstance(tensors, tuple) else tensors


def fused(stage: Stage, axes: Sequence[Axis]) -> Axis:
    """Return one loop of all ``axes``."""
    return stage.fuse(*axes) if len(axes) > 1 else axes[0]


def bind(stage: Stage, axis: Axis, tag: str) -> None:
    """Let an index of the hardware count the rounds of a loop."""
    stage.bind(axis, thread_axis(tag))


def named(stage: Stage, name: str) -> Axis | None:
    """Return the axis of a stage's operation of a name, which rfactor keeps; None for no name."""
    return next((a for a in (*stage.op.axis, *stage.op.reduce_axis) if a.name == name), None)


def rows_of_block(team: int) -> int:
    """Return how many rows a block has: several only where a team is no longer than a warp.

    Whether a row is there is then not asked in front of every pass over it, and what one pass has
    loaded stays in registers for the next.
    """
    return max(BLOCK // team, 1) if team <= WARP else 1
