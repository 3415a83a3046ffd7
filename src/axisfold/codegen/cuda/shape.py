# SPDX-License-Identifier: Apache-2.0
"""The shape of a launch: threads of a block, blocks of a cluster, lanes of a warp."""

from __future__ import annotations

from axisfold.ir import build
from axisfold.ir.stmt import WARP, Launch

_ALL_LANES = 0xFFFFFFFF
_DIMENSIONS = "xyz"
# Threads of a multiprocessor for which it has 64 registers each; blocks that are many.
_HALF_FULL = 1024
_MANY = 4


class BlockShape:
    """What is constant about a launch.

    Attributes
    ----------
    threads
        Threads of a block.
    last_lanes
        Lanes of the last warp if they are fewer than those of the warps before it, else 0.
    """

    def __init__(self, launch: Launch) -> None:
        self.tags, self.resident = launch.tags, launch.resident
        sizes = {
            tag: build.as_int(extent)
            for tag, extent in zip(launch.tags, launch.extents, strict=True)
        }
        self.block = [sizes.get(f"threadIdx.{d}") or 1 for d in _DIMENSIONS]
        self.cluster = [sizes.get(f"clusterCtaIdx.{d}") or 1 for d in _DIMENSIONS]
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.last_lanes = self.threads % WARP if self.threads > WARP else 0

    @property
    def has_clusters(self) -> bool:
        """Whether blocks form clusters."""
        return any(tag.startswith("clusterCtaIdx") for tag in self.tags)

    @property
    def bounds(self) -> str:
        """Threads of a block, and where it is said how many blocks a multiprocessor holds.

        Of large ones of a cluster that is said, too: with a single block nothing is computed there
        while loads and other blocks are waited for.
        """
        blocks = _HALF_FULL // self.threads
        held = blocks if self.has_clusters and 1 < blocks < _MANY else self.resident
        return f"{self.threads}, {held}" if held else f"{self.threads}"

    @property
    def cluster_text(self) -> str:
        """Blocks of a cluster along x, y and z."""
        return ", ".join(str(n) for n in self.cluster)

    def index(self, tag: str) -> str:
        """Return a hardware index; CUDA's blockIdx counts blocks even where they form clusters."""
        name, dimension = tag.split(".")
        size = self.cluster[_DIMENSIONS.index(dimension)]
        if name == "clusterCtaIdx":
            return f"blockIdx.{dimension} % {size}"
        if name == "blockIdx" and size > 1:
            return f"blockIdx.{dimension} / {size}"
        return tag

    def mask(self) -> str:
        """Return the lanes of the own warp that exist: each is named, and no other."""
        if self.last_lanes:
            last = self.threads // WARP
            return f"({self._thread()}) / {WARP} == {last} ? {_lanes(self.last_lanes)} : ~0u"
        return _lanes(min(self.threads, WARP))

    def _thread(self) -> str:
        """Return the number of the thread in its block; x counts fastest."""
        x, y, z = self.block
        text = "threadIdx.x"
        if y > 1:
            text += f" + {x} * threadIdx.y"
        if z > 1:
            text += f" + {x * y} * threadIdx.z"
        return text


def _lanes(count: int) -> str:
    return f"0x{_ALL_LANES >> (WARP - count):x}u"
