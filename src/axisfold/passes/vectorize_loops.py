# SPDX-License-Identifier: Apache-2.0
"""vectorize_loops: loops marked vectorized become vector operations, tails become masks."""

from __future__ import annotations

from axisfold.ir import build
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Expr,
    IfThenElse,
    Load,
    Node,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Seq, Stmt, Store
from axisfold.ir.walk import children, post_order, rebuild, rewrite
from axisfold.passes.rewriter import StmtRewriter


def vectorize_loops(kernel: Kernel) -> Kernel:
    """Replace each vectorized loop by statements on vectors of its constant extent.

    A condition that differs between lanes becomes the mask of the loads and stores under it.
    A loop whose body has no vector form (it allocates memory, has inner loops with bounds that
    differ between lanes, or stores to one place from all lanes) becomes serial.
    """
    return _Pass().run(kernel)


class _NoVectorForm(Exception):
    """The loop stays scalar."""


class _Pass(StmtRewriter):
    def visit_for(self, loop: For) -> Stmt:
        if loop.kind != "vectorized":
            return super().visit_for(loop)
        serial = For(loop.var, loop.min, loop.extent, "serial", loop.body, loop.stop)
        lanes = build.as_int(loop.extent)
        if lanes is None or loop.stop is not None:
            return super().visit_for(serial)
        inner = self.visit_inside(loop, loop.body)
        try:
            return _Lanes(loop, lanes).stmt(inner, None)
        except _NoVectorForm:
            return For(loop.var, loop.min, loop.extent, "serial", inner)


class _Lanes:
    """Rewrites the body of one loop with all its rounds side by side."""

    def __init__(self, loop: For, lanes: int) -> None:
        self.lanes = lanes
        one = build.const(1, loop.var.dtype)
        self.vectors: dict[Var, Expr] = {loop.var: Ramp(loop.min, one, lanes)}

    def stmt(self, stmt: Stmt, mask: Expr | None) -> Stmt:
        match stmt:
            case Store():
                return self.store(stmt, mask)
            case If():
                return self.branch(stmt, mask)
            case Seq():
                return build.seq(*(self.stmt(s, mask) for s in stmt.body))
            case Let():
                value = self.expr(stmt.value, mask)
                if value.dtype.lanes == 1:
                    return rebuild(stmt, [value, self.stmt(stmt.body, mask)])
                name = Var(stmt.var.name, value.dtype)
                self.vectors[stmt.var] = name
                return Let(name, value, self.stmt(stmt.body, mask))
            case For():
                low, extent = self.expr(stmt.min, None), self.expr(stmt.extent, None)
                if low.dtype.lanes > 1 or extent.dtype.lanes > 1 or stmt.stop is not None:
                    raise _NoVectorForm
                return rebuild(stmt, [low, extent, self.stmt(stmt.body, mask)])
            case Allocate():
                raise _NoVectorForm

    def store(self, stmt: Store, mask: Expr | None) -> Stmt:
        index, value = self.expr(stmt.index, mask), self.expr(stmt.value, mask)
        if stmt.mask is not None:
            mask = _both(mask, self.expr(stmt.mask, mask))
        if index.dtype.lanes == 1 and (value.dtype.lanes > 1 or mask is not None):
            raise _NoVectorForm
        if index.dtype.lanes == 1:
            return Store(stmt.buffer, index, value, None, stmt.align, stmt.cache)
        wide = build.broadcast(value, self.lanes)
        return Store(stmt.buffer, index, wide, mask, stmt.align, stmt.cache)

    def branch(self, stmt: If, mask: Expr | None) -> Stmt:
        condition = self.expr(_bare(stmt.condition), mask)
        if condition.dtype.lanes == 1:
            otherwise = [] if stmt.otherwise is None else [self.stmt(stmt.otherwise, mask)]
            return rebuild(stmt, [condition, self.stmt(stmt.then, mask), *otherwise])
        then = self.stmt(stmt.then, _both(mask, condition))
        if stmt.otherwise is None:
            return then
        return build.seq(then, self.stmt(stmt.otherwise, _both(mask, build.logical_not(condition))))

    def expr(self, root: Expr, mask: Expr | None) -> Expr:
        """Return the vector form of an expression, a scalar if all lanes agree."""
        done: dict[int, Expr] = {}
        for node in post_order(root):
            parts = [done[id(c)] for c in children(node)]
            done[id(node)] = self.node(node, parts)
        result = done[id(root)]
        return result if mask is None else _masked(result, mask)

    def node(self, node: Node, parts: list[Expr]) -> Expr:
        assert isinstance(node, Expr)
        if isinstance(node, Var):
            return self.vectors.get(node, node)
        if all(p.dtype.lanes == 1 for p in parts):
            return rebuild(node, parts)
        if any(p.dtype.lanes not in (1, self.lanes) for p in parts):
            raise _NoVectorForm
        wide = [build.broadcast(p, self.lanes) for p in parts]
        match node:
            case Cast():
                return build.cast(node.dtype, wide[0])
            case Binary():
                return build.binary(node.op, wide[0], wide[1])
            case Compare():
                return build.compare(node.op, wide[0], wide[1])
            case Not():
                return build.logical_not(wide[0])
            case Select():
                return build.select(*wide)
            case IfThenElse():
                yes = _masked(wide[1], wide[0])
                no = _masked(wide[2], build.logical_not(wide[0]))
                return build.select(wide[0], yes, no)
            case Call():
                return Call(node.name, tuple(wide), node.dtype.with_lanes(self.lanes))
            case Load():
                return Load(
                    node.buffer, parts[0], wide[1] if node.mask else None, node.align, node.cache
                )
            case _:
                raise _NoVectorForm


def _bare(condition: Expr) -> Expr:
    is_likely = isinstance(condition, Call) and condition.name == "likely"
    return condition.args[0] if is_likely else condition  # type: ignore[attr-defined, no-any-return]


def _both(a: Expr | None, b: Expr) -> Expr:
    return b if a is None else build.binary("and", a, build.broadcast(b, a.dtype.lanes))


def _masked(expr: Expr, mask: Expr) -> Expr:
    """Put a mask on every read of shared memory, so that masked-out lanes touch nothing."""
    lanes = mask.dtype.lanes

    def rule(node: Node) -> Node:
        if not isinstance(node, Load) or node.buffer.scope == "local":
            return node
        index = build.broadcast(node.index, lanes)
        both = mask if node.mask is None else _both(mask, node.mask)
        return Load(node.buffer, index, both, node.align, node.cache)

    return rewrite(expr, rule)
