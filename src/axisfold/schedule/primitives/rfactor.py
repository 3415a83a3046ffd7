# SPDX-License-Identifier: Apache-2.0
"""rfactor: a reduction becomes partial reductions and a reduction of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axisfold.analysis.bounds import Domain, environment
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute, substitute_all, uses
from axisfold.schedule.checks import check_nothing_attached, leaf_position
from axisfold.schedule.relations import axis_values, leaf_domains, split_guards
from axisfold.schedule.stage import Split, Stage
from axisfold.tensor.axis import Axis, AxisKind, make_axis
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import Reduce, make_reduce
from axisfold.tensor.tensor import Operation

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def rfactor(
    schedule: Schedule,
    stage: Stage,
    axis: Axis,
    factor_axis: int = 0,
    *,
    negative_zero: bool = False,
) -> Any:
    """Turn a reduce axis into a data axis of a new stage of partial results.

    Before, with k split by 16::

        B[i] = sum over k.outer, k.inner of A[i, k.outer*16 + k.inner]

    After ``rfactor(B, k.inner)``::

        B.rf[k.inner, i] = sum over k.outer of A[i, k.outer*16 + k.inner]
        B[ax0]           = sum over k.inner.v of B.rf[k.inner.v, ax0]

    ``where=`` is applied once, in B.rf; ``init=`` once, in B; B.rf starts from the identity, or
    with ``negative_zero`` a sum of floats from -0.0: then its first element is all there is to do.
    Both stages start from fresh leaves, so schedule their data axes after this call.

    Preconditions
    -------------
    1. The stage is a reduction (S161).
    2. ``axis`` is a leaf of it (S101, S102, S103) and a reduce axis (S162).
    3. The extent of ``axis`` does not depend on another axis (S163).
    4. ``factor_axis`` is an integer in [-(ndim + 1), ndim] (S164).
    5. An ordered reducer is factored at its outermost reduce leaf only (S165).
    6. No stage is computed inside this one (S166): its loops would be gone.
    7. If ``axis`` is a part of a split axis, no other reduce axis has bounds that read the split
       axis (S167), whose other part would come to lie inside.
    8. ``axis`` is not fused with a data axis (S168).

    Returns
    -------
    Tensor or tuple of Tensor
        The partial results ``B.rf``; one for each component of a tuple reducer.
    """
    leaf_position(stage, axis, "rfactor")
    rank = len(stage.op.axis)
    if type(factor_axis) is not int:
        raise ScheduleError(
            f"rfactor of stage {stage.name!r}: factor_axis={factor_axis!r} is no integer.",
            code="S164",
        )
    slot = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
    reduction = _checked(schedule, stage, axis, factor_axis, slot)
    partial = _Partial(stage, reduction, axis, slot, negative_zero).build()
    final = _final(stage.op, reduction, partial, axis, slot)
    position = schedule.stages.index(stage)
    schedule.stages.insert(position, Stage(schedule, partial))
    schedule.stages[position].is_in_order = stage.is_in_order
    stage.is_in_order = stage.is_in_order and axis is _outermost(stage)
    stage.reset(final)
    tensors = partial.outputs
    return tensors if len(tensors) > 1 else tensors[0]


def _outermost(stage: Stage) -> Axis:
    """Return the axis whose rounds are parts of the folded elements in their order."""
    outer = stage.op.reduce_axis[0]
    for relation in stage.relations:
        if isinstance(relation, Split) and relation.parent is outer:
            outer = relation.outer
    return outer


def _checked(schedule: Schedule, stage: Stage, axis: Axis, factor_axis: int, slot: int) -> Reduce:
    """Return the reduction of a stage that can be factored."""
    where = f"rfactor of stage {stage.name!r}"
    reduction = stage.reduction
    if reduction is None:
        raise ScheduleError(f"{where}: it is no reduction.", code="S161")
    if axis.kind != "reduce":
        raise ScheduleError(
            f"{where}: axis {axis.name!r} is a data axis.",
            code="S162",
            hint="Only a reduce axis can be factored.",
        )
    if any(root.kind == "data" for root in _touched(stage, axis)):
        raise ScheduleError(
            f"{where}: axis {axis.name!r} is fused with a data axis.",
            code="S168",
            hint="Factor before fusing.",
        )
    others = frozenset(a.var for a in stage.all_axes if a is not axis)
    if uses(axis.extent, others):
        raise ScheduleError(
            f"{where}: the extent of axis {axis.name!r} depends on another axis, so the partial "
            "results would not be rectangular.",
            code="S163",
            hint="Split it by a constant and factor the inner part.",
        )
    rank = len(stage.op.axis)
    if not 0 <= slot <= rank:
        raise ScheduleError(
            f"{where}: factor_axis={factor_axis} is not in [{-rank - 1}, {rank}].", code="S164"
        )
    first = next(leaf for leaf in stage.leaf_axes if leaf.kind == "reduce")
    if reduction.combiner.is_ordered and first is not axis:
        raise ScheduleError(
            f"{where}: its reducer is ordered, so only the outermost reduce axis {first.name!r} "
            "can be factored.",
            code="S165",
        )
    check_nothing_attached(schedule, stage, "rfactor", "S166")
    _check_readers(stage, axis, where)
    return reduction


def _check_readers(stage: Stage, axis: Axis, where: str) -> None:
    touched = _touched(stage, axis)
    if touched == [axis]:
        return
    inside = frozenset(root.var for root in touched)
    for other in stage.op.reduce_axis:
        if uses(other.extent, inside) or uses(other.min, inside):
            names = ", ".join(repr(root.name) for root in touched)
            raise ScheduleError(
                f"{where}: the bounds of axis {other.name!r} read axis {names}, of which "
                f"{axis.name!r} is a part.",
                code="S167",
                hint=f"Factor {names} as a whole, without splitting it.",
            )


def _touched(stage: Stage, axis: Axis) -> list[Axis]:
    """Return the operation's axes whose loops hang together with ``axis`` by splits and fuses."""
    touched = set(stage.roots_of(axis))
    for relation in stage.relations:
        for parent in relation.parents:
            if touched & set(stage.roots_of(parent)):
                touched |= {r for p in relation.parents for r in stage.roots_of(p)}
    return [a for a in (*stage.op.axis, *stage.op.reduce_axis) if a in touched]


