# SPDX-License-Identifier: Apache-2.0
"""Targets: what a program is compiled for, as plain data.  A Target never asks a device."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from axisfold.errors import UnsupportedError

# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_SHARED_KIB: Final = {75: 64, 80: 163, 87: 163, 90: 227, 100: 227, 103: 227, 110: 227}
_LEAST_SHARED_KIB: Final = 99
# Of the largest card of an architecture: what a program is planned for where no card is at hand.
_MULTIPROCESSORS: Final = {
    75: 72, 80: 108, 86: 84, 87: 16, 89: 142, 90: 132, 100: 148, 103: 160, 110: 20, 120: 188,
}  # fmt: skip
_USUAL_MULTIPROCESSORS: Final = 108
_L2_MIB: Final = {75: 6, 80: 40, 86: 6, 87: 4, 89: 96, 90: 50, 100: 126, 103: 126, 120: 128}
_LEAST_L2_MIB: Final = 4
_SM_THREADS: Final = {75: 1024, 80: 2048, 90: 2048, 100: 2048, 103: 2048}
_LEAST_SM_THREADS: Final = 1536
_FIRST_ARCH: Final = 75
_FIRST_WITH_CLUSTERS: Final = 90
_ARCH: Final = re.compile(r"sm_(\d{2,3})[af]?")


@dataclass(frozen=True, slots=True)
class Target:
    """A compilation target.

    Parameters
    ----------
    kind
        ``"llvm"``: the host's CPU through LLVM; ``"c"``: C11 source; ``"cuda"``: NVIDIA GPUs;
        ``"sim"``: the simulator of GPU threads.
    arch
        For CUDA the architecture, such as ``"sm_90"``; without one, that of the GPU at hand.
    vector_bytes
        Bytes of the widest vector that schedules should use; 0, here and below, stands for what
        the kind and the architecture have.
    max_threads
        Threads of a block.
    max_block, max_grid
        Threads and blocks along x, y and z.
    max_cluster
        Blocks of a cluster.
    shared_bytes
        Shared memory of a block.
    multiprocessors, l2_bytes
        Multiprocessors of the card, and bytes of its second-level cache.
    sm_threads
        Threads that a multiprocessor holds at once.

    Raises
    ------
    UnsupportedError
        ``X101``: ``arch`` is no architecture from sm_75 on.
    """

    kind: str
    arch: str = ""
    vector_bytes: int = 0
    max_threads: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_cluster: int = 0
    shared_bytes: int = 0
    multiprocessors: int = 0
    l2_bytes: int = 0
    sm_threads: int = 0

    def __post_init__(self) -> None:
        number = _arch_number(self.arch) if self.kind == "cuda" and self.arch else 0
        # The simulator has what an sm_90 has.
        known = 90 if self.kind == "sim" else number
        own = {
            "vector_bytes": 16 if self.has_threads else 64,
            "max_cluster": 8 if known >= _FIRST_WITH_CLUSTERS else 1,
            "shared_bytes": _SHARED_KIB.get(known, _LEAST_SHARED_KIB) << 10,
            "multiprocessors": _MULTIPROCESSORS.get(known, _USUAL_MULTIPROCESSORS),
            "l2_bytes": _L2_MIB.get(known, _LEAST_L2_MIB) << 20,
            "sm_threads": _SM_THREADS.get(known, _LEAST_SM_THREADS),
        }
        for name, value in own.items():
            if not getattr(self, name):
                object.__setattr__(self, name, value)

    @property
    def has_threads(self) -> bool:
        """Whether programs are launched on blocks of threads."""
        return self.kind in ("sim", "cuda")

    def with_arch(self, arch: str) -> Target:
        """Return the target for an architecture, with all that this has."""
        is_plain = self == Target(self.kind)
        return Target(self.kind, arch=arch) if is_plain else replace(self, arch=arch)

    def limit(self, tag: str) -> int:
        """Return how many values a hardware index such as ``threadIdx.x`` may have."""
        unit, axis = tag.split(".")
        if unit == "clusterCtaIdx":
            return self.max_cluster
        return (self.max_block if unit == "threadIdx" else self.max_grid)["xyz".index(axis)]

    def __str__(self) -> str:
        return f"{self.kind} -arch={self.arch}" if self.arch else self.kind


def _arch_number(arch: str) -> int:
    match = _ARCH.fullmatch(arch)
    if match is None or int(match[1]) < _FIRST_ARCH:
        raise UnsupportedError(
            f"{arch!r} is no architecture of an NVIDIA GPU that this release compiles for.",
            code="X101",
            hint="Use one from sm_75 on, such as 'sm_80', 'sm_90' or 'sm_120'.",
        )
    return int(match[1])


def parse(spec: Target | str) -> Target:
    """Return the Target of a name, ``"llvm"`` or ``"cuda -arch=sm_90"``.

    Raises
    ------
    UnsupportedError
        ``X101``: there is no such target.
    """
    if isinstance(spec, Target):
        return spec
    kind, _, option = str(spec).partition(" -arch=")
    if kind not in ("llvm", "c", "sim", "cuda") or (option and kind != "cuda"):
        raise UnsupportedError(
            f"target {spec!r} is not available in this release.",
            code="X101",
            hint="Use 'llvm', 'c', 'sim', 'cuda' or 'cuda -arch=sm_90'.",
        )
    return Target(kind, arch=option.strip())
