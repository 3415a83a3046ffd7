# SPDX-License-Identifier: Apache-2.0
"""The flow of data through one block of a launch: whose elements a value is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Final, TypeAlias

import numpy as np

from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Broadcast,
    Cast,
    Const,
    Expr,
    IfThenElse,
    Load,
    Node,
    Select,
    Var,
)
from axisfold.ir.printer import statement_lines
from axisfold.ir.stmt import Kernel, Let, Shuffle, Stmt, Store
from axisfold.ir.walk import post_order
from axisfold.sim.observer import Access, Exchange

# The thread behind a value that another block has left in memory.
OUTSIDE: Final = -1

Cell: TypeAlias = tuple[Buffer, int, int]


@dataclass(slots=True, eq=False)
class Value:
    """A state that a thread holds.

    Attributes
    ----------
    owners
        Bit t: elements that thread t has read are in it.
    home
        The thread whose state it is, or :data:`OUTSIDE`.
    block
        The block that left it, if ``home`` is outside.
    shuffled
        It came from another lane by a shuffle.
    parts
        What it was made from.
    is_used
        It becomes part of something that is stored in global memory.
    """

    owners: int
    home: int
    block: int = OUTSIDE
    shuffled: bool = False
    parts: tuple[Value, ...] = ()
    is_used: bool = False


@dataclass(slots=True)
class Effect:
    """What a statement made of the states of other threads, for one thread.

    Attributes
    ----------
    sources, blocks
        Threads of the block, and other blocks, whose states it took.
    keeps
        The thread's own state had a part in it.
    is_copy
        They were copied, and not merged.
    mediums
        How the states came: ``shuffle``, or the scope of a memory.
    values
        The results.
    """

    sources: frozenset[int]
    blocks: frozenset[int]
    keeps: bool
    is_copy: bool
    mediums: frozenset[str]
    values: list[Value] = field(default_factory=list)

    @property
    def origin(self) -> tuple[frozenset[int], frozenset[int], bool]:
        """Whose states were taken, and whether they were merged or copied."""
        return self.sources, self.blocks, self.is_copy

    def with_(self, other: Effect) -> Effect:
        """Return what both have taken together."""
        return Effect(
            self.sources | other.sources,
            self.blocks | other.blocks,
            self.keeps or other.keeps,
            self.is_copy and other.is_copy,
            self.mediums | other.mediums,
            self.values + other.values,
        )


@dataclass(slots=True)
class Outcome:
    """What a statement left in memory: effects and states by thread.

    ``is_work``: a thread took up elements of its own.
    """

    effects: dict[int, Effect] = field(default_factory=dict)
    states: dict[int, Value] = field(default_factory=dict)
    is_work: bool = False


@dataclass(frozen=True, slots=True)
class Operands:
    """What the value of a statement is computed from: memory, names, or neither."""

    buffers: frozenset[Buffer]
    names: tuple[Var, ...]
    is_constant: bool


class Program:
    """A kernel's text and, by line, the statements that move data."""

    def __init__(self, kernel: Kernel) -> None:
        text, lines = statement_lines(kernel)
        self.text = text.splitlines()
        self.statements: dict[int, Store | Let | Shuffle] = {}
        self.definitions: dict[Var, Expr] = {}
        self._operands: dict[int, Operands] = {}
        for stmt in _statements(kernel.body):
            if isinstance(stmt, Store | Let | Shuffle):
                self.statements[lines[id(stmt)]] = stmt
            if isinstance(stmt, Let):
                self.definitions[stmt.var] = stmt.value

    def operands(self, expr: Expr) -> Operands:
        """Return what an expression is computed from, not counting indices of memory."""
        found = self._operands.get(id(expr))
        if found is None:
            buffers: set[Buffer] = set()
            names: list[Var] = []
            waiting: list[Node] = [expr]
            while waiting:
                node = waiting.pop()
                if isinstance(node, Load):
                    buffers.add(node.buffer)
                    continue
                if isinstance(node, Var) and node in self.definitions:
                    names.append(node)
                waiting.extend(node.children())
            plain = expr.value if isinstance(expr, Broadcast) else expr
            found = Operands(frozenset(buffers), tuple(names), isinstance(plain, Const))
            self._operands[id(expr)] = found
        return found

    def moves(self, expr: Expr) -> bool:
        """Return whether an expression is what memory holds, or a constant."""
        match expr:
            case Load() | Const():
                return True
            case Cast() | Broadcast():
                return self.moves(expr.value)
            case IfThenElse() | Select():
                return self.moves(expr.true_value) and self.moves(expr.false_value)
            case Var():
                return expr in self.definitions and self.moves(self.definitions[expr])
            case _:
                return False


