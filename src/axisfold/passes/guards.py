# SPDX-License-Identifier: Apache-2.0
"""The guards of tails below a loop: where they begin to fail, and who tests them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import Bounds, symbolic_bounds
from axisfold.analysis.simplify import simplify
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.expr import Compare, Expr, Var
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import statements, uses
from axisfold.passes.rewriter import substatements

# Loops that can be split; a vectorized or unrolled one needs its constant extent.
SPLIT: Final = ("serial", "rolled", "parallel")


class Found(NamedTuple):
    """A guard inside a loop, with the domains of the loops between.

    ``inner`` are the variables of these loops, and of threads that must agree; ``serial`` those of
    the serial and parallel ones among them, ``lanes`` those of the vectorized ones, ``unrolled``
    those of the unrolled ones.
    """

    condition: Expr
    bounds: Bounds
    inner: frozenset[Var] = frozenset()
    serial: frozenset[Var] = frozenset()
    lanes: frozenset[Var] = frozenset()
    unrolled: frozenset[Var] = frozenset()


def guards_in(stmt: Stmt, at: Found) -> Iterator[Found]:
    """Yield every likely guard below a statement; ``at`` tells the loops passed so far."""
    match stmt:
        case If(condition):
            if build.bare(condition) is not condition:
                yield Found(condition, at.bounds, at.inner, at.serial, at.lanes, at.unrolled)
            yield from guards_in(stmt.then, at)
        case For():
            found = Found(
                at.condition,
                bounds=at.bounds.extended(stmt.var, stmt.min, stmt.extent),
                inner=at.inner | {stmt.var},
                serial=at.serial | {stmt.var} if stmt.kind in SPLIT else at.serial,
                lanes=at.lanes | {stmt.var} if stmt.kind == "vectorized" else at.lanes,
                unrolled=at.unrolled | {stmt.var} if stmt.kind == "unrolled" else at.unrolled,
            )
            yield from guards_in(stmt.body, found)
        case _:
            for part in substatements(stmt):
                yield from guards_in(part, at)


@dataclass(frozen=True, slots=True)
class Reach:
    """The first round in which a guard fails somewhere, and the first from which it always does."""

    first: Expr | None
    end: Expr | None


def reaches_of(var: Var, guards: Iterable[Found]) -> dict[Expr, Reach]:
    """Return where guards end that are linear in a loop's variable.

    With rhs − lhs = rest − c·var, a guard holds in all inner rounds while c·var < min(rest), that
    is for var < ceil(min(rest) / c); it holds in some while c·var < max(rest).
    """
    found: dict[Expr, Reach] = {}
    known: dict[tuple[Expr, int], Expr] = {}  # stages that are guarded alike end alike

    def first(rest: Expr, step: int, guard: Found) -> Expr | None:
        if uses(rest, guard.inner | {var}):
            return None
        if (rest, step) not in known:
            known[rest, step] = simplify(build.ceildiv(rest, step), guard.bounds)
        return known[rest, step]

    for guard in guards:
        rising = _rising(build.bare(guard.condition), var, guard.bounds)
        if rising is None:
            continue
        step, constant = rising
        try:
            rests = symbolic_bounds(constant, guard.bounds, set(guard.inner))
        except UnsupportedError:
            continue
        found[guard.condition] = Reach(*(first(rest, step, guard) for rest in rests))
    return found


def _rising(condition: Expr, var: Var, bounds: Bounds) -> tuple[int, Expr] | None:
    """Return c and rest of a bound with rhs − lhs = rest − c·var, where c is a constant above 0."""
    if not isinstance(condition, Compare) or condition.op != "lt":
        return None
    if not uses(condition, frozenset({var})):
        return None
    gap = _gap(condition, var)
    if gap is None:
        return None
    step = build.as_int(simplify(gap[0].get(var, build.const(0)), bounds))
    return None if step is None or step >= 0 else (-step, gap[1])


@lru_cache(maxsize=256)
def _gap(condition: Compare, var: Var) -> tuple[dict[Var, Expr], Expr] | None:
    """Return rhs − lhs as a linear form; several loops ask the same of a guard."""
    return linear_form(condition.b - condition.a, {var})


def covers(stmt: Stmt, guards: set[Expr]) -> bool:
    """Return whether everything in a statement stands under one of some guards."""
    match stmt:
        case If():
            under = stmt.condition in guards or covers(stmt.then, guards)
            return under and stmt.otherwise is None
        case For() | Let() | Allocate() | Attr() | Launch():
            return covers(stmt.body, guards)
        case Seq():
            return all(covers(part, guards) for part in stmt.body)
        case Store() | AllReduce() | Shuffle() | Barrier() | Ticket():
            return False


def is_by_lane(found: Found) -> bool:
    """Return whether nothing but lanes tells the rounds of a guard inside its loop apart."""
    return not uses(found.condition, found.inner - found.lanes)


def is_split_inside(found: Found) -> bool:
    """Return whether a serial loop further inside can be split at a guard."""
    condition = build.bare(found.condition)
    return any(_rising(condition, v, found.bounds) is not None for v in found.serial)


def is_tested_once(loop: For, guards: Iterable[Found]) -> bool:
    """Return whether a round tests guards once, beside long loops: that costs nothing.

    Only a parallel loop would have to start threads again for its rest.
    """
    if loop.kind != "parallel" or any(g.serial for g in guards):
        return False
    inner = (node for node in statements(loop.body) if isinstance(node, For))
    return any(node.kind in SPLIT and build.as_int(node.extent) is None for node in inner)


def is_in_unrolled(found: Found) -> bool:
    """Return whether an unrolled loop tells the rounds of a guard apart."""
    return any(uses(found.condition, {v}) for v in found.unrolled)
