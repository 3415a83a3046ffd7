# SPDX-License-Identifier: Apache-2.0
"""Early ends of loops: when they hold, and the flags by which parts of an element tell others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from axisfold.dtypes import BOOL
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Stmt, Store
from axisfold.lower.reduction import store_all
from axisfold.lower.regions import is_loop
from axisfold.lower.storage import Storage
from axisfold.schedule.primitives.stop import check_shared, parts_of
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.lower.loops import LoopBuilder, Nest


class Flags:
    """For each element of a whole, whether some part of it is absorbing; threads share them."""

    def __init__(self, builder: LoopBuilder, stage: Stage, whole: Stage) -> None:
        check_shared(stage, whole)
        self.whole = whole
        self.positions = parts_of(builder.schedule, stage, whole)
        self.is_partial = any(stage.touches(leaf, "data") for leaf in stage.stops)
        shape = tuple(builder.lowered(axis.extent) for axis in whole.op.axis)
        buffer = Buffer(f"{whole.name}.stop", BOOL, shape or (build.const(1),))
        self.storage = Storage(buffer, tuple(build.const(0, e.dtype) for e in shape))

    def around(self, nest: Stmt) -> Stmt:
        """Return the nest of a stage, and what follows, with flags that start as False."""
        buffer = self.storage.buffer
        axes = [Var(f"s{n}", extent.dtype) for n, extent in enumerate(buffer.shape)]
        clear: Stmt = self._set(self.storage.offset(axes), build.FALSE)
        for var, extent in zip(reversed(axes), reversed(buffer.shape), strict=True):
            clear = For(var, build.const(0, var.dtype), extent, "serial", clear)
        return Allocate(buffer, build.seq(clear, nest))

    def instead(self, nest: Nest, fold: Stmt) -> Stmt:
        """Return the fold of the parts, of which some were not begun if one was absorbing."""
        stage, reduction = nest.stage, nest.reduction
        assert reduction is not None  # noqa: S101  (the primitive asks for one)
        indices = [nest.bounds.values[axis.var] for axis in stage.op.axis]
        found = store_all(nest.targets(), indices, reduction.combiner.absorbing)
        return If(Load(self.storage.buffer, self.storage.offset(indices)), found, fold)

    def offset(self, indices: list[Expr]) -> Expr:
        """Return where the flag of a part is, given the part's own indices."""
        return self.storage.offset([indices[p] for p in self.positions])

    def test(self, indices: list[Expr]) -> Expr:
        """Return whether another part is absorbing."""
        # Other threads write it: it is read anew each time.
        return Load(self.storage.buffer, self.offset(indices), cache="volatile")

    def tell(self, indices: list[Expr]) -> Stmt:
        """Return the statement of a part that is absorbing."""
        return self._set(self.offset(indices), build.TRUE)

    def _set(self, offset: Expr, value: Expr) -> Stmt:
        return Store(self.storage.buffer, offset, value, cache="volatile")


def stopped(nest: Nest, leaf: Axis, loop: For | None, body: Stmt) -> Stmt:
    """Return a loop that ends early; ``loop`` is None where it has one round, ``body``.

    Raises
    ------
    ScheduleError
        ``S316``: it folds several elements; ``S317``: threads would leave it in different rounds.
    """
    stage, reduction, flags = nest.stage, nest.reduction, nest.builder.flags.get(nest.stage)
    indices = [nest.bounds.values[axis.var] for axis in stage.op.axis]
    if flags is not None and stage.touches(leaf, "data"):
        # All parts are of the one element, whose flag has the same place for each.
        return body if loop is None else replace(loop, stop=flags.test(indices))
    _check(nest, leaf)
    assert reduction is not None  # noqa: S101  (the primitive asks for one)
    state = [target.load(indices) for target in nest.targets()]
    is_absorbing = build.all_of(map(_equal, state, reduction.combiner.absorbing))
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


def _equal(value: Expr, constant: Expr) -> Expr:
    if not value.dtype.is_bool:
        return build.compare("eq", value, constant)
    return value if build.is_const(constant, True) else build.logical_not(value)


def _check(nest: Nest, leaf: Axis) -> None:
    stage = nest.stage
    where = f"stop of axis {leaf.name!r} of stage {stage.name!r}"
    inside = nest.leaves[nest.leaves.index(leaf) :]
    for other in inside:
        if stage.touches(other, "data") and is_loop(stage, other, nest.bounds.extents):
            raise ScheduleError(
                f"{where}: data axis {other.name!r} lies inside, so that the loop folds several "
                "elements.",
                code="S316",
                hint="Reorder data axes outwards first, or factor the reduce axis.",
            )
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
