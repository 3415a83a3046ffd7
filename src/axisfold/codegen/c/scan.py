# SPDX-License-Identifier: Apache-2.0
"""What a program does with its buffers."""

from __future__ import annotations

from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Stmt, Store
from axisfold.ir.walk import post_order
from axisfold.passes.rewriter import substatements


def loaded_buffers(kernel: Kernel) -> frozenset[Buffer]:
    """Return the buffers that a program reads."""
    return frozenset(n.buffer for n in post_order(kernel.body) if isinstance(n, Load))


def stored_buffers(stmt: Stmt) -> dict[Buffer, None]:
    """Return the buffers that a statement writes, in order."""
    return {n.buffer: None for n in post_order(stmt) if isinstance(n, Store)}


def bytewise_buffers(kernel: Kernel) -> frozenset[Buffer]:
    """Return the arguments that C may not access as arrays of their element type.

    These have offsets in bytes or elements that may be misaligned.  Memory that the program
    allocates is always an array.
    """
    found = {b for b in kernel.params if b.unit == "byte" or not _is_aligned(b, b.facts.align)}
    for node in post_order(kernel.body):
        if (
            isinstance(node, (Load, Store))
            and node.align
            and not _is_aligned(node.buffer, node.align)
        ):
            found.add(node.buffer)
    return frozenset(found)


def partly_started(kernel: Kernel) -> frozenset[Buffer]:
    """Return the buffers of which elements may be read that have not been written.

    They are in lanes or rounds that a guard leaves out, and what is computed from them is dropped;
    but C wants every value to be one.  A store that reads its own buffer does not start it.
    """
    found: set[Buffer] = set()
    values: dict[Var, Expr] = {}
    outside: dict[Buffer, int] = {}
    waiting: list[tuple[Stmt, int]] = [(kernel.body, 0)]
    while waiting:
        stmt, guards = waiting.pop()
        match stmt:
            case Allocate():
                outside[stmt.buffer] = guards
            case Store() if guards > outside.get(stmt.buffer, guards):
                if not _reads(stmt.value, stmt.buffer, values):
                    found.add(stmt.buffer)
            case Let():
                values[stmt.var] = stmt.value
            case If():
                guards += 1
            case For():
                guards += stmt.stop is not None or not build.as_int(stmt.extent)
            case _:
                pass
        waiting += [(part, guards) for part in reversed(substatements(stmt))]
    return frozenset(found)


def _reads(root: Expr, buffer: Buffer, values: dict[Var, Expr]) -> bool:
    """Return whether an expression reads a buffer, itself or through names."""
    for node in post_order(root):
        if isinstance(node, Load) and node.buffer is buffer:
            return True
        if isinstance(node, Var) and node in values and _reads(values[node], buffer, values):
            return True
    return False


def _is_aligned(buffer: Buffer, align: int) -> bool:
    return align != 0 and align % buffer.dtype.itemsize == 0
