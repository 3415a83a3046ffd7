# SPDX-License-Identifier: Apache-2.0
"""cache_write: a tensor is computed elsewhere and then copied into place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from axisfold.analysis.bounds import Domain, environment
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.schedule.checks import check_nothing_attached
from axisfold.schedule.primitives.cache_read import unused_name
from axisfold.schedule.primitives.set_scope import check_scope
from axisfold.schedule.relations import axis_values, child_values, leaf_domains, split_guards
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, make_axis
from axisfold.tensor.compute import Body, ComputeOp, make_compute
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import Tensor

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def cache_write(schedule: Schedule, stage: Stage, tensor: Any, scope: str) -> Any:
    """Compute into a new stage; the tensor becomes a copy of it.

    Before::

        for (i…) { B[i] = 0; for (k…) { B[i] = B[i] + A[i, k] } }

    After ``BL = s.cache_write(B, "local")``::

        for (i.c…) { B.local[i.c] = 0; for (k…) { B.local[i.c] = B.local[i.c] + A[i.c, k] } }
        for (i…) { B[i] = B.local[i] }

    If data axes were split, fused or reordered before, the new stage is laid out in the order of
    the loops: with i split by 4, ``B.local[i.outer, i.inner]``.

    Preconditions
    -------------
    1. ``scope`` is a scope of set_scope (S192).
    2. The tensor is computed (S261), and a list names all outputs of one operation (S262).
    3. Reduce axes are not split, fused or moved between data axes (S263).
    4. No stage is computed inside this one (S264), and no loop is annotated or bound (S265).

    Returns
    -------
    Tensor or tuple of Tensor
        The new stage's, ``B.local``.
    """
    given = list(tensor) if isinstance(tensor, (tuple, list)) else [tensor]
    where = f"cache_write of stage {stage.name!r}"
    check_scope(scope, where)
    op = stage.op
    if not isinstance(op, ComputeOp):
        raise ScheduleError(f"{where}: it is a placeholder.", code="S261")
    if {schedule[t] for t in given} != {stage} or len(given) != op.num_outputs:
        raise ScheduleError(
            f"{where}: {[t.name for t in given]} are not all of its {op.num_outputs} outputs.",
            code="S262",
        )
    _check(schedule, stage, where)
    name = unused_name(schedule, f"{op.name}.{scope}")
    cache, indices = _Cache(stage, op, name).build()
    loads = [t[tuple(indices)] for t in cache.outputs]
    made = Stage(schedule, cache)
    made.scope = scope  # type: ignore[assignment]
    schedule.stages.insert(schedule.stages.index(stage), made)
    stage.op = replace(op, reduce_axis=(), body=Body(loads), _outputs=[])
    stage.leaf_axes = [leaf for leaf in stage.leaf_axes if leaf.kind == "data"]
    results: tuple[Tensor, ...] = cache.outputs
    return results if isinstance(tensor, (tuple, list)) else results[0]


def _check(schedule: Schedule, stage: Stage, where: str) -> None:
    for relation in stage.relations:
        for parent in relation.parents:
            if stage.touches(parent, "reduce"):
                raise ScheduleError(
                    f"{where}: reduce axis {parent.name!r} was split or fused, and only data axes "
                    "can be laid out anew.",
                    code="S263",
                    hint="Call cache_write first and split the reduce axes of the new stage.",
                )
    kinds = [leaf.kind for leaf in stage.leaf_axes]
    if kinds != sorted(kinds):
        raise ScheduleError(
            f"{where}: reduce axes lie outside data axes, and only data axes can be laid out anew.",
            code="S263",
        )
    check_nothing_attached(schedule, stage, "cache_write", "S264")
    kept = {*stage.loop_kinds, *stage.bindings, *stage.stops}
    marked = [a.name for a in stage.leaf_axes if a in kept]
    if marked:
        raise ScheduleError(
            f"{where}: axis {marked[0]!r} is annotated already.",
            code="S265",
            hint="Call cache_write first.",
        )


class _Cache:
    """Makes the new stage: data axes in the order of the loops, the old body."""

    def __init__(self, stage: Stage, op: ComputeOp, name: str) -> None:
        self.stage, self.op, self.name = stage, op, name
        self.leaves = [leaf for leaf in stage.leaf_axes if leaf.kind == "data"]
        self.extents = leaf_domains({a: a.extent for a in op.axis}, stage.relations)

    def build(self) -> tuple[ComputeOp, list[Expr]]:
        """Return the operation, and where in it the tensor's element at its axes lies."""
        stage, op = self.stage, self.op
        axes = [
            make_axis(f"{leaf.name}.c", build.const(0, leaf.var.dtype), self.extents[leaf], "data")
            for leaf in self.leaves
        ]
        values = axis_values(
            stage.relations,
            self.extents,
            {leaf: a.var for leaf, a in zip(self.leaves, axes, strict=True)},
        )
        renamed: dict[Var, Expr] = {a.var: values[a] for a in op.axis}
        env = environment({a.var: Domain(a.min, a.extent) for a in axes})
        guards = [c for _, c in split_guards(stage.relations, self.extents, values, env)]
        folded = tuple(self._reduce_axis(a, renamed) for a in op.reduce_axis)
        body = [self._moved(e, renamed, folded, guards) for e in op.body]
        made = make_compute(self.name, tuple(axes), body)
        here: dict[Axis, Expr] = {a: a.var for a in op.axis}
        places = child_values(stage.relations, self.extents, here)
        return made, [places[leaf] for leaf in self.leaves]

    def _reduce_axis(self, axis: Axis, renamed: dict[Var, Expr]) -> Axis:
        low, extent = substitute(axis.min, renamed), substitute(axis.extent, renamed)
        copy = make_axis(axis.name, low, extent, "reduce")
        renamed[axis.var] = copy.var
        return copy

    def _moved(
        self, body: Expr, renamed: dict[Var, Expr], folded: tuple[Axis, ...], guards: list[Expr]
    ) -> Expr:
        moved = substitute(body, renamed)
        if isinstance(moved, Reduce):
            condition = build.all_of([*map(build.likely, guards), moved.condition])
            inside = build.all_of(guards)
            init = tuple(  # beyond the edge, a tensor that it reads has no element
                build.if_then_else(inside, start, nothing) if guards else start
                for start, nothing in zip(moved.init, moved.combiner.identity, strict=False)
            )
            return replace(moved, axes=folded, condition=condition, init=init)
        if not guards:
            return moved
        # Places beyond the edge of the old axes are computed by nobody and read by nobody.
        return build.if_then_else(build.all_of(guards), moved, build.const(0, moved.dtype))
