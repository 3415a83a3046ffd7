# SPDX-License-Identifier: Apache-2.0
"""unguard_tiles: lanes beyond the edge of a tile in private memory are computed, and never read."""

from __future__ import annotations

from collections.abc import Iterator

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import is_within
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Compare, Expr, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Seq, Stmt, Store
from axisfold.ir.walk import post_order, substitute, uses
from axisfold.passes.rewriter import StmtRewriter, substatements

# How far places of a tile are from the numbers of their elements, and the bound of these.
_Edge = tuple[Expr, Expr]


def unguard_tiles(kernel: Kernel) -> Kernel:
    """Let whole vectors of private memory be written where their first lane is inside.

    Before::

        for (i.inner, 0, 4) "vectorized" { if likely(i.outer*4 + i.inner < n) { T[…] = … } }

    After::

        if likely(i.outer*4 < n) { for (i.inner, 0, 4) "vectorized" { T[…] = … } }

    So such a loop has no vector in part, and no rest.  Each place of the tile must stand for one
    element while there is memory for it, and be written nowhere but where that is inside: then
    nobody reads what lies beyond.  Nothing but private memory is read, and that within its bounds.
    """
    return _Unguard().run(kernel)


class _Unguard(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.private: dict[Buffer, Stmt] = {}
        self.edges: dict[Buffer, frozenset[_Edge]] = {}

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Allocate) and stmt.buffer.scope == "local":
            self.private[stmt.buffer] = stmt.body
        return super().visit(stmt)

    def _edges(self, buffer: Buffer) -> frozenset[_Edge]:
        """Return the edges that all stores to private memory stay inside of."""
        if buffer not in self.edges:
            writes = [*_writes(self.private[buffer], buffer, (), frozenset())]
            self.edges[buffer] = frozenset.intersection(*writes) if writes else frozenset()
        return self.edges[buffer]

    def visit_for(self, loop: For) -> Stmt:
        body = loop.body
        if loop.kind == "vectorized" and isinstance(body, If) and body.otherwise is None:
            first = self._first_lane(loop, body)
            if first is not None:
                return If(first, For(loop.var, loop.min, loop.extent, loop.kind, body.then))
        return super().visit_for(loop)

    def _first_lane(self, loop: For, guard: If) -> Expr | None:
        """Return the guard of a loop's first lane, if all others need none."""
        condition = _bound(guard)
        if condition is None or uses(condition.b, {loop.var}):
            return None
        form = linear_form(condition.a, {loop.var})
        if form is None or (build.as_int(form[0][loop.var]) or 0) <= 0:
            return None
        steps = list(_steps(guard.then))
        outer, self.bounds = self.bounds, self.bounds.extended(loop.var, loop.min, loop.extent)
        try:
            if not all(step is not None and self._is_own(step, condition) for step in steps):
                return None
        finally:
            self.bounds = outer
        return build.likely(substitute(condition, {loop.var: loop.min}))

    def _is_own(self, step: Store | Let, condition: Compare) -> bool:
        """Return whether a step only touches private memory, and writes the element's own place."""
        reads = [node for node in post_order(step.value) if isinstance(node, Load)]
        if any(n.mask is not None or not self._is_inside(n.buffer, n.index) for n in reads):
            return False
        if isinstance(step, Let):
            return True
        if step.mask is not None or not self._is_inside(step.buffer, step.index):
            return False
        return _edge(step, condition) in self._edges(step.buffer)

    def _is_inside(self, buffer: Buffer, index: Expr) -> bool:
        """Return whether an index lies in private memory in every lane."""
        if buffer not in self.private:
            return False
        if is_within(index, buffer.allocated_extents, self.bounds):
            return True
        size = build.const(1, index.dtype)
        for extent in buffer.allocated_extents:
            size = size * build.cast(index.dtype, extent)
        return all(can_prove(c, self.bounds) for c in (index >= 0, index < size))


def _steps(stmt: Stmt) -> Iterator[Store | Let | None]:
    """Yield the stores and names of a statement without branches; None for anything else."""
    match stmt:
        case Store():
            yield stmt
        case Let():
            yield stmt
            yield from _steps(stmt.body)
        case Seq():
            for part in stmt.body:
                yield from _steps(part)
        case _:
            yield None


def _bound(stmt: If) -> Compare | None:
    """Return the bound that the guard of a tail tests."""
    condition = build.bare(stmt.condition)
    if condition is stmt.condition or not isinstance(condition, Compare) or condition.op != "lt":
        return None
    return condition


def _edge(store: Store, condition: Compare) -> _Edge:
    """Return how far a place is from the number of its element, and the bound of that."""
    return simplify(store.index - build.cast(store.index.dtype, condition.a)), condition.b


def _writes(
    stmt: Stmt, buffer: Buffer, bounds: tuple[Compare, ...], inner: frozenset[Var]
) -> Iterator[frozenset[_Edge]]:
    """Yield, for each store to a buffer, the edges that it stays inside of.

    These are the same in all rounds of the loops inside the allocation, whose variables are
    ``inner``.
    """
    match stmt:
        case Store():
            if stmt.buffer is buffer:
                found = [_edge(stmt, bound) for bound in bounds]
                yield frozenset([e for e in found if not any(_moves(part, inner) for part in e)])
        case If():
            bound = _bound(stmt)
            inside = bounds if bound is None else (*bounds, bound)
            yield from _writes(stmt.then, buffer, inside, inner)
            if stmt.otherwise is not None:
                yield from _writes(stmt.otherwise, buffer, bounds, inner)
        case For() | Let():
            yield from _writes(stmt.body, buffer, bounds, inner | {stmt.var})
        case _:
            for part in substatements(stmt):
                yield from _writes(part, buffer, bounds, inner)


def _moves(expr: Expr, inner: frozenset[Var]) -> bool:
    return uses(expr, inner) or any(isinstance(node, Load) for node in post_order(expr))
