# SPDX-License-Identifier: Apache-2.0
"""unroll_loops: loops marked unrolled are written out."""

from __future__ import annotations

from axisfold.ir import build
from axisfold.ir.stmt import For, Kernel, Stmt
from axisfold.passes.copying import fold_substitute, renamed_loops
from axisfold.passes.rewriter import StmtRewriter


def unroll_loops(kernel: Kernel) -> Kernel:
    """Write out every round of an unrolled loop of constant extent; others become serial."""
    return _Unroller().run(kernel)


class _Unroller(StmtRewriter):
    def visit_for(self, loop: For) -> Stmt:
        if loop.kind != "unrolled":
            return super().visit_for(loop)
        extent = build.as_int(loop.extent)
        if extent is None or loop.stop is not None:
            serial = For(loop.var, loop.min, loop.extent, "serial", loop.body, loop.stop)
            return super().visit_for(serial)
        body = self.visit_inside(loop, loop.body)
        return build.seq(
            *(
                renamed_loops(fold_substitute(body, {loop.var: loop.min + step}))
                for step in range(extent)
            )
        )
