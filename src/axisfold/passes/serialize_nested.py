# SPDX-License-Identifier: Apache-2.0
"""serialize_nested: a parallel loop that cannot be one where it lies becomes serial."""

from __future__ import annotations

from dataclasses import replace

from axisfold.ir.stmt import For, Kernel, Stmt
from axisfold.passes.rewriter import StmtRewriter


def serialize_nested(kernel: Kernel) -> Kernel:
    """Make parallel loops inside parallel, vectorized or unrolled loops serial.

    Before::

        for (i, 0, n) "parallel" { for (j, 0, m) "parallel" { S } }

    After::

        for (i, 0, n) "parallel" { for (j, 0, m) { S } }

    The outer rounds keep all threads busy, and the inner loop would only pay for starting them.
    """
    return _Serializer().run(kernel)


class _Serializer(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.is_inside = False

    def visit_for(self, loop: For) -> Stmt:
        if loop.kind == "parallel" and self.is_inside:
            loop = replace(loop, kind="serial")
        around, self.is_inside = self.is_inside, self.is_inside or loop.kind != "serial"
        try:
            return super().visit_for(loop)
        finally:
            self.is_inside = around
