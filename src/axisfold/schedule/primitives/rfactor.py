# SPDX-License-Identifier: Apache-2.0
"""rfactor: a reduction becomes partial reductions and a reduction of these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axisfold.analysis.bounds import Bounds, Domain
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute, uses
from axisfold.schedule.checks import leaf_position
from axisfold.schedule.relations import axis_values, leaf_domains, split_guards
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, make_axis
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import Reduce, make_reduce

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def rfactor(schedule: Schedule, stage: Stage, axis: Axis, factor_axis: int = 0) -> Any:
    """Turn a reduce axis into a data axis of a new stage of partial results.

    Before, with k split by 16::

        B[i] = sum over k.outer, k.inner of A[i, k.outer*16 + k.inner]

    After ``rfactor(B, k.inner)``::

        B.rf[k.inner, i] = sum over k.outer of A[i, k.outer*16 + k.inner]
        B[ax0]           = sum over k.inner.v of B.rf[k.inner.v, ax0]

    ``where=`` is applied once, in B.rf; ``init=`` once, in B; B.rf starts from the identity.
    Both stages start from fresh leaves, so schedule their data axes after this call.

    Preconditions
    -------------
    1. The stage is a reduction (S161).
    2. ``axis`` is a leaf of it (S101, S102, S103) and a reduce axis (S162).
    3. The extent of ``axis`` does not depend on another axis (S163).
    4. ``factor_axis`` lies in [-(ndim + 1), ndim] (S164).
    5. An ordered reducer is factored at its outermost reduce leaf only (S165).

    Returns
    -------
    Tensor or tuple of Tensor
        The partial results ``B.rf``; one for each component of a tuple reducer.
    """
    body = stage.op.body
    if not isinstance(stage.op, ComputeOp) or not body or not isinstance(body[0], Reduce):
        raise ScheduleError(f"rfactor of stage {stage.name!r}: it is no reduction.", code="S161")
    leaf_position(stage, axis, "rfactor")
    rank = len(stage.op.axis)
    slot = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    _check(stage, axis, factor_axis, slot)
    partial = _partial(stage.op, stage, axis, slot)
    final = _final(stage.op, partial, axis, slot)
    position = schedule.stages.index(stage)
    schedule.stages.insert(position, Stage(schedule, partial))
    stage.reset(final)
    tensors = partial.outputs
    return tensors if len(tensors) > 1 else tensors[0]


def _check(stage: Stage, axis: Axis, factor_axis: int, slot: int) -> None:
    if axis.kind != "reduce":
        raise ScheduleError(
            f"rfactor of stage {stage.name!r}: axis {axis.name!r} is a data axis.",
            code="S162",
            hint="Only a reduce axis can be factored.",
        )
    others = frozenset(a.var for a in stage.all_axes if a is not axis)
    if uses(axis.extent, others):
        raise ScheduleError(
            f"rfactor of stage {stage.name!r}: the extent of axis {axis.name!r} depends on "
            "another axis, so the partial results would not be rectangular.",
            code="S163",
            hint="Split it by a constant and factor the inner part.",
        )
    rank = len(stage.op.axis)
    if not 0 <= slot <= rank:
        raise ScheduleError(
            f"rfactor of stage {stage.name!r}: factor_axis={factor_axis} is not in "
            f"[{-rank - 1}, {rank}].",
            code="S164",
        )
    reduction = stage.op.body[0]
    assert isinstance(reduction, Reduce)
    leaves = [a for a in stage.leaf_axes if a.kind == "reduce"]
    if reduction.combiner.is_ordered and leaves[0] is not axis:
        raise ScheduleError(
            f"rfactor of stage {stage.name!r}: its reducer is ordered, so only the outermost "
            f"reduce axis {leaves[0].name!r} can be factored.",
            code="S165",
        )


def _root_of(stage: Stage, axis: Axis) -> Axis:
    for relation in reversed(stage.relations):
        if axis is relation.outer or axis is relation.inner:
            axis = relation.parent
    return axis


def _fresh(axis: Axis, kind: Any, renamed: dict[Var, Expr]) -> Axis:
    """Return a copy of an axis under the same name, and note the new variable."""
    low, extent = substitute(axis.min, renamed), substitute(axis.extent, renamed)
    copy = make_axis(axis.name, low, extent, kind)
    renamed[axis.var] = copy.var
    return copy


def _partial(op: ComputeOp, stage: Stage, axis: Axis, slot: int) -> ComputeOp:
    """Return B.rf: the factored axis is a data axis, the other parts of its root stay folded."""
    root = _root_of(stage, axis)
    relations = [r for r in stage.relations if _root_of(stage, r.parent) is root]
    parts = [a for a in stage.leaf_axes if _root_of(stage, a) is root and a is not axis]
    renamed: dict[Var, Expr] = {}
    data = [_fresh(a, "data", renamed) for a in op.axis]
    factored = make_axis(axis.name, build.const(0, axis.extent.dtype), axis.extent, "data")
    data.insert(slot, factored)
    folded = [_fresh(a, "reduce", renamed) for a in op.reduce_axis if a is not root]
    loops: dict[Axis, Expr] = {axis: factored.var}
    env: dict[Var, Domain] = {factored.var: Domain(factored.min, factored.extent)}
    offset = substitute(root.extent, renamed)
    extents = leaf_domains({root: offset}, relations)
    for part in parts:
        copy = make_axis(part.name, build.const(0, part.extent.dtype), extents[part], "reduce")
        loops[part] = copy.var
        env[copy.var] = Domain(copy.min, copy.extent)
        folded.append(copy)
    values = axis_values(relations, extents, loops)
    guards = split_guards(relations, extents, values, Bounds(env))
    renamed[root.var] = values[root] + substitute(root.min, renamed)
    bodies = []
    for item in op.body:
        assert isinstance(item, Reduce)
        where = substitute(item.condition, renamed)
        condition = build.all_of([*(build.likely(g) for _, g in guards), where])
        moved = replace(item, init=())
        bodies.append(replace(substitute(moved, renamed), axes=tuple(folded), condition=condition))
    if not folded:
        one = make_axis(f"{axis.name}.one", build.const(0), build.const(1), "reduce")
        bodies = [replace(b, axes=(one,)) for b in bodies]
    return make_compute(f"{op.name}.rf", tuple(data), bodies)


def _final(op: ComputeOp, partial: ComputeOp, axis: Axis, slot: int) -> ComputeOp:
    """Return the reduction of the partial results, under the old name."""
    renamed: dict[Var, Expr] = {}
    data = []
    for position, old in enumerate(op.axis):
        copy = make_axis(f"ax{position}", old.min, old.extent, "data")
        renamed[old.var] = copy.var
        data.append(copy)
    folded = make_axis(f"{axis.name}.v", build.const(0, axis.extent.dtype), axis.extent, "reduce")
    indices: list[Expr] = [a.var for a in data]
    indices.insert(slot, folded.var)
    first = op.body[0]
    assert isinstance(first, Reduce)
    source = [t[tuple(indices)] for t in partial.outputs]
    init = tuple(substitute(e, renamed) for e in first.init) or None
    return make_compute(op.name, tuple(data), make_reduce(first.combiner, source, folded, None, init))
