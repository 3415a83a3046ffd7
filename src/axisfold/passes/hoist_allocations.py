# SPDX-License-Identifier: Apache-2.0
"""hoist_allocations: heap memory of one size for every round is taken once, before the loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from axisfold.ir import build
from axisfold.ir.stmt import Allocate, For, Kernel, Seq, Stmt
from axisfold.ir.walk import rebuild, uses
from axisfold.passes.rewriter import StmtRewriter


def hoist_allocations(kernel: Kernel) -> Kernel:
    """Move heap allocations out of the loops that their extents do not depend on.

    Before::

        for (i, 0, n) { allocate(T: Pointer(global float32), float32, [m]) { … } }

    After::

        allocate(T: Pointer(global float32), float32, [m]) { for (i, 0, n) { … } }

    Every round writes the memory before it reads it, so the rounds may share it.  The rounds of a
    parallel loop run at the same time: memory stays inside, at the head of its body, from where
    code generation takes it once for each run of rounds.
    """
    return _Hoister().run(kernel)


class _Hoister(StmtRewriter):
    def visit_for(self, loop: For) -> Stmt:
        result = super().visit_for(loop)
        if not isinstance(result, For):
            return result
        allocated, body = _taken(result.body, result)
        if not allocated:
            return result
        if result.kind == "parallel":
            return rebuild(result, [result.min, result.extent, _allocating(allocated, body)])
        moved = For(result.var, result.min, result.extent, result.kind, body, result.stop)
        return _allocating(allocated, moved)


def _allocating(allocated: Sequence[Allocate], body: Stmt) -> Stmt:
    for allocation in reversed(allocated):
        body = replace(allocation, body=body)
    return body


def _taken(stmt: Stmt, loop: For) -> tuple[list[Allocate], Stmt]:
    """Return the allocations at the head of a loop body that can leave it, and the rest."""
    match stmt:
        case Allocate():
            inner, body = _taken(stmt.body, loop)
            if not stmt.buffer.is_on_stack and not _moves(stmt, loop):
                return [stmt, *inner], body
            return inner, replace(stmt, body=body)
        case Seq():
            found: list[Allocate] = []
            parts: list[Stmt] = []
            for part in stmt.body:
                inner, rest = _taken(part, loop)
                found += inner
                parts.append(rest)
            return found, build.seq(*parts)
        case _:
            return [], stmt


def _moves(allocation: Allocate, loop: For) -> bool:
    own = frozenset({loop.var})
    return any(uses(extent, own) for extent in allocation.buffer.allocated_extents)
