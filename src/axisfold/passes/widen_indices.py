# SPDX-License-Identifier: Apache-2.0
"""widen_indices: offsets, bounds and guards are computed in int64.

Variables keep their declared type up to here (te prints ``i: int32``).  A flat offset of an
array beyond 2**31 elements would wrap in it, so every index expression is rebuilt in int64;
where an index is used as a *value*, it is converted back.
"""

from __future__ import annotations

from dataclasses import replace

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    Node,
    Ramp,
    Var,
)
from axisfold.ir.stmt import Allocate, For, Kernel, Launch, Let, Shuffle, Stmt, Store, Ticket
from axisfold.ir.walk import post_order, rebuild
from axisfold.passes.rewriter import StmtRewriter


def widen_indices(kernel: Kernel) -> Kernel:
    """Compute offsets, loop bounds and comparisons of indices in int64."""
    if _is_wide(kernel):
        return kernel
    widener = _Widener()
    params = tuple(widener.buffer(b) for b in kernel.params)
    outputs = tuple(widener.buffer(b) for b in kernel.outputs)
    return Kernel(kernel.name, params, outputs, widener.visit(kernel.body))


def _is_wide(kernel: Kernel) -> bool:
    """Return whether all index arithmetic is in int64 as it is."""
    layouts = [e for b in (*kernel.params, *kernel.outputs) for e in (*b.shape, *b.strides)]
    nodes = [n for root in (kernel.body, *layouts) for n in post_order(root)]
    named = {n.var for n in nodes if isinstance(n, Let)}  # data, whatever dtype they have
    for node in nodes:
        match node:
            case Load() | Store() if node.index.dtype.element != INT64:
                return False
            case Var() if node.dtype.is_integer and node.dtype.bits < 64 and node not in named:
                return False
            case Allocate() if any(
                e.dtype != INT64 for e in (*node.buffer.shape, *node.buffer.strides)
            ):
                return False
            case _:
                pass
    return True


class _Widener(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.buffers: dict[Buffer, Buffer] = {}
        self.vars: dict[Var, Var] = {}
        self.named: set[Var] = set()

    def buffer(self, buffer: Buffer) -> Buffer:
        """Return the buffer with an int64 layout."""
        if buffer not in self.buffers:
            shape = tuple(self.index(e) for e in buffer.shape)
            strides = tuple(self.index(e) for e in buffer.strides)
            self.buffers[buffer] = replace(buffer, shape=shape, strides=strides)
        return self.buffers[buffer]

    def var(self, var: Var) -> Var:
        if var.dtype.bits == 64 or not var.dtype.is_integer:
            return var
        if var not in self.vars:
            self.vars[var] = Var(var.name, INT64, var.is_size, var.least)
        return self.vars[var]

    def index(self, root: Expr) -> Expr:
        """Return an integer expression in int64."""
        return self._both(root)[1]

    def expr(self, expr: Expr) -> Expr:
        """Return an expression of the same dtype."""
        return self._both(expr)[0]

    def _both(self, root: Expr) -> tuple[Expr, Expr]:
        """Return an expression as a value of its own dtype, and as an int64 index."""
        value: dict[int, Expr] = {}
        wide: dict[int, Expr] = {}
        pure: set[int] = set()
        for node in (n for n in post_order(root) if isinstance(n, Expr)):
            parts = node.children()
            is_pure = node.dtype.is_integer and _may_be_index(node) and node not in self.named
            if is_pure and all(id(p) in pure for p in parts):
                pure.add(id(node))
                wide[id(node)] = self._wide(node, [wide[id(p)] for p in parts])
                value[id(node)] = build.cast(node.dtype, wide[id(node)])
                continue
            value[id(node)] = self._value(node, value, wide, pure)
            if node.dtype.is_integer:
                wide[id(node)] = build.cast(INT64, value[id(node)])
        result = value[id(root)]
        return result, wide.get(id(root), result)

    def _wide(self, node: Expr, parts: list[Expr]) -> Expr:
        match node:
            case Var():
                return self.var(node)
            case Const():
                return build.const(node.value, INT64)
            case Binary():
                return build.binary(node.op, parts[0], parts[1])
            case Cast():
                return parts[0]
            case Ramp():
                return Ramp(parts[0], parts[1], node.lanes)
            case _:
                return build.broadcast(parts[0], node.dtype.lanes)

    def _value(
        self, node: Expr, value: dict[int, Expr], wide: dict[int, Expr], pure: set[int]
    ) -> Expr:
        parts: list[Node] = [value[id(p)] for p in node.children()]
        if isinstance(node, Compare) and id(node.a) in pure and id(node.b) in pure:
            return build.compare(node.op, wide[id(node.a)], wide[id(node.b)])
        if isinstance(node, Load):
            mask = None if node.mask is None else value[id(node.mask)]
            buffer, index = self.buffer(node.buffer), wide[id(node.index)]
            return Load(buffer, index, mask, node.align, node.cache, node.ahead)
        return rebuild(node, parts)

    def visit_for(self, loop: For) -> Stmt:
        stop = None if loop.stop is None else self.expr(loop.stop)
        var, low, extent = self.var(loop.var), self.index(loop.min), self.index(loop.extent)
        return For(var, low, extent, loop.kind, self.visit(loop.body), stop)

    def visit_store(self, stmt: Store) -> Stmt:
        mask = None if stmt.mask is None else self.expr(stmt.mask)
        buffer, index = self.buffer(stmt.buffer), self.index(stmt.index)
        return Store(buffer, index, self.expr(stmt.value), mask, stmt.align, stmt.cache)

    def visit_let(self, stmt: Let) -> Stmt:
        self.named.add(stmt.var)
        return Let(stmt.var, self.expr(stmt.value), self.visit(stmt.body))

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Allocate):
            return replace(stmt, buffer=self.buffer(stmt.buffer), body=self.visit(stmt.body))
        if isinstance(stmt, Shuffle):
            target, value = self.buffer(stmt.target), self.expr(stmt.value)
            return replace(stmt, target=target, value=value, lane=self.index(stmt.lane))
        if isinstance(stmt, Ticket):
            target, counter = self.buffer(stmt.target), self.buffer(stmt.counter)
            index, total = self.index(stmt.index), self.index(stmt.total)
            return Ticket(target, counter, index, total)
        return super().visit(stmt)

    def visit_launch(self, launch: Launch) -> Stmt:
        variables = tuple(self.var(v) for v in launch.vars)
        extents = tuple(self.index(e) for e in launch.extents)
        return replace(launch, vars=variables, extents=extents, body=self.visit(launch.body))


def _may_be_index(node: Expr) -> bool:
    """Whether a node keeps an index an index; a narrowing conversion of one is taken as such."""
    if isinstance(node, Cast):
        return node.value.dtype.is_integer and node.dtype.kind == "int" and node.dtype.bits >= 32
    if isinstance(node, Binary) and node.op == "shl":
        # Bits that leave an int32 would stay in an int64; a small constant count only multiplies.
        count = build.as_int(node.b.value if isinstance(node.b, Broadcast) else node.b)
        return count is not None and 0 <= count < node.dtype.bits
    return isinstance(node, (Var, Const, Binary, Ramp, Broadcast))
