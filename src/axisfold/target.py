# SPDX-License-Identifier: Apache-2.0
"""Targets: what a program is compiled for, as plain data.  A Target never asks a device."""

from __future__ import annotations

from dataclasses import dataclass

from axisfold.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Target:
    """A compilation target.

    Parameters
    ----------
    kind
        ``"llvm"``: the host's CPU through LLVM; ``"c"``: C11 source; ``"sim"``: the simulator of
        GPU threads.
    vector_bytes
        Bytes of the widest vector that schedules should use.
    max_threads
        Threads of a block.
    max_block, max_grid
        Threads and blocks along x, y and z.
    max_cluster
        Blocks of a cluster.
    shared_bytes
        Shared memory of a block.
    """

    kind: str
    vector_bytes: int = 64
    max_threads: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_cluster: int = 8
    shared_bytes: int = 227 * 1024

    @property
    def has_threads(self) -> bool:
        """Whether programs are launched on blocks of threads."""
        return self.kind == "sim"

    def limit(self, tag: str) -> int:
        """Return how many values a hardware index such as ``threadIdx.x`` may have."""
        unit, axis = tag.split(".")
        if unit == "clusterCtaIdx":
            return self.max_cluster
        return (self.max_block if unit == "threadIdx" else self.max_grid)["xyz".index(axis)]

    def __str__(self) -> str:
        return self.kind


def parse(spec: Target | str) -> Target:
    """Return the Target of a name.

    Raises
    ------
    UnsupportedError
        ``X101``: there is no such target.
    """
    if isinstance(spec, Target):
        return spec
    if spec not in ("llvm", "c", "sim"):
        raise UnsupportedError(
            f"target {spec!r} is not available in this release.",
            code="X101",
            hint="Use 'llvm', 'c' or 'sim'.",
        )
    return Target(spec, vector_bytes=16 if spec == "sim" else 64)
