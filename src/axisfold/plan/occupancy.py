# SPDX-License-Identifier: Apache-2.0
"""How many blocks of a kernel a multiprocessor holds at once, and what keeps it from more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from axisfold.ir.stmt import WARP


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What the blocks on one multiprocessor share.

    Attributes
    ----------
    warps, blocks
        How many it holds at most.
    shared_kib
        Shared memory, of which each block costs 1 KiB beside its own.
    """

    warps: int
    blocks: int
    shared_kib: int


# Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_KNOWN: Final = {
    75: Multiprocessor(32, 16, 64), 80: Multiprocessor(64, 32, 164),
    86: Multiprocessor(48, 16, 100), 87: Multiprocessor(48, 16, 164),
    89: Multiprocessor(48, 24, 100), 90: Multiprocessor(64, 32, 228),
    100: Multiprocessor(64, 32, 228), 103: Multiprocessor(64, 32, 228),
    110: Multiprocessor(48, 24, 228), 120: Multiprocessor(48, 24, 100),
    121: Multiprocessor(48, 24, 100),
}  # fmt: skip
_REGISTERS: Final = 64 << 10
# Registers are given to a warp by 256, shared memory to a block by 128 bytes.
_REGISTER_STEP: Final = 256
_SHARED_STEP: Final = 128
_FIRST_WITH_RESERVE: Final = 80


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full a multiprocessor is.

    Attributes
    ----------
    blocks
        Blocks that it holds at once.
    share
        Their warps as a part of all that it could hold.
    limit
        What there is not enough of for one more block: ``registers``, ``shared memory``,
        ``warps`` or ``blocks``.
    """

    blocks: int
    share: float
    limit: str


def occupancy(arch: str, threads: int, registers: int, shared_bytes: int) -> Occupancy | None:
    """Return how full a multiprocessor of an architecture is; None if it is not known.

    Parameters
    ----------
    arch
        Such as ``"sm_90"``.
    threads
        Threads of a block.
    registers
        32-bit registers of a thread.
    shared_bytes
        Shared memory of a block.
    """
    number = int(re.sub(r"\D", "", arch) or 0)
    has = _KNOWN.get(number)
    if has is None:
        return None
    warps = -(-threads // WARP)
    of_warp = _rounded(max(registers, 1) * WARP, _REGISTER_STEP)
    reserve = 1 << 10 if number >= _FIRST_WITH_RESERVE else 0
    of_block = _rounded(shared_bytes + reserve, _SHARED_STEP)
    limits = {
        "warps": has.warps // warps,
        "registers": _REGISTERS // of_warp // warps,
        "shared memory": (has.shared_kib << 10) // of_block if of_block else has.blocks,
        "blocks": has.blocks,
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limits[limit] * warps / has.warps, limit)


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step
