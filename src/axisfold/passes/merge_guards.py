# SPDX-License-Identifier: Apache-2.0
"""merge_guards: what stands under one condition asks for it once."""

from __future__ import annotations

from axisfold.ir import build
from axisfold.ir.expr import Expr, Load
from axisfold.ir.stmt import If, Kernel, Seq, Stmt
from axisfold.ir.walk import post_order
from axisfold.passes.rewriter import StmtRewriter


def merge_guards(kernel: Kernel) -> Kernel:
    """Let neighbours share a branch, and drop conditions that a branch around has asked for.

    Before::

        if (i < n) { S }  if (i < n) { for (k, 0, m) { if (i < n) { T } } }

    After::

        if (i < n) { S  for (k, 0, m) { T } }

    The compiler of CUDA finds that out too, but takes its time.  Conditions that read memory stay.
    """
    return _Merger().run(kernel)


class _Merger(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.known: frozenset[Expr] = frozenset()

    def visit(self, stmt: Stmt) -> Stmt:
        return super().visit(_merged(stmt)) if isinstance(stmt, Seq) else super().visit(stmt)

    def visit_if(self, stmt: If) -> Stmt:
        parts = build.conjuncts(stmt.condition)
        left = [c for c in parts if build.bare(c) not in self.known]
        if not left:
            return self.visit(stmt.then)
        outer = self.known
        self.known |= {build.bare(c) for c in left if not _reads(c)}
        then = self.visit(stmt.then)
        self.known = outer
        otherwise = None if stmt.otherwise is None else self.visit(stmt.otherwise)
        if then is stmt.then and otherwise is stmt.otherwise and len(left) == len(parts):
            return stmt
        return If(build.all_of(left), then, otherwise)


def _merged(stmt: Seq) -> Stmt:
    """Return a sequence in which neighbours of one condition are one branch."""
    parts: list[Stmt] = []
    for part in stmt.body:
        last = parts[-1] if parts else None
        if (
            isinstance(part, If)
            and isinstance(last, If)
            and part.otherwise is None
            and last.otherwise is None
            and last.condition == part.condition
            and not _reads(part.condition)
        ):
            parts[-1] = If(part.condition, build.seq(last.then, part.then))
        else:
            parts.append(part)
    return stmt if len(parts) == len(stmt.body) else build.seq(*parts)


def _reads(condition: Expr) -> bool:
    return any(isinstance(node, Load) for node in post_order(condition))
