# SPDX-License-Identifier: Apache-2.0
"""The memory behind a buffer: copies of its elements, which of them exist and which are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisfold.analysis.scalars import scalar_value
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Var
from axisfold.sim.grid import OF_GRID, Ints
from axisfold.sim.history import History
from axisfold.sim.order import Flags

Array = NDArray[Any]


class Memory:
    """The elements of a buffer, in ``copies`` of ``size`` slots.

    A slot is a place where an element may begin: every element, or every byte where a buffer
    counts bytes.

    Attributes
    ----------
    values
        One element for each slot of each copy; where slots are bytes they overlap.
    level
        Each group of this level has a copy; at the level of the grid there is one.
    size, origin
        Slots of a copy, and the slot of offset 0.
    exists
        Which slots hold an element of the array; None for all.
    written
        Which slots have been written; None for all.
    history
        Last accesses; None where no other thread can see them, or none writes.
    step, address
        Bytes between slots, and the address of offset 0 as far as alignment is concerned.
    """

    def __init__(
        self,
        buffer: Buffer,
        values: Array,
        *,
        level: int = OF_GRID,
        copies: int = 1,
        origin: int = 0,
        exists: Flags | None = None,
        address: int = 0,
        is_written: bool = True,
        has_history: bool = False,
    ) -> None:
        self.buffer, self.values, self.level, self.origin = buffer, values, level, origin
        self.size = len(values) // copies
        self.exists, self.address = exists, address
        self.step = 1 if buffer.unit == "byte" else buffer.dtype.itemsize
        self.written = None if is_written else np.zeros(len(values), np.bool_)
        self.history = History(len(values)) if has_history else None

    @classmethod
    def allocated(
        cls,
        buffer: Buffer,
        scalars: Mapping[Var, int],
        *,
        level: int = OF_GRID,
        copies: int = 1,
        address: int = 0,
        zeroed: bool = False,
        has_history: bool = False,
    ) -> Memory:
        """Return memory whose contents are undefined, or zeros."""
        size = element_count(buffer, scalars)
        return cls(
            buffer,
            np.zeros(size * copies, buffer.dtype.stored),
            level=level,
            copies=copies,
            address=address,
            is_written=zeroed,
            has_history=has_history,
        )

    def outside(self, offsets: Ints) -> Flags:
        """Return which offsets are none of an element."""
        slots = offsets + self.origin if self.origin else offsets
        found: Flags = (slots < 0) | (slots >= self.size)
        if self.exists is not None:
            inside = np.flatnonzero(~found)
            found[inside] = ~self.exists[slots[inside]]
        return found

    def described(self) -> str:
        """Return how many elements there are, for messages."""
        count = self.size if self.exists is None else int(self.exists.sum())
        return f"{count} elements" + ("" if self.exists is None else ", with gaps between them")

    def slots(self, offsets: Ints, groups: Ints | None) -> Ints:
        """Return the places of offsets in the copies of groups (None: there is one)."""
        slots = offsets + self.origin if self.origin else offsets
        return slots if groups is None else slots + groups * self.size


class Bound(Memory):
    """A copy of the memory of an array, from its lowest to its highest byte."""

    def __init__(self, buffer: Buffer, array: Array, *, has_history: bool) -> None:
        array = self.array = array.view(buffer.dtype.stored)
        low, high = _byte_range(array)
        # Once for all indices of an axis that does not move: a view of one element may be huge.
        solid = array[tuple(slice(None if stride else 1) for stride in array.strides)]
        step = 1 if buffer.unit == "byte" else array.itemsize
        slots = max(0, (high - low - array.itemsize) // step + 1) if array.size else 0
        memory = np.zeros(high - low, np.uint8)
        self.view = array
        if array.size:
            self.view = np.ndarray(array.shape, array.dtype, memory, -low, array.strides)
            self.view[tuple(slice(n) for n in solid.shape)] = solid
        values = np.ndarray((slots,), array.dtype, buffer=memory, strides=(step,))
        exists = np.zeros(slots, np.bool_)
        if array.size:
            strides = [stride // step for stride in solid.strides]
            np.ndarray(solid.shape, np.bool_, exists, -low // step, strides)[...] = True
        super().__init__(
            buffer,
            values,
            origin=-low // step,
            exists=None if exists.all() else exists,
            address=array.ctypes.data,
            has_history=has_history,
        )

    def copy_back(self) -> None:
        """Write the elements to the caller's array."""
        if self.view is not self.array:
            self.array[...] = self.view


def _byte_range(array: Array) -> tuple[int, int]:
    """Return the first byte of an array and the one after its last, from that of element 0."""
    if not array.size:
        return 0, 0
    reach = [stride * (n - 1) for stride, n in zip(array.strides, array.shape, strict=True)]
    return sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + array.itemsize


def element_count(buffer: Buffer, scalars: Mapping[Var, int]) -> int:
    """Return how many elements an allocated buffer has."""
    return math.prod(max(0, scalar_value(e, scalars)) for e in buffer.allocated_extents)
