# SPDX-License-Identifier: Apache-2.0
"""Vectors as arrays of registers: wide loads, unrolled loops over the lanes, wide stores.

Before::

    B[ramp(i*8, 1, 8)] = A[ramp(i*8, 1, 8)] * 2      (both aligned to 16 bytes)

After::

    A_value[ramp(0, 1, 8)] = A[ramp(i*8, 1, 8)]
    for (lane, 0, 8) { B_value[lane] = A_value[lane] * 2 }
    B[ramp(i*8, 1, 8)] = B_value[ramp(0, 1, 8)]

What is left of vectors are moves between memory and registers (:class:`Move`): neighbours whose
alignment lets one instruction take several.  All other loads and stores become scalar ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from axisfold.codegen.cuda.spelling import WIDEST
from axisfold.codegen.lane import lane_of, lanes_are_separate
from axisfold.dtypes import INT32, DType
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Broadcast,
    Expr,
    IfThenElse,
    Load,
    Node,
    Ramp,
    Var,
)
from axisfold.ir.stmt import Allocate, For, If, Let, Seq, Stmt, Store
from axisfold.ir.walk import post_order, rebuild


@dataclass(frozen=True, slots=True)
class Move:
    """Neighbouring elements that pass between memory and an array of registers.

    Parameters
    ----------
    memory, index
        The buffer and the flat offset of the first element.
    registers
        The buffer of the lanes.
    pieces
        Bytes of each access; they divide the bytes of all lanes.
    is_load
        Whether the registers are written.
    cache
        The hint of the access.
    """

    memory: Buffer
    index: Expr
    registers: Buffer
    pieces: int
    is_load: bool
    cache: str


def move_of(stmt: Store) -> Move | None:
    """Return the move that a vector store is, None for a scalar store."""
    if not isinstance(stmt.index, Ramp):
        return None
    value = stmt.value
    if not isinstance(value, Load) or not isinstance(value.index, Ramp):
        raise InternalError("a vector is left that is no move")
    if stmt.buffer.scope == "local":
        pieces = _piece(value)
        return Move(value.buffer, value.index.base, stmt.buffer, pieces, True, value.cache)
    return Move(stmt.buffer, stmt.index.base, value.buffer, _piece(stmt), False, stmt.cache)


def moved_registers(nodes: Iterable[Node]) -> frozenset[Buffer]:
    """Return the registers that moves read or write."""
    moves = (move_of(n) for n in nodes if isinstance(n, Store))
    return frozenset(move.registers for move in moves if move is not None)


def _piece(access: Load | Store) -> int:
    """Return the bytes of the widest access that fits, 0 where lanes are taken one by one."""
    index, dtype = access.index, access.buffer.dtype
    if access.buffer.scope == "local" or not isinstance(index, Ramp):
        return 0
    step = dtype.itemsize if access.buffer.unit == "byte" else 1
    if not build.is_const(index.stride, step):
        return 0
    size = index.lanes * dtype.itemsize
    piece = min(WIDEST, access.align & -access.align, size & -size)
    return piece if piece > dtype.itemsize else 0


def _is_uniform(mask: Expr | None) -> bool:
    return mask is None or isinstance(mask, Broadcast)


def _is_wide(access: Load | Store) -> bool:
    return _piece(access) > 0 and _is_uniform(access.mask)


def split_lanes(body: Stmt) -> Stmt:
    """Return what a thread does with every vector in registers."""
    return _Lanes().stmt(body)


class _Lanes:
    """Rewrites the statements of one launch."""

    def __init__(self) -> None:
        self.arrays: dict[Var, Buffer | Var] = {}

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store():
                return self.store(stmt)
            case Let():
                return self.let(stmt)
            case Seq():
                return build.seq(*(self._run(run) for run in _runs(stmt.body)))
            case _:
                return rebuild(stmt, [self._part(c) for c in stmt.children()])

    def _part(self, node: Node) -> Node:
        return node if isinstance(node, Expr) else self.stmt(node)  # type: ignore[arg-type]

    def _run(self, run: Sequence[Stmt]) -> Stmt:
        return self._together((), run) if run[1:] and _is_one_loop(run) else self.stmt(run[0])

    def let(self, stmt: Let) -> Stmt:
        """Keep a named vector in an array, or each lane in a variable where its loop ends there."""
        if stmt.value.dtype.lanes == 1:
            return Let(stmt.var, stmt.value, self.stmt(stmt.body))
        names = _named_vectors(stmt)
        last = names[-1].body
        stores = last.body if isinstance(last, Seq) else (last,)
        if _is_one_loop(stores, names):
            return self._together(names, stores)
        array = _array(stmt.var.name, stmt.value.dtype)
        fill = self._fill(array, stmt.value)
        self.arrays[stmt.var] = array
        return Allocate(array, build.seq(fill, self.stmt(stmt.body)))

    def _together(self, names: Sequence[Let], stores: Sequence[Store]) -> Stmt:
        """Return one loop over lanes, in each of which names get values and stores follow."""
        roots = [*(n.value for n in names), *(s.value for s in stores)]

        def one(lane: Var, wide: dict[Load, Buffer]) -> Stmt:
            named: list[tuple[Var, Expr]] = []
            for name in names:
                var = Var(name.var.name, name.var.dtype.element)
                named.append((var, self.at(name.value, lane, wide)))
                self.arrays[name.var] = var
            body = build.seq(
                *(self._lane(s, lane, self.at(s.value, lane, wide, s.mask)) for s in stores)
            )
            for var, value in reversed(named):
                body = Let(var, value, body)
            return body

        return self._with_loads(roots, lambda wide: _loop(roots, lambda lane: one(lane, wide)))

    def store(self, stmt: Store) -> Stmt:
        """Write the lanes one by one, or all at once where that is one instruction."""
        lanes = stmt.index.dtype.lanes
        if lanes == 1:
            return stmt
        if _is_wide(stmt):
            array = _array(f"{stmt.buffer.name}.value", stmt.value.dtype)
            move = Store(stmt.buffer, stmt.index, _all(array), None, stmt.align, stmt.cache)
            body = build.seq(self._fill(array, stmt.value), move)
            return _where(stmt.mask, Allocate(array, body))
        return self._with_loads([stmt.value], lambda wide: self._written(stmt, wide))

    def _fill(self, array: Buffer, value: Expr) -> Stmt:
        """Return the statement that puts a vector in an array."""
        if isinstance(value, Load) and _is_wide(value):
            return self._fetch(array, value)

        def written(wide: dict[Load, Buffer]) -> Stmt:
            return _loop([value], lambda lane: Store(array, lane, self.at(value, lane, wide)))

        return self._with_loads([value], written)

    def _fetch(self, array: Buffer, load: Load) -> Stmt:
        """Return the statement that loads a vector at once; masked-out lanes are 0."""
        bare = Load(load.buffer, load.index, None, load.align, load.cache)
        move = Store(array, _whole(array), bare)
        if not isinstance(load.mask, Broadcast):
            return move
        zero = build.const(0, array.dtype)
        clear = _loop([load], lambda lane: Store(array, lane, zero))
        return If(load.mask.value, move, clear)

    def _with_loads(
        self, roots: Sequence[Expr], body: Callable[[dict[Load, Buffer]], Stmt]
    ) -> Stmt:
        """Return a statement around which the wide loads of expressions are in registers."""
        wide: dict[Load, Buffer] = {}
        for node in (n for root in roots for n in _evaluated(root)):
            if isinstance(node, Load) and node.dtype.lanes > 1 and _is_wide(node):
                wide.setdefault(node, _array(f"{node.buffer.name}.value", node.dtype))
        fetches = [self._fetch(array, load) for load, array in wide.items()]
        inside: Stmt = build.seq(*fetches, body(wide))
        for array in reversed(wide.values()):
            inside = Allocate(array, inside)
        return inside

    def _written(self, stmt: Store, wide: dict[Load, Buffer]) -> Stmt:
        if lanes_are_separate(stmt):
            return self._scattered(stmt, lambda lane: self.at(stmt.value, lane, wide, stmt.mask))
        array = _array(f"{stmt.buffer.name}.value", stmt.value.dtype)
        fill = _loop([stmt.value], lambda i: Store(array, i, self.at(stmt.value, i, wide)))
        return Allocate(array, build.seq(fill, self._scattered(stmt, lambda i: Load(array, i))))

    def _scattered(self, stmt: Store, value_of: Callable[[Var], Expr]) -> Stmt:
        own = [Load(stmt.buffer, stmt.index)]
        return _loop(own, lambda lane: self._lane(stmt, lane, value_of(lane)))

    def _lane(self, stmt: Store, lane: Var, value: Expr) -> Stmt:
        """Return one lane of a store."""
        index = self.at(stmt.index, lane)
        one = Store(stmt.buffer, index, value, None, stmt.align, stmt.cache)
        return one if stmt.mask is None else If(self.at(stmt.mask, lane), one)

    def at(
        self,
        root: Expr,
        lane: Var,
        wide: dict[Load, Buffer] | None = None,
        mask: Expr | None = None,
    ) -> Expr:
        """Return one lane of an expression, as :func:`lane_of` does."""
        return lane_of(root, lane, self.arrays, mask=mask, fetched=wide)


def _evaluated(root: Expr) -> list[Expr]:
    """Return the parts of an expression that are evaluated in any case, operands first."""
    found: list[Expr] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        below = [node.condition] if isinstance(node, IfThenElse) else node.children()
        waiting += [c for c in below if isinstance(c, Expr)]
    return found[::-1]


def _named_vectors(stmt: Let) -> list[Let]:
    """Return names of vectors that follow each other, of as many lanes."""
    names, lanes = [stmt], stmt.value.dtype.lanes
    while isinstance(inner := names[-1].body, Let) and inner.value.dtype.lanes == lanes:
        names.append(inner)
    return names


def _runs(stmts: Sequence[Stmt]) -> list[list[Stmt]]:
    """Return statements in runs that are one loop over lanes each."""
    runs: list[list[Stmt]] = []
    for stmt in stmts:
        if runs and _is_one_loop([*runs[-1], stmt]):
            runs[-1].append(stmt)
        else:
            runs.append([stmt])
    return runs


def _is_one_loop(stmts: Sequence[Stmt], names: Sequence[Let] = ()) -> TypeGuard[Sequence[Store]]:
    """Return whether stores of vectors can be made lane by lane, in the lane's own places.

    No lane of one may read what another lane of any of them writes.
    """
    stores = [s for s in stmts if isinstance(s, Store)]
    lanes = {value.dtype.lanes for value in (*(n.value for n in names), *(s.value for s in stores))}
    if len(stores) < len(stmts) or len(lanes) != 1:
        return False
    places = {s.buffer: s.index for s in stores}
    indices = places.values()
    if len(places) < len(stores) or any(_is_wide(s) for s in stores):
        return False
    if not all(isinstance(i, Ramp) and not build.is_const(i.stride, 0) for i in indices):
        return False
    parts = [*(n.value for n in names), *(s.value for s in stores)]
    parts += [e for s in stores for e in (s.index, s.mask) if e is not None]
    loads = [n for part in parts for n in post_order(part) if isinstance(n, Load)]
    return all(
        n.buffer not in places or (n.index == places[n.buffer] and not _is_wide(n)) for n in loads
    )


def _where(mask: Expr | None, stmt: Stmt) -> Stmt:
    return If(mask.value, stmt) if isinstance(mask, Broadcast) else stmt


def _loop(roots: Sequence[Expr], body: Callable[[Var], Stmt]) -> Stmt:
    """Return an unrolled loop over the lanes of expressions; ``body`` gets the lane.

    The lane has the type of the first offset, so that few need a conversion.
    """
    kinds = (n.index.dtype.element for r in roots for n in post_order(r) if isinstance(n, Load))
    dtype = next(kinds, INT32)
    lane = Var("lane", dtype)
    zero, lanes = build.const(0, dtype), build.const(roots[0].dtype.lanes, dtype)
    return For(lane, zero, lanes, "unrolled", body(lane))


def _array(name: str, dtype: DType) -> Buffer:
    """Return registers for the lanes of a vector."""
    shape = (build.const(dtype.lanes, INT32),)
    return Buffer(name, dtype.element, shape, scope="local")


def _whole(array: Buffer) -> Ramp:
    (lanes,) = array.shape
    return Ramp(build.const(0, INT32), build.const(1, INT32), build.as_int(lanes) or 1)


def _all(array: Buffer) -> Load:
    return Load(array, _whole(array))
