# SPDX-License-Identifier: Apache-2.0
"""leave_unrolled: loops marked unrolled are left to the compiler of threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from axisfold.ir import build
from axisfold.ir.expr import Binary, Call, Node
from axisfold.ir.stmt import For, Kernel, Stmt, Store
from axisfold.ir.walk import post_order
from axisfold.passes.rewriter import StmtRewriter, substatements
from axisfold.passes.unroll_loops import MAX_STORES

# Nodes of the body of a loop that is said once: compiling its rounds takes longer than they do.
LONG_BODY: Final = 64
# What a function or a quotient counts there: it is as many instructions.
CALLED: Final = 32


def leave_unrolled(kernel: Kernel) -> Kernel:
    """Keep unrolled loops of constant extent as they are; others become serial.

    The compiler of CUDA C++ writes loops out as told, so that the text says them once; the
    simulator takes them as any loop.  A loop that would make more than ``MAX_STORES`` stores
    becomes serial too.  Serial loops of a few rounds, which that compiler writes out by itself,
    are rolled where their bodies are long, as those are that merge states by exponentials.
    """
    return _Settler().run(kernel)


class _Settler(StmtRewriter):
    def visit_for(self, loop: For) -> Stmt:
        result = super().visit_for(loop)
        if not isinstance(result, For) or result.kind not in ("serial", "unrolled"):
            return result
        extent = build.as_int(result.extent)
        if result.kind == "serial":
            is_rolled = extent is not None and is_long(result.body)
            return replace(result, kind="rolled") if is_rolled else result
        if extent is None or result.stop is not None or extent * _stores(result.body) > MAX_STORES:
            return replace(result, kind="serial")
        return result


def _stores(stmt: Stmt) -> int:
    """Return how many stores a statement has once its unrolled loops are written out."""
    own = int(isinstance(stmt, Store))
    rounds = build.as_int(stmt.extent) if isinstance(stmt, For) and stmt.kind == "unrolled" else 1
    return own + (rounds or 1) * sum(_stores(part) for part in substatements(stmt))


def is_long(stmt: Stmt) -> bool:
    """Return whether a statement is so long that a copy of it takes time to compile."""
    return sum(CALLED if _is_called(n) else 1 for n in post_order(stmt)) > LONG_BODY


def _is_called(node: Node) -> bool:
    """Whether a float is computed by many instructions: by a function, or as a quotient."""
    return (
        isinstance(node, (Call, Binary))
        and node.dtype.is_float
        and (isinstance(node, Call) or node.op == "div")
    )
