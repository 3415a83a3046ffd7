# SPDX-License-Identifier: Apache-2.0
"""align_accesses: vector accesses of aligned arguments say how far they are aligned."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from axisfold.analysis.simplify import can_prove
from axisfold.ir.buffer import Buffer
from axisfold.ir.build import is_const
from axisfold.ir.expr import Expr, Load, Node, Ramp, Var
from axisfold.ir.stmt import Kernel, Stmt, Store
from axisfold.ir.walk import post_order, rewrite, substitute
from axisfold.passes.rewriter import StmtRewriter

# No vector register is wider.
WIDEST: Final = 64


def align_accesses(kernel: Kernel) -> Kernel:
    """Note the proven alignment of each vector access whose buffer's start is aligned.

    Before, with ``A`` declared ``align=64`` and m a multiple of 16::

        A[ramp((i*m + k.outer*16), 1, 16)]       (assumed to be aligned to one element)

    After, the load carries ``align=64``.
    """
    aligned = {b for b in kernel.params if b.facts.align > b.dtype.itemsize}
    return _Pass(aligned).run(kernel) if aligned else kernel


class _Pass(StmtRewriter):
    def __init__(self, aligned: set[Buffer]) -> None:
        super().__init__()
        self.aligned = aligned

    def visit_store(self, stmt: Store) -> Stmt:
        result = super().visit_store(stmt)
        if not isinstance(result, Store) or result.align or result.buffer not in self.aligned:
            return result
        return replace(result, align=self.proven(result.buffer, result.index))

    def expr(self, expr: Expr) -> Expr:
        return rewrite(expr, self.node) if _has_vector_load(expr) else expr

    def node(self, node: Node) -> Node:
        if not isinstance(node, Load) or node.align or node.buffer not in self.aligned:
            return node
        align = self.proven(node.buffer, node.index)
        return replace(node, align=align) if align else node

    def proven(self, buffer: Buffer, index: Expr) -> int:
        """Return the alignment of a vector access, 0 for that of an element."""
        unit = 1 if buffer.unit == "byte" else buffer.dtype.itemsize
        # Lanes with gaps come out of vectors that begin anywhere.
        if not isinstance(index, Ramp) or not is_const(index.stride, buffer.dtype.itemsize // unit):
            return 0
        base = substitute(index.base, _multiples(buffer))
        align = min(buffer.facts.align, WIDEST)
        while align > buffer.dtype.itemsize:
            if can_prove((base % (align // unit)).equal(0), self.bounds):
                return align
            align //= 2
        return 0


def _multiples(buffer: Buffer) -> dict[Var, Expr]:
    """Return the strides that are promised to be multiples, as such."""
    step = buffer.facts.stride_align
    if buffer.unit == "element":
        step //= buffer.dtype.itemsize
    if step <= 1:
        return {}
    return {s: s * step for s in buffer.strides if isinstance(s, Var)}


def _has_vector_load(expr: Expr) -> bool:
    return any(isinstance(n, Load) and isinstance(n.index, Ramp) for n in post_order(expr))
