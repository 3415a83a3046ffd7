# SPDX-License-Identifier: Apache-2.0
"""narrow_indices: the threads of a GPU compute in int32 what provably fits.

A GPU multiplies and compares 64-bit integers in several instructions.  Loops, guards and offsets
fit in 32 bits where extents are constant, where a hardware index says so (no grid has more than
2**31 - 1 blocks), or where an argument promises it (``facts.index_bits == 32``: its extents and all
of its flat offsets fit).  Everything else stays int64.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from axisfold.analysis.bounds import Bounds, constant_interval
from axisfold.dtypes import INT32, INT64, wrap
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Load,
    Node,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import For, If, Kernel, Launch, Let, Shuffle, Stmt, Store, Ticket
from axisfold.ir.walk import post_order, rebuild
from axisfold.passes.rewriter import StmtRewriter

_BEYOND: Final = 1 << 31
# No array is longer, in an address space of today.
_EXTENT_BITS: Final = 47
_RING: Final = frozenset({"add", "sub", "mul"})


def narrow_indices(kernel: Kernel) -> Kernel:
    """Compute the indices inside launches in int32 where that changes no result.

    Before, with ``A`` promised to be addressable by 32 bits (all of it int64)::

        for (k, 0, m) { if (i*32 + k < n) { … A[i*m + k] … } }

    After, i, k and what is computed from them are int32.
    """
    return _Pass(scalar_bounds(kernel)).run(kernel)


def scalar_bounds(kernel: Kernel) -> Bounds:
    """Return the domains of the extents that arguments bind: promised ones are below 2**31."""
    bounds = Bounds({})
    most: dict[Var, int] = {}
    for buffer in kernel.params:
        bits = buffer.facts.index_bits - 1
        for extent in buffer.shape:
            if isinstance(extent, Var):
                most[extent] = min(most.get(extent, _EXTENT_BITS), bits)
    for extent, bits in most.items():
        bounds = bounds.extended(extent, 0, 1 << bits)
    return bounds


def hardware_extent(extent: Expr, bounds: Bounds) -> Expr:
    """Return the extent of a hardware index, or that of the largest grid if it is not known."""
    if constant_interval(extent, bounds).high < _BEYOND:
        return extent
    return build.const(_BEYOND - 1, extent.dtype)


class _Pass(StmtRewriter):
    def __init__(self, bounds: Bounds) -> None:
        super().__init__()
        self.start = bounds
        self.narrow: dict[Var, Var] = {}
        self.is_inside = False

    def run(self, kernel: Kernel) -> Kernel:
        self.bounds = self.start
        body = self.visit(kernel.body)
        if body is kernel.body:
            return kernel
        return Kernel(kernel.name, kernel.params, kernel.outputs, body)

    def visit(self, stmt: Stmt) -> Stmt:
        if self.is_inside and isinstance(stmt, Shuffle):
            is_wide = stmt.lane.dtype == INT64  # no warp has 2**31 lanes
            lane = self.narrowed(stmt.lane) if is_wide else self.expr(stmt.lane)
            return rebuild(stmt, [self.expr(stmt.value), lane])
        if self.is_inside and isinstance(stmt, Ticket):
            index = self.offset(stmt.index, stmt.counter)
            return rebuild(stmt, [index, self.expr(stmt.total)])
        return super().visit(stmt)

    def visit_launch(self, launch: Launch) -> Stmt:
        outer, self.is_inside = self.bounds, True
        variables = []
        for var, extent in zip(launch.vars, launch.extents, strict=True):
            most = hardware_extent(extent, self.bounds)
            variables.append(self._named(var, build.const(0, var.dtype), most, is_known=True))
        body = self.visit(launch.body)
        self.bounds, self.is_inside = outer, False
        if body is launch.body:
            return launch
        return replace(launch, vars=tuple(variables), body=body)

    def _named(self, var: Var, low: Expr, extent: Expr, *, is_known: bool) -> Var:
        """Bring an index into scope, as int32 if ``is_known`` says that it fits."""
        self.bounds = self.bounds.extended(var, low, extent)
        if not is_known or var.dtype != INT64:
            return var
        self.narrow[var] = Var(var.name, INT32, var.is_size, var.least)
        return self.narrow[var]

    def visit_for(self, loop: For) -> Stmt:
        if not self.is_inside:
            return super().visit_for(loop)
        low, extent, outer = loop.min, loop.extent, self.bounds
        end = build.binary("add", low, extent)
        fits = loop.var.dtype == INT64 and self.fits(low) and self.fits(end)
        ends = [self.narrowed(e) if fits else self.expr(e) for e in (low, extent)]
        var = self._named(loop.var, low, extent, is_known=fits)
        stop = None if loop.stop is None else self.expr(loop.stop)
        body = self.visit(loop.body)
        self.bounds = outer
        if var is loop.var:
            return rebuild(loop, [*ends, *([] if stop is None else [stop]), body])
        return For(var, ends[0], ends[1], loop.kind, body, stop, loop.thread)

    def visit_let(self, stmt: Let) -> Stmt:
        if not self.is_inside:
            return super().visit_let(stmt)
        is_index = stmt.var.dtype == INT64 and self.fits(stmt.value)
        if not is_index:
            return rebuild(stmt, [self.expr(stmt.value), self.visit(stmt.body)])
        value, outer = self.narrowed(stmt.value), self.bounds
        found = constant_interval(stmt.value, self.bounds)
        low, high = int(max(found.low, -_BEYOND)), int(min(found.high, _BEYOND - 1))
        start, extent = build.const(low, INT64), build.const(high - low + 1, INT64)
        var = self._named(stmt.var, start, extent, is_known=True)
        body = self.visit(stmt.body)
        self.bounds = outer
        return Let(var, value, body)

    def visit_if(self, stmt: If) -> Stmt:
        otherwise = [] if stmt.otherwise is None else [self.visit(stmt.otherwise)]
        return rebuild(stmt, [self.expr(stmt.condition), self.visit(stmt.then), *otherwise])

    def visit_store(self, stmt: Store) -> Stmt:
        index = self.offset(stmt.index, stmt.buffer)
        mask = [] if stmt.mask is None else [self.expr(stmt.mask)]
        return rebuild(stmt, [index, self.expr(stmt.value), *mask])

    def expr(self, root: Expr) -> Expr:
        if not self.is_inside or not any(_is_index(node) for node in post_order(root)):
            return root
        found = _Narrowing(self.narrow, self.bounds, root).own(root)
        return root if found == root else found

    def narrowed(self, root: Expr) -> Expr:
        """Return an int64 expression modulo 2**32."""
        return _Narrowing(self.narrow, self.bounds, root).thin[id(root)]

    def offset(self, root: Expr, buffer: Buffer) -> Expr:
        """Return the offset of a store or a ticket."""
        found = _Narrowing(self.narrow, self.bounds, root).offset(root, buffer)
        return root if found == root else found

    def fits(self, expr: Expr) -> bool:
        """Whether all values of an int64 expression are int32."""
        return _fits(expr, self.bounds)


class _Narrowing:
    """One expression in two forms.

    Attributes
    ----------
    wide
        Each node in its own dtype.
    thin
        Each int64 node modulo 2**32, as an int32.
    small
        The int64 nodes that are int32, and so are all their parts.
    """

    def __init__(self, narrow: dict[Var, Var], bounds: Bounds, root: Expr) -> None:
        self.narrow, self.bounds = narrow, bounds
        self.wide: dict[int, Expr] = {}
        self.thin: dict[int, Expr] = {}
        self.small: set[int] = set()
        for node in post_order(root):
            if isinstance(node, Expr):
                if node.dtype.element == INT64:
                    self._index(node)
                else:
                    self.wide[id(node)] = self._value(node)

    def own(self, node: Expr) -> Expr:
        """Return a node in its own dtype."""
        return self.wide[id(node)]

    def offset(self, index: Expr, buffer: Buffer) -> Expr:
        """Return an offset in a buffer, in int32 if each that names an element is one."""
        if index.dtype.element != INT64:
            return self.own(index)
        is_bounded = buffer.scope != "global" or buffer.facts.index_bits == 32
        return self.thin[id(index)] if is_bounded or id(index) in self.small else self.own(index)

    def _index(self, node: Expr) -> None:
        below = [c for c in node.children() if isinstance(c, Expr)]
        is_small = all(id(c) in self.small for c in below if c.dtype.element == INT64)
        if is_small and _fits(node, self.bounds):
            self.small.add(id(node))
        plain = (
            self._value(node)
            if isinstance(node, Load)
            else rebuild(node, [self.own(c) for c in below])
        )
        thin = self._thin(node, plain)
        self.thin[id(node)] = thin
        is_leaf = isinstance(node, Const) or plain is node
        is_kept = id(node) not in self.small or isinstance(node, (Const, Load))
        if isinstance(node, Var) and node in self.narrow:
            self.wide[id(node)] = build.cast(INT64, thin)
        else:
            self.wide[id(node)] = plain if is_kept or is_leaf else build.cast(INT64, thin)

    def _thin(self, node: Expr, plain: Expr) -> Expr:
        parts = [self.thin[id(c)] for c in node.children() if id(c) in self.thin]
        match node:
            case Const():
                return build.const(wrap(int(node.value), INT32), INT32)
            case Var() if node in self.narrow:
                return self.narrow[node]
            case Binary() if node.op in _RING or id(node) in self.small:
                return build.binary(node.op, parts[0], parts[1])
            case Ramp():
                return Ramp(parts[0], parts[1], node.lanes)
            case Broadcast():
                return build.broadcast(parts[0], node.lanes)
            case Select() | IfThenElse():
                return type(node)(self.own(node.condition), parts[0], parts[1])
            case Cast() if node.value.dtype.is_integer and node.value.dtype.bits <= 32:
                return build.cast(INT32, self.own(node.value))
            case _:
                return build.cast(INT32, plain)

    def _value(self, node: Expr) -> Expr:
        match node:
            case Compare() if id(node.a) in self.small and id(node.b) in self.small:
                return build.compare(node.op, self.thin[id(node.a)], self.thin[id(node.b)])
            case Cast() if node.dtype.element == INT32 and id(node.value) in self.thin:
                return self.thin[id(node.value)]
            case Load():
                index = self.offset(node.index, node.buffer)
                mask = [] if node.mask is None else [self.own(node.mask)]
                return rebuild(node, [index, *mask])
            case _:
                return rebuild(node, [self.own(c) for c in node.children() if isinstance(c, Expr)])


def _is_index(node: Node) -> bool:
    return isinstance(node, Expr) and node.dtype.bits == 64 and node.dtype.kind == "int"


def _fits(node: Expr, bounds: Bounds) -> bool:
    if isinstance(node, Cast) and node.value.dtype.element == INT32:
        return True  # also where it is data
    found = constant_interval(node, bounds)
    return found.low >= -_BEYOND and found.high < _BEYOND
