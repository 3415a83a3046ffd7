# SPDX-License-Identifier: Apache-2.0
"""What explain() returns: how a fold is computed and why, what it moves, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from axisfold.api.explain_html import page
from axisfold.api.explain_text import report
from axisfold.api.measure import Times
from axisfold.ir.stmt import Kernel
from axisfold.plan.compose import LayoutClass
from axisfold.plan.explain import Passed
from axisfold.plan.occupancy import Occupancy
from axisfold.plan.read_limit import ReadLimit
from axisfold.plan.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Resources:
    """What one launch uses of a GPU.

    Attributes
    ----------
    symbol
        Its kernel.
    grid, block
        Blocks, and threads of a block, along x, y and z.
    registers, spilled_bytes
        32-bit registers of a thread, and bytes of them that it keeps in memory.
    shared_bytes
        Shared memory of a block.
    occupancy
        How full a multiprocessor is; None for an architecture of unknown limits.
    """

    symbol: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    spilled_bytes: int
    shared_bytes: int
    occupancy: Occupancy | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a fold is computed: ``print`` it, or show it in a notebook.

    Attributes
    ----------
    title
        What is folded, in one line.
    target
        What it is compiled for.
    problem
        The canonical problem in words.
    layout
        The layout class: what one kernel serves.
    rule, reason
        The rule that plans it, and why its schedule suits.
    parameters
        The numbers in the schedule that :func:`axisfold.tune` may change; None follows from the
        problem.
    is_tuned
        Whether they were found by measuring.
    passed
        The other rules, and why each of them does not plan it.
    te, schedule
        Python that builds the same kernel: first the tensor expression, then its schedule.
    loops
        The loop IR; ``str(explanation.loops)`` is its text.
    language, source
        LLVM IR or CUDA C++.
    traffic
        Bytes that are moved.
    limit
        How fast the machine reads memory; None where there is no such machine.
    times
        What was measured, or None.
    resources
        Of each launch on a GPU.
    notes
        Where the time goes, and what could not be measured.
    """

    title: str
    target: str
    problem: tuple[str, ...]
    layout: LayoutClass
    rule: str
    reason: str
    parameters: Mapping[str, int | None]
    is_tuned: bool
    passed: tuple[Passed, ...]
    te: str
    schedule: str
    loops: Kernel
    language: str
    source: str
    traffic: Traffic
    limit: ReadLimit | None
    times: Times | None
    resources: tuple[Resources, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def predicted(self) -> float | None:
        """Seconds that moving the bytes takes at the limit."""
        if self.limit is None:
            return None
        return self.traffic.moved_bytes / self.limit.bytes_per_second

    @property
    def percent(self) -> float | None:
        """The predicted time in percent of the measured one: 100 is the speed of memory."""
        if self.times is None or not self.predicted:
            return None
        return 100 * self.predicted / self.times.seconds

    @property
    def python(self) -> str:
        """Python that builds the same kernel; ``axisfold.lower(s, args)`` then prints its loops."""
        return f"{self.te}\n{self.schedule}"

    def __str__(self) -> str:
        return report(self)

    def _repr_html_(self) -> str:
        return page(self)
