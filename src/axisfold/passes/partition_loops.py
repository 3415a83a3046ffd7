# SPDX-License-Identifier: Apache-2.0
"""partition_loops: a loop with a tail guard becomes an unguarded interior and a guarded rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import Bounds, symbolic_bounds
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.expr import Call, Compare, Expr, Var
from axisfold.ir.stmt import For, If, Kernel, Stmt
from axisfold.ir.walk import children, uses
from axisfold.passes.rewriter import StmtRewriter, renamed_loops


def partition_loops(kernel: Kernel) -> Kernel:
    """Split serial loops at the round from which a ``likely`` guard can fail.

    Before::

        for (k.outer, 0, floordiv((m + 15), 16)) { … if likely(k.outer*16 + k.inner < m) { S } … }

    After::

        for (k.outer, 0, floordiv(m, 16)) { … S … }
        for (k.outer, floordiv(m, 16), floordiv((m + 15), 16)) { … if likely(…) { S } … }
    """
    return _Partition().run(kernel)


@dataclass(frozen=True, slots=True)
class _Found:
    """A guard inside a loop, with the domains of the loops between."""

    condition: Expr
    bounds: Bounds
    inner: frozenset[Var]


class _Partition(StmtRewriter):
    def visit_for(self, loop: For) -> Stmt:
        if loop.kind != "serial" or loop.stop is not None:
            return super().visit_for(loop)
        inside = self.bounds.extended(loop.var, loop.min, loop.extent)
        edge, removable = self._edge(loop, inside)
        if edge is None:
            return super().visit_for(loop)
        rounds = self._rounds(loop, edge)
        interior = For(loop.var, loop.min, rounds, "serial", _without(loop.body, removable))
        tail = For(
            loop.var, simplify(loop.min + rounds, self.bounds),
            simplify(loop.extent - rounds, self.bounds), "serial", loop.body,
        )  # fmt: skip
        return build.seq(super().visit_for(interior), super().visit_for(renamed_loops(tail)))

    def _edge(self, loop: For, inside: Bounds) -> tuple[Expr | None, set[Expr]]:
        """Return the first round at which a guard may fail, and the guards that hold before."""
        edge: Expr | None = None
        removable: set[Expr] = set()
        for found in _guards(loop.body, inside, frozenset()):
            limit = _limit(loop.var, found)
            if limit is None:
                continue
            removable.add(found.condition)
            if edge is None or edge == limit:
                edge = limit
            else:
                edge = build.minimum(edge, limit)
        return edge, removable

    def _rounds(self, loop: For, edge: Expr) -> Expr:
        """Return how many rounds the interior has, at least 0 and at most all."""
        rounds = simplify(edge - loop.min, self.bounds)
        if not can_prove(rounds <= loop.extent, self.bounds):
            rounds = build.minimum(rounds, loop.extent)
        if not can_prove(rounds >= 0, self.bounds):
            rounds = build.maximum(rounds, 0)
        return simplify(rounds, self.bounds)


def _guards(stmt: Stmt, bounds: Bounds, inner: frozenset[Var]) -> Iterator[_Found]:
    """Yield every likely guard below a statement."""
    match stmt:
        case If(condition):
            if isinstance(condition, Call) and condition.name == "likely":
                yield _Found(condition, bounds, inner)
            yield from _guards(stmt.then, bounds, inner)
        case For():
            inside = bounds.extended(stmt.var, stmt.min, stmt.extent)
            yield from _guards(stmt.body, inside, inner | {stmt.var})
        case _:
            for child in children(stmt):
                if not isinstance(child, Expr):
                    yield from _guards(child, bounds, inner)  # type: ignore[arg-type]


def _limit(var: Var, found: _Found) -> Expr | None:
    """Return the first value of ``var`` for which ``lhs < rhs`` may fail, if it is linear in it.

    With rhs − lhs = rest − c·var, the guard holds for all inner rounds while
    c·var < min(rest), that is for var < ceil(min(rest) / c).
    """
    condition = found.condition.args[0]  # type: ignore[attr-defined]
    if not isinstance(condition, Compare) or condition.op != "lt":
        return None
    if not uses(condition, frozenset({var})):
        return None
    gap = linear_form(condition.b - condition.a, {var})
    if gap is None:
        return None
    step = build.as_int(simplify(gap[0].get(var, build.const(0)), found.bounds))
    if step is None or step >= 0:
        return None
    try:
        least, _ = symbolic_bounds(gap[1], found.bounds, set(found.inner))
    except UnsupportedError:
        return None
    if uses(least, found.inner | {var}):
        return None
    return simplify(build.ceildiv(least, -step), found.bounds)


def _without(stmt: Stmt, guards: set[Expr]) -> Stmt:
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
