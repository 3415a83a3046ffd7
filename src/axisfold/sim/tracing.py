# SPDX-License-Identifier: Apache-2.0
"""Traces: which thread of a block combined what at which step, and what memory made of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from axisfold.errors import ArgumentError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel, Launch
from axisfold.sim.flow import Flow, Program, loaded_buffers, places_in, writers
from axisfold.sim.machine import run
from axisfold.sim.observer import Access, End, Event, Exchange, Observer, Start, Take, Wait
from axisfold.sim.styles import style_of
from axisfold.sim.trace_rows import Rows, Step
from axisfold.sim.trace_svg import draw
from axisfold.sim.trace_text import write

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LaunchTrace:
    """What one block did in a launch.

    Attributes
    ----------
    name
        Name of the launch.
    grid, cluster, block_extents
        Blocks of the grid, blocks of a cluster and threads of a block, along x, y and z.
    block
        Index of the block that was traced.
    steps
        What it did.
    """

    name: str
    grid: Triple
    cluster: Triple
    block_extents: Triple
    block: Triple
    steps: tuple[Step, ...]

    @property
    def threads(self) -> int:
        """Number of threads of the block."""
        return math.prod(self.block_extents)

    @property
    def style(self) -> str:
        """How the block combines its states, such as ``interleaved tree in shared memory``."""
        return style_of(self.steps)


@dataclass(frozen=True, slots=True)
class Trace:
    """What one block did in each launch of a run.

    Attributes
    ----------
    kernel
        Name of the kernel.
    source
        The program; :attr:`Step.lines` count its lines from 1.
    launches
        One entry for each launch in which the block exists.
    """

    kernel: str
    source: str
    launches: tuple[LaunchTrace, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all launches."""
        return tuple(step for launch in self.launches for step in launch.steps)

    def text(self, lanes: int = 32) -> str:
        """Return the trace as lines for a terminal.

        Parameters
        ----------
        lanes
            How many threads get a column, rounded up to whole warps; warps beyond get one each.
        """
        return write(self, lanes)

    def svg(self, lanes: int = 32) -> str:
        """Return the trace as a picture: threads from left to right, steps from top to bottom.

        It stands alone, is legible on light and dark ground, and is the same for the same run.

        Parameters
        ----------
        lanes
            How many threads get a column, rounded up to whole warps; warps beyond get one each.
        """
        return draw(self, lanes)


class Runnable(Protocol):
    """A function of target ``sim``."""

    def __call__(self, *arrays: Any, seed: int = 0, observer: Observer | None = None) -> None:
        """Run on arrays."""


def trace(
    program: Kernel | Runnable,
    arrays: Sequence[Any],
    scalars: Mapping[Var, int] | None = None,
    *,
    block: Triple = (0, 0, 0),
    seed: int = 0,
) -> Trace:
    """Run a program for threads, and return what one of its blocks did.

    Parameters
    ----------
    program
        A kernel for :func:`axisfold.sim.run`, or what ``axisfold.build(..., "sim")`` returned.
    arrays
        NumPy arrays as the program takes them; outputs are written in place.
    scalars
        For a kernel: values of the variables among extents and strides; None to take them from
        the arrays.
    block
        Index of the block to follow, as the hardware counts: with clusters ``blockIdx`` times the
        extent of a cluster plus ``clusterCtaIdx``.
    seed
        Chooses the order in which blocks run.

    Returns
    -------
    Trace
        As data, as text and as a picture.

    Raises
    ------
    ArgumentError
        ``A216``: no launch has such a block.
    SimulationError
        What the run finds (see :func:`axisfold.sim.run`).

    Examples
    --------
    >>> import numpy as np
    >>> import axisfold
    >>> from axisfold import sim, te
    >>> A = te.placeholder((4, 8), "float32", name="A")
    >>> k = te.reduce_axis((0, 8), name="k")
    >>> B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    >>> s = te.create_schedule(B.op)
    >>> s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    >>> s[B].bind(k, te.thread_axis("threadIdx.x"))
    >>> f = axisfold.build(s, [A, B], "sim")
    >>> t = sim.trace(f, [np.ones((4, 8), "float32"), np.empty(4, "float32")])
    >>> t.launches[0].style
    'warp shuffles'
    >>> [sorted(c.sources)[0] - c.thread for c in t.steps[1].combines if c.is_used]
    [4, 4, 4, 4]
    """
    recorder = _Recorder(tuple(block))
    if isinstance(program, Kernel):
        run(program, arrays, scalars, seed=seed, observer=recorder)
    else:
        program(*arrays, seed=seed, observer=recorder)
    return recorder.trace()


