# SPDX-License-Identifier: Apache-2.0
"""The threads of a launch: how they are numbered, and which blocks run side by side.

A *lane* is the place of a thread in a batch of blocks.  A *thread number* is unique in the whole
launch; its bits say, from the highest, cluster, block of the cluster, and thread of the block, so
that two numbers tell at once how near two threads are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from axisfold.analysis.scalars import scalar_value
from axisfold.ir.expr import Var
from axisfold.ir.stmt import WARP, Launch

Ints = NDArray[np.int64]
Triple = tuple[int, int, int]

# What two threads share at least: themselves, or a group of threads.  Barriers order by these.
THREAD, OF_WARP, OF_BLOCK, OF_CLUSTER, OF_GRID = range(5)
LEVELS: Final[Mapping[str, int]] = {"warp": OF_WARP, "block": OF_BLOCK, "cluster": OF_CLUSTER}
_WARP_BITS: Final = (WARP - 1).bit_length()

# Lanes of a batch: enough that NumPy's calls cost little, few enough to stay in the cache.
LANES: Final = 1 << 16


@dataclass(frozen=True)
class Grid:
    """The extents of a launch, x first; ``clusters`` counts blocks where there are no clusters."""

    launch: Launch
    clusters: Triple
    cluster: Triple
    block: Triple

    @classmethod
    def of(cls, launch: Launch, scalars: Mapping[Var, int]) -> Grid:
        """Return the grid of a launch whose extents depend on ``scalars``."""
        extents = dict.fromkeys(launch.tags, 1)
        for tag, extent in zip(launch.tags, launch.extents, strict=True):
            extents[tag] = scalar_value(extent, scalars)

        def triple(unit: str) -> Triple:
            return tuple(extents.get(f"{unit}.{axis}", 1) for axis in "xyz")  # type: ignore[return-value]

        return cls(launch, triple("blockIdx"), triple("clusterCtaIdx"), triple("threadIdx"))

    @property
    def is_empty(self) -> bool:
        """Whether there is no block, so that nothing is launched."""
        return min(self.clusters) <= 0

    @cached_property
    def block_threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block)

    @cached_property
    def cluster_blocks(self) -> int:
        """Blocks of a cluster."""
        return math.prod(self.cluster)

    @cached_property
    def block_bits(self) -> int:
        """Bits of a thread number below the block's."""
        return max(_WARP_BITS, (self.block_threads - 1).bit_length())

    @cached_property
    def cluster_bits(self) -> int:
        """Bits of a thread number below the cluster's."""
        return self.block_bits + (self.cluster_blocks - 1).bit_length()

    def common(self, a: Ints, b: Ints) -> NDArray[np.int8]:
        """Return the smallest group that each pair of threads shares, ``THREAD`` for the same."""
        apart = a ^ b
        level = (apart > 0).view(np.int8) + (apart >= WARP).view(np.int8)
        level += (apart >= 1 << self.block_bits).view(np.int8)
        level += (apart >= 1 << self.cluster_bits).view(np.int8)
        return level

    def block_of(self, thread: int) -> Triple:
        """Return the hardware index of the block of a thread number."""
        rank = thread >> self.block_bits & ((1 << self.cluster_bits - self.block_bits) - 1)
        outer = _place(thread >> self.cluster_bits, self.clusters)
        inner = _place(rank, self.cluster)
        x, y, z = (o * n + i for o, n, i in zip(outer, self.cluster, inner, strict=True))
        return x, y, z

    def index_of(self, thread: int) -> Triple:
        """Return the index of a thread number within its block."""
        return _place(thread & ((1 << self.block_bits) - 1), self.block)

    def batches(self, order: np.random.Generator, lanes: int = LANES) -> Iterator[Batch]:
        """Yield all blocks, in random order, as many at a time as ``lanes`` have room for."""
        clusters = order.permutation(math.prod(self.clusters)).astype(np.int64)
        step = max(1, lanes // (self.cluster_blocks * self.block_threads))
        for first in range(0, len(clusters), step):
            yield Batch(self, clusters[first : first + step])


def _place(number: Any, extents: Triple) -> tuple[Any, Any, Any]:
    """Return the index of a number that counts x fastest."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


@dataclass(frozen=True)
class Batch:
    """Clusters that run side by side; lanes are ordered by cluster, block and thread."""

    grid: Grid
    clusters: Ints

    @cached_property
    def lanes(self) -> int:
        """Number of threads."""
        return len(self.clusters) * self.grid.cluster_blocks * self.grid.block_threads

    @cached_property
    def _parts(self) -> tuple[Ints, Ints, Ints]:
        """Cluster, block of the cluster and thread of the block, for each lane."""
        blocks, threads = self.grid.cluster_blocks, self.grid.block_threads
        lane = np.arange(self.lanes)
        cluster = np.repeat(self.clusters, blocks * threads)
        return cluster, lane // threads % blocks, lane % threads

    @cached_property
    def threads(self) -> Ints:
        """The thread number of each lane."""
        cluster, rank, thread = self._parts
        return cluster << self.grid.cluster_bits | rank << self.grid.block_bits | thread

    @cached_property
    def groups(self) -> tuple[Ints, ...]:
        """For each level up to clusters the group of each lane, numbered within the batch."""
        grid = self.grid
        lane = np.arange(self.lanes)
        block = lane // grid.block_threads
        warps = -(-grid.block_threads // WARP)
        warp = block * warps + lane % grid.block_threads // WARP
        return lane, warp, block, block // grid.cluster_blocks

    @cached_property
    def sizes(self) -> tuple[Ints, ...]:
        """For each level up to clusters the number of lanes of each group."""
        return tuple(np.bincount(group) for group in self.groups)

    def first_lane(self, level: int, group: int) -> int:
        """Return the first lane of a group."""
        return int(np.searchsorted(self.groups[level], group))

    def places(self, lanes: Ints) -> tuple[Ints, Ints]:
        """Return the linear numbers of block and thread of lanes."""
        cluster, rank, thread = (part[lanes] for part in self._parts)
        return cluster * self.grid.cluster_blocks + rank, thread

    def indices(self) -> dict[Var, NDArray[Any]]:
        """Return the value of each hardware index, for each lane."""
        cluster, rank, thread = self._parts
        values = {
            "blockIdx": _place(cluster, self.grid.clusters),
            "clusterCtaIdx": _place(rank, self.grid.cluster),
            "threadIdx": _place(thread, self.grid.block),
        }
        launch = self.grid.launch
        found = {}
        for tag, var in zip(launch.tags, launch.vars, strict=True):
            unit, axis = tag.split(".")
            found[var] = values[unit]["xyz".index(axis)].astype(var.dtype.stored)
        return found
