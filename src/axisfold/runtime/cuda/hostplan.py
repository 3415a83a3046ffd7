# SPDX-License-Identifier: Apache-2.0
"""What the host does for one set of extents: which kernels it launches, on which grids, with what.

The statements outside of launches are evaluated here once; a call then only walks a flat list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from axisfold.analysis.scalars import scalar_value
from axisfold.errors import InternalError, LaunchError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Allocate, Attr, If, Kernel, Launch, Let, Seq, Stmt

# Of allocations in a workspace: no vector load needs more, and no two share a line of the cache.
ALIGNMENT: Final = 256
_AXES: Final = "xyz"


@dataclass(frozen=True, slots=True)
class Entry:
    """How a kernel is called: pointers in order, then integers.

    Attributes
    ----------
    symbol
        Its name in the machine code.
    buffers
        Parameters of the program, or allocations around the launch.
    scalars
        Extents, strides and values that the host computes.
    """

    symbol: str
    buffers: tuple[Buffer, ...]
    scalars: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Configured:
    """One launch with its sizes.

    Attributes
    ----------
    entry
        The kernel.
    grid, block, cluster
        Blocks (not clusters), threads of a block, blocks of a cluster, along x, y and z.
    shared_bytes
        Shared memory of a block.
    pointers
        For each buffer its place: arguments first, then allocations.
    scalars
        Values of the integers.
    """

    entry: Entry
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    pointers: tuple[int, ...]
    scalars: tuple[int, ...]


@dataclass(slots=True)
class HostPlan:
    """The launches of a call in order, and the memory that they need beside the arguments.

    Attributes
    ----------
    launches
        Those that have blocks.
    offsets
        For each allocation whether it must start as zeros, and its offset among those of its kind.
    scratch_bytes, zeroed_bytes
        Memory with any contents; memory that is zero before and after the call.
    """

    launches: list[Configured] = field(default_factory=list)
    offsets: list[tuple[bool, int]] = field(default_factory=list)
    scratch_bytes: int = 0
    zeroed_bytes: int = 0


def plan_host(
    kernel: Kernel, entries: Mapping[Launch, Entry], values: Mapping[Var, int]
) -> HostPlan:
    """Evaluate the host's statements of a program for threads.

    Parameters
    ----------
    kernel
        The program.
    entries
        How each of its launches is called.
    values
        Extents and strides of the arguments.

    Raises
    ------
    InternalError
        ``I204``: the host was to do something else than allocate, compute and launch.
    """
    places = {buffer: place for place, buffer in enumerate(kernel.params)}
    walk = _Walk(entries, dict(values), places, len(kernel.params), HostPlan())
    walk.run(kernel.body)
    return walk.plan


@dataclass(slots=True)
class _Walk:
    entries: Mapping[Launch, Entry]
    values: dict[Var, int]
    places: dict[Buffer, int]
    params: int
    plan: HostPlan
    # Bytes of the two kinds of memory in use at this statement: allocations nest.
    in_use: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})

    def run(self, stmt: Stmt) -> None:
        match stmt:
            case Seq(body=body):
                for part in body:
                    self.run(part)
            case Let(var=var, value=value, body=inner):
                self.values[var] = scalar_value(value, self.values)
                self.run(inner)
            case If(condition=condition, then=then, otherwise=otherwise):
                if scalar_value(condition, self.values):
                    self.run(then)
                elif otherwise is not None:
                    self.run(otherwise)
            case Attr(body=inner):
                self.run(inner)
            case Allocate():
                self._allocate(stmt)
            case Launch():
                self._launch(stmt)
            case _:
                raise InternalError(
                    f"the host of a program for threads cannot run {type(stmt).__name__}",
                    code="I204",
                )

    def _allocate(self, stmt: Allocate) -> None:
        buffer, is_zeroed = stmt.buffer, stmt.zeroed
        extents = [scalar_value(e, self.values) for e in buffer.allocated_extents]
        size = math.prod(extents) * buffer.dtype.itemsize
        start = self.in_use[is_zeroed]
        self.places[buffer] = self.params + len(self.plan.offsets)
        self.plan.offsets.append((is_zeroed, start))
        self.in_use[is_zeroed] = start + -(-size // ALIGNMENT) * ALIGNMENT
        if is_zeroed:
            self.plan.zeroed_bytes = max(self.plan.zeroed_bytes, self.in_use[True])
        else:
            self.plan.scratch_bytes = max(self.plan.scratch_bytes, self.in_use[False])
        self.run(stmt.body)
        self.in_use[is_zeroed] = start

    def _launch(self, stmt: Launch) -> None:
        sizes = {
            tag: 1 for name in ("blockIdx", "clusterCtaIdx", "threadIdx") for tag in _tags(name)
        }
        for tag, extent in zip(stmt.tags, stmt.extents, strict=True):
            sizes[tag] = scalar_value(extent, self.values)
        blocks, cluster, block = (
            _triple([sizes[tag] for tag in _tags(name)])
            for name in ("blockIdx", "clusterCtaIdx", "threadIdx")
        )
        if min(blocks) <= 0:
            return
        entry = self.entries[stmt]
        self.plan.launches.append(
            Configured(
                entry,
                _triple([n * c for n, c in zip(blocks, cluster, strict=True)]),
                block,
                cluster,
                stmt.shared_bytes,
                tuple(self.places[buffer] for buffer in entry.buffers),
                tuple(self.values[var] for var in entry.scalars),
            )
        )


def _tags(name: str) -> list[str]:
    return [f"{name}.{axis}" for axis in _AXES]


def _triple(values: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = values
    return x, y, z


@dataclass(frozen=True, slots=True)
class Limits:
    """What one launch may ask of a device.

    Attributes
    ----------
    name
        The device, in words.
    max_threads
        Threads of a block.
    max_grid
        Blocks along x, y and z.
    shared_bytes
        Shared memory of a block.
    max_cluster
        Blocks of a cluster; 1 where there are none.
    """

    name: str
    max_threads: int
    max_grid: tuple[int, ...]
    shared_bytes: int
    max_cluster: int

    def check(self, launch: Configured) -> None:
        """Refuse a launch that the device would.

        Raises
        ------
        LaunchError
            ``X306``: a size is beyond what the device has.
        """
        threads, cluster = math.prod(launch.block), math.prod(launch.cluster)
        for what, wanted, limit in (
            ("threads in a block", threads, self.max_threads),
            ("bytes of shared memory in a block", launch.shared_bytes, self.shared_bytes),
            ("blocks in a cluster", cluster, self.max_cluster),
            *(
                (f"blocks along {axis}", blocks, limit)
                for axis, blocks, limit in zip(_AXES, launch.grid, self.max_grid, strict=True)
            ),
        ):
            if wanted > limit:
                raise LaunchError(
                    f"kernel {launch.entry.symbol!r} needs {wanted} {what}, but {self.name} has "
                    f"at most {limit}.",
                    code="X306",
                    hint="Bind shorter axes, or for blocks fuse axes so that the longest one is "
                    "bound to blockIdx.x.",
                )
