# SPDX-License-Identifier: Apache-2.0
"""Early ends of loops: when they hold, and the flags by which parts of an element tell others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from axisfold.dtypes import BOOL, INT64, highest
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Expr, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Stmt, Store
from axisfold.ir.walk import substitute, uses
from axisfold.lower.reduction import store_all
from axisfold.lower.regions import is_loop
from axisfold.lower.storage import Storage
from axisfold.schedule.primitives.stop import check_shared, parts_of
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.lower.loops import LoopBuilder, Nest

# Elements that a round may fold, each of which is tested.
MAX_ELEMENTS: Final = 16


class Flags:
    """For each element of a whole, whether some part of it is absorbing; threads share them.

    Where the first state counts, it is the number of such a part instead, beyond all parts until
    there is one: parts before it go on.  Of two that tell theirs at once either may stay.
    """

    def __init__(self, builder: LoopBuilder, stage: Stage, whole: Stage) -> None:
        check_shared(stage, whole)
        self.whole = whole
        self.positions = parts_of(builder.schedule, stage, whole)
        self.is_partial = any(stage.touches(leaf, "data") for leaf in stage.stops)
        assert stage.reduction is not None  # noqa: S101  (the primitive asks for one)
        self.keeps_first = not stage.reduction.combiner.absorbing
        self.part = next(p for p in range(len(stage.op.axis)) if p not in self.positions)
        shape = tuple(builder.lowered(axis.extent) for axis in whole.op.axis)
        dtype = INT64 if self.keeps_first else BOOL
        buffer = Buffer(f"{whole.name}.stop", dtype, shape or (build.const(1),))
        self.storage = Storage(buffer, tuple(build.const(0, e.dtype) for e in shape))

    def around(self, nest: Stmt) -> Stmt:
        """Return the nest of a stage, and what follows, with flags as long as there is no part."""
        buffer = self.storage.buffer
        axes = [Var(f"s{n}", extent.dtype) for n, extent in enumerate(buffer.shape)]
        none = build.const(highest(INT64), INT64) if self.keeps_first else build.FALSE
        clear: Stmt = self._set(self.storage.offset(axes), none)
        for var, extent in zip(reversed(axes), reversed(buffer.shape), strict=True):
            clear = For(var, build.const(0, var.dtype), extent, "serial", clear)
        return Allocate(buffer, build.seq(clear, nest))

    def instead(self, nest: Nest, fold: Stmt) -> Stmt:
        """Return the fold of the parts, of which some were not begun if one was absorbing."""
        stage, reduction = nest.stage, nest.reduction
        assert reduction is not None  # noqa: S101  (the primitive asks for one)
        if self.keeps_first:
            return fold  # it ends early itself, before parts that were not begun
        indices = [nest.bounds.values[axis.var] for axis in stage.op.axis]
        found = store_all(nest.targets(), indices, reduction.combiner.absorbing)
        return If(Load(self.storage.buffer, self.storage.offset(indices)), found, fold)

    def offset(self, indices: list[Expr]) -> Expr:
        """Return where the flag of a part is, given the part's own indices."""
        return self.storage.offset([indices[p] for p in self.positions])

    def test(self, indices: list[Expr]) -> Expr:
        """Return whether another part is absorbing, or one before this."""
        # Other threads write it: it is read anew each time.
        found = Load(self.storage.buffer, self.offset(indices), cache="volatile")
        return found < self._number(indices) if self.keeps_first else found

    def tell(self, indices: list[Expr]) -> Stmt:
        """Return the statement of a part that is absorbing."""
        number = self._number(indices) if self.keeps_first else build.TRUE
        return self._set(self.offset(indices), number)

    def _number(self, indices: list[Expr]) -> Expr:
        """Return which part this is."""
        return build.cast(INT64, indices[self.part])

    def _set(self, offset: Expr, value: Expr) -> Stmt:
        return Store(self.storage.buffer, offset, value, cache="volatile")


