# SPDX-License-Identifier: Apache-2.0
"""Inlining: reads of an inlined stage become its expression, before anything is lowered."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

from axisfold.errors import ScheduleError
from axisfold.ir.expr import Expr, Node, Var
from axisfold.ir.walk import post_order, rewrite, substitute
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Attachment, Stage
from axisfold.tensor.compute import Body, ComputeOp
from axisfold.tensor.tensor import Tensor, TensorLoad

Values = dict[Tensor, tuple[tuple[Var, ...], Expr]]


def inlined(schedule: Schedule) -> Schedule:
    """Return the schedule without its inlined stages, the same object if there are none.

    Raises
    ------
    ScheduleError
        ``S185``: the bounds of a reduce axis read an inlined stage; ``S292``: a stage whose last
        block computes another is inlined.
    """
    if not any(stage.is_inlined for stage in schedule.stages):
        return schedule
    values: Values = {}
    copies: dict[Stage, Stage] = {}
    result = copy.copy(schedule)
    for stage in schedule.stages:
        twin = copy.copy(stage)
        twin.schedule = result
        if isinstance(stage.op, ComputeOp):
            twin.op = _inlined_op(stage.op, values)
        if stage.is_inlined:
            axes = tuple(axis.var for axis in twin.op.axis)
            for op in (stage.op, stage.origin_op):
                values[op.output(0)] = (axes, twin.op.body[0])
        else:
            copies[stage] = twin
    for twin in copies.values():
        place = twin.attachment
        if place is not None:
            twin.attachment = Attachment(copies[place.stage], place.axis)
        if twin.last_block_of is not None:
            twin.last_block_of = _kept(twin, twin.last_block_of, copies)
        # A whole is a reduction, and these are never inlined.
        twin.stops = {leaf: whole and copies[whole] for leaf, whole in twin.stops.items()}
    result.stages = list(copies.values())
    return result


def _kept(stage: Stage, producer: Stage, copies: Mapping[Stage, Stage]) -> Stage:
    if producer not in copies:
        raise ScheduleError(
            f"the last block of stage {producer.name!r} computes {stage.name!r}, but stage "
            f"{producer.name!r} is inlined.",
            code="S292",
            hint=f"Use compute_root for {producer.name!r}.",
        )
    return copies[producer]


def _inlined_op(op: ComputeOp, values: Values) -> ComputeOp:
    for axis in op.reduce_axis:
        for end in (axis.min, axis.extent):
            for node in post_order(end):
                if isinstance(node, TensorLoad) and node.tensor in values:
                    raise ScheduleError(
                        f"stage {node.tensor.name!r} is inlined, but the bounds of axis "
                        f"{axis.name!r} of stage {op.name!r} read it.",
                        code="S185",
                        hint=f"Use compute_root for {node.tensor.name!r}.",
                    )
    body = tuple(_inlined_expr(e, values) for e in op.body)
    same = all(new is old for new, old in zip(body, op.body, strict=True))
    return op if same else replace(op, body=Body(body), _outputs=[])


def _inlined_expr(expr: Expr, values: Values) -> Expr:
    def rule(node: Node) -> Node:
        if not isinstance(node, TensorLoad) or node.tensor not in values:
            return node
        axes, value = values[node.tensor]
        mapping: Mapping[Var, Expr] = dict(zip(axes, node.indices, strict=True))
        return substitute(value, mapping)

    return rewrite(expr, rule)