class _Partial:
    """Makes B.rf: the factored axis is a data axis, other parts of what it touches stay folded."""

    def __init__(
        self, stage: Stage, reduction: Reduce, axis: Axis, slot: int, negative_zero: bool
    ) -> None:
        self.stage, self.axis, self.slot = stage, axis, slot
        self.combiner = reduction.combiner
        if negative_zero:
            self.combiner = reduction.combiner.of_partial()
        self.is_ordered = reduction.combiner.is_ordered
        self.touched = _touched(stage, axis)
        self.renamed: dict[Var, Expr] = {}

    def build(self) -> ComputeOp:
        op, axis = self.stage.op, self.axis
        data = [self._copy(a, "data") for a in op.axis]
        factored = make_axis(axis.name, build.const(0, axis.extent.dtype), axis.extent, "data")
        data.insert(self.slot, factored)
        if self.touched == [axis]:
            self.renamed[axis.var] = factored.var + substitute(axis.min, self.renamed)
        others = [self._copy(a, "reduce") for a in op.reduce_axis if a not in self.touched]
        parts, guards = self._parts(factored)
        # te folds over the untouched axes first; the order of an ordered reducer is the leaves'.
        folded = [*parts, *others] if self.is_ordered else [*others, *parts]
        if not folded:
            zero, one = build.const(0, axis.extent.dtype), build.const(1, axis.extent.dtype)
            folded = [make_axis(f"{axis.name}.one", zero, one, "reduce")]
        bodies = self._moved([*_reductions(op)], tuple(folded), guards)
        return make_compute(f"{op.name}.rf", tuple(data), bodies)

    def _copy(self, axis: Axis, kind: AxisKind) -> Axis:
        """Return a copy of an axis under the same name, and note the new variable."""
        low, extent = substitute(axis.min, self.renamed), substitute(axis.extent, self.renamed)
        copy = make_axis(axis.name, low, extent, kind)
        self.renamed[axis.var] = copy.var
        return copy

    def _parts(self, factored: Axis) -> tuple[list[Axis], list[Expr]]:
        """Return the parts of the touched axes that stay folded, and the guards of splits."""
        stage, touched = self.stage, set(self.touched)
        relations = []
        for relation in stage.relations:
            roots_of = [set(stage.roots_of(parent)) for parent in relation.parents]
            # Loops of one round stand for no axis, but may be fused with parts of one.
            if any(touched & found for found in roots_of) or not any(roots_of):
                relations.append(relation)
        roots = {root: substitute(root.extent, self.renamed) for root in self.touched}
        extents = leaf_domains(roots, relations)
        loops: dict[Axis, Expr] = {self.axis: factored.var}
        env: dict[Var, Domain] = {factored.var: Domain(factored.min, factored.extent)}
        parts = []
        for leaf in stage.leaf_axes:
            if leaf is not self.axis and touched & set(stage.roots_of(leaf)):
                zero = build.const(0, leaf.extent.dtype)
                copy = make_axis(leaf.name, zero, extents[leaf], "reduce")
                loops[leaf] = copy.var
                env[copy.var] = Domain(copy.min, copy.extent)
                parts.append(copy)
        values = axis_values(relations, extents, loops)
        for root in self.touched:
            self.renamed[root.var] = values[root] + substitute(root.min, self.renamed)
        guards = split_guards(relations, extents, values, environment(env))
        return parts, [condition for _, condition in guards]

    def _moved(
        self, items: Sequence[Reduce], folded: tuple[Axis, ...], guards: list[Expr]
    ) -> list[Reduce]:
        plain = [replace(item, combiner=self.combiner, init=()) for item in items]
        bodies = substitute_all(plain, self.renamed)
        condition = build.all_of([*map(build.likely, guards), bodies[0].condition])
        return [replace(body, axes=folded, condition=condition) for body in bodies]


def _reductions(op: Operation) -> Iterator[Reduce]:
    return (item for item in op.body if isinstance(item, Reduce))


def _final(op: Operation, first: Reduce, partial: ComputeOp, axis: Axis, slot: int) -> ComputeOp:
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
    source = [t[tuple(indices)] for t in partial.outputs]
    init = tuple(substitute(e, renamed) for e in first.init) or None
    bodies = make_reduce(first.combiner, source, folded, None, init)
    return make_compute(op.name, tuple(data), bodies)
