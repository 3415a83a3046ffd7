# SPDX-License-Identifier: Apache-2.0
"""unroll_loops: loops marked unrolled are written out."""

from __future__ import annotations

from typing import Final

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import simplify
from axisfold.ir import build
from axisfold.ir.expr import Const
from axisfold.ir.stmt import For, If, Kernel, Stmt, Store
from axisfold.ir.walk import statements, uses
from axisfold.passes.copying import written_out
from axisfold.passes.registers import counts
from axisfold.passes.rewriter import EMPTY, StmtRewriter

MAX_STORES: Final = 4096


def unroll_loops(kernel: Kernel) -> Kernel:
    """Write out every round of an unrolled loop of constant extent; others become serial.

    So does a loop around unrolled ones whose body would grow beyond ``MAX_STORES`` stores: code
    that no cache holds is slower than a loop, and takes minutes to compile.
    """
    return _Unroller().run(kernel)


class _Unroller(StmtRewriter):
    is_rest = False

    def visit_for(self, loop: For) -> Stmt:
        if loop.kind != "unrolled":
            outer, self.is_rest = self.is_rest, self.is_rest or loop.kind == "rolled"
            try:
                return super().visit_for(loop)
            finally:
                self.is_rest = outer
        extent = build.as_int(loop.extent)
        is_needless = self.is_rest and not counts(loop)
        if extent is None or loop.stop is not None or is_needless:
            serial = For(loop.var, loop.min, loop.extent, "serial", loop.body, loop.stop)
            return super().visit_for(serial)
        body = self.visit_inside(loop, loop.body)
        stores = sum(isinstance(node, Store) for node in statements(body))
        if extent * stores > MAX_STORES:
            return For(loop.var, loop.min, loop.extent, "serial", body)
        rounds = written_out(body, loop.var, (loop.min + n for n in range(extent)))
        conditions = (n.condition for n in statements(body) if isinstance(n, If))
        if any(uses(condition, {loop.var}) for condition in conditions):
            rounds = [_Decider(self.bounds).visit(written) for written in rounds]
        return build.seq(*rounds)


class _Decider(StmtRewriter):
    """Leaves out what never runs in one round, such as whole vectors where an array ends."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__()
        self.bounds = bounds

    def visit_if(self, stmt: If) -> Stmt:
        condition = simplify(stmt.condition, self.bounds)
        if not isinstance(condition, Const):
            return super().visit_if(stmt)
        if condition.value:
            return self.visit(stmt.then)
        return EMPTY if stmt.otherwise is None else self.visit(stmt.otherwise)
