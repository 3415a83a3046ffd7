# SPDX-License-Identifier: Apache-2.0
"""Private memory of a CPU's loops lives in registers where all its indices are constants."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Load
from axisfold.ir.stmt import For, Stmt, Store
from axisfold.ir.walk import post_order, uses


def counts(loop: For, but: AbstractSet[Buffer] = frozenset()) -> bool:
    """Return whether a loop's variable says which element of private memory is meant.

    Parameters
    ----------
    loop
        A loop that may be written out.
    but
        Memory that does not matter.
    """
    return any(
        node.buffer.scope == "local" and node.buffer not in but and uses(node.index, {loop.var})
        for node in post_order(loop.body)
        if isinstance(node, (Load, Store))
    )


def in_memory(body: Stmt) -> set[Buffer]:
    """Return the private memory that is no registers: a loop that is left says which element."""
    nodes = list(post_order(body))
    left = {n.var for n in nodes if isinstance(n, For) and n.kind not in ("unrolled", "vectorized")}
    accesses = (n for n in nodes if isinstance(n, (Load, Store)) and n.buffer.scope == "local")
    return {n.buffer for n in accesses if uses(n.index, left)}
