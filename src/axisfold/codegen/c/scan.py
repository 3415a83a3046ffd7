# SPDX-License-Identifier: Apache-2.0
"""What a program does with its buffers."""

from __future__ import annotations

from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Load
from axisfold.ir.stmt import Kernel, Stmt, Store
from axisfold.ir.walk import post_order


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


def _is_aligned(buffer: Buffer, align: int) -> bool:
    return align != 0 and align % buffer.dtype.itemsize == 0
