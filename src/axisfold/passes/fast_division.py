# SPDX-License-Identifier: Apache-2.0
"""fast_division: threads divide by what the host knows with a product and a shift."""

from __future__ import annotations

from typing import Final

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import can_prove
from axisfold.dtypes import INT64, DType
from axisfold.ir import build
from axisfold.ir.expr import Binary, Const, Expr, Load, Node, Reciprocal, Var
from axisfold.ir.stmt import For, Kernel, Launch, Let, Stmt
from axisfold.ir.walk import post_order, rewrite, statements
from axisfold.passes.narrow_indices import scalar_bounds
from axisfold.passes.rewriter import StmtRewriter

_QUOTIENTS: Final = frozenset({"floordiv", "truncdiv"})
_REMAINDERS: Final = frozenset({"floormod", "truncmod"})


def fast_division(kernel: Kernel) -> Kernel:
    """Replace division by an extent: a GPU has no instruction for it.

    Before::

        launch … { … floordiv(i, m) … floormod(i, m) … }

    After::

        let m.multiplier: int64 = cast(int64, reciprocal_multiplier(m, dtype=uint64))
        let m.shift: int64 = cast(int64, reciprocal_shift(m, dtype=uint64))
        launch … { … (mulhi(i, m.multiplier) + i) >> m.shift …  i - (…)*m … }

    The divisor is an expression of extents and strides, at least 1, and the dividend is not
    negative (both proven).  In 32 bits where both are known to fit.
    """
    return _Pass(scalar_bounds(kernel)).run(kernel)


class _Pass(StmtRewriter):
    def __init__(self, scalars: Bounds) -> None:
        super().__init__()
        self.scalars = scalars
        self.inner: frozenset[Var] = frozenset()
        self.names: dict[tuple[Expr, DType], tuple[Var, Var]] = {}

    def run(self, kernel: Kernel) -> Kernel:
        body = self.visit(kernel.body)
        same = body is kernel.body
        return kernel if same else Kernel(kernel.name, kernel.params, kernel.outputs, body)

    def visit_launch(self, launch: Launch) -> Stmt:
        bound = [n.var for n in statements(launch.body) if isinstance(n, (For, Let))]
        self.inner, self.names = frozenset((*bound, *launch.vars)), {}
        self.bounds = self.scalars
        result: Stmt = super().visit_launch(launch)
        for (divisor, dtype), (multiplier, shift) in reversed(self.names.items()):
            for name, part in ((shift, "shift"), (multiplier, "multiplier")):
                value = Reciprocal(part, divisor, dtype)  # type: ignore[arg-type]
                result = Let(name, build.cast(INT64, value), result)
        self.inner = frozenset()
        return result

    def expr(self, expr: Expr) -> Expr:
        return rewrite(expr, self.rule) if self.inner else expr

    def rule(self, node: Node) -> Node:
        if not isinstance(node, Binary) or node.op not in _QUOTIENTS | _REMAINDERS:
            return node
        if node.dtype.lanes > 1 or not self.is_known(node.b):
            return node
        if not can_prove(node.a >= 0, self.bounds):
            return node
        quotient = self.quotient(node.a, node.b)
        return quotient if node.op in _QUOTIENTS else node.a - quotient * node.b

    def is_known(self, divisor: Expr) -> bool:
        """Return whether the host knows a divisor that is not a constant."""
        nodes = list(post_order(divisor))
        is_scalar = not any(isinstance(n, Load) or n in self.inner for n in nodes)
        return is_scalar and not isinstance(divisor, Const)

    def quotient(self, a: Expr, b: Expr) -> Expr:
        most = build.const(2**31, a.dtype)
        fits = can_prove(a < most, self.bounds) and can_prove(b < most, self.bounds)
        dtype = DType("uint", 32 if fits else 64)
        if (b, dtype) not in self.names:
            name = b.name if isinstance(b, Var) else "divisor"
            self.names[b, dtype] = (Var(f"{name}.multiplier", INT64), Var(f"{name}.shift", INT64))
        multiplier, shift = (build.cast(dtype, v) for v in self.names[b, dtype])
        dividend = build.cast(dtype, a)
        upper = build.call("mulhi", dividend, multiplier)
        total = build.binary("add", upper, dividend)
        return build.cast(a.dtype, build.binary("shr", total, shift))
