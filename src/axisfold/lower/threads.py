# SPDX-License-Identifier: Apache-2.0
"""Cross-thread reductions: each thread folds its part, then the threads combine theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from axisfold.analysis.simplify import can_prove, simplify
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load
from axisfold.ir.stmt import Allocate, AllReduce, For, If, Level, Stmt
from axisfold.ir.walk import post_order
from axisfold.lower.reduction import guarded_update, split_condition, store_all
from axisfold.lower.regions import threads_around
from axisfold.lower.storage import Storage
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.target import Target
from axisfold.tensor.axis import Axis, ThreadAxis
from axisfold.tensor.reduce import Reduce

if TYPE_CHECKING:
    from axisfold.lower.loops import Nest


class CrossThread:
    """The part of a nest from its first reduce loop on, where some reduce loops are bound.

    The order is: bound loops, a serial fold of what is left into ``normal_reduce_temp``, the
    all-reduce into ``reduce_temp``, the store by thread 0.  Every thread reaches the all-reduce:
    guards become its condition, never a branch around it.
    """

    def __init__(self, nest: Nest, reduction: Reduce) -> None:
        self.nest, self.reduction = nest, reduction
        stage = nest.stage
        inner = nest.leaves[nest.first_reduce :]
        self.bound = [leaf for leaf in inner if leaf in stage.bindings]
        self.serial = [leaf for leaf in inner if leaf not in stage.bindings]
        self.guards = [*nest.guards, *self._first_threads()]

    def build(self) -> Stmt:
        """Return the statement inside the data loops."""
        nest = self.nest
        partial = self._temporaries("normal_reduce_temp") if self.serial else []
        totals = self._temporaries("reduce_temp")
        body = build.seq(
            self._fold(partial) if partial else build.seq(),
            self._combine(partial, totals),
            self._store(totals),
        )
        for storage in reversed([*partial, *totals]):
            body = Allocate(storage.buffer, body)
        for leaf in reversed(self.bound):
            body = nest.builder.attached(nest.stage, leaf, body, self.is_any)
            body = nest.loop(leaf, body)
            if leaf in self.perhaps_none and isinstance(body, For):
                body = replace(body, extent=simplify(build.maximum(body.extent, 1)))
        return body

    def _first_threads(self) -> list[Expr]:
        """Return guards of loops that may have no round: their thread 0 stores the identity."""
        nest = self.nest
        extents = nest.bounds.extents
        self.perhaps_none = [leaf for leaf in self.bound if not can_prove(extents[leaf] >= 1)]
        variables = {leaf: nest.stage.loop_var(leaf) for leaf in self.perhaps_none}
        return [build.cast(extents[a].dtype, v) < extents[a] for a, v in variables.items()]

    @property
    def is_any(self) -> Expr | None:
        """The condition that there is something to fold, None if there always is.

        A thread that only stores the identity has nothing to compute other stages for.
        """
        return any_round(self.nest, self.perhaps_none)

    def _temporaries(self, name: str) -> list[Storage]:
        one = build.const(1)
        return [
            Storage(Buffer(f"{name}{n}", e.dtype, (one,), scope="local"), (build.const(0),))
            for n, e in enumerate(self.reduction.combiner.identity)
        ]

    def _fold(self, partial: list[Storage]) -> Stmt:
        """Fold the elements of one thread."""
        nest, here = self.nest, [build.const(0)]
        state = [t.load(here) for t in partial]
        body = store_all(partial, here, [nest.resolve(e) for e in self.reduction.update(state)])
        body = guarded_update(nest.resolve(self.reduction.condition), body)
        body = nest.guarded(self.guards, body)
        for leaf in reversed(self.serial):
            body = nest.builder.attached(nest.stage, leaf, body, self.is_any)
            body = nest.loop(leaf, body)
        return build.seq(store_all(partial, here, list(self.reduction.combiner.identity)), body)

    def _combine(self, partial: list[Storage], totals: list[Storage]) -> AllReduce:
        nest, combiner = self.nest, self.reduction.combiner
        threads = tuple(nest.stage.bindings[leaf].var for leaf in self.bound)
        targets = tuple(t.buffer for t in totals)
        if partial:
            values: list[Expr] = [t.load([build.const(0)]) for t in partial]
            condition: Expr = build.TRUE
        else:
            condition = self._condition()
            values = [
                build.if_then_else(condition, nest.resolve(e), start)
                for e, start in zip(self.reduction.source, combiner.identity, strict=True)
            ]
        units = {nest.stage.bindings[leaf].tag.partition(".")[0] for leaf in self.bound}
        level: Level = "block"
        if "blockIdx" in units:
            level = "grid"
        elif "clusterCtaIdx" in units:
            level = "cluster"
        return AllReduce(
            combiner, tuple(values), condition, targets, threads, level, self._style(),
            broadcast=self.is_private,
        )  # fmt: skip

    @property
    def is_private(self) -> bool:
        """Whether each thread keeps the result for itself."""
        return all(t.buffer.scope == "local" for t in self.nest.targets())

    def _style(self) -> str:
        """Return the style that a pragma of a bound axis asks for."""
        styles = [self.nest.stage.pragmas.get(leaf, {}).get("reduce_style") for leaf in self.bound]
        return next((str(style) for style in styles if style), "")

    def _condition(self) -> Expr:
        """Return under which condition a thread has an element.

        A ``where=`` that reads memory is evaluated only where the guards hold; ``and`` would
        evaluate it beyond a tail.
        """
        nest = self.nest
        # Guards are in loop variables already.
        own = [nest.builder.lowered(g) for g in self.guards]
        guards, wheres = split_condition(nest.resolve(self.reduction.condition))
        inside, where = build.all_of([*own, *map(build.bare, guards)]), build.all_of(wheres)
        if any(isinstance(node, Load) for node in post_order(where)):
            return build.if_then_else(inside, where, build.FALSE)
        return build.all_of([inside, where])

    def _store(self, totals: list[Storage]) -> Stmt:
        nest, stage = self.nest, self.nest.stage
        indices = [nest.bounds.values[axis.var] for axis in stage.op.axis]
        loads = [t.load([build.const(0)]) for t in totals]
        body = store_all(nest.targets(), indices, loads)
        bound = [] if self.is_private else [stage.bindings[leaf] for leaf in self.bound]
        # Which block stores what blocks have combined, the all-reduce says.
        of_grid = any(thread.is_block for thread in bound)
        # Each block of a cluster has shared memory of its own.
        by_all = of_grid or all(t.buffer.scope in ("shared", "warp") for t in nest.targets())
        first = [t.var.equal(0) for t in bound if t.is_thread or not by_all]
        inside = [nest.builder.lowered(g) for g in nest.guards if nest.is_data_guard(g)]
        conditions = [*first, *inside]
        if stage.store_predicate is not None and stage.store_predicate not in first:
            conditions.append(nest.resolve(stage.store_predicate))
        return If(build.all_of(conditions), body)


def any_round(nest: Nest, leaves: Sequence[Axis]) -> Expr | None:
    """Return the condition that all loops of some leaves have a round, None for no leaves."""
    if not leaves:
        return None
    extents = [nest.builder.lowered(nest.bounds.extents[leaf]) for leaf in leaves]
    return simplify(build.all_of([extent >= 1 for extent in extents]))


def check_teams(schedule: Schedule) -> None:
    """Refuse a fold by threads inside a loop that the same threads share.

    Raises
    ------
    ScheduleError
        ``S301``: always that.
    """
    for stage in schedule.stages:
        around = {t.tag for t in threads_around(stage)}
        for leaf, thread in stage.bindings.items():
            if stage.touches(leaf, "reduce") and thread.tag in around:
                raise ScheduleError(
                    f"reduce axis {leaf.name!r} of stage {stage.name!r} is bound to {thread.tag}, "
                    "and the stage is computed inside a loop that is bound to it too: each of "
                    "these threads would fold for a round of its own.",
                    code="S301",
                    hint="Compute the stage outside of that loop, or bind another index.",
                )


def check_thread_extent(
    stage: Stage, leaf: Axis, thread: ThreadAxis, extent: Expr, target: Target
) -> None:
    """Refuse an axis with more rounds than a target has threads or blocks.

    Raises
    ------
    ScheduleError
        ``S298``: the extent of threads, or of the blocks of a cluster, is not constant; ``S299``:
        it is above the target's limit.
    """
    where = f"axis {leaf.name!r} of stage {stage.name!r} is bound to {thread.tag}"
    rounds = build.as_int(simplify(extent))
    if rounds is None:
        if thread.is_block:
            return
        raise ScheduleError(
            f"{where}, and its extent {extent} is not constant: a kernel is compiled for one "
            "number of threads.",
            code="S298",
            hint="Split it by a constant factor and bind the inner part.",
        )
    limit = target.limit(thread.tag)
    if rounds > limit:
        raise ScheduleError(
            f"{where} and has {rounds} rounds, but target {target} has at most {limit}.",
            code="S299",
            hint="Split it by a smaller factor.",
        )
