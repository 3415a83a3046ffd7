# SPDX-License-Identifier: Apache-2.0
"""simplify_program: index arithmetic under the loops' bounds; needless loops and guards go."""

from __future__ import annotations

from axisfold.analysis.simplify import can_prove, simplify
from axisfold.ir import build
from axisfold.ir.expr import Expr
from axisfold.ir.stmt import WORK, Allocate, Attr, For, If, Kernel, Let, Stmt
from axisfold.ir.walk import rebuild
from axisfold.passes.copying import fold_substitute
from axisfold.passes.rewriter import EMPTY, StmtRewriter, is_empty


def simplify_program(kernel: Kernel) -> Kernel:
    """Simplify every expression, drop provably true guards, loops of one round or of none."""
    return _Simplifier().run(kernel)


class _Simplifier(StmtRewriter):
    def expr(self, expr: Expr) -> Expr:
        return simplify(expr, self.bounds)

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Attr) and stmt.key == WORK:  # an estimate is told once, as it is
            return rebuild(stmt, [stmt.value, self.visit(stmt.body)])
        result = super().visit(stmt)
        return EMPTY if isinstance(result, (Allocate, Let)) and is_empty(result.body) else result

    def visit_for(self, loop: For) -> Stmt:
        extent = self.expr(loop.extent)
        if build.is_const(extent, 0):
            return EMPTY
        # A bound loop of one round stays: all-reduces name its threads.
        if build.is_const(extent, 1) and loop.stop is None and loop.kind != "bound":
            return self.visit(fold_substitute(loop.body, {loop.var: loop.min}))
        result = super().visit_for(loop)
        return EMPTY if isinstance(result, For) and is_empty(result.body) else result

    def visit_if(self, stmt: If) -> Stmt:
        condition = self.expr(stmt.condition)
        if can_prove(build.bare(condition), self.bounds):
            return self.visit(stmt.then)
        if build.is_const(condition, False):
            return EMPTY if stmt.otherwise is None else self.visit(stmt.otherwise)
        result = super().visit_if(stmt)
        if isinstance(result, If) and is_empty(result.then) and result.otherwise is None:
            return EMPTY
        return result
