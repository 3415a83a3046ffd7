# SPDX-License-Identifier: Apache-2.0
"""vectorize_loops: loops marked vectorized become vector operations, tails become masks."""

from __future__ import annotations

import functools
import operator

from axisfold.analysis.bounds import Bounds, is_within
from axisfold.analysis.linear import linear
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Expr,
    IfThenElse,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import rebuild, uses
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
    def __init__(self) -> None:
        super().__init__()
        self.is_launched = False
        # Parts of a state lie alike, and one proof does for all of them.
        self.covered: dict[
            tuple[tuple[Expr, ...], Expr, int], tuple[Bounds, bool]
        ] = {}  # the bounds are kept, and so is their identity

    def visit_launch(self, launch: Launch) -> Stmt:
        self.is_launched = True
        return super().visit_launch(launch)

    def visit_for(self, loop: For) -> Stmt:
        if loop.kind != "vectorized":
            return super().visit_for(loop)
        serial = For(loop.var, loop.min, loop.extent, "serial", loop.body, loop.stop)
        lanes = build.as_int(loop.extent)
        if lanes is None or lanes < 2 or loop.stop is not None:
            return super().visit_for(serial)
        inner = self.visit_inside(loop, loop.body)
        try:
            return _Lanes(loop, lanes, self).stmt(inner, None)
        except _NoVectorForm:
            return For(loop.var, loop.min, loop.extent, "serial", inner)


