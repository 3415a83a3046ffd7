# SPDX-License-Identifier: Apache-2.0
"""Attachments: whether every stage that reads an attached one runs inside the same loop."""

from __future__ import annotations

from collections.abc import Sequence

from axisfold.errors import ScheduleError
from axisfold.ir.expr import Expr
from axisfold.ir.walk import post_order
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Attachment, Stage
from axisfold.tensor.tensor import TensorLoad


def check_attachments(schedule: Schedule) -> None:
    """Refuse a schedule in which a stage would be read before it is computed.

    compute_at checks this as far as it can; primitives applied after it may undo it.

    Raises
    ------
    ScheduleError
        ``S154``: a consumer runs outside the loop in which a stage is computed.
    """
    for stage in schedule.stages:
        attachment = stage.attachment
        if attachment is None:
            continue
        for consumer in consumers(schedule, stage):
            level = _level(stage, consumer, attachment)
            if level is None or level < attachment.stage.leaf_axes.index(attachment.axis):
                raise ScheduleError(
                    f"stage {stage.name!r} is computed at axis {attachment.axis.name!r} of stage "
                    f"{attachment.stage.name!r}, but stage {consumer.name!r} reads it outside of "
                    "that loop.",
                    code="S154",
                    hint="Attach it further out.",
                )


def _level(stage: Stage, consumer: Stage, attachment: Attachment) -> int | None:
    """Return the innermost leaf of the attachment's stage that surrounds every read."""
    parent = attachment.stage
    if consumer is parent:
        return _own_level(stage, parent)
    place = consumer.attachment
    while place is not None and place.stage is not parent:
        place = place.stage.attachment
    return None if place is None else parent.leaf_axes.index(place.axis)


def _own_level(stage: Stage, parent: Stage) -> int:
    """Return the innermost leaf around the reads of ``parent`` itself.

    The start of a reduction lies before its first reduce loop, the bounds of a loop before it.
    """
    leaves = parent.leaf_axes
    level = len(leaves) - 1
    reduction = parent.reduction
    if reduction is not None and _reads(stage, reduction.init):
        first = next(n for n, leaf in enumerate(leaves) if leaf.kind == "reduce")
        level = min(level, first - 1)
    for position, leaf in enumerate(leaves):
        ends = [e for root in parent.roots_of(leaf) for e in (root.min, root.extent)]
        if _reads(stage, ends):
            level = min(level, position - 1)
    return level


def _reads(stage: Stage, roots: Sequence[Expr]) -> bool:
    tensors = {id(t) for t in (*stage.op.outputs, *stage.origin_op.outputs)}
    nodes = (node for root in roots for node in post_order(root))
    return any(isinstance(node, TensorLoad) and id(node.tensor) in tensors for node in nodes)
