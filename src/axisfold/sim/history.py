# SPDX-License-Identifier: Apache-2.0
"""Who accessed each element of a memory last: what finds data races.

A race is two accesses of one element by different threads, at least one of them a write, that
:mod:`axisfold.sim.order` does not order.  Of the writes the last one is kept: an earlier one is
ordered before it, and so before all that it is ordered before.  Of the reads since then the last
one is kept with the smallest group (a warp, a block, …) that has all those which a barrier of that
group has not made older than everything that its threads do next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from axisfold.sim.grid import OF_CLUSTER, OF_GRID, OF_WARP, THREAD, Ints
from axisfold.sim.order import Order


@dataclass(frozen=True, slots=True)
class Clash:
    """An access that races.

    Attributes
    ----------
    entry
        Its place among those of the statement.
    other, kind, statement, time
        Thread, kind, statement and time of the earlier access.
    """

    entry: int
    other: int
    kind: Literal["load", "store"]
    statement: int
    time: int


class History:
    """The last accesses of ``size`` elements.  Time 0 means never, so all starts as zeros."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.writer = np.zeros(size, np.int64)
        self.write_time = np.zeros(size, np.int64)
        self.write_statement = np.zeros(size, np.int32)
        self.reads: _Reads | None = None

    def store(self, at: Ints, lanes: Ints, order: Order, statement: int) -> Clash | None:
        """Note that ``lanes`` write the elements ``at``; return a race if there is one."""
        clash = self._with_write(at, lanes, order)
        if clash is None and self.reads is not None:
            clash = self.reads.before_store(at, lanes, order)
        if clash is not None:
            return clash
        threads = order.batch.threads[lanes]
        self.writer[at] = threads
        self.write_time[at] = order.now
        self.write_statement[at] = statement
        beaten = self.writer[at] != threads  # several lanes write one element at once
        if beaten.any():
            entry = int(np.argmax(beaten))
            other = int(self.writer[at[entry]])
            return Clash(entry, other, "store", statement, order.now)
        return None

    def load(self, at: Ints, lanes: Ints, order: Order, statement: int) -> Clash | None:
        """Note that ``lanes`` read the elements ``at``; return a race if there is one."""
        clash = self._with_write(at, lanes, order)
        if clash is None:
            if self.reads is None:
                self.reads = _Reads(self.size)
            self.reads.note(at, lanes, order, statement)
        return clash

    def _with_write(self, at: Ints, lanes: Ints, order: Order) -> Clash | None:
        times = self.write_time[at]
        if not (times >= order.start).any():
            return None
        found = order.conflicts(self.writer[at], times, lanes)
        if not found.any():
            return None
        entry = int(np.argmax(found))
        place = at[entry]
        statement, time = int(self.write_statement[place]), int(times[entry])
        return Clash(entry, int(self.writer[place]), "store", statement, time)


class _Reads:
    """The reads of each element since it was written."""

    def __init__(self, size: int) -> None:
        self.reader = np.zeros(size, np.int64)
        self.another = np.zeros(size, np.int64)
        self.another_time = np.zeros(size, np.int64)
        self.time = np.zeros(size, np.int64)
        self.level = np.zeros(size, np.int8)
        self.statement = np.zeros(size, np.int32)

    def before_store(self, at: Ints, lanes: Ints, order: Order) -> Clash | None:
        """Return a read that the stores of ``lanes`` are not ordered after; else forget them."""
        times = self.time[at]
        if not (times >= order.start).any():
            return None
        level, reader = self.level[at], self.reader[at]
        found = order.conflicts(reader, times, lanes, level)
        if not found.any():
            self.time[at] = 0
            return None
        other = reader == order.batch.threads[lanes]  # then another thread of the group is at odds
        another, another_time = self.another[at], self.another_time[at]
        if order.tickets.last:  # they order blocks one by one
            apart = level >= OF_CLUSTER
            first = order.conflicts(reader, times, lanes)
            second = order.conflicts(another, another_time, lanes)
            found = np.where(apart, first | second, found)
            other |= apart & ~first
            if not found.any():
                self.time[at] = 0
                return None
        entry = int(np.argmax(found))
        statement = int(self.statement[at[entry]])
        if other[entry]:
            return Clash(entry, int(another[entry]), "load", statement, int(another_time[entry]))
        return Clash(entry, int(reader[entry]), "load", statement, int(times[entry]))

    def note(self, at: Ints, lanes: Ints, order: Order, statement: int) -> None:
        """Add reads."""
        threads = order.batch.threads[lanes]
        before = self.reader[at]
        level = np.maximum(order.grid.common(before, threads), self.level[at])
        level[order.since[level, lanes] > self.time[at]] = THREAD
        joins = (level > THREAD) & (before != threads)
        self.another[at[joins]] = before[joins]
        self.another_time[at[joins]] = self.time[at[joins]]
        self.reader[at] = threads
        self.time[at] = order.now
        self.statement[at] = statement
        beside = order.grid.common(self.reader[at], threads)  # several lanes read one element
        self.another[at[beside > THREAD]] = threads[beside > THREAD]
        self.another_time[at[beside > THREAD]] = order.now
        np.maximum(level, beside, out=level)
        self.level[at] = THREAD
        for each in range(OF_WARP, OF_GRID + 1):  # the largest stays
            reached = at[level == each]
            if len(reached):
                self.level[reached] = each
