# SPDX-License-Identifier: Apache-2.0
"""Bank conflicts: how often shared memory is asked before a warp has all of its words.

Shared memory consists of 32 banks, each of which gives one word of 4 bytes at a time; word ``w``
lies in bank ``w % 32``.  Threads that want the same word share it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from axisfold.ir.stmt import WARP

Ints = NDArray[np.int64]

BANKS: Final = 32
WORD_BYTES: Final = 4
WIDEST_ACCESS: Final = 16


def conflict_degree(threads: Ints, addresses: Ints, itemsize: int) -> int:
    """Return the most distinct words of one bank that threads of a warp want at once.

    1 is free of conflicts.  Accesses of 8 bytes a thread are made by half a warp at a time and
    those of 16 bytes by a quarter; wider vectors are several accesses.

    Parameters
    ----------
    threads : array, shape (n,), int
        Number within its block of the thread of each element; the elements that a thread wants
        lie together.
    addresses : array, shape (n,), int
        Byte address of each element.
    itemsize
        Bytes of an element.

    Returns
    -------
    int
        At least 1.

    Source
    ------
    CUDA C++ Programming Guide, "Shared Memory" of the compute capabilities.
    """
    if not len(threads):
        return 1
    order = np.argsort(threads, kind="stable")
    threads, addresses = threads[order], addresses[order]
    is_first = np.concatenate([[True], threads[1:] != threads[:-1]])
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.append(starts, len(threads)))
    place = np.arange(len(threads)) - np.repeat(starts, counts)
    width = min(int(counts.max()) * itemsize, WIDEST_ACCESS)
    piece = place // max(1, WIDEST_ACCESS // itemsize)
    together = WARP if width <= WORD_BYTES else WARP // 2 if width <= 8 else WARP // 4
    request = piece * (int(threads.max()) + 1) + threads // together
    words = addresses[:, None] // WORD_BYTES + np.arange(max(1, itemsize // WORD_BYTES))
    pairs = np.stack([np.broadcast_to(request[:, None], words.shape), words], axis=-1)
    return _most_in_a_bank(np.unique(pairs.reshape(-1, 2), axis=0))


def _most_in_a_bank(pairs: NDArray[Any]) -> int:
    banks = np.stack([pairs[:, 0], pairs[:, 1] % BANKS], axis=-1)
    return int(np.unique(banks, axis=0, return_counts=True)[1].max())
