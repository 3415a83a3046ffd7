# SPDX-License-Identifier: Apache-2.0
"""The faults that a run finds, as errors that name kernel, thread, memory and line."""

from __future__ import annotations

from typing import NoReturn

from axisfold.errors import SimulationError
from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Allocate, Barrier, Shuffle, Stmt
from axisfold.sim.grid import Grid
from axisfold.sim.history import Clash
from axisfold.sim.source import Source

_DONE = {"load": "read", "store": "written"}


class Faults:
    """Raises the errors of one launch.

    Attributes
    ----------
    current
        The statement that is being executed.
    """

    def __init__(self, source: Source, grid: Grid) -> None:
        self.source, self.grid = source, grid
        self.current: Stmt = grid.launch

    def _where(self, stmt: Stmt | None = None) -> str:
        kernel = self.source.kernel.name
        return f"{kernel}, {self.source.quote(self.current if stmt is None else stmt)}"

    def _who(self, thread: int) -> str:
        block = self.grid.block_of(thread)
        return f"thread {self.grid.index_of(thread)} of block {block}"

    def race(
        self, buffer: Buffer, element: int, thread: int, kind: str, clash: Clash, at: Stmt
    ) -> NoReturn:
        """Refuse two accesses without an order."""
        does = "reads" if kind == "load" else "writes"
        raise SimulationError(
            f"{self._where()}: a data race on {_element(buffer, element)}: {self._who(thread)} "
            f"{does} it, which {self._who(clash.other)} has {_DONE[clash.kind]} at "
            f"{self.source.quote(at)}, and no barrier that both reach lies between.",
            code="M101",
            hint=f"Put {self._remedy(thread, clash.other)} between the two.",
        )

    def _remedy(self, a: int, b: int) -> str:
        if a >> self.grid.block_bits == b >> self.grid.block_bits:
            return "a barrier of the block"
        if a >> self.grid.cluster_bits == b >> self.grid.cluster_bits:
            return "a barrier of the cluster"
        return "a barrier and a ticket, or the end of a launch,"

    def untold(self, buffer: Buffer, element: int, thread: int, clash: Clash, at: Stmt) -> NoReturn:
        """Refuse what the writer did not make visible before its block took a ticket."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)} takes {_element(buffer, element)} for what "
            f"{self._who(clash.other)} has {_DONE[clash.kind]} at {self.source.quote(at)} before "
            "its block took a ticket, but no barrier in between is one of that thread and the one "
            "with the ticket, so that the device may not see it yet.",
            code="M107",
            hint="Put a barrier of the block between the access and the ticket.",
        )

    def divergent_barrier(self, stmt: Barrier, came: int, missing: int) -> NoReturn:
        """Refuse a barrier that not all threads reach."""
        raise SimulationError(
            f"{self._where()}: {self._who(came)} waits for all threads of its {stmt.level}, but "
            f"{self._who(missing)} does not come: it took another branch or left the loop.",
            code="M102",
            hint="Move the barrier to where all threads pass, and let the branch guard the rest.",
        )

    def uninitialised(self, buffer: Buffer, element: int, thread: int) -> NoReturn:
        """Refuse to read what was never written."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)} reads {_element(buffer, element)}, which "
            "nothing has written: it holds whatever was in memory.",
            code="M103",
            hint="Store a value there first.",
        )

    def out_of_bounds(
        self, buffer: Buffer, element: int, thread: int, does: str, size: str
    ) -> NoReturn:
        """Refuse an access outside of a buffer."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)} {does} {_element(buffer, element)}, but the "
            f"buffer has {size}.",
            code="M104",
            hint="Guard the access with If or if_then_else.",
        )

    def misaligned(
        self, buffer: Buffer, element: int, thread: int, align: int, address: int
    ) -> NoReturn:
        """Refuse an address that is less aligned than was promised."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)} accesses {_element(buffer, element)} with "
            f"align={align}, but its address is a multiple of {address & -address or align} only.",
            code="M110",
            hint="Promise the alignment that holds for every call, or start at an aligned element.",
        )

    def no_source(self, stmt: Shuffle, thread: int, lane: int, source: int, why: str) -> NoReturn:
        """Refuse to read from a lane that does not exist."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)}, lane {lane} of its warp, reads from lane "
            f"{source}, {why}.",
            code="M105",
            hint="Read the own lane where there is no other.",
        )

    def partial_shuffle(self, thread: int, missing: int) -> NoReturn:
        """Refuse a shuffle that not all lanes reach."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)} shuffles, but {self._who(missing)}, a lane of "
            "the same warp, does not come: what is read from it is undefined.",
            code="M106",
            hint="Let all lanes of the warp shuffle, and guard only what is done with the value.",
        )

    def second_ticket(self, counter: Buffer, element: int, thread: int) -> NoReturn:
        """Refuse a block that takes two tickets."""
        raise SimulationError(
            f"{self._where()}: {self._who(thread)} takes a second ticket of its block at "
            f"{_element(counter, element)}, so that the count of blocks is wrong.",
            code="M108",
            hint="Let one thread of each block take one ticket.",
        )

    def misplaced(self, stmt: Allocate, why: str) -> NoReturn:
        """Refuse shared memory that does not fit."""
        raise SimulationError(
            f"{self._where(stmt)}: {stmt.buffer.scope} memory {stmt.buffer.name} {why}.",
            code="M111",
            hint="Leave offset away in hand-written programs; the passes place buffers themselves.",
        )


def not_left_zero(source: Source, stmt: Allocate, element: int, value: object) -> NoReturn:
    """Refuse a workspace that the next call would find dirty."""
    raise SimulationError(
        f"{source.kernel.name}, {source.quote(stmt)}: {_element(stmt.buffer, element)} is {value} "
        "at the end, but zeroed memory must be left zero for the next call.",
        code="M109",
        hint="Let the last block to use it store zeros; a counter needs as many tickets as total.",
    )


def outside_launch(source: Source, stmt: Stmt) -> NoReturn:
    """Refuse what only threads can do."""
    raise SimulationError(
        f"{source.kernel.name}, {source.quote(stmt)}: {type(stmt).__name__} stands outside of a "
        "launch, where no thread executes it.",
        code="M112",
        hint="Put it into the body of a launch (axisfold.ir.threads.launch).",
    )


def _element(buffer: Buffer, element: int) -> str:
    unit = "byte " if buffer.unit == "byte" else ""
    return f"{buffer.scope} {buffer.name}[{unit}{element}]"
