# SPDX-License-Identifier: Apache-2.0
"""Rounds of loops that fold a few elements and then merge their state, which takes long text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from axisfold.analysis.bounds import Bounds
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr
from axisfold.ir.stmt import AllReduce, Barrier, For, If, Shuffle, Stmt, Store, Ticket
from axisfold.ir.walk import statements, uses
from axisfold.passes.copying import opened
from axisfold.passes.guards import Found, covers, guards_in
from axisfold.passes.leave_unrolled import is_long
from axisfold.passes.rewriter import StmtRewriter


@dataclass(frozen=True, slots=True)
class MergingRound:
    """A round in two parts.

    Attributes
    ----------
    buffers
        Registers that both parts share.
    elements
        What has guards of each element.
    merge
        What follows.
    guard
        What holds where there is an element at all: nothing is to be done elsewhere.  None where
        the merge has its own guards.
    """

    buffers: tuple[Buffer, ...]
    elements: Stmt
    merge: Stmt
    guard: Expr | None


def merging_round(loop: For, guards: Collection[Expr], bounds: Bounds) -> MergingRound | None:
    """Return the parts of a loop's rounds, where to copy the merge would take long to compile.

    What depends on the round is simpler in an interior, as the count of a whole tile is a constant
    there: such a merge is worth its copy.
    """
    buffers, parts = opened(loop.body)
    inside = Found(build.TRUE, bounds)
    found = [[g for g in guards_in(p, inside) if g.condition in guards] for p in parts]
    moved = [n for n, own in enumerate(found) if any(uses(g.condition, g.inner) for g in own)]
    end = moved[-1] + 1 if moved else 0
    elements, merge = build.seq(*parts[:end]), build.seq(*parts[end:])
    asked = {g.condition for own in found[end:] for g in own}
    bare = without(merge, asked)
    if end == 0 or loop.stop is not None or uses(bare, {loop.var}) or not is_long(bare):
        return None
    if len(asked) == 1 and covers(merge, asked) and _writes_only(elements, buffers):
        return MergingRound(tuple(buffers), elements, bare, *asked)
    return MergingRound(tuple(buffers), elements, merge, None)


def _writes_only(stmt: Stmt, buffers: Collection[Buffer]) -> bool:
    """Return whether a statement does nothing but to write to some memory."""
    steps = (Store, AllReduce, Shuffle, Barrier, Ticket)
    found = [n for n in statements(stmt) if isinstance(n, steps)]
    return all(isinstance(n, Store) and n.buffer in buffers for n in found)


def without(stmt: Stmt, guards: set[Expr]) -> Stmt:
    """Remove guards that are known to hold."""
    return _Remover(guards).visit(stmt)


class _Remover(StmtRewriter):
    def __init__(self, guards: set[Expr]) -> None:
        super().__init__()
        self.guards = guards

    def visit_if(self, stmt: If) -> Stmt:
        if stmt.condition in self.guards:
            return self.visit(stmt.then)
        return super().visit_if(stmt)
