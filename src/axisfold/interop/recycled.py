# SPDX-License-Identifier: Apache-2.0
"""Memory of large results, which later ones take over.

The first write to each page of new memory waits until the system has cleared it, which takes longer
than most kernels need to compute what they write.  Smaller blocks malloc keeps by itself.  What is
kept here is marked as free (MADV_FREE): the system takes it back as soon as it needs memory.
"""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from axisfold.config import config

# From here on malloc may ask the system for each block, and give it back; such a block begins in
# the midst of a line, where whole lines cannot be written past the caches.
LARGE: Final = 16 << 20
MOST_KEPT: Final = 1 << 30
# Memory that a block may have beyond what is asked for.
MOST_SPARE: Final = 1.25
_PAGE: Final = 2 << 20
IS_SUPPORTED: Final = all(hasattr(mmap, name) for name in ("MADV_FREE", "MADV_HUGEPAGE"))

# Blocks that nothing uses, the one that has waited longest first.  Arrays may end in any thread
# and in the midst of anything, so there is no lock: operations of lists are atomic.
_kept: Final[list[mmap.mmap]] = []


class _Lease:
    """Keeps a block for an array; gives it back when the array and all views of it are gone."""

    def __init__(self, block: mmap.mmap) -> None:
        self.block = block
        address = np.frombuffer(block, np.uint8).ctypes.data
        self.__array_interface__ = {
            "version": 3, "data": (address, False), "shape": (len(block),), "typestr": "|u1",
        }  # fmt: skip

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing():
            _give(self.block)


def allocator(size: int) -> Callable[[Sequence[int], np.dtype[Any]], np.ndarray[Any, Any]]:
    """Return what makes arrays of ``size`` bytes in C order, whose elements may be anything."""
    return _recycled if size >= LARGE and IS_SUPPORTED else np.empty


def _recycled(shape: Sequence[int], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if not config.keep_results:
        return np.empty(shape, kind)
    try:
        block = _take(math.prod(shape) * kind.itemsize)
    except OSError:  # NumPy says what is wrong
        return np.empty(shape, kind)
    return np.ndarray(shape, kind, np.asarray(_Lease(block)))


def _take(size: int) -> mmap.mmap:
    for block in list(_kept):
        if size <= len(block) <= MOST_SPARE * size:
            try:
                _kept.remove(block)
            except ValueError:  # another thread was faster
                continue
            return block
    pages = math.ceil(size / _PAGE)
    made = mmap.mmap(-1, pages * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a system without huge pages
        made.madvise(mmap.MADV_HUGEPAGE)
    return made


def _give(block: mmap.mmap) -> None:
    if not config.keep_results:
        _kept.clear()
        return
    try:
        block.madvise(mmap.MADV_FREE)
    except OSError:  # it could not be taken back: the block ends here
        return
    _kept.append(block)
    while sum(map(len, list(_kept))) > MOST_KEPT:
        try:
            _kept.pop(0)
        except IndexError:
            break
