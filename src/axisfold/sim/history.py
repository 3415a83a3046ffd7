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
            clash = self.reads.before_store(at, lanes, order, self.write_time)
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


@dataclass(frozen=True, slots=True)
class _Log:
    """What one statement has read at one time."""

    at: Ints
    threads: Ints
    time: int
    statement: int


class _Reads:
    """The reads of each element since it was written."""

    def __init__(self, size: int) -> None:
        self.reader = np.zeros(size, np.int64)
        self.another = np.zeros(size, np.int64)
        self.time = np.zeros(size, np.int64)
        self.level = np.zeros(size, np.int8)
        self.statement = np.zeros(size, np.int32)
        self.log: list[_Log] = []

    def before_store(self, at: Ints, lanes: Ints, order: Order, write_times: Ints) -> Clash | None:
        """Return a read that the stores of ``lanes`` are not ordered after; else forget them."""
        times = self.time[at]
        if not (times >= order.start).any():
            return None
        level, reader = self.level[at], self.reader[at]
        threads = order.batch.threads[lanes]
        found = order.conflicts(reader, times, lanes, level)
        if order.tickets.last:  # they order threads one by one, so that each read counts
            apart = np.maximum(level, order.grid.common(reader, threads)) >= OF_CLUSTER
            clash = self._logged(at, lanes, order, write_times, np.flatnonzero(apart))
            if clash is not None:
                return clash
            found &= ~apart
        if not found.any():
            self.time[at] = 0
            return None
        entry = int(np.argmax(found))
        place = at[entry]
        # Where the thread was the last to read itself, another of the group has read as well.
        other = reader[entry] if reader[entry] != threads[entry] else self.another[place]
        statement, time = int(self.statement[place]), int(times[entry])
        return Clash(entry, int(other), "load", statement, time)

    def _logged(
        self, at: Ints, lanes: Ints, order: Order, write_times: Ints, entries: Ints
    ) -> Clash | None:
        """Return a read since the last write that one of the given stores is not ordered after."""
        entries = entries[np.argsort(at[entries])]
        places = at[entries]
        for log in self.log if len(entries) else ():
            rows = np.flatnonzero(np.isin(log.at, places) & (write_times[log.at] < log.time))
            if log.time < order.start or not len(rows):
                continue
            stores = entries[np.searchsorted(places, log.at[rows])]
            others = log.threads[rows]
            found = order.conflicts(others, np.full(len(rows), log.time), lanes[stores])
            if found.any():
                row = int(np.argmax(found))
                entry, other = int(stores[row]), int(others[row])
                return Clash(entry, other, "load", log.statement, log.time)
        return None

    def note(self, at: Ints, lanes: Ints, order: Order, statement: int) -> None:
        """Add reads."""
        threads = order.batch.threads[lanes]
        if order.tickets.are_taken:
            self.log.append(_Log(at, threads, order.now, statement))
        before = self.reader[at]
        level = np.maximum(order.grid.common(before, threads), self.level[at])
        level[order.since[level, lanes] > self.time[at]] = THREAD
        joins = (level > THREAD) & (before != threads)
        self.another[at[joins]] = before[joins]
        self.reader[at] = threads
        self.time[at] = order.now
        self.statement[at] = statement
        beside = order.grid.common(self.reader[at], threads)  # several lanes read one element
        self.another[at[beside > THREAD]] = threads[beside > THREAD]
        np.maximum(level, beside, out=level)
        self.level[at] = THREAD
        for each in range(OF_WARP, OF_GRID + 1):  # the largest stays
            reached = at[level == each]
            if len(reached):
                self.level[reached] = each
