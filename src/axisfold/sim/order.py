# SPDX-License-Identifier: Apache-2.0
"""What orders the accesses of two threads: barriers of a group that has both, and tickets.

Time is one counter that every barrier and ticket advances.  An access is stamped with the
time; it comes before what a thread does now if the stamp is older than the last barrier of a
group that both threads are in.  Barriers nest as the groups do, so this relation is transitive.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from axisfold.sim.grid import OF_BLOCK, OF_GRID, OF_WARP, THREAD, Batch, Ints

_NEVER = np.iinfo(np.int64).max
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Clock:
    """The time; 0 is before everything."""

    now: int = 1

    def tick(self) -> int:
        """Advance, and return the new time."""
        self.now += 1
        return self.now


@dataclass(frozen=True, slots=True)
class _Turn:
    """The ticket of one block: up to which time its taker knows of the writes of each thread."""

    block: int
    time: int
    known: Ints


@dataclass(frozen=True, slots=True)
class _Last:
    """The last ticket of a round: who took it, when, and the turns of all blocks by number."""

    taker: int
    time: int
    blocks: Ints
    times: Ints
    known: Ints


@dataclass(slots=True)
class Tickets:
    """The tickets of a launch.

    Attributes
    ----------
    are_taken
        Whether the program takes any.
    rounds
        For each counter the turns since it was 0 last.
    taken
        Blocks that took a ticket of a counter.
    last
        For each block the rounds that it closed.
    """

    are_taken: bool
    rounds: dict[tuple[int, int], list[_Turn]] = field(default_factory=dict)
    taken: set[tuple[int, int, int]] = field(default_factory=set)
    last: dict[int, list[_Last]] = field(default_factory=dict)


class Order:
    """The order of the accesses of one batch.

    Parameters
    ----------
    batch
        The threads that run.
    clock
        Shared by all launches of a run.
    start
        When the launch began: everything older is ordered.
    tickets
        Shared by the batches of the launch.
    """

    def __init__(self, batch: Batch, clock: Clock, start: int, tickets: Tickets) -> None:
        self.batch, self.grid, self.clock, self.tickets = batch, batch.grid, clock, tickets
        self.start = start
        # For each level and lane the time of the last barrier that met a group of this level.
        self.since = np.full((OF_GRID + 1, batch.lanes), start, np.int64)
        self.since[THREAD] = _NEVER

    @property
    def now(self) -> int:
        """The current time."""
        return self.clock.now

    def barrier(self, level: int, lanes: Ints) -> None:
        """Order what the given lanes, whole groups of a level, did before what they do next."""
        self.since[OF_WARP : level + 1, lanes] = self.clock.tick()

    def take(self, counter: tuple[int, int], lane: int, *, is_last: bool) -> bool:
        """Note that a lane has taken a ticket; return whether its block had one already."""
        thread = int(self.batch.threads[lane])
        block = thread >> self.grid.block_bits
        is_second = (*counter, block) in self.tickets.taken
        self.tickets.taken.add((*counter, block))
        turns = self.tickets.rounds.setdefault(counter, [])
        turns.append(_Turn(block, self.now, self._known_to(lane)))
        if is_last:
            turns.sort(key=lambda turn: turn.block)
            last = _Last(
                thread,
                self.now,
                np.array([turn.block for turn in turns]),
                np.array([turn.time for turn in turns]),
                np.stack([turn.known for turn in turns]),
            )
            self.tickets.last.setdefault(block, []).append(last)
            turns.clear()
        self.clock.tick()
        return is_second

    def _known_to(self, lane: int) -> Ints:
        """Return up to when a lane knows of what the threads of its block wrote: its ticket tells.

        That is what they wrote before the last barrier of both.
        """
        block, warp = (self.batch.groups[level] for level in (OF_BLOCK, OF_WARP))
        first = self.batch.first_lane(OF_BLOCK, block[lane])
        members = slice(first, first + self.grid.block_threads)
        known = np.full(self.grid.block_threads, self.since[OF_BLOCK, lane] - 1)
        beside = warp[members] == warp[lane]
        known[beside] = self.since[OF_WARP, lane] - 1
        known[lane - first] = self.now
        return known

    def conflicts(
        self, others: Ints, times: Ints, lanes: Ints, at_least: NDArray[np.int8] | None = None
    ) -> Flags:
        """Return which of earlier accesses are not ordered before what the lanes do now.

        Parameters
        ----------
        others, times
            Thread and time of the earlier accesses.
        lanes
            The lanes that access the same elements now.
        at_least
            Levels of which a group has accessed the elements, one of them the other.
        """
        level = self.grid.common(others, self.batch.threads[lanes])
        if at_least is not None:
            np.maximum(level, at_least, out=level)
        found: Flags = self.since[level, lanes] <= times
        if self.tickets.last and found.any():
            suspects = np.flatnonzero(found)
            told = self._told(others[suspects], times[suspects], lanes[suspects])
            found[suspects[told]] = False
        return found

    def _told(self, others: Ints, times: Ints, lanes: Ints) -> Flags:
        """Return which accesses of other blocks a thread knows of through tickets."""
        told = np.zeros(len(others), np.bool_)
        for entries, last, at in self._lasts(others, lanes):
            thread = others[entries] & ((1 << self.grid.block_bits) - 1)
            taker = np.full(len(entries), last.taker)
            level = self.grid.common(taker, self.batch.threads[lanes[entries]])
            reached = self.since[level, lanes[entries]] > last.time
            told[entries] |= (times[entries] <= last.known[at, thread]) & reached
        return told

    def is_untold(self, other: int, time: int, lane: int) -> bool:
        """Return whether only a barrier is missing between another block's write and its ticket."""
        bits = self.grid.block_bits
        if other >> bits == int(self.batch.threads[lane]) >> bits:
            return False
        return any(
            last.known[at[0], other & ((1 << bits) - 1)] < time <= last.times[at[0]]
            for _, last, at in self._lasts(np.array([other]), np.array([lane]))
        )

    def _lasts(self, others: Ints, lanes: Ints) -> list[tuple[Ints, _Last, Ints]]:
        """Return for rounds that the lanes' blocks closed which others took part, and where."""
        own = self.batch.threads[lanes] >> self.grid.block_bits
        theirs = others >> self.grid.block_bits
        found = []
        for block in np.unique(own):
            for last in self.tickets.last.get(int(block), ()):
                at = np.minimum(np.searchsorted(last.blocks, theirs), len(last.blocks) - 1)
                entries = np.flatnonzero((own == block) & (last.blocks[at] == theirs))
                if len(entries):
                    found.append((entries, last, at[entries]))
        return found
