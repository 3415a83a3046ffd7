# SPDX-License-Identifier: Apache-2.0
"""What a round of a parallel loop costs, as an expression of extents, told before loops are cut."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from axisfold.dtypes import INT64
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.expr import Binary, Call, Expr, IfThenElse, Load, Node, Ramp, Var
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
from axisfold.ir.walk import post_order
from axisfold.passes.copying import fold_substitute

# A bound that keeps constants in 64 bits; what depends on extents would run for years beyond them.
_MOST_WORK = 1 << 40
# What is assumed of a loop whose number of rounds cannot be told before it starts.
_TYPICAL_ROUNDS = 16
# Work of a call (a function such as exp), of an allocation, and bytes of a vector done at once.
_CALL = 8
_ALLOCATION = 64
_VECTOR_BYTES = 32


@dataclass(frozen=True, slots=True)
class _Cost:
    """A number, and what depends on extents."""

    fixed: int
    moving: Expr | None = None

    def plus(self, other: _Cost) -> _Cost:
        """Return the sum."""
        parts = [part for part in (self.moving, other.moving) if part is not None]
        return _Cost(
            self.fixed + other.fixed, functools.reduce(operator.add, parts) if parts else None
        )

    def expr(self) -> Expr:
        """Return the cost as an expression."""
        fixed = build.const(self.fixed, INT64)
        return fixed if self.moving is None else self.moving + fixed


def round_work(loop: For, rounds: Mapping[Var, Expr]) -> Expr:
    """Return an estimate of the work of one round, in loads and operations of about 1 ns.

    It only decides whether threads are worth their start and how many rounds they take at a
    time, so it is the same for every number of threads.

    Parameters
    ----------
    loop
        The loop, in which none is cut and guards stand around what may be outside.
    rounds
        For variables of loops inside of it, after how many rounds nothing is left.
    """
    return _Estimate(rounds).of(loop.body, {loop.var: _middle(loop.min, loop.extent)}, 1).expr()


@dataclass(frozen=True, slots=True)
class _Estimate:
    rounds: Mapping[Var, Expr]

    def of(self, stmt: Stmt, known: Mapping[Var, Expr], lanes: int) -> _Cost:
        """Return the work of a statement in one of the middle rounds of the loops around."""
        match stmt:
            case Store():
                return _Cost(1 + _operations(lanes, stmt.value, stmt.index, stmt.mask))
            case For():
                return self.of_loop(stmt, known, lanes)
            case If():
                is_guard = build.bare(stmt.condition) is not stmt.condition
                own = 0 if is_guard else _operations(lanes, stmt.condition)
                parts = [stmt.then] if stmt.otherwise is None else [stmt.then, stmt.otherwise]
            case Seq():
                parts, own = list(stmt.body), 0
            case Allocate():
                parts, own = [stmt.body], 0 if stmt.buffer.is_on_stack else _ALLOCATION
            case Let():
                if stmt.var.dtype.is_integer and stmt.var.dtype.lanes == 1:
                    known = {**known, stmt.var: build.const(_TYPICAL_ROUNDS, stmt.var.dtype)}
                parts, own = [stmt.body], _operations(lanes, stmt.value)
            case Attr():
                parts, own = [stmt.body], 0
            case AllReduce() | Launch() | Shuffle() | Barrier() | Ticket():
                raise InternalError(f"{type(stmt).__name__} is no statement of a CPU program")
            case _:
                assert_never(stmt)
        cost = _Cost(own)
        for part in parts:
            cost = cost.plus(self.of(part, known, lanes))
        return cost

    def of_loop(self, loop: For, known: Mapping[Var, Expr], lanes: int) -> _Cost:
        """Return the work of all rounds of a loop; lanes are one round."""
        extent = build.as_int(loop.extent)
        if loop.kind == "vectorized" and extent is not None:
            return self.of(loop.body, {**known, loop.var: build.const(0, loop.var.dtype)}, extent)
        low, rounds = _told(loop.min, known), _told(self.rounds.get(loop.var, loop.extent), known)
        inside = self.of(loop.body, {**known, loop.var: _middle(low, rounds)}, lanes)
        inside = inside.plus(_Cost(1))
        count = build.as_int(rounds)
        if count is not None and inside.moving is None:
            return _Cost(min(max(count, 0) * inside.fixed, _MOST_WORK))
        if not (isinstance(rounds, Binary) and rounds.op == "max" and build.is_const(rounds.b, 0)):
            rounds = build.maximum(rounds, 0)
        return _Cost(0, build.cast(INT64, rounds) * inside.expr())


def _middle(low: Expr, extent: Expr) -> Expr:
    half = build.binary("floordiv", extent, build.const(2, extent.dtype))
    return build.binary("add", low, half)


def _told(extent: Expr, known: Mapping[Var, Expr]) -> Expr:
    """Return a bound of an inner loop in the middle round of the loops around it."""
    told: Expr = fold_substitute(extent, known)
    reads = any(isinstance(n, (Load, Call, IfThenElse)) for n in post_order(told))
    if reads:
        return build.const(_TYPICAL_ROUNDS, extent.dtype)
    return told


def _operations(lanes: int, *roots: Expr | None) -> int:
    """Return how many loads, operations and calls expressions take; index arithmetic is free."""
    total = 0
    for root in roots:
        seen: set[int] = set()
        stack: list[Node] = [] if root is None else [root]
        while stack:
            node = stack.pop()
            if not node.child_fields or id(node) in seen:
                continue
            seen.add(id(node))
            stack += node.children()
            if isinstance(node, Expr) and _has_price(node):
                price = _CALL if isinstance(node, Call) else 1
                total += price * max(1, lanes * node.dtype.itemsize // _VECTOR_BYTES)
    return total


def _has_price(node: Expr) -> bool:
    if isinstance(node, Load):
        return True
    dtype = node.dtype
    return not (isinstance(node, Ramp) or (dtype.kind == "int" and dtype.bits == INT64.bits))