def stopped(nest: Nest, leaf: Axis, loop: For | None, body: Stmt) -> Stmt:
    """Return a loop that ends early; ``loop`` is None where it has one round, ``body``.

    Raises
    ------
    ScheduleError
        ``S316``: a round folds many elements; ``S317``: threads would leave it in different rounds.
    """
    stage, flags = nest.stage, nest.builder.flags.get(nest.stage)
    indices = [nest.bounds.values[axis.var] for axis in stage.op.axis]
    if flags is not None and stage.touches(leaf, "data"):
        # All parts are of the one element, whose flag has the same place for each.
        if loop is None:
            return body
        if not any(whole for axis, whole in stage.stops.items() if stage.touches(axis, "reduce")):
            loop = replace(loop, body=build.seq(body, _telling(nest, flags, indices)))
        return replace(loop, stop=flags.test(indices))
    _check(nest, leaf)
    is_absorbing = build.all_of(_ends(nest, leaf))
    end = is_absorbing
    if flags is not None and stage.stops[leaf] is not None:
        end = build.any_of([is_absorbing, flags.test(indices)])
    if loop is None:
        result: Stmt = If(build.logical_not(end), body)
    else:
        result = replace(loop, stop=end)
    if flags is None or stage.stops[leaf] is None:
        return result
    return build.seq(result, If(is_absorbing, flags.tell(indices)))


def _telling(nest: Nest, flags: Flags, indices: list[Expr]) -> Stmt:
    """Return the statement by which a part that does not end early itself tells the others."""
    assert nest.reduction is not None  # noqa: S101  (the primitive asks for one)
    state = [target.load(indices) for target in nest.targets()]
    return If(_is_final(state, nest.reduction.combiner), flags.tell(indices))


def _ends(nest: Nest, leaf: Axis) -> Iterator[Expr]:
    """Yield, for each element that a round folds, whether it is absorbing, or beyond the tail."""
    stage, reduction = nest.stage, nest.reduction
    assert reduction is not None  # noqa: S101  (the primitive asks for one)
    inside = _elements_inside(nest, leaf)
    folded = {stage.loop_var(a) for a in nest.leaves if stage.touches(a, "reduce")}
    guards = [nest.builder.lowered(g) for g in nest.guards if not uses(g, folded)]
    for places in product(*(range(count) for _, count in inside)):
        at: dict[Var, Expr] = {
            var: build.const(place, var.dtype)
            for (var, _), place in zip(inside, places, strict=True)
        }
        indices = [substitute(nest.bounds.values[axis.var], at) for axis in stage.op.axis]
        state = [target.load(indices) for target in nest.targets()]
        is_absorbing = _is_final(state, reduction.combiner)
        own = [substitute(g, at) for g in guards if uses(g, set(at))]
        yield build.if_then_else(build.all_of(own), is_absorbing, True) if own else is_absorbing


def _elements_inside(nest: Nest, leaf: Axis) -> list[tuple[Var, int]]:
    """Return the data loops inside a loop, which have few rounds."""
    stage, found, total = nest.stage, list[tuple[Var, int]](), 1
    for other in nest.leaves[nest.leaves.index(leaf) :]:
        if stage.touches(other, "data") and is_loop(stage, other, nest.bounds.extents):
            count = build.as_int(nest.bounds.extents[other])
            total *= count or MAX_ELEMENTS + 1
            if count is None or total > MAX_ELEMENTS:
                raise ScheduleError(
                    f"stop of axis {leaf.name!r} of stage {stage.name!r}: data axis {other.name!r} "
                    f"lies inside, so that a round folds more than {MAX_ELEMENTS} elements.",
                    code="S316",
                    hint="Split it, and reorder the outer part outwards.",
                )
            found.append((stage.loop_var(other), count))
    return found


def _is_final(state: Sequence[Expr], combiner: Combiner) -> Expr:
    """Return whether no later element changes a state."""
    if combiner.absorbing:
        return build.all_of(map(_equal, state, combiner.absorbing))
    others = zip(state, combiner.identity, strict=True)
    return build.any_of([build.logical_not(_equal(*pair)) for pair in others])


def _equal(value: Expr, constant: Expr) -> Expr:
    if not value.dtype.is_bool:
        return build.compare("eq", value, constant)
    return value if build.is_const(constant, True) else build.logical_not(value)


def _check(nest: Nest, leaf: Axis) -> None:
    stage = nest.stage
    where = f"stop of axis {leaf.name!r} of stage {stage.name!r}"
    inside = nest.leaves[nest.leaves.index(leaf) :]
    if stage.is_cross_thread:
        raise ScheduleError(
            f"{where}: threads fold a part of each element, and would leave the loop in different "
            "rounds.",
            code="S317",
            hint="Factor the reduce axis by the threads: s.rfactor(…), and stop the parts' loop.",
        )
    for other in inside:
        for guest in nest.builder.guests(stage, other):
            if nest.builder.works_together(guest):
                raise ScheduleError(
                    f"{where}: threads compute stage {guest.name!r} inside the loop together, and "
                    "would leave it in different rounds.",
                    code="S317",
                    hint="Compute it outside of the loop, or stop a loop inside it.",
                )
