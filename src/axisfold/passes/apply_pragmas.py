# SPDX-License-Identifier: Apache-2.0
"""apply_pragmas: hints become loop kinds, and go."""

from __future__ import annotations

from dataclasses import replace

from axisfold.ir import build
from axisfold.ir.stmt import Attr, For, Kernel, Stmt, Store
from axisfold.ir.walk import post_order
from axisfold.passes.rewriter import StmtRewriter


def apply_pragmas(kernel: Kernel) -> Kernel:
    """Act on hints and remove them.

    ``pragma_auto_unroll_max_step``: serial loops of constant extent inside become unrolled while
    no more stores than its value are written out.  ``pragma_unroll_explicit`` 0: unrolled loops
    inside become serial, which leaves them to the compiler.  Other hints only go.
    """
    return _Applier().run(kernel)


class _Applier(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.is_explicit = True

    def visit(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Attr):
            return super().visit(stmt)
        saved = self.steps, self.is_explicit
        value = build.as_int(stmt.value) or 0
        if stmt.key == "pragma_auto_unroll_max_step":
            self.steps = value
        elif stmt.key == "pragma_unroll_explicit":
            self.is_explicit = bool(value)
        try:
            return self.visit(stmt.body)
        finally:
            self.steps, self.is_explicit = saved

    def visit_for(self, loop: For) -> Stmt:
        result = super().visit_for(loop)
        if not isinstance(result, For):
            return result
        if result.kind == "unrolled" and not self.is_explicit:
            return replace(result, kind="serial")
        extent = build.as_int(result.extent)
        if result.kind == "serial" and extent and extent * _stores(result.body) <= self.steps:
            return replace(result, kind="unrolled")
        return result


def _stores(stmt: Stmt) -> int:
    """Return how many stores a statement has once its unrolled loops are written out."""
    if isinstance(stmt, For):
        rounds = build.as_int(stmt.extent) if stmt.kind == "unrolled" else 1
        return (rounds or 1) * _stores(stmt.body)
    return sum(isinstance(node, Store) for node in post_order(stmt))
