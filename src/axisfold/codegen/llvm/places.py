# SPDX-License-Identifier: Apache-2.0
"""Where accesses go: what their indices share, and how many steps and elements they are apart."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from axisfold.analysis.evaluate import constant_lanes
from axisfold.analysis.linear import split_constant
from axisfold.codegen.llvm.memory import first_lane, is_contiguous
from axisfold.codegen.llvm.recent import Place
from axisfold.codegen.llvm.types import memory_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Const, Expr, Load, Node
from axisfold.ir.stmt import Store


class Split(NamedTuple):
    """The index of an access in parts: base + times*step + constant.

    ``base`` is that of the first lane, or of all lanes where they lie apart; ``lanes`` are these
    where they are constants.  Where a loop moves a pointer, that is the address of ``base``, which
    is 0 then.
    """

    base: Expr
    constant: int = 0
    step: Expr | None = None
    times: int = 0
    pointer: str | None = None
    lanes: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[Expr, ...]:
        """What a place is computed from."""
        if self.lanes:
            return ()
        return (self.base,) if self.step is None else (self.base, self.step)


class Places:
    """Tells the parts of indices, which it remembers.

    Parameters
    ----------
    own
        Memory in registers or on the stack, whose indices have no steps.

    Attributes
    ----------
    moving
        Pointers of the loop around, by buffers and bases.
    """

    def __init__(self, own: Container[Buffer]) -> None:
        self._own = own
        self._known: dict[int, tuple[Node, Split]] = {}
        self.moving: Mapping[tuple[Buffer, Expr], str] = {}

    def split(self, node: Load | Store) -> Split:
        """Return the parts of an index; neighbouring accesses share all but the last of them."""
        if id(node) not in self._known:
            # The node is kept, and so is its identity.
            self._known[id(node)] = (node, self._split(node))
        found = self._known[id(node)][1]
        pointer = self.moving.get((node.buffer, found.base)) if self.moving else None
        if pointer is None:
            return found
        return Split(build.const(0, INT64), found.constant, found.step, found.times, pointer)

    def offset(self, node: Load | Store) -> tuple[Expr, int]:
        """Return base and constant of an index in own memory."""
        found = self.split(node)
        return found.base, found.constant

    def _split(self, node: Load | Store) -> Split:
        index = node.index
        if is_contiguous(node.buffer, index):
            index = first_lane(index)
        if index.dtype.lanes > 1:
            lanes = constant_lanes(index) if node.buffer in self._own else None
            return Split(index, lanes=lanes or ())
        base, constant = split_constant(index)
        if node.buffer in self._own:
            return Split(base, constant)
        return Split(*_stepped(base, constant))


def _stepped(index: Expr, constant: int) -> tuple[Expr, int, Expr | None, int]:
    base, step, count = _split_step(index)
    return (base, constant, step, count) if step is not None else (index, constant, None, 0)


def _split_step(expr: Expr, depth: int = 16) -> tuple[Expr, Expr | None, int]:
    """Return what is left of an index without a constant number of steps, and these.

    Of ``i*4 + (k*8 + 3)*s`` that is ``i*4 + k*8*s``, s and 3: rows that are folded at once are as
    far apart as that.
    """
    nothing = expr, None, 0
    if not isinstance(expr, Binary) or not depth or expr.op not in ("add", "mul"):
        return nothing
    if expr.op == "add":
        for one, other in ((expr.b, expr.a), (expr.a, expr.b)):
            base, step, count = _split_step(one, depth - 1)
            if step is not None:
                return build.binary("add", other, base), step, count
        return nothing
    if isinstance(expr.b, Const):
        base, step, count = _split_step(expr.a, depth - 1)
        if step is None:
            return nothing
        return build.binary("mul", base, expr.b), step, count * int(expr.b.value)
    base, constant = split_constant(expr.a)
    if constant:
        return build.binary("mul", base, expr.b), expr.b, constant
    base, step, count = _split_step(expr.a, depth - 1)
    if step is None:
        return nothing
    return build.binary("mul", base, expr.b), build.binary("mul", step, expr.b), count


def unit_of(buffer: Buffer) -> str:
    """Return the type that a buffer's indices count."""
    return "i8" if buffer.unit == "byte" else memory_type(buffer.dtype.element)


def place(w: Writer, buffer: Buffer, pointer: str, split: Split, operands: list[str]) -> Place:
    """Append the address that an access shares with its neighbours, if it is steps away.

    Parameters
    ----------
    w
        Where the function is written.
    buffer, pointer
        The memory and where it begins.
    split, operands
        The parts of the index, and the values of those that are no constants.
    """
    if split.lanes:
        lanes = ", ".join(f"i64 {lane}" for lane in split.lanes)
        return Place(pointer, f"<{lanes}>", 0)
    if split.step is None:
        return Place(pointer, operands[0], split.constant)
    at = f"getelementptr {unit_of(buffer)}, ptr"
    start = pointer if operands[0] == "0" else w.let(f"{at} {pointer}, i64 {operands[0]}")
    return Place(_after(w, at, start, operands[1], split.times), "0", split.constant)


def _after(w: Writer, at: str, start: str, step: str, count: int) -> str:
    """Append the address that is some steps further: from the one before if that is known."""
    found = start
    for number in range(1, count + 1):
        text = f"{at} {found}, i64 {step}"
        if number < count and not w.is_known(text):
            break
        found = w.let(text)
        if number == count:
            return found
    far = w.let(f"mul i64 {step}, {count}")
    return w.let(f"{at} {start}, i64 {far}")