class _Recorder:
    """Keeps the events of one block of each launch, and makes a trace of them."""

    def __init__(self, block: tuple[int, ...]) -> None:
        self.block = block
        self.kernel: Kernel | None = None
        self.program: Program | None = None
        self.start: Start | None = None
        self.number: int | None = None
        self.events: list[Event] = []
        self.common: set[Buffer] = set()
        self.others: dict[Buffer, dict[int, int]] = {}
        self.grids: list[Triple] = []
        self.launches: list[LaunchTrace] = []

    def __call__(self, event: Event) -> None:
        match event:
            case Start():
                self.begin(event)
            case End():
                self.end(event.launch)
            case Access() if self.number is not None:
                self.access(event, self.number)
            case Exchange() | Wait() | Take() if self.number is not None:
                is_here = event.blocks == self.number
                if is_here.any():
                    self.events.append(_part(event, is_here))
            case _:
                pass

    def begin(self, event: Start) -> None:
        if self.kernel is not event.kernel:
            self.kernel, self.program = event.kernel, Program(event.kernel)
        self.start, self.events, self.others = event, [], {}
        self.grids.append(event.grid)
        self.number = _number(self.block, event)
        self.common = loaded_buffers(event.launch)

    def access(self, event: Access, number: int) -> None:
        """Keep what the block does, and what others leave where it may read."""
        is_here = event.blocks == number
        if is_here.any():
            self.events.append(_part(event, is_here))
        scope = event.buffer.scope
        if event.kind == "store" and scope in ("global", "cluster") and not is_here.all():
            if event.buffer not in self.common:
                return
            if scope == "cluster":  # each cluster has a memory of its own
                assert self.start is not None  # noqa: S101  (no access without a launch)
                size = math.prod(self.start.cluster)
                is_near = event.blocks // size == number // size
                event, is_here = _part(event, is_near), is_here[is_near]
            self.others.setdefault(event.buffer, {}).update(writers(event, is_here))

    def end(self, launch: Launch) -> None:
        start, program = self.start, self.program
        if self.number is None or start is None or program is None:
            return
        accesses = [event for event in self.events if isinstance(event, Access)]
        places = places_in(accesses, math.prod(start.block))
        steps = Rows(Flow(program, places, self.others)).steps(self.events)
        x, y, z = self.block
        self.launches.append(
            LaunchTrace(launch.name, start.grid, start.cluster, start.block, (x, y, z), steps)
        )

    def trace(self) -> Trace:
        if self.grids and not self.launches:
            grids = " and ".join(str(grid) for grid in self.grids)
            raise ArgumentError(
                f"there is no block {self.block}: the grid has {grids} blocks.",
                code="A216",
                hint="Choose an index below these extents, x first.",
            )
        if self.kernel is None or self.program is None:  # all grids were empty
            return Trace("", "", ())
        return Trace(self.kernel.name, "\n".join(self.program.text), tuple(self.launches))


def _number(block: tuple[int, ...], start: Start) -> int | None:
    """Return the linear number of a block as events give it, None if there is none."""
    if len(block) != 3 or not all(0 <= i < n for i, n in zip(block, start.grid, strict=True)):
        return None
    clusters = [n // c for n, c in zip(start.grid, start.cluster, strict=True)]
    outer = _flat([i // c for i, c in zip(block, start.cluster, strict=True)], clusters)
    inner = _flat([i % c for i, c in zip(block, start.cluster, strict=True)], start.cluster)
    return outer * math.prod(start.cluster) + inner


def _flat(index: Sequence[int], extents: Iterable[int]) -> int:
    number, step = 0, 1
    for i, n in zip(index, extents, strict=True):
        number += i * step
        step *= n
    return number


def _part(event: Any, chosen: Any) -> Any:
    """Return an event about some of its entries."""
    arrays = ("blocks", "threads", "elements", "addresses", "values", "sources", "is_last")
    return replace(event, **{n: getattr(event, n)[chosen] for n in arrays if hasattr(event, n)})
