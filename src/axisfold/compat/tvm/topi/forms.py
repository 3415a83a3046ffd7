# SPDX-License-Identifier: Apache-2.0
"""What schedules have to know of a stage: what it reads, and along which axis memory goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from axisfold import te
from axisfold.ir.build import as_int
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import post_order, uses
from axisfold.schedule.stage import Stage
from axisfold.tensor.compute import ComputeOp
from axisfold.tensor.tensor import TensorLoad

SOFTMAX_TAGS: Final = frozenset({"softmax_output", "log_softmax_output"})


def as_list(outs: Any) -> list[te.Tensor]:
    """Return the output tensors that a script gave: one, or several."""
    return list(outs) if isinstance(outs, (tuple, list)) else [outs]


def outputs_of(stage: Stage) -> Any:
    """Return the tensor of a stage, or the tuple of them, as rfactor takes it."""
    outputs = stage.op.outputs
    return outputs if len(outputs) > 1 else outputs[0]


def first_of(tensors: Any) -> Any:
    """Return the first of what rfactor or cache_write made."""
    return tensors[0] if isinstance(tensors, tuple) else tensors


def is_elementwise(stage: Stage) -> bool:
    """Return whether a stage computes each element of its one tensor by itself."""
    is_compute = isinstance(stage.op, ComputeOp) and stage.op.num_outputs == 1
    return is_compute and stage.reduction is None


def element_count(axes: Iterable[te.Axis]) -> int | None:
    """Return the product of extents; None if one is variable."""
    product = 1
    for axis in axes:
        extent = as_int(axis.extent)
        if extent is None:
            return None
        product *= extent
    return product


def inner_indices(stage: Stage) -> list[Expr]:
    """Return the last index of everything that a reduction reads."""
    loads = (n for n in post_order(stage.op.body[0]) if isinstance(n, TensorLoad))
    return [load.indices[-1] for load in loads if load.indices]


def reads_along(axis: te.Axis, indices: list[Expr]) -> bool:
    """Return whether one of some indices moves with an axis."""
    return any(uses(index, {axis.var}) for index in indices)


def steps_along_kept(stage: Stage) -> bool:
    """Return whether neighbours in memory belong to neighbouring results."""
    return bool(stage.op.axis) and reads_along(stage.op.axis[-1], inner_indices(stage))


def softmax_position(output: Stage, producers: list[Stage]) -> int:
    """Return the axis along which softmax or log_softmax was computed."""
    total = next(x for x in producers if x.name == "T_softmax_expsum")
    load = next(
        n
        for n in post_order(total.op.body[0])
        if isinstance(n, TensorLoad) and n.tensor.ndim == len(output.op.axis)
    )
    folded: set[Var] = {total.op.reduce_axis[0].var}
    return next(i for i, e in enumerate(load.indices) if uses(e, folded))


def read_by(s: te.Schedule, stage: Stage) -> list[Stage]:
    """Return the computed stages that a stage reads, itself or through inlined ones."""
    found: list[Stage] = []
    stack = list(stage.op.input_tensors)
    while stack:
        producer = s[stack.pop()]
        if producer.is_inlined:
            stack.extend(producer.op.input_tensors)
        elif producer.op.body and producer not in found:
            found.append(producer)
    return sorted(found, key=s.stages.index)


def is_box(axes: Sequence[te.Axis]) -> bool:
    """Return whether the bounds of no axis read another, so that one loop can run through all."""
    inside = frozenset(axis.var for axis in axes)
    return not any(uses(end, inside) for axis in axes for end in (axis.min, axis.extent))
