# SPDX-License-Identifier: Apache-2.0
"""The steps of a trace: statements that belong together for a reader are one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from axisfold.ir.buffer import Buffer
from axisfold.sim.banks import conflict_degree
from axisfold.sim.flow import Effect, Flow, Outcome, Value, union
from axisfold.sim.observer import Access, Event, Exchange, Take, Wait


@dataclass(frozen=True, slots=True)
class Combine:
    """One thread took states of others.

    Attributes
    ----------
    thread
        The thread.
    sources
        The threads of the block whose states it took, ascending.
    blocks
        Numbers of the other blocks whose states it took from memory, ascending.
    keeps
        Its own state had a part in the result.
    is_copy
        It took a state as it was, in place of its own.
    is_used
        The result becomes part of something stored in global memory.
    mask
        Bit t: elements that thread t has read are in the result.
    """

    thread: int
    sources: tuple[int, ...]
    blocks: tuple[int, ...]
    keeps: bool
    is_copy: bool
    is_used: bool
    mask: int

    @property
    def owners(self) -> frozenset[int]:
        """The threads whose elements are in the result."""
        return members(self.mask)


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """One access to shared memory by a block.

    Attributes
    ----------
    line
        Line of the statement.
    kind, buffer
        ``load`` or ``store``, and the name of what is accessed.
    threads
        How many threads take part.
    degree
        How many times the banks are asked for one warp: 1 is free of conflicts.
    """

    line: int
    kind: str
    buffer: str
    threads: int
    degree: int


@dataclass(frozen=True, slots=True)
class Step:
    """A row of a trace.

    Attributes
    ----------
    lines
        Lines of the program, ascending.
    active
        Threads that took part, ascending.
    combines
        What they took from others.
    masks, used
        For each active thread, in their order, whose elements are in what it stored last, and
        whether that becomes part of something stored in global memory.
    shared
        Accesses to shared memory.
    reads, writes
        Names of the memory that all threads see.
    mediums
        How states came from others: ``shuffle``, ``shared``, ``cluster``, ``global``.
    ticket
        The block took a ticket: ``last`` or ``not last``.
    barrier
        Level of the barrier that ends the step, or "".
    """

    lines: tuple[int, ...]
    active: tuple[int, ...]
    combines: tuple[Combine, ...]
    masks: tuple[int, ...]
    used: tuple[bool, ...]
    shared: tuple[SharedAccess, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    mediums: tuple[str, ...]
    ticket: str = ""
    barrier: str = ""

    @property
    def degree(self) -> int:
        """The worst conflict of banks; 0 without shared memory."""
        return max((access.degree for access in self.shared), default=0)


def members(mask: int) -> frozenset[int]:
    """Return the numbers of the bits that are set."""
    return frozenset(n for n in range(mask.bit_length()) if mask >> n & 1)


@dataclass(slots=True)
class _Row:
    """A step in the making."""

    lines: set[int] = field(default_factory=set)
    active: set[int] = field(default_factory=set)
    effects: dict[int, Effect] = field(default_factory=dict)
    states: dict[int, dict[Buffer, Value]] = field(default_factory=dict)
    shared: list[SharedAccess] = field(default_factory=list)
    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)
    ticket: str = ""
    barrier: str = ""

    def step(self) -> Step:
        """Return the row as data; values know by now whether they are used."""
        active = tuple(sorted(self.active))
        combines = tuple(_combine(thread, self.effects[thread]) for thread in sorted(self.effects))
        mediums = {m for effect in self.effects.values() for m in effect.mediums}
        states = [list(self.states.get(t, {}).values()) for t in active]
        masks = tuple(union(values) for values in states)
        used = tuple(not values or any(v.is_used for v in values) for values in states)
        return Step(
            tuple(sorted(self.lines)), active, combines, masks, used, tuple(self.shared),
            tuple(self.reads), tuple(self.writes), tuple(sorted(mediums)), self.ticket,
            self.barrier,
        )  # fmt: skip


def _combine(thread: int, effect: Effect) -> Combine:
    is_used = any(value.is_used for value in effect.values)
    sources, blocks = tuple(sorted(effect.sources)), tuple(sorted(effect.blocks))
    return Combine(
        thread, sources, blocks, effect.keeps, effect.is_copy, is_used, union(effect.values)
    )


class Rows:
    """Makes the steps of one block from its events.

    A row ends at a barrier, where states of other threads are taken, and where other threads
    become active.  Rows in which nothing is loaded, stored for others or combined are left out.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.done: list[_Row] = []
        self.row: _Row | None = None
        self.waiting = _Row()  # what belongs to the next row

    def steps(self, events: Sequence[Event]) -> tuple[Step, ...]:
        """Return the steps of a launch."""
        for event in events:
            match event:
                case Access():
                    self.access(event)
                case Exchange():
                    self.flow.exchange(event)
                    self.waiting.lines.add(event.line)
                case Wait():
                    self.wait(event)
                case Take():
                    self.take(event)
                case _:
                    pass
        self.close()
        self.flow.mark_used()
        return tuple(row.step() for row in self.done)

    def access(self, event: Access) -> None:
        """Take up a load for the next row, or a store that makes or continues one."""
        name, scope = event.buffer.name, event.buffer.scope
        if scope in ("shared", "cluster"):
            size = event.buffer.dtype.itemsize
            degree = conflict_degree(event.threads, event.addresses, size)
            count = len(set(event.threads.tolist()))
            self.waiting.shared.append(SharedAccess(event.line, event.kind, name, count, degree))
        if scope != "local":
            names = self.waiting.reads if event.kind == "load" else self.waiting.writes
            names[name] = None
            self.waiting.lines.add(event.line)
        if event.kind == "load":
            self.flow.load(event)
            return
        outcome = self.flow.store(event)
        if outcome is not None and (scope != "local" or outcome.is_work or outcome.effects):
            self.waiting.lines.add(event.line)
            self.put(outcome, event.buffer)

    def put(self, outcome: Outcome, buffer: Buffer) -> None:
        """Add a statement to the row, or to a new one."""
        threads, is_local = set(outcome.states), buffer.scope == "local"
        row = self.row
        if row is None or not self._belongs(row, outcome, threads, is_local=is_local):
            self.close()
            row = self.row = _Row()
        row.active |= threads
        for thread, value in outcome.states.items():
            row.states.setdefault(thread, {})[buffer] = value
        for thread, effect in outcome.effects.items():
            before = row.effects.get(thread)
            row.effects[thread] = effect if before is None else before.with_(effect)
        self._take_up(row)

    def _belongs(self, row: _Row, outcome: Outcome, threads: set[int], *, is_local: bool) -> bool:
        if outcome.effects:
            return self._repeats(row, outcome)
        if row.effects or row.writes or not is_local:
            is_open = not row.effects and not row.writes and row.active <= threads
            return row.active == threads or is_open
        return True

    @staticmethod
    def _repeats(row: _Row, outcome: Outcome) -> bool:
        """Whether the same is taken once more, for another field, or in a loop from more threads.

        Steps of a tree are no such loop: there the states that are taken have changed since.
        """
        effects = outcome.effects
        if effects.keys() != row.effects.keys():
            return False
        if all(effect.origin == row.effects[t].origin for t, effect in effects.items()):
            return True
        taken = {source for effect in effects.values() for source in effect.sources}
        is_loop = not taken & row.effects.keys()
        return is_loop and all(e.is_copy == row.effects[t].is_copy for t, e in effects.items())

    def _take_up(self, row: _Row) -> None:
        waiting, self.waiting = self.waiting, _Row()
        row.lines |= waiting.lines
        row.shared += waiting.shared
        row.reads.update(waiting.reads)
        row.writes.update(waiting.writes)

    def wait(self, event: Wait) -> None:
        """End the row at a barrier."""
        self.close()
        if self.done:
            self.done[-1].barrier = event.level

    def take(self, event: Take) -> None:
        """Give a ticket a row of its own."""
        self.close()
        self.row = _Row({event.line}, set(event.threads.tolist()))
        self.row.ticket = "last" if event.is_last.any() else "not last"
        self._take_up(self.row)

    def close(self) -> None:
        """End the row."""
        if self.row is not None:
            self.done.append(self.row)
            self.row = None