def _statements(root: Stmt) -> Iterable[Stmt]:
    waiting: list[Stmt] = [root]
    while waiting:
        stmt = waiting.pop()
        yield stmt
        waiting.extend(c for c in stmt.children() if isinstance(c, Stmt))


def loaded_buffers(root: Stmt) -> set[Buffer]:
    """Return the buffers that a statement reads."""
    return {node.buffer for node in post_order(root) if isinstance(node, Load)}


class Flow:
    """Follows the states of one block, one event after the other.

    Parameters
    ----------
    program
        The kernel.
    places
        For an array that the block works on in place: the thread whose each element is.
    others
        For memory of several blocks: the other block that has written each element.
    """

    def __init__(
        self,
        program: Program,
        places: Mapping[Buffer, Mapping[int, int]],
        others: Mapping[Buffer, Mapping[int, int]],
    ) -> None:
        self.program, self.places, self.others = program, places, others
        self.cells: dict[Cell, Value] = {}
        self.own: dict[int, Value] = {}
        self.named: dict[Var, dict[int, list[tuple[Cell, Value]]]] = {}
        self.loads: dict[int, list[tuple[Cell, Value]]] = {}
        self.step = -1
        self.stored: list[Value] = []

    def load(self, event: Access) -> None:
        """Note what threads load for the value of the current statement."""
        stmt = self.program.statements.get(event.line)
        if stmt is None:
            return
        if event.step != self.step:
            self.step, self.loads = event.step, {}
            if isinstance(stmt, Let):
                self.named[stmt.var] = self.loads
        if event.buffer not in self.program.operands(stmt.value).buffers:
            return
        for thread, element in zip(event.threads.tolist(), event.elements.tolist(), strict=True):
            cell = _cell(event.buffer, thread, element)
            self.loads.setdefault(thread, []).append((cell, self._loaded(cell, thread)))

    def store(self, event: Access) -> Outcome | None:
        """Note what threads store; None for what is no state: shuffles and tickets."""
        outcome = Outcome()
        stmt = self.program.statements.get(event.line)
        if not isinstance(stmt, Store):
            return None
        loads = self.loads if event.step == self.step else {}
        for thread, element in zip(event.threads.tolist(), event.elements.tolist(), strict=True):
            cell = _cell(event.buffer, thread, element)
            parts = self._operands_of(thread, stmt.value, loads)
            value = self._result(thread, cell, stmt.value, parts, outcome)
            self.cells[cell] = outcome.states[thread] = value
            if event.buffer.scope in ("global", "cluster"):
                self.stored.append(value)
        self.loads = {}
        return outcome

    def exchange(self, event: Exchange) -> None:
        """Note what a shuffle brings from other lanes."""
        stmt = self.program.statements[event.line]
        loads = self.loads if event.step == self.step else {}
        brought = []
        for thread, source in zip(event.threads.tolist(), event.sources.tolist(), strict=True):
            parts = [value for _, value in self._operands_of(source, stmt.value, loads)]
            value = parts[0] if len(parts) == 1 else self._merged(source, parts)
            other = Value(value.owners, source, shuffled=True, parts=(value,))
            brought.append((_cell(event.target, thread, 0), other))
        self.cells.update(brought)

    def mark_used(self) -> None:
        """Find out which values end in global memory."""
        waiting = list(self.stored)
        while waiting:
            value = waiting.pop()
            if not value.is_used:
                value.is_used = True
                waiting.extend(value.parts)

    def _loaded(self, cell: Cell, thread: int) -> Value:
        """Return the value of a cell; what nobody in the block has written is an input."""
        found = self.cells.get(cell)
        if found is not None:
            return found
        buffer, _, element = cell
        block = self.others.get(buffer, {}).get(element)
        if block is not None:
            return Value(0, OUTSIDE, block)
        home = self.places.get(buffer, {}).get(element, thread)
        return self._element_of(home)

    def _element_of(self, thread: int) -> Value:
        return self.own.setdefault(thread, Value(1 << thread, thread))

    def _operands_of(
        self, thread: int, expr: Expr, loads: Mapping[int, list[tuple[Cell, Value]]]
    ) -> list[tuple[Cell, Value]]:
        found = list(loads.get(thread, ()))
        waiting, seen = list(self.program.operands(expr).names), set()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                found += self.named.get(name, {}).get(thread, ())
                waiting += self.program.operands(self.program.definitions[name]).names
        return found

    def _result(
        self,
        thread: int,
        cell: Cell,
        expr: Expr,
        parts: list[tuple[Cell, Value]],
        outcome: Outcome,
    ) -> Value:
        """Return the value that a thread stores, and note what it took from others."""
        if not parts:
            return self._computed(thread, expr, outcome)
        own = [value for _, value in parts if value.home == thread]
        foreign = [(at, value) for at, value in parts if value.home != thread]
        outcome.is_work |= any(value is self.own.get(thread) for value in own)
        if not foreign:
            return self._kept(thread, own)
        value = self._merged(thread, [v for _, v in parts])
        effect = Effect(
            frozenset(v.home for _, v in foreign if v.home != OUTSIDE),
            frozenset(v.block for _, v in foreign if v.home == OUTSIDE),
            bool(own),
            not own and (len({v.home for _, v in foreign}) == 1 or self.program.moves(expr)),
            frozenset("shuffle" if v.shuffled else at[0].scope for at, v in foreign),
            [value],
        )
        before = outcome.effects.get(thread)
        outcome.effects[thread] = effect if before is None else before.with_(effect)
        return value

    def _computed(self, thread: int, expr: Expr, outcome: Outcome) -> Value:
        """Return a value that reads no memory: a constant, or an element made from indices."""
        operands = self.program.operands(expr)
        names = [self.program.operands(self.program.definitions[n]) for n in operands.names]
        if operands.is_constant or operands.buffers or any(n.buffers for n in names):
            return Value(0, thread)
        outcome.is_work = True
        return self._element_of(thread)

    def _kept(self, thread: int, own: Sequence[Value]) -> Value:
        """Return a thread's state after it took up more of its own: the same one, if it can be."""
        element = self.own.get(thread)
        states = {id(v): v for v in own if v is not element}
        if not states:
            return self._element_of(thread)
        value = self._merged(thread, own)
        state = next(iter(states.values()))
        is_same = len(states) == 1 and state.owners == value.owners and state.home == thread
        return state if is_same else value

    @staticmethod
    def _merged(thread: int, parts: Sequence[Value]) -> Value:
        return Value(union(parts), thread, parts=tuple(parts))