class _Lanes:
    """Rewrites the body of one loop with all its rounds side by side."""

    def __init__(self, loop: For, lanes: int, around: _Pass) -> None:
        self.lanes, self.bounds = lanes, around.bounds
        self.is_launched, self.covered = around.is_launched, around.covered
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
                # A body is written twice where it has a tail: each has a variable of its own.
                name = Var(stmt.var.name, value.dtype)
                self.vectors[stmt.var] = name
                return Let(name, value, self.stmt(stmt.body, mask))
            case For():
                low, extent = self.expr(stmt.min, mask), self.expr(stmt.extent, mask)
                if low.dtype.lanes > 1 or extent.dtype.lanes > 1 or stmt.stop is not None:
                    raise _NoVectorForm
                outer = self.bounds
                self.bounds = outer.extended(stmt.var, low, extent)
                body = self.stmt(stmt.body, mask)
                self.bounds = outer
                return rebuild(stmt, [low, extent, body])
            case Allocate() | Attr() | AllReduce():
                raise _NoVectorForm
            case Launch() | Shuffle() | Barrier() | Ticket():
                raise _NoVectorForm  # threads work together one step at a time

    def store(self, stmt: Store, mask: Expr | None) -> Stmt:
        index, value = self.expr(stmt.index, mask), self.expr(stmt.value, mask)
        if stmt.mask is not None:
            mask = self.both(mask, self.expr(stmt.mask, mask))
        if index.dtype.lanes == 1:
            if value.dtype.lanes > 1 or mask is not None:
                raise _NoVectorForm
            return rebuild(stmt, [index, value])
        is_private = stmt.buffer.scope == "local"
        if mask is not None and is_private and not self.covers(stmt.buffer, index):
            raise _NoVectorForm  # code generation rewrites masked lanes of private memory
        wide = build.broadcast(value, self.lanes)
        return Store(stmt.buffer, index, wide, mask, stmt.align, stmt.cache)

    def both(self, a: Expr | None, b: Expr) -> Expr:
        """Return the mask of the lanes in which both conditions hold."""
        wide = build.broadcast(b, self.lanes)
        return wide if a is None else build.binary("and", a, wide)

    def branch(self, stmt: If, mask: Expr | None) -> Stmt:
        condition = self.expr(build.bare(stmt.condition), mask)
        if condition.dtype.lanes == 1:
            otherwise = [] if stmt.otherwise is None else [self.stmt(stmt.otherwise, mask)]
            return rebuild(stmt, [condition, self.stmt(stmt.then, mask), *otherwise])
        then = self.stmt(stmt.then, self.both(mask, condition))
        if stmt.otherwise is None:
            is_guard = build.bare(stmt.condition) is not stmt.condition
            ends = self.ends(condition) if is_guard and mask is None else None
            if ends is None or build.is_const(ends[1], False):  # no vector is whole
                return then
            if _agree(condition):
                return If(ends[0], self.stmt(stmt.then, None))
            some, whole = (simplify(end, self.bounds) for end in ends)
            rest = then if build.is_const(some, True) else If(some, then)
            # Most vectors of a tail are whole ones, and masked loads of bytes are slow.
            is_never = build.is_const(whole, False)
            return rest if is_never else If(whole, self.stmt(stmt.then, None), rest)
        return build.seq(
            then, self.stmt(stmt.otherwise, self.both(mask, build.logical_not(condition)))
        )

    def ends(self, condition: Expr) -> tuple[Expr, Expr] | None:
        """Return whether the first and the last lane are inside the bound of a tail, on a CPU."""
        if self.is_launched or not isinstance(condition, Compare) or condition.op != "lt":
            return None
        index, bound = condition.a, condition.b
        if not isinstance(index, Ramp) or not isinstance(bound, Broadcast):
            return None
        if not can_prove(index.stride >= 0, self.bounds):
            return None
        last = index.base + index.stride * (index.lanes - 1)
        return index.base < bound.value, last < bound.value

    def expr(self, root: Expr, mask: Expr | None) -> Expr:
        """Return the vector form of an expression, a scalar if all lanes agree.

        Lanes outside ``mask`` touch no memory: every load gets the mask, also one at an address
        that all lanes share.
        """
        done: dict[int, Expr] = {}
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, is_ready = stack.pop()
            if id(node) in done:
                continue
            if mask is None and not uses(node, self.vectors.keys()):
                done[id(node)] = node  # a scalar, and stays one
                continue
            if isinstance(node, IfThenElse):
                done[id(node)] = self.choice(node, mask)
                continue
            parts: tuple[Expr, ...] = node.children()  # type: ignore[assignment]
            if is_ready:
                done[id(node)] = self.node(node, [done[id(c)] for c in parts], mask)
            else:
                stack.append((node, True))
                stack.extend((part, False) for part in reversed(parts))
        return done[id(root)]

    def choice(self, node: IfThenElse, mask: Expr | None) -> Expr:
        """Return a choice; each side reads memory in its own lanes only."""
        condition = self.expr(node.condition, mask)
        if condition.dtype.lanes == 1:
            sides = [self.expr(node.true_value, mask), self.expr(node.false_value, mask)]
            if all(side.dtype.lanes == 1 for side in sides):
                return rebuild(node, [condition, *sides])
        chosen = self.both(mask, condition)
        other = self.both(mask, build.logical_not(condition))
        yes, no = self.expr(node.true_value, chosen), self.expr(node.false_value, other)
        return build.select(build.broadcast(condition, self.lanes), yes, no)

    def node(self, node: Expr, parts: list[Expr], mask: Expr | None) -> Expr:
        if isinstance(node, Var):
            return self.vectors.get(node, node)
        if isinstance(node, Load):
            return self.load(node, parts, mask)
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
            case Call():
                return Call(node.name, tuple(wide), node.dtype.with_lanes(self.lanes))
            case _:
                raise _NoVectorForm

    def covers(self, buffer: Buffer, index: Expr) -> bool:
        """Return whether every lane of an index lies in a buffer, also those masked out."""
        key = (buffer.allocated_extents, index, id(self.bounds))
        if key not in self.covered:
            self.covered[key] = (self.bounds, self._covers(buffer, index))
        return self.covered[key][1]

    def _covers(self, buffer: Buffer, index: Expr) -> bool:
        if is_within(index, buffer.allocated_extents, self.bounds):
            return True
        first, last = index, index
        if isinstance(index, Ramp):
            first = index.base
            last = first + index.stride * (index.lanes - 1)
            if not can_prove(index.stride >= 0, self.bounds):
                return False
        elif index.dtype.lanes > 1:
            return False
        size = functools.reduce(operator.mul, buffer.allocated_extents, build.const(1, first.dtype))
        inside = (first >= 0, last < build.cast(first.dtype, size))
        return all(can_prove(condition, self.bounds) for condition in inside)

    def load(self, node: Load, parts: list[Expr], mask: Expr | None) -> Expr:
        index = parts[0]
        if (
            node.buffer.scope == "local"
            and not self.is_launched
            and self.covers(node.buffer, index)
        ):
            # Lanes beyond a tail may be read where they are memory of our own.  On a GPU nothing
            # is gained by that, and the simulator refuses to read what was not written.
            mask = None
        if node.mask is not None:
            mask = self.both(mask, parts[1])
        if mask is not None:
            index = build.broadcast(index, self.lanes)
        return Load(node.buffer, index, mask, node.align, node.cache, node.ahead)


def _agree(tail: Expr) -> bool:
    """Return whether all lanes of a tail are inside its bound, or none: both are multiples."""
    if not isinstance(tail, Compare) or not isinstance(tail.a, Ramp):
        return False
    step = build.as_int(tail.a.stride)
    if not step or not isinstance(tail.b, Broadcast):
        return False
    form = linear(tail.b.value).plus(linear(tail.a.base), -1)
    return all(n % (step * tail.a.lanes) == 0 for n in (form.constant, *form.terms.values()))
