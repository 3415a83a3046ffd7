# SPDX-License-Identifier: Apache-2.0
"""A machine of threads on NumPy: what the host does, and the launches that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from axisfold.analysis.scalars import scalar_value
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Var
from axisfold.ir.stmt import (
    Allocate,
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
from axisfold.ir.walk import post_order
from axisfold.sim.accesses import Statements
from axisfold.sim.binding import bind_scalars
from axisfold.sim.faults import Faults, not_left_zero, outside_launch
from axisfold.sim.grid import LANES, Grid
from axisfold.sim.memory import Bound, Memory, element_count
from axisfold.sim.narrator import Narrator
from axisfold.sim.observer import Observer
from axisfold.sim.order import Clock, Order, Tickets
from axisfold.sim.source import Source
from axisfold.sim.threads import Threads

# Memory that the blocks of a batch may take together, and what an element costs besides itself.
BATCH_BYTES: Final = 1 << 28
SHARED_COST: Final = 64
LOCAL_COST: Final = 1


def run(
    kernel: Kernel,
    arrays: Sequence[Any],
    scalars: Mapping[Var, int] | None = None,
    *,
    seed: int = 0,
    observer: Observer | None = None,
) -> None:
    """Run a program for threads on arrays, and refuse what a GPU would let pass.

    Parameters
    ----------
    kernel
        Host statements with launches, such as the device pipeline makes of a program with bound
        axes, or written by hand with :mod:`axisfold.ir.threads`.
    arrays
        A NumPy array for each of ``kernel.params``, of its dtype and rank; any strides that the
        buffer allows.  No two may share memory.
    scalars
        Values of the variables among extents and strides; None to take them from the arrays.
    seed
        Blocks run, and take tickets, in a random order that this number chooses.
    observer
        Called with each :data:`axisfold.sim.observer.Event`.

    Raises
    ------
    SimulationError
        ``M101``: a data race; ``M102``: a divergent barrier; ``M103``: an uninitialised read;
        ``M104``: an access out of bounds; ``M105``: a shuffle from a lane that does not exist;
        ``M106``: a shuffle that not all lanes of a warp reach; ``M107``: the last block reads what
        no barrier brought before a ticket; ``M108``: a second ticket of a block; ``M109``: a zeroed
        workspace that is not left zero; ``M110``: an address less aligned than promised;
        ``M111``: shared memory placed wrongly; ``M112``: a statement outside of a launch.

        The arrays are as they were then.
    ShapeError, DTypeError, ArgumentError
        The arrays do not fit the buffers (see :func:`axisfold.sim.binding.bind_scalars`).
    """
    if scalars is None:
        scalars = bind_scalars(kernel, arrays)
    machine = _Machine(kernel, arrays, scalars, seed, observer)
    machine.stmt(machine.source.kernel.body)
    for buffer in kernel.outputs:
        memory = machine.memories[buffer]
        if isinstance(memory, Bound):
            memory.copy_back()


class _Machine:
    def __init__(
        self,
        kernel: Kernel,
        arrays: Sequence[Any],
        scalars: Mapping[Var, int],
        seed: int,
        observer: Observer | None,
    ) -> None:
        self.source = Source(kernel)
        self.scalars = dict(scalars)
        self.order = np.random.default_rng(seed)
        self.observer = observer
        self.clock, self.statements = Clock(), Statements()
        self.written = written_buffers(kernel.body)
        self.memories: dict[Buffer, Memory] = {
            buffer: Bound(buffer, array, has_history=buffer in self.written)
            for buffer, array in zip(kernel.params, arrays, strict=True)
        }

    def stmt(self, stmt: Stmt) -> None:
        """Execute a statement of the host."""
        match stmt:
            case Seq():
                for part in stmt.body:
                    self.stmt(part)
            case Let():
                self.scalars[stmt.var] = scalar_value(stmt.value, self.scalars)
                self.stmt(stmt.body)
            case If():
                if scalar_value(stmt.condition, self.scalars):
                    self.stmt(stmt.then)
                elif stmt.otherwise is not None:
                    self.stmt(stmt.otherwise)
            case Allocate(buffer=Buffer(scope="global")):
                self.workspace(stmt)
            case Launch():
                self.launch(stmt)
            case _:
                outside_launch(self.source, stmt)

    def workspace(self, stmt: Allocate) -> None:
        """Give a program memory that all blocks share."""
        buffer = stmt.buffer
        memory = Memory.allocated(
            buffer, self.scalars, zeroed=stmt.zeroed, has_history=buffer in self.written
        )
        self.memories[buffer] = memory
        self.stmt(stmt.body)
        if stmt.zeroed and memory.values.any():
            left = np.flatnonzero(memory.values)
            not_left_zero(self.source, stmt, int(left[0]), memory.values[left[0]])
        del self.memories[buffer]

    def launch(self, launch: Launch) -> None:
        """Run all blocks of a launch, a batch at a time."""
        grid = Grid.of(launch, self.scalars)
        if grid.is_empty:
            return
        faults = Faults(self.source, grid)
        allocations = allocated(launch.body)
        addresses = place(launch, allocations, self.scalars, faults)
        narrator = None if self.observer is None else Narrator(self.observer, self.source, grid)
        if narrator is not None:
            narrator.start()
        start = self.clock.tick()
        tickets = Tickets(any(isinstance(n, Ticket) for n in post_order(launch.body)))
        lanes = self._lanes(grid, allocations)
        for batch in grid.batches(self.order, lanes):
            Threads(
                batch,
                Order(batch, self.clock, start, tickets),
                faults,
                self.scalars,
                self.memories,
                addresses,
                self.statements,
                narrator,
            ).run(launch.body)
        if narrator is not None:
            narrator.end()

    def _lanes(self, grid: Grid, allocations: Sequence[Allocate]) -> int:
        """Return how many lanes a batch may have, so that its memory stays small."""
        thread, block = 1, 1
        for stmt in allocations:
            count = element_count(stmt.buffer, self.scalars)
            if stmt.buffer.scope == "local":
                thread += count * (stmt.buffer.dtype.itemsize + LOCAL_COST)
            else:
                block += count * (stmt.buffer.dtype.itemsize + SHARED_COST)
        each = thread + block // grid.block_threads
        return min(LANES, max(1, BATCH_BYTES // each))


def written_buffers(root: Stmt) -> set[Buffer]:
    """Return the buffers that a program stores to."""
    found: set[Buffer] = set()
    for node in post_order(root):
        if isinstance(node, Store):
            found.add(node.buffer)
        elif isinstance(node, Shuffle | Ticket):
            found.add(node.target)
    return found


def allocated(root: Stmt) -> list[Allocate]:
    """Return the allocations in a statement, in the order of the program."""
    found: list[Allocate] = []
    waiting = [root]
    while waiting:
        stmt = waiting.pop()
        if isinstance(stmt, Allocate):
            found.append(stmt)
        waiting.extend(c for c in reversed(stmt.children()) if isinstance(c, Stmt))
    return found


def place(
    launch: Launch, allocations: Sequence[Allocate], scalars: Mapping[Var, int], faults: Faults
) -> dict[Buffer, int]:
    """Return the address of each buffer in shared memory; check those that a pass has placed."""
    addresses: dict[Buffer, int] = {}
    taken: list[tuple[int, int, Buffer]] = []
    free = launch.shared_bytes
    for stmt in allocations:
        buffer = stmt.buffer
        if buffer.scope not in ("shared", "cluster") or buffer in addresses:
            continue
        size = element_count(buffer, scalars) * buffer.dtype.itemsize
        if stmt.offset is None:
            addresses[buffer] = free
            free += -(-size // 16) * 16
            continue
        first, end = stmt.offset, stmt.offset + size
        addresses[buffer] = first
        if first < 0 or end > launch.shared_bytes:
            faults.misplaced(
                stmt, f"takes bytes {first} to {end - 1}, but a block has {launch.shared_bytes}"
            )
        for other_first, other_end, other in taken:
            if first < other_end and other_first < end:
                faults.misplaced(stmt, f"takes bytes that belong to {other.name}")
        taken.append((first, end, buffer))
    return addresses
