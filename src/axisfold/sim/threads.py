# SPDX-License-Identifier: Apache-2.0
"""One batch of blocks runs the body of a launch: all lanes in step, divergence by active lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from axisfold.errors import InternalError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Var
from axisfold.ir.stmt import (
    WARP,
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.sim.accesses import Accesses, Statements
from axisfold.sim.expressions import Expressions, Lanes
from axisfold.sim.faults import Faults
from axisfold.sim.grid import LEVELS, OF_BLOCK, OF_WARP, THREAD, Batch, Ints
from axisfold.sim.memory import Memory
from axisfold.sim.narrator import Narrator
from axisfold.sim.order import Order

Array = NDArray[Any]
SCOPES = {"local": THREAD, **LEVELS, "shared": OF_BLOCK}


class Threads:
    """Executes statements for one batch.

    Parameters
    ----------
    batch, order, faults
        The threads, what orders their accesses, and who is told of faults.
    scalars
        Values that the host knows.
    memories
        Memory of the buffers that are global.
    shared
        Buffers that are written, so that accesses of other threads matter.
    addresses
        Place of each shared buffer in the memory of a block.
    statements
        Numbers of statements, the same for the whole run.
    narrator
        Tells an observer, if there is one.
    """

    def __init__(
        self,
        batch: Batch,
        order: Order,
        faults: Faults,
        scalars: Mapping[Var, int],
        memories: Mapping[Buffer, Memory],
        addresses: Mapping[Buffer, int],
        statements: Statements,
        narrator: Narrator | None,
    ) -> None:
        self.batch, self.order, self.faults, self.scalars = batch, order, faults, scalars
        self.memories, self.addresses, self.narrator = dict(memories), addresses, narrator
        report = None if narrator is None else narrator.access
        self.accesses = Accesses(batch, order, faults, self.memories, statements, report)
        self.values = Expressions(scalars, batch.lanes, self.accesses.load)
        self.values.variables.update(batch.indices())

    def run(self, body: Stmt) -> None:
        """Execute the body of the launch in every thread."""
        self.stmt(body, Lanes(np.arange(self.batch.lanes), is_all=True))

    def stmt(self, stmt: Stmt, lanes: Lanes) -> None:
        """Execute a statement in the active lanes, of which there is at least one."""
        if isinstance(stmt, Seq):
            for part in stmt.body:
                self.stmt(part, lanes)
            return
        self.faults.current = stmt
        if self.narrator is not None:
            self.narrator.begin(stmt, self.batch)
        match stmt:
            case Store():
                self.store(stmt, lanes)
            case If():
                self.branch(stmt, lanes)
            case For():
                self.loop(stmt, lanes)
            case Let():
                self.values.bind(stmt.var, self.value(stmt.value, lanes), lanes)
                self.stmt(stmt.body, lanes)
            case Allocate():
                self.allocate(stmt, lanes)
                self.stmt(stmt.body, lanes)
            case Attr():
                self.stmt(stmt.body, lanes)
            case Barrier():
                self.barrier(stmt, lanes)
            case Shuffle():
                self.shuffle(stmt, lanes)
            case Ticket():
                self.ticket(stmt, lanes)
            case AllReduce() | Launch():
                raise InternalError(f"{type(stmt).__name__} inside a launch", code="I302")
            case _:
                assert_never(stmt)

    def value(self, expr: Expr, lanes: Lanes) -> Array:
        """Return the value of an expression in the active lanes."""
        return self.values.value(expr, lanes)

    def store(self, stmt: Store, lanes: Lanes) -> None:
        """Store; what the value loads is loaded before, by all lanes."""
        index = self.value(stmt.index, lanes)
        value = self.value(stmt.value, lanes)
        mask = None if stmt.mask is None else self.value(stmt.mask, lanes)
        self.accesses.store(stmt, index, value, mask, lanes)

    def branch(self, stmt: If, lanes: Lanes) -> None:
        """Run one side after the other, each in the lanes that take it."""
        flags = self.value(stmt.condition, lanes)
        if flags.any():
            self.stmt(stmt.then, lanes.where(flags))
        if stmt.otherwise is not None and not flags.all():
            self.stmt(stmt.otherwise, lanes.where(~flags))

    def loop(self, stmt: For, lanes: Lanes) -> None:
        """Run rounds until no lane is left; a lane that has left does not come back."""
        low = self.values.spread(self.value(stmt.min, lanes), lanes)
        extent = self.value(stmt.extent, lanes)
        rounds, least = int(extent.max()), int(extent.min())
        extent = self.values.spread(extent, lanes)
        for number in range(rounds):
            if number >= least:
                lanes = lanes.where(extent[lanes.ids] > number)
            self.faults.current = stmt
            self.values.variables[stmt.var] = low + low.dtype.type(number)
            if stmt.stop is not None:
                flags = np.broadcast_to(self.value(stmt.stop, lanes), lanes.ids.shape)
                if flags.all():
                    return
                lanes = lanes.where(~flags)
            if not len(lanes.ids):
                return
            self.stmt(stmt.body, lanes)

    def allocate(self, stmt: Allocate, lanes: Lanes) -> None:
        """Make the memory at first; later it only loses the contents, if it is a thread's own."""
        buffer = stmt.buffer
        memory = self.memories.get(buffer)
        level = SCOPES[buffer.scope]
        if memory is None:
            self.memories[buffer] = Memory.allocated(
                buffer,
                self.scalars,
                level=level,
                copies=len(self.batch.sizes[level]),
                address=self.addresses.get(buffer, 0),
                has_history=level > THREAD,
            )
        elif level == THREAD and memory.written is not None:
            memory.written.reshape(self.batch.lanes, -1)[lanes.ids] = False

    def barrier(self, stmt: Barrier, lanes: Lanes) -> None:
        """Let groups wait, of which all threads or none must be active."""
        if stmt.level == "grid":
            raise InternalError("a barrier of the whole grid", code="I302")
        level = LEVELS[stmt.level]
        missing = self._missing(level, lanes)
        if missing is not None:
            self.faults.divergent_barrier(stmt, *missing)
        self.order.barrier(level, lanes.ids)
        if self.narrator is not None:
            self.narrator.wait(stmt.level, lanes.ids)

    def _missing(self, level: int, lanes: Lanes) -> tuple[int, int] | None:
        """Return a thread that is there and one of its group that is not, if groups are partial."""
        if lanes.is_all:
            return None
        groups, sizes = self.batch.groups[level], self.batch.sizes[level]
        present = np.bincount(groups[lanes.ids], minlength=len(sizes))
        partial = np.flatnonzero((present > 0) & (present < sizes))
        if not len(partial):
            return None
        members = np.flatnonzero(groups == partial[0])
        there = np.isin(members, lanes.ids)
        threads = self.batch.threads[members]
        return int(threads[there][0]), int(threads[~there][0])

    def shuffle(self, stmt: Shuffle, lanes: Lanes) -> None:
        """Store another lane's value, in whole warps."""
        missing = self._missing(OF_WARP, lanes)
        if missing is not None:
            self.faults.partial_shuffle(*missing)
        value = np.broadcast_to(self.value(stmt.value, lanes), lanes.ids.shape)
        operand = self.value(stmt.lane, lanes).astype(np.int64)
        source = lanes.ids + self._step(stmt, lanes, operand)
        result = self.values.spread(value, lanes)[source] if len(value) > 1 else value
        self.accesses.put_scalar(stmt.target, result, lanes)
        if self.narrator is not None:
            self.narrator.exchange(stmt, lanes.ids, source, result)

    def _step(self, stmt: Shuffle, lanes: Lanes, operand: Array) -> Ints:
        """Return how far from its own each lane's source is."""
        thread = lanes.ids % self.batch.grid.block_threads
        lane = thread % WARP
        start = lane - lane % stmt.width
        match stmt.mode:
            case "down":
                source = lane + operand
                source = np.where(source < start + stmt.width, source, lane)
            case "xor":
                source = lane ^ operand
            case "index":
                source = start + operand
            case _:
                assert_never(stmt.mode)
        existing = self.batch.sizes[OF_WARP][self.batch.groups[OF_WARP][lanes.ids]]
        outside = (source < start) | (source >= start + stmt.width)
        wrong = outside | (source >= existing)
        if wrong.any():
            entry = int(np.argmax(wrong))
            why = (
                f"beyond its segment of {stmt.width} lanes"
                if outside[entry]
                else f"but the warp has {existing[entry]} lanes"
            )
            number = int(self.batch.threads[lanes.ids[entry]])
            self.faults.no_source(stmt, number, int(lane[entry]), int(source[entry]), why)
        step: Ints = source - lane
        return step

    def ticket(self, stmt: Ticket, lanes: Lanes) -> None:
        """Let lanes take tickets one after the other, in the random order of their blocks."""
        counts = lanes.ids.shape
        index = np.broadcast_to(self.value(stmt.index, lanes), counts)
        total = np.broadcast_to(self.value(stmt.total, lanes), counts)
        memory = self.memories[stmt.counter]
        slots = self.accesses.counter_slots(stmt.counter, index, lanes)
        is_last = np.zeros(counts, np.bool_)
        for entry, (lane, slot) in enumerate(zip(lanes.ids, slots, strict=True)):
            old = int(memory.values[slot])
            is_last[entry] = old == int(total[entry]) - 1
            memory.values[slot] = 0 if is_last[entry] else old + 1
            counter = (id(memory), int(slot))
            if self.order.take(counter, int(lane), is_last=bool(is_last[entry])):
                thread = int(self.batch.threads[lane])
                self.faults.second_ticket(stmt.counter, int(index[entry]), thread)
        self.accesses.put_scalar(stmt.target, is_last, lanes)
        if self.narrator is not None:
            self.narrator.take(lanes.ids, is_last)
