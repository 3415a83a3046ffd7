# SPDX-License-Identifier: Apache-2.0
"""Loads and stores of active lanes: bounds, alignment, initialisation, races, then the memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Load
from axisfold.ir.stmt import Stmt, Store
from axisfold.sim.expressions import Lanes
from axisfold.sim.faults import Faults
from axisfold.sim.grid import OF_GRID, Batch, Ints
from axisfold.sim.history import Clash
from axisfold.sim.memory import Memory
from axisfold.sim.order import Order

Array = NDArray[Any]
Kind = Literal["load", "store"]
Report = Callable[[Kind, Memory, Ints, Ints, Array], None]


class Accesses:
    """Accesses of one batch.

    Parameters
    ----------
    batch, order, faults
        The threads, what orders them, and who is told of faults.
    memories
        The memory of each live buffer.
    statements
        All statements seen so far; a history keeps places in this list.
    report
        Told of each access: kind, memory, lanes, offsets, values; or None.
    """

    def __init__(
        self,
        batch: Batch,
        order: Order,
        faults: Faults,
        memories: Mapping[Buffer, Memory],
        statements: Statements,
        report: Report | None,
    ) -> None:
        self.batch, self.order, self.faults = batch, order, faults
        self.memories, self.statements, self.report = memories, statements, report

    def load(self, node: Load, index: Array, mask: Array | None, lanes: Lanes) -> Array:
        """Return the elements that active lanes load."""
        memory = self.memories[node.buffer]
        if node.dtype.lanes > 1 and lanes.guard is not None:
            mask = lanes.guard if mask is None else mask & lanes.guard
        who = lanes.ids
        if self._is_common(memory, index, mask):
            who = who[:1]
        entries = _Entries(who, index, mask, node.dtype.lanes)
        self._check(memory, entries, node.align, "load")
        at = self._slots(memory, entries)
        self._check_written(memory, entries, at)
        if memory.history is not None:
            number = self.statements.number(self.faults.current)
            clash = memory.history.load(at, entries.lanes, self.order, number)
            if clash is not None:
                self._clash(memory, entries, "load", clash)
        values = memory.values[at]
        if self.report is not None:
            self.report("load", memory, entries.lanes, entries.offsets, values)
        return entries.gathered(values)

    def store(
        self, node: Store, index: Array, value: Array, mask: Array | None, lanes: Lanes
    ) -> None:
        """Store the values of active lanes."""
        width = node.index.dtype.lanes
        entries = _Entries(lanes.ids, index, mask, width)
        self.put(self.memories[node.buffer], entries, entries.taken(value), node.align)

    def put_scalar(self, buffer: Buffer, value: Array, lanes: Lanes) -> None:
        """Store one value of each active lane in element 0."""
        entries = _Entries(lanes.ids, np.zeros(1, np.int64), None, 1)
        self.put(self.memories[buffer], entries, entries.taken(value))

    def put(self, memory: Memory, entries: _Entries, values: Array, align: int = 0) -> None:
        """Store elements."""
        self._check(memory, entries, align, "store")
        at = self._slots(memory, entries)
        if memory.history is not None:
            number = self.statements.number(self.faults.current)
            clash = memory.history.store(at, entries.lanes, self.order, number)
            if clash is not None:
                self._clash(memory, entries, "store", clash)
        memory.values[at] = values
        if memory.written is not None:
            memory.written[at] = True
        if self.report is not None:
            self.report("store", memory, entries.lanes, entries.offsets, values)

    def counter_slots(self, counter: Buffer, index: Array, lanes: Lanes) -> Ints:
        """Return the places of counters that active lanes take tickets at."""
        memory = self.memories[counter]
        entries = _Entries(lanes.ids, index, None, 1)
        self._check(memory, entries, 0, "load")
        at = self._slots(memory, entries)
        self._check_written(memory, entries, at)
        return at

    def _check_written(self, memory: Memory, entries: _Entries, at: Ints) -> None:
        if memory.written is not None:
            found = memory.written[at]
            if not found.all():
                entry = int(np.argmin(found))
                self.faults.uninitialised(memory.buffer, *entries.named(entry, self.batch))

    def _is_common(self, memory: Memory, index: Array, mask: Array | None) -> bool:
        """Return whether all lanes load the same of a memory that none of them changes."""
        is_constant = memory.level == OF_GRID and memory.history is None
        is_same = len(index) == 1 and (mask is None or len(mask) == 1)
        return is_constant and is_same and self.report is None

    def _slots(self, memory: Memory, entries: _Entries) -> Ints:
        groups = None
        if memory.level != OF_GRID:
            groups = self.batch.groups[memory.level][entries.lanes]
        return memory.slots(entries.offsets, groups)

    def _check(self, memory: Memory, entries: _Entries, align: int, does: Kind) -> None:
        buffer = memory.buffer
        outside = memory.outside(entries.offsets)
        if outside.any():
            element, thread = entries.named(int(np.argmax(outside)), self.batch)
            size = memory.described()
            self.faults.out_of_bounds(buffer, element, thread, f"{does}s", size)
        if align > 0 and len(entries.starts):
            address = memory.address + entries.starts * memory.step
            wrong = address % align != 0
            if wrong.any():
                entry = int(np.argmax(wrong))
                element = int(entries.starts[entry])
                thread = int(self.batch.threads[entries.starters[entry]])
                self.faults.misaligned(buffer, element, thread, align, int(address[entry]))

    def _clash(self, memory: Memory, entries: _Entries, kind: Kind, clash: Clash) -> None:
        element, thread = entries.named(clash.entry, self.batch)
        earlier = self.statements.at(clash.statement)
        lane = int(entries.lanes[clash.entry])
        if self.order.is_untold(clash.other, clash.time, lane):
            self.faults.untold(memory.buffer, element, thread, clash, earlier)
        self.faults.race(memory.buffer, element, thread, kind, clash, earlier)


class Statements:
    """Numbers for statements."""

    def __init__(self) -> None:
        self._all: list[Stmt] = []
        self._numbers: dict[int, int] = {}

    def number(self, stmt: Stmt) -> int:
        """Return the number of a statement, a new one at first sight."""
        found = self._numbers.get(id(stmt))
        if found is None:
            found = self._numbers[id(stmt)] = len(self._all)
            self._all.append(stmt)
        return found

    def at(self, number: int) -> Stmt:
        """Return the statement of a number."""
        return self._all[number]


class _Entries:
    """The elements that lanes access, flat: one lane and one offset for each.

    Attributes
    ----------
    lanes, offsets
        Of each element.
    starts, starters
        First offset of each lane that accesses something, and the lane.
    """

    def __init__(self, who: Ints, index: Array, mask: Array | None, width: int) -> None:
        index = index.astype(np.int64, copy=False)
        self.shape = (len(who),) if width == 1 else (len(who), width)
        full = np.broadcast_to(index, self.shape)
        self.keep: Array | None = None
        if width == 1:
            self.lanes, self.offsets = who, full
            self.starts, self.starters = full, who
            return
        self.lanes, self.offsets = np.repeat(who, width), full.reshape(-1)
        self.starts, self.starters = full[:, 0], who
        if mask is not None:
            self.keep = np.broadcast_to(mask, self.shape)
            kept = self.keep.reshape(-1)
            self.lanes, self.offsets = self.lanes[kept], self.offsets[kept]
            some = self.keep.any(axis=1)
            self.starts, self.starters = self.starts[some], who[some]

    def taken(self, value: Array) -> Array:
        """Return a value of each lane as one of each element."""
        full = np.broadcast_to(value, self.shape)
        return full.reshape(-1) if self.keep is None else full[self.keep]

    def gathered(self, values: Array) -> Array:
        """Return elements as values of each lane; masked ones are 0."""
        if self.keep is None:
            return values.reshape(self.shape)
        result = np.zeros(self.shape, values.dtype)
        result[self.keep] = values
        return result

    def named(self, entry: int, batch: Batch) -> tuple[int, int]:
        """Return offset and thread number of an element."""
        return int(self.offsets[entry]), int(batch.threads[self.lanes[entry]])
