# SPDX-License-Identifier: Apache-2.0
"""Tells an observer what a batch does, in the terms of :mod:`axisfold.sim.observer`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisfold.ir.stmt import Level, Shuffle, Stmt
from axisfold.sim.grid import Batch, Grid, Ints
from axisfold.sim.memory import Memory
from axisfold.sim.observer import Access, End, Exchange, Observer, Start, Take, Wait
from axisfold.sim.source import Source

Array = NDArray[Any]


class Narrator:
    """Makes events and passes them on.

    Attributes
    ----------
    step
        How many statements have been executed.
    """

    def __init__(self, observer: Observer, source: Source, grid: Grid) -> None:
        self.observer, self.source, self.grid = observer, source, grid
        self.step, self.line = 0, 0
        self.batch = Batch(grid, np.zeros(0, np.int64))

    def start(self) -> None:
        """Tell that the launch begins."""
        grid = self.grid
        x, y, z = (a * b for a, b in zip(grid.clusters, grid.cluster, strict=True))
        kernel = self.source.kernel
        self.observer(Start(grid.launch, (x, y, z), grid.cluster, grid.block, kernel))

    def end(self) -> None:
        """Tell that the launch has ended."""
        self.observer(End(self.grid.launch))

    def begin(self, stmt: Stmt, batch: Batch) -> None:
        """Note which statement is executed next."""
        self.step += 1
        self.line, self.batch = self.source.line(stmt), batch

    def _place(self, lanes: Ints) -> tuple[int, int, Ints, Ints]:
        blocks, threads = self.batch.places(lanes)
        return self.step, self.line, blocks, threads

    def access(self, kind: Any, memory: Memory, lanes: Ints, offsets: Ints, values: Array) -> None:
        """Tell of a load or a store."""
        step, line, blocks, threads = self._place(lanes)
        base = memory.address if memory.buffer.scope in ("shared", "cluster") else 0
        addresses = base + offsets * memory.step
        self.observer(
            Access(
                step, line, kind, memory.buffer, blocks, threads, offsets.copy(), addresses, values
            )
        )

    def exchange(self, stmt: Shuffle, lanes: Ints, sources: Ints, values: Array) -> None:
        """Tell of a shuffle."""
        step, line, blocks, threads = self._place(lanes)
        source = self.batch.places(sources)[1]
        self.observer(Exchange(step, line, stmt.mode, stmt.target, blocks, threads, source, values))

    def wait(self, level: Level, lanes: Ints) -> None:
        """Tell of a barrier."""
        step, line, blocks, threads = self._place(lanes)
        self.observer(Wait(step, line, level, blocks, threads))

    def take(self, lanes: Ints, is_last: NDArray[np.bool_]) -> None:
        """Tell of tickets."""
        step, line, blocks, threads = self._place(lanes)
        self.observer(Take(step, line, blocks, threads, is_last))
