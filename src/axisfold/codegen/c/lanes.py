# SPDX-License-Identifier: Apache-2.0
"""Vectors as loops over lanes: short loops of constant extent, which C compilers vectorise.

Before::

    B[ramp(i*8, 1, 8)] = B[ramp(i*8, 1, 8)] + A[ramp(j, n, 8)], mask = …

After::

    for (lane, 0, 8) { if … { B[i*8 + lane] = B[i*8 + lane] + A[j + lane*n] } }

The program means the same and has scalars only.
"""

from __future__ import annotations

from axisfold.codegen.lane import lane_of, lanes_are_separate
from axisfold.dtypes import INT64, DType
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import (
    Expr,
    Load,
    Node,
    Var,
)
from axisfold.ir.stmt import (
    WORK,
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
from axisfold.ir.walk import rebuild


def scalarize_lanes(kernel: Kernel) -> Kernel:
    """Return the program with every vector written as a loop over its lanes."""
    return Kernel(kernel.name, kernel.params, kernel.outputs, _Scalarizer().stmt(kernel.body))


class _Scalarizer:
    def __init__(self) -> None:
        self.arrays: dict[Var, Buffer] = {}

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store():
                return self.store(stmt)
            case Let():
                return self.let(stmt)
            case Seq():
                return build.seq(*(self.stmt(s) for s in stmt.body))
            case For() | If() | Allocate():
                return rebuild(stmt, [self._part(c) for c in stmt.children()])
            case Attr() if stmt.key == WORK:
                return self.stmt(stmt.body)  # no threads share the rounds here
            case Attr() | AllReduce() | Launch() | Shuffle() | Barrier() | Ticket():
                raise InternalError(f"{type(stmt).__name__} is no statement of a CPU program")

    def _part(self, node: Node) -> Node:
        return node if isinstance(node, Expr) else self.stmt(node)  # type: ignore[arg-type]

    def let(self, stmt: Let) -> Stmt:
        """Keep a named vector in an array."""
        lanes = stmt.value.dtype.lanes
        if lanes == 1:
            return Let(stmt.var, stmt.value, self.stmt(stmt.body))
        array = _array(stmt.var.name, stmt.value.dtype)
        lane = _lane()
        fill = self.loop(lane, lanes, Store(array, lane, self.at(stmt.value, lane)))
        self.arrays[stmt.var] = array
        return Allocate(array, build.seq(fill, self.stmt(stmt.body)))

    def store(self, stmt: Store) -> Stmt:
        """Write the lanes one by one, or compute all of them first where a lane reads another."""
        lanes = stmt.index.dtype.lanes
        if lanes == 1:
            return stmt
        lane = _lane()
        if not lanes_are_separate(stmt):
            array = _array(f"{stmt.buffer.name}.new", stmt.value.dtype)
            fill = self.loop(lane, lanes, Store(array, lane, self.at(stmt.value, lane)))
            after = _lane()
            held = Load(array, after)
            return Allocate(array, build.seq(fill, self._written(stmt, held, after, lanes)))
        return self._written(stmt, self.at(stmt.value, lane, stmt.mask), lane, lanes)

    def _written(self, stmt: Store, value: Expr, lane: Var, lanes: int) -> Stmt:
        body: Stmt = Store(stmt.buffer, self.at(stmt.index, lane), value, None, stmt.align)
        if stmt.mask is not None:
            body = If(self.at(stmt.mask, lane), body)
        return self.loop(lane, lanes, body)

    def loop(self, lane: Var, lanes: int, body: Stmt) -> Stmt:
        return For(lane, build.const(0, INT64), build.const(lanes, INT64), "serial", body)

    def at(self, root: Expr, lane: Var, mask: Expr | None = None) -> Expr:
        """Return one lane of an expression, as :func:`lane_of` does."""
        return lane_of(root, lane, self.arrays, mask=mask)


def _lane() -> Var:
    return Var("lane", INT64)


def _array(name: str, dtype: DType) -> Buffer:
    """Return memory for the lanes of a vector."""
    shape = (build.const(dtype.lanes, INT64),)
    return Buffer(name, dtype.element, shape, scope="local", facts=Facts(align=64))
