# SPDX-License-Identifier: Apache-2.0
"""place_shared: every buffer of a block gets its place in the block's shared memory."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Allocate, Kernel, Launch, Stmt
from axisfold.passes.rewriter import StmtRewriter
from axisfold.passes.threads import SHARED_SCOPES

# Vectors of 16 bytes are the widest that threads load and store.
ALIGN: Final = 16


def place_shared(kernel: Kernel) -> Kernel:
    """Move shared memory to the head of its launch, one buffer after the other.

    Before::

        launch … { … allocate(T: Pointer(shared float32), float32, [33]) { … } … }

    After::

        launch …, shared = 132 bytes {
          allocate(T: Pointer(shared float32), float32, [33]), offset = 0 { … }
        }

    Buffers do not share places: memory that is used again needs barriers between its users.
    """
    return _Placer().run(kernel)


class _Placer(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Buffer, None] = {}

    def visit_launch(self, launch: Launch) -> Stmt:
        self.found = {}
        body = self.visit(launch.body)
        size = 0
        offsets: dict[Buffer, int] = {}
        for buffer in self.found:
            offsets[buffer] = -(-size // ALIGN) * ALIGN
            size = offsets[buffer] + shared_bytes(buffer)
        for buffer, offset in reversed(offsets.items()):
            body = Allocate(buffer, body, offset=offset)
        return launch if not offsets else replace(launch, body=body, shared_bytes=size)

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Allocate) and stmt.buffer.scope in SHARED_SCOPES:
            self.found[stmt.buffer] = None  # copies of a loop share the memory of their rounds
            return self.visit(stmt.body)
        return super().visit(stmt)


def shared_bytes(buffer: Buffer) -> int:
    """Return the size of a buffer of constant extents."""
    extents = [build.as_int(e) or 0 for e in buffer.allocated_extents]
    return math.prod(extents) * buffer.dtype.itemsize