def union(values: Iterable[Value]) -> int:
    """Return the owners of all values."""
    return reduce(or_, (value.owners for value in values), 0)


def _cell(buffer: Buffer, thread: int, element: int) -> Cell:
    return buffer, thread if buffer.scope == "local" else OUTSIDE, element


def places_in(accesses: Iterable[Access], threads: int) -> dict[Buffer, dict[int, int]]:
    """Return, for arrays that a block works on in place, whose each element is.

    The elements that the block touches are numbered in the order of memory.  Where every thread
    stores the element of its own number, it stands for the thread, as a slot of shared memory
    would.
    """
    touched: dict[Buffer, set[int]] = {}
    stores: dict[Buffer, dict[int, int]] = {}
    for event in accesses:
        if event.buffer.scope == "global":
            elements = event.elements.tolist()
            touched.setdefault(event.buffer, set()).update(elements)
            if event.kind == "store":
                pairs = zip(elements, event.threads.tolist(), strict=True)
                stores.setdefault(event.buffer, {}).update(pairs)
    found = {}
    for buffer, writers in stores.items():
        numbers = {element: n for n, element in enumerate(sorted(touched[buffer])) if n < threads}
        if all(numbers.get(element) == thread for element, thread in writers.items()):
            found[buffer] = numbers
    return found


def writers(event: Access, is_here: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> dict[int, int]:
    """Return which other block has stored each element."""
    return dict(
        zip(event.elements[~is_here].tolist(), event.blocks[~is_here].tolist(), strict=True)
    )
