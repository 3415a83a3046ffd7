# SPDX-License-Identifier: Apache-2.0
"""apply_pragmas: hints become loop kinds, and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from axisfold.ir import build
from axisfold.ir.expr import Expr, Load, Node
from axisfold.ir.stmt import Attr, For, Kernel, Stmt, Store
from axisfold.ir.walk import rewrite, statements
from axisfold.passes.rewriter import StmtRewriter

# What is left for the pass that makes launches, and for the one that cuts loops of a CPU.
RESIDENT: Final = "pragma_resident"
ANY_PLACE: Final = "pragma_any_place"


def apply_pragmas(kernel: Kernel) -> Kernel:
    """Act on hints and remove them.

    ``pragma_auto_unroll_max_step``: serial loops of constant extent inside become unrolled while
    no more stores than its value are written out.  ``pragma_unroll_explicit`` 0: unrolled loops
    inside become serial, which leaves them to the compiler.  ``pragma_prefetch``: inputs that are
    read inside are asked for so many bytes ahead.  ``pragma_stream`` 1: outputs that are written
    inside are not read soon.  ``pragma_resident`` stays for a launch, ``pragma_any_place`` for the
    rests of a CPU's loops.  Other hints only go.
    """
    return _Applier(kernel).run(kernel)


class _Applier(StmtRewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.inputs = frozenset(kernel.params) - frozenset(kernel.outputs)
        self.outputs = frozenset(kernel.outputs)
        loops = (n for n in statements(kernel.body) if isinstance(n, For))
        self.has_threads = any(loop.kind == "bound" for loop in loops)
        self.steps = 0
        self.is_explicit = True
        self.ahead = 0
        self.is_streamed = False

    def expr(self, expr: Expr) -> Expr:
        return rewrite(expr, self.node) if self.ahead else expr

    def node(self, node: Node) -> Node:
        if isinstance(node, Load) and node.buffer in self.inputs:
            return replace(node, ahead=self.ahead)
        return node

    def visit(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Attr):
            return super().visit(stmt)
        saved = self.steps, self.is_explicit, self.ahead, self.is_streamed
        value = build.as_int(stmt.value) or 0
        if stmt.key == "pragma_auto_unroll_max_step":
            self.steps = value
        elif stmt.key == "pragma_unroll_explicit":
            self.is_explicit = bool(value)
        elif stmt.key == "pragma_prefetch":
            self.ahead = value
        elif stmt.key == "pragma_stream":
            self.is_streamed = bool(value)
        try:
            body = self.visit(stmt.body)
            is_kept = stmt.key == (RESIDENT if self.has_threads else ANY_PLACE)
            return replace(stmt, body=body) if is_kept else body
        finally:
            self.steps, self.is_explicit, self.ahead, self.is_streamed = saved

    def visit_store(self, stmt: Store) -> Stmt:
        result = super().visit_store(stmt)
        if self.is_streamed and isinstance(result, Store) and result.buffer in self.outputs:
            return replace(result, cache="stream")
        return result

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
    return sum(isinstance(node, Store) for node in statements(stmt))
