# SPDX-License-Identifier: Apache-2.0
"""What an observer of a run is told: one frozen event for each thing that happens.

Lanes are described by parallel arrays ``blocks`` (linear number of the hardware block, x fastest
within a cluster and clusters x fastest) and ``threads`` (linear number within the block, x
fastest).  ``step`` counts executed statements: the loads and the store of one execution of
``s[t] = s[t] + s[t + 4]`` share theirs.  ``line`` is the statement's first line in ``str(kernel)``.
Without an observer nothing of this is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Kernel, Launch, Level, ShuffleMode

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Start:
    """A launch of a kernel begins; extents are of x, y and z.

    ``kernel`` is the program as it runs, each of its statements an object of its own.
    """

    launch: Launch
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    block: tuple[int, int, int]
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Access:
    """Active lanes load or store elements of a buffer of any scope.

    Attributes
    ----------
    kind, buffer
        What is done, and to what.
    elements
        Flat offsets as in the program, one for each entry of ``threads``; a thread occurs once for
        each lane of a vector that it touches.
    addresses
        Byte addresses of these: within the block's shared memory (``shared``, ``cluster``), from
        the first element of an array (``global``), within the buffer (``local``).
    values
        The elements' values.
    """

    step: int
    line: int
    kind: Literal["load", "store"]
    buffer: Buffer
    blocks: Ints
    threads: Ints
    elements: Ints
    addresses: Ints
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A shuffle: each lane has read the value of thread ``sources`` of its block."""

    step: int
    line: int
    mode: ShuffleMode
    target: Buffer
    blocks: Ints
    threads: Ints
    sources: Ints
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """All threads of the given blocks, or of some warps of them, have met at a barrier."""

    step: int
    line: int
    level: Level
    blocks: Ints
    threads: Ints


@dataclass(frozen=True, slots=True)
class Take:
    """Threads have taken tickets; ``is_last`` says which of them the last one."""

    step: int
    line: int
    blocks: Ints
    threads: Ints
    is_last: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class End:
    """All blocks of a launch have run."""

    launch: Launch


Event: TypeAlias = Start | Access | Exchange | Wait | Take | End


class Observer(Protocol):
    """Anything that can be called with each event, in the order of execution."""

    def __call__(self, event: Event, /) -> None:
        """Take note of an event."""
