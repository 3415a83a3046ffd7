# SPDX-License-Identifier: Apache-2.0
"""Loop nests: each stage becomes loops around its statements, attached stages inside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from axisfold.analysis.bounds import constant_interval, environment
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Scope
from axisfold.ir.expr import Expr, Node, Var
from axisfold.ir.stmt import Allocate, Attr, For, If, Stmt
from axisfold.ir.walk import rewrite, sharing, substitute
from axisfold.lower.attachments import check_attachments
from axisfold.lower.banks import padded_strides
from axisfold.lower.edges import check_shifts, indices_of, tiles_beyond
from axisfold.lower.inline import inlined
from axisfold.lower.last_block import LastBlock, check_blocks, check_places
from axisfold.lower.parts import check_private, own_part
from axisfold.lower.reduction import Resolve, store_all, update_statement
from axisfold.lower.regions import (
    Region,
    StageBounds,
    enclosing_domains,
    infer_bounds,
    is_launched,
    is_loop,
    scope_of,
    sharers,
)
from axisfold.lower.start import Start
from axisfold.lower.stops import Flags, stopped
from axisfold.lower.storage import Storage, temporary
from axisfold.lower.tails import guard_level, stage_guards
from axisfold.lower.thread_axes import (
    with_one_axis_per_tag,
    with_rounds_for,
    with_shared_work,
    with_threads_outside,
)
from axisfold.lower.threads import CrossThread, any_round, check_teams, check_thread_extent
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis, ThreadAxis
from axisfold.tensor.tensor import Tensor, TensorLoad


class LoopBuilder:
    """Builds the program of a schedule.

    Parameters
    ----------
    schedule
        The stages.
    arguments
        Storage of the tensors that the caller binds.
    target
        What the program is for, if that is known: its limits are checked where axes have names.
    """

    def __init__(
        self,
        schedule: Schedule,
        arguments: Mapping[Tensor, Storage],
        target: Target | None = None,
    ) -> None:
        self.target = target
        schedule = with_threads_outside(with_one_axis_per_tag(inlined(schedule)))
        check_attachments(schedule)
        check_shifts(schedule)
        check_places(schedule)
        bounds = infer_bounds(schedule)
        for share in (with_shared_work, with_rounds_for):
            shared = share(schedule, bounds)
            if shared is not schedule:
                schedule, bounds = shared, infer_bounds(shared)
        self.schedule, self.bounds = schedule, bounds
        self.tiles = tiles_beyond(schedule)
        check_teams(self.schedule)
        check_blocks(self.schedule, self.bounds)
        check_private(self.schedule, self.bounds)
        self.storage: dict[Tensor, Storage] = dict(arguments)
        self.owned: dict[Stage, list[Storage]] = {}
        self.counters: list[Buffer] = []
        for stage in self.schedule.stages:
            self._give_storage(stage)
        self.flags = {
            stage: Flags(self, stage, whole)
            for stage in self.schedule.stages
            for whole in stage.stops.values()
            if whole is not None
        }
        self.wholes = {f.whole: f for f in self.flags.values() if f.is_partial}

    def build(self) -> Stmt:
        """Return the whole program."""
        top = [s for s in self.schedule.stages if s.op.body and s.attachment is None]
        body = self._produce([s for s in top if s.last_block_of is None], build.seq())
        for buffer in reversed(self.counters):
            body = Allocate(buffer, body, zeroed=True)
        return body

    def _give_storage(self, stage: Stage) -> None:
        if not stage.op.body:
            return
        for now, origin in zip(stage.op.outputs, stage.origin_op.outputs, strict=True):
            given = self.storage.get(origin) or self.storage.get(now)
            if given is None:
                scope = scope_of(stage)
                room, size = self._room(stage, scope), now.dtype.itemsize
                strides: tuple[Expr, ...] = ()
                if scope in ("shared", "warp"):
                    strides = padded_strides(self.schedule, stage, room, self.bounds, size)
                given = temporary(now, stage, room, scope, strides)
                self.owned.setdefault(stage, []).append(given)
            self.storage[origin] = self.storage[now] = given

    def _room(self, stage: Stage, scope: Scope | None) -> Region:
        """Return the region to keep memory for: of constant extent where threads need that.

        The region of some rounds may be smaller than that of others.
        """
        region = self.bounds[stage].region
        if scope in (None, "global") or not is_launched(stage):
            return region
        if scope == "local":
            region = own_part(stage, region)
        env = environment(enclosing_domains(stage, self.bounds))
        most = [constant_interval(extent, env).high for _, extent in region]
        return tuple(
            (low, build.const(max(int(high), 0), extent.dtype) if math.isfinite(high) else extent)
            for (low, extent), high in zip(region, most, strict=True)
        )

    def _produce(self, stages: Sequence[Stage], rest: Stmt, condition: Expr | None = None) -> Stmt:
        """Return the stages in order and then ``rest``; memory lives from its producer on.

        With a condition, the stages run only where it holds.
        """
        for stage in reversed(stages):
            nest = Nest(self, stage).build()
            rest = build.seq(nest if condition is None else If(condition, nest), rest)
            if stage in self.flags:
                rest = self.flags[stage].around(rest)
            owned = [*self.owned.get(stage, [])]
            owned += [o for last in self.finished_by(stage) for o in self.owned.get(last, [])]
            for storage in reversed(owned):
                if stage.is_double_buffered:
                    rest = Attr(storage.buffer, "double_buffer_scope", build.const(1), rest)
                rest = Allocate(storage.buffer, rest)
        return rest

    def guests(self, stage: Stage, axis: Axis) -> list[Stage]:
        """Return the stages that are computed at a loop."""
        return [
            s
            for s in self.schedule.stages
            if s.attachment and s.attachment.stage is stage and s.attachment.axis is axis
        ]

    def attached(self, stage: Stage, axis: Axis, body: Stmt, condition: Expr | None = None) -> Stmt:
        """Put the stages that are computed at a loop before the rest of its body."""
        return self._produce(self.guests(stage, axis), body, condition)

    def finished_by(self, stage: Stage) -> list[Stage]:
        """Return the stages that the last block of a stage computes."""
        return [s for s in self.schedule.stages if s.last_block_of is stage]

    def works_together(self, stage: Stage) -> bool:
        """Return whether the threads of a block compute a stage, or one inside it, together."""
        inside = [s for s in self.schedule.stages if s.attachment and s.attachment.stage is stage]
        shared = scope_of(stage) in ("shared", "cluster", "warp")
        return shared or stage.is_cross_thread or any(map(self.works_together, inside))

    def resolve(self, stage: Stage, indices: Mapping[Var, Expr] | None = None) -> Resolve:
        """Return the function that turns a te expression of a stage into loop IR.

        ``indices`` tells what the operation's axes stand for, by default inside all its loops.
        Bounds and guards are in loop variables already, and the variable of an axis may be that
        of its loop: they are only :meth:`lowered`.
        """
        values = self.bounds[stage].values if indices is None else indices
        indices = self.indices(stage, values)
        inside = {var: Var(var.name, var.dtype) for var in indices}
        if not inside:
            return self._resolver(values)

        def rule(node: Node) -> Node:
            """Let a tile that has memory beyond the edge be read at its places."""
            is_tile = isinstance(node, TensorLoad) and node.tensor in self.tiles
            return substitute(node, inside) if is_tile else node

        places = {place: values[var] for var, place in inside.items()}
        placed, resolver = sharing(rule), self._resolver({**values, **indices, **places})
        return lambda expr: resolver(placed(expr))

    def indices(self, stage: Stage, places: Mapping[Var, Expr]) -> dict[Var, Expr]:
        """Return the index that each place stands for, for axes that reach over their edge."""
        domains = {**enclosing_domains(stage, self.bounds), **self.bounds[stage].loops}
        return indices_of(stage, places, environment(domains))

    def _resolver(self, values: Mapping[Var, Expr]) -> Resolve:
        """Return what puts values for variables, and reads of memory for those of tensors."""
        known: dict[Var, Expr] = {}

        def rule(node: Node) -> Node:
            if isinstance(node, TensorLoad):
                return self.storage[node.tensor].load(node.indices)
            if not isinstance(node, Var) or node not in values:
                return node
            if node not in known:
                known[node] = self.lowered(values[node])
            return known[node]

        return sharing(rule)

    def lowered(self, expr: Expr) -> Expr:
        """Return an expression with reads of memory in the place of reads of tensors."""

        def rule(node: Node) -> Node:
            if isinstance(node, TensorLoad):
                return self.storage[node.tensor].load(node.indices)
            return node

        return rewrite(expr, rule)


class Nest:
    """The loop nest of one stage."""

    def __init__(self, builder: LoopBuilder, stage: Stage) -> None:
        self.builder, self.stage = builder, stage
        self.bounds: StageBounds = builder.bounds[stage]
        self.leaves = list(stage.leaf_axes)
        self.resolve = builder.resolve(stage)
        self.around = enclosing_domains(stage, builder.bounds)
        env = environment({**self.around, **self.bounds.loops})
        self.guards = stage_guards(stage, self.bounds, self.bounds.offsets, self.bounds.values, env)
        self.last_block = LastBlock(self) if builder.finished_by(stage) else None
        # What holds for the start of a reduction as for its updates.
        self.common_guards = self._first_sharers()
        if self.last_block is not None:
            self.common_guards += self.last_block.guards
        self.guards += self.common_guards
        self.reduction = stage.reduction
        reduce_levels = [n for n, leaf in enumerate(self.leaves) if stage.touches(leaf, "reduce")]
        self.first_reduce = reduce_levels[0] if reduce_levels else len(self.leaves)
        self.levels: dict[Var, int] = {
            stage.loop_var(leaf): n for n, leaf in enumerate(self.leaves)
        }

    def _first_sharers(self) -> list[Expr]:
        """Return guards that let one thread write what several would write alike.

        Threads around that share the memory, and that no loop of the stage is bound to, would all
        do the same.
        """
        if scope_of(self.stage) not in ("shared", "cluster", "warp"):
            return []
        own = {thread.var for thread in self.stage.bindings.values()}
        idle = [v for v in self.around if v in sharers(self.stage) - own]
        env = environment(self.around)
        return [v.equal(0) for v in idle if not can_prove(v.equal(0), env)]

    def build(self) -> Stmt:
        """Return the whole nest."""
        return self._level(0)

    def _level(self, level: int) -> Stmt:
        """Return everything inside the first ``level`` loops."""
        if self.reduction is not None and level == self.first_reduce and self.stage.is_cross_thread:
            return CrossThread(self, self.reduction).build()
        inner = self._guarded(level, self._main(level))
        if self.reduction is not None and level == self.first_reduce:
            if self.stage in self.builder.wholes:
                inner = self.builder.wholes[self.stage].instead(self, inner)
            return build.seq(Start(self, self.reduction).build(), inner)
        return inner

    def _main(self, level: int) -> Stmt:
        if level == len(self.leaves):
            return self._innermost()
        leaf = self.leaves[level]
        is_any = None
        if self.last_block is not None:
            is_any = any_round(self, self.last_block.perhaps_none)
        body = self.builder.attached(self.stage, leaf, self._level(level + 1), is_any)
        if self.last_block is not None and level + 1 == self.last_block.depth:
            body = build.seq(body, self.last_block.build())
        return self.loop(leaf, body)

    def _guarded(self, level: int, body: Stmt) -> Stmt:
        """Put the guards here that can be tested first here, but inside the init's level."""
        here = [g for g in self.guards if self._guard_level(g) == level]
        return self.guarded(here, body)

    def _guard_level(self, guard: Expr) -> int:
        """Return where a guard stands: inside the stages that a block's threads compute together.

        All threads have to reach these, whatever their own part of this stage is.
        """
        floor = 0 if self.reduction is None else self.first_reduce
        if self.last_block is not None:
            floor = max(floor, self.last_block.depth)
        for level, leaf in enumerate(self.leaves):
            if any(map(self.builder.works_together, self.builder.guests(self.stage, leaf))):
                floor = max(floor, level + 1)
        return max(guard_level(guard, self.levels), floor)

    def guarded(self, guards: Sequence[Expr], body: Stmt) -> Stmt:
        """Put guards around a statement."""
        for guard in reversed(guards):
            body = If(build.likely(self.builder.lowered(guard)), body)
        return body

    def loop(self, leaf: Axis, body: Stmt) -> Stmt:
        """Put the loop of a leaf around a statement, unless it has one round."""
        stage = self.stage
        if not is_loop(stage, leaf, self.bounds.extents):
            return stopped(self, leaf, None, body) if leaf in stage.stops else body
        var = stage.loop_var(leaf)
        extent = build.cast(var.dtype, self.builder.lowered(self.bounds.extents[leaf]))
        if self.last_block is not None and leaf in self.last_block.perhaps_none:
            extent = simplify(build.maximum(extent, 1))
        thread = stage.bindings.get(leaf)
        if thread is not None:
            if self.builder.target is not None:
                check_thread_extent(stage, leaf, thread, extent, self.builder.target)
            return self._with_hints(leaf, self._threads(thread, extent, body))
        kind = stage.loop_kind(leaf, extent)
        loop = For(var, build.const(0, var.dtype), extent, kind, body)
        made = stopped(self, leaf, loop, body) if leaf in stage.stops else loop
        return self._with_hints(leaf, made)

    def _with_hints(self, leaf: Axis, result: Stmt) -> Stmt:
        for hint, setting in self.stage.pragmas.get(leaf, {}).items():
            if isinstance(setting, str):
                continue  # the style of a reduction over threads
            var = self.stage.loop_var(leaf)
            result = Attr(var, f"pragma_{hint}", build.const(setting), result)
        return result

    def _threads(self, thread: ThreadAxis, extent: Expr, body: Stmt) -> Stmt:
        """Run a body by threads; where a stage around has started them, by as many as needed."""
        var = thread.var
        if var not in self.around:
            return For(var, build.const(0, var.dtype), extent, "bound", body, thread=thread.tag)
        enough = var < extent
        is_proved = can_prove(enough, environment(self.around))
        return body if is_proved else If(build.likely(enough), body)

    def is_data_guard(self, guard: Expr) -> bool:
        """Return whether a guard reads no loop from the first reduce loop on."""
        return guard_level(guard, self.levels) <= self.first_reduce

    def targets(self) -> list[Storage]:
        """The memory that the stage writes."""
        return [self.builder.storage[t] for t in self.stage.op.outputs]

    def _innermost(self) -> Stmt:
        targets = self.targets()
        values = self.bounds.values
        if self.stage.is_output:
            values = {**values, **self.builder.indices(self.stage, values)}
        indices = [values[axis.var] for axis in self.stage.op.axis]
        if self.reduction is not None:
            body = update_statement(self.reduction, targets, indices, self.resolve)
        else:
            body = store_all(targets, indices, [self.resolve(e) for e in self.stage.op.body])
        predicate = self.stage.store_predicate
        return body if predicate is None else If(self.resolve(predicate), body)
