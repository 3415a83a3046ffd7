# SPDX-License-Identifier: Apache-2.0
"""cache_read: consumers read a copy of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Node
from axisfold.ir.walk import rewrite
from axisfold.schedule.primitives.set_scope import check_scope
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, make_axis
from axisfold.tensor.compute import Body, ComputeOp, make_compute
from axisfold.tensor.tensor import Operation, Tensor, TensorLoad

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def cache_read(
    schedule: Schedule, stage: Stage, tensor: Tensor, scope: str, readers: Any
) -> Tensor:
    """Copy a tensor in a stage of its own, and let ``readers`` read the copy.

    Before::

        for (i…) { B[i] = … A[i] … }

    After ``AA = s.cache_read(A, "shared", [B])``::

        for (ax0…) { A.shared[ax0] = A[ax0] }
        for (i…) { B[i] = … A.shared[i] … }

    Attach the copy where it should be made; only what is read there is copied.

    Preconditions
    -------------
    1. ``scope`` is a scope of set_scope (S192).
    2. There is a reader, and each reads the tensor (S251).

    Returns
    -------
    Tensor
        The copy, ``A.shared``.
    """
    check_scope(scope, f"cache_read of tensor {tensor.name!r}")
    given = list(readers) if isinstance(readers, (tuple, list)) else [readers]
    stages = [schedule[reader] for reader in given]
    known = (*stage.op.outputs, *stage.origin_op.outputs)
    names = {id(t) for t in known if t.value_index == tensor.value_index}
    where = f"cache_read of tensor {tensor.name!r}"
    if not stages:
        raise ScheduleError(f"{where}: no reader was given.", code="S251")
    for reader in stages:
        if not any(id(t) in names for t in reader.op.input_tensors):
            raise ScheduleError(
                f"{where}: stage {reader.name!r} does not read it.",
                code="S251",
                hint=f"It reads {[t.name for t in reader.op.input_tensors]}.",
            )
    copy = _copy(schedule, tensor, scope)
    for reader in stages:
        reader.op = _reading(reader.op, names, copy)
    made = Stage(schedule, copy.op)
    made.scope = scope  # type: ignore[assignment]
    schedule.stages.insert(schedule.stages.index(stage) + 1, made)
    return copy


def _copy(schedule: Schedule, tensor: Tensor, scope: str) -> Tensor:
    axes: list[Axis] = [
        make_axis(f"ax{n}", build.const(0, e.dtype), e, "data") for n, e in enumerate(tensor.shape)
    ]
    value = tensor[tuple(a.var for a in axes)]
    name = unused_name(schedule, f"{tensor.name}.{scope}")
    return make_compute(name, tuple(axes), [value]).output(0)


def unused_name(schedule: Schedule, name: str) -> str:
    """Return a stage name that is not taken: te puts ``.d`` before the scope of a second copy."""
    taken = {stage.name for stage in schedule.stages}
    base, _, scope = name.rpartition(".")
    while name in taken:
        base = f"{base}.d"
        name = f"{base}.{scope}"
    return name


def _reading(op: Operation, names: set[int], copy: Tensor) -> ComputeOp:
    def rule(node: Node) -> Node:
        if isinstance(node, TensorLoad) and id(node.tensor) in names:
            return TensorLoad(copy, node.indices)
        return node

    body: Sequence[Expr] = [rewrite(e, rule) for e in op.body]
    if not isinstance(op, ComputeOp):
        raise ScheduleError(f"stage {op.name!r} is a placeholder.", code="S251")
    return replace(op, body=Body(body), _outputs=[])
