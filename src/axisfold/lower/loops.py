# SPDX-License-Identifier: Apache-2.0
"""Loop nests: each stage becomes loops around its statements, attached stages inside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from axisfold.ir import build
from axisfold.ir.expr import Expr, Node, Var
from axisfold.ir.stmt import Allocate, For, If, Stmt
from axisfold.ir.walk import rewrite, substitute
from axisfold.lower.attachments import check_attachments
from axisfold.lower.reduction import init_statement, store_all, update_statement
from axisfold.lower.regions import StageBounds, infer_bounds
from axisfold.lower.storage import Storage, temporary
from axisfold.lower.tails import Guard, stage_guards
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import Tensor, TensorLoad


class LoopBuilder:
    """Builds the program of a schedule.

    Parameters
    ----------
    schedule
        The stages.
    arguments
        Storage of the tensors that the caller binds.
    """

    def __init__(self, schedule: Schedule, arguments: Mapping[Tensor, Storage]) -> None:
        check_attachments(schedule)
        self.schedule = schedule
        self.bounds = infer_bounds(schedule)
        self.storage: dict[Tensor, Storage] = dict(arguments)
        self.owned: dict[Stage, list[Storage]] = {}
        for stage in schedule.stages:
            self._give_storage(stage)

    def build(self) -> Stmt:
        """Return the whole program."""
        top = [s for s in self.schedule.stages if s.op.body and s.attachment is None]
        return self._produce(top, build.seq())

    def _give_storage(self, stage: Stage) -> None:
        if not stage.op.body:
            return
        attached = stage.attachment is not None
        for now, origin in zip(stage.op.outputs, stage.origin_op.outputs, strict=True):
            given = self.storage.get(origin) or self.storage.get(now)
            if given is None:
                region = self.bounds[stage].region
                given = temporary(now.name, now.dtype, region, is_attached=attached)
                self.owned.setdefault(stage, []).append(given)
            self.storage[origin] = self.storage[now] = given

    def _produce(self, stages: Sequence[Stage], rest: Stmt) -> Stmt:
        """Return the stages in order and then ``rest``; memory lives from its producer on."""
        for stage in reversed(stages):
            rest = build.seq(self._nest(stage), rest)
            for storage in reversed(self.owned.get(stage, [])):
                rest = Allocate(storage.buffer, rest)
        return rest

    def _attached(self, stage: Stage, axis: Axis, body: Stmt) -> Stmt:
        inside = [
            s
            for s in self.schedule.stages
            if s.attachment and s.attachment.stage is stage and s.attachment.axis is axis
        ]
        return self._produce(inside, body)

    def _nest(self, stage: Stage) -> Stmt:
        return _Nest(self, stage).build()

    def resolve(self, stage: Stage) -> Callable[[Expr], Expr]:
        """Return the function that turns a te expression of a stage into loop IR."""
        values = self.bounds[stage].values

        def lowered(node: Node) -> Node:
            if isinstance(node, TensorLoad):
                return self.storage[node.tensor].load(node.indices)
            return node

        return lambda expr: rewrite(substitute(expr, values), lowered)


class _Nest:
    """The loop nest of one stage."""

    def __init__(self, builder: LoopBuilder, stage: Stage) -> None:
        self.builder, self.stage = builder, stage
        self.bounds: StageBounds = builder.bounds[stage]
        self.leaves = list(stage.leaf_axes)
        self.resolve = builder.resolve(stage)
        self.guards = stage_guards(stage, builder.bounds)
        self.reduction = stage.reduction
        reduce_levels = [n for n, leaf in enumerate(self.leaves) if leaf.kind == "reduce"]
        self.first_reduce = reduce_levels[0] if reduce_levels else len(self.leaves)
        self.levels: dict[Var, int] = {leaf.var: n for n, leaf in enumerate(self.leaves)}

    def build(self) -> Stmt:
        return self._level(0)

    def _level(self, level: int) -> Stmt:
        """Return everything inside the first ``level`` loops."""
        inner = self._guarded(level, self._main(level))
        if self.reduction is not None and level == self.first_reduce:
            return build.seq(self._init(self.reduction), inner)
        return inner

    def _main(self, level: int) -> Stmt:
        if level == len(self.leaves):
            return self._innermost()
        leaf = self.leaves[level]
        body = self.builder._attached(self.stage, leaf, self._level(level + 1))
        return self._loop(leaf, leaf.var, body)

    def _guarded(self, level: int, body: Stmt) -> Stmt:
        """Put the guards here that can be tested first here, but inside the init's level."""
        floor = 0 if self.reduction is None else self.first_reduce
        here = [g for g in self.guards if max(g.level(self.levels), floor) == level]
        return self._around(here, body)

    def _around(self, guards: Sequence[Guard], body: Stmt) -> Stmt:
        for guard in reversed(guards):
            body = If(build.likely(self.resolve(guard.condition)), body)
        return body

    def _loop(self, leaf: Axis, var: Var, body: Stmt) -> Stmt:
        if not isinstance(self.bounds.offsets[leaf], Var):
            return body
        extent = self.resolve(self.bounds.extents[leaf])
        kind = self.stage.loop_kinds.get(leaf, "serial")
        return For(var, build.const(0, var.dtype), extent, kind, body)

    def _indices(self) -> list[Expr]:
        return [self.bounds.values[axis.var] for axis in self.stage.op.axis]

    def _targets(self) -> list[Storage]:
        return [self.builder.storage[t] for t in self.stage.op.outputs]

    def _innermost(self) -> Stmt:
        targets, indices = self._targets(), self._indices()
        if self.reduction is not None:
            return update_statement(self.reduction, targets, indices, self.resolve)
        return store_all(targets, indices, [self.resolve(e) for e in self.stage.op.body])

    def _init(self, reduction: Reduce) -> Stmt:
        """Return the nest that starts the reduction: the data loops inside, once more."""
        body = init_statement(reduction, self._targets(), self._indices(), self.resolve)
        leaves = [leaf for leaf in self.leaves[self.first_reduce :] if leaf.kind == "data"]
        levels = {v: n for v, n in self.levels.items() if n < self.first_reduce}
        levels.update({leaf.var: self.first_reduce + n for n, leaf in enumerate(leaves)})
        renamed: dict[Var, Expr] = {}
        pending = [g for g in self.guards if g.is_data]
        for depth in range(len(leaves), -1, -1):
            level = self.first_reduce + depth
            here = [g for g in pending if max(g.level(levels), self.first_reduce) == level]
            body = self._around(here, body)
            if depth:
                leaf = leaves[depth - 1]
                fresh = Var(f"{leaf.name}.init", leaf.var.dtype)
                renamed[leaf.var] = fresh
                body = self._loop(leaf, fresh, body)
        return substitute(body, renamed)
