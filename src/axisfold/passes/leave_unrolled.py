# SPDX-License-Identifier: Apache-2.0
"""leave_unrolled: loops marked unrolled are left to the compiler of threads."""

from __future__ import annotations

from dataclasses import replace

from axisfold.ir import build
from axisfold.ir.stmt import For, Kernel, Stmt, Store
from axisfold.passes.rewriter import StmtRewriter, substatements
from axisfold.passes.unroll_loops import MAX_STORES


def leave_unrolled(kernel: Kernel) -> Kernel:
    """Keep unrolled loops of constant extent as they are; others become serial.

    The compiler of CUDA C++ writes loops out as told, so that the text says them once; the
    simulator takes them as any loop.  A loop that would make more than ``MAX_STORES`` stores
    becomes serial too.
    """
    return _Settler().run(kernel)


class _Settler(StmtRewriter):
    def visit_for(self, loop: For) -> Stmt:
        result = super().visit_for(loop)
        if not isinstance(result, For) or result.kind != "unrolled":
            return result
        extent = build.as_int(result.extent)
        if extent is None or result.stop is not None or extent * _stores(result.body) > MAX_STORES:
            return replace(result, kind="serial")
        return result


def _stores(stmt: Stmt) -> int:
    """Return how many stores a statement has once its unrolled loops are written out."""
    own = int(isinstance(stmt, Store))
    rounds = build.as_int(stmt.extent) if isinstance(stmt, For) and stmt.kind == "unrolled" else 1
    return own + (rounds or 1) * sum(_stores(part) for part in substatements(stmt))
