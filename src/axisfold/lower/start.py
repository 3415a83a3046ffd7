# SPDX-License-Identifier: Apache-2.0
"""The start of a reduction: a nest of its own, before the first reduce loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.analysis.bounds import Domain, environment
from axisfold.ir import build
from axisfold.ir.expr import Const, Expr, Var
from axisfold.ir.stmt import For, Stmt
from axisfold.lower.reduction import init_statement
from axisfold.lower.tails import guard_level, stage_guards
from axisfold.schedule.relations import axis_values
from axisfold.tensor.axis import Axis
from axisfold.tensor.reduce import Reduce

if TYPE_CHECKING:
    from axisfold.lower.loops import Nest


class Start:
    """The nest that starts a reduction: the data loops inside its first reduce loop, once more.

    A data axis that is fused with a reduce axis is looped over by itself, so that a reduction of
    no elements is started too.
    """

    def __init__(self, nest: Nest, reduction: Reduce) -> None:
        self.nest, self.reduction = nest, reduction
        stage, bounds = nest.stage, nest.bounds
        self.loops = self._axes()
        values: dict[Axis, Expr] = {
            leaf: bounds.offsets[leaf] for leaf in nest.leaves[: nest.first_reduce]
        }
        for axis in self.loops:
            dtype = axis.var.dtype
            if axis in stage.bindings:
                values[axis] = bounds.offsets[axis]
            elif build.is_const(bounds.extents[axis], 1):
                values[axis] = build.const(0, dtype)
            else:
                values[axis] = Var(f"{axis.name}.init", dtype)
        self.offsets = axis_values(stage.relations, bounds.extents, values)
        self.indices: dict[Var, Expr] = {
            axis.var: self.offsets[axis] + low
            for axis, (low, _) in zip(stage.op.axis, bounds.region, strict=True)
        }

    def _axes(self) -> list[Axis]:
        """Return the axes to loop over: data leaves, and data parts of mixed ones."""
        nest, stage = self.nest, self.nest.stage
        made_by = {child: r for r in stage.relations for child in r.children}
        found: dict[Axis, None] = {}
        waiting = list(reversed(nest.leaves[nest.first_reduce :]))
        while waiting:
            axis = waiting.pop()
            if not stage.touches(axis, "data"):
                continue
            if stage.touches(axis, "reduce"):
                waiting.extend(reversed(made_by[axis].parents))
            else:
                found[axis] = None
        return list(found)

    def build(self) -> Stmt:
        """Return the nest."""
        nest, stage = self.nest, self.nest.stage
        places = [self.indices[axis.var] for axis in stage.op.axis]
        body = init_statement(self.reduction, nest.targets(), places, self._resolved)
        guards = self._guards()
        levels: dict[Var, int] = dict(nest.levels)
        for position, axis in enumerate(self.loops):
            value = self.offsets[axis]
            if isinstance(value, Var):
                levels[value] = nest.first_reduce + position
        for depth in range(len(self.loops), -1, -1):
            level = nest.first_reduce + depth
            here = [g for g in guards if max(guard_level(g, levels), nest.first_reduce) == level]
            body = nest.guarded(here, body)
            if depth:
                body = self._loop(self.loops[depth - 1], body)
        return body

    def _resolved(self, expr: Expr) -> Expr:
        """Return what a state begins with; most begin with constants, whatever their place is."""
        if isinstance(expr, Const):
            return expr
        return self.nest.builder.resolve(self.nest.stage, self.indices)(expr)

    def _loop(self, axis: Axis, body: Stmt) -> Stmt:
        nest, value = self.nest, self.offsets[axis]
        if axis in nest.stage.bindings:
            return nest.loop(axis, body)
        if not isinstance(value, Var):
            return body
        extent = nest.builder.lowered(nest.bounds.extents[axis])
        kind = nest.stage.loop_kind(axis, extent)
        return For(value, build.const(0, value.dtype), extent, kind, body)

    def _guards(self) -> list[Expr]:
        # Not those of the update: inside a reduce loop without rounds everything is proved.
        nest = self.nest
        own = {v: d for v, d in nest.bounds.loops.items() if nest.levels[v] < nest.first_reduce}
        inner = {
            value: Domain(build.const(0, value.dtype), nest.bounds.extents[axis])
            for axis in self.loops
            if isinstance(value := self.offsets[axis], Var)
        }
        env = environment({**nest.around, **own, **inner})
        found = stage_guards(nest.stage, nest.bounds, self.offsets, self.indices, env)
        return [*found, *nest.common_guards]
