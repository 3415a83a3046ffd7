# SPDX-License-Identifier: Apache-2.0
"""Buffers: typed memory with a layout, and the facts about it that kernels may rely on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from axisfold.dtypes import DType

if TYPE_CHECKING:
    from axisfold.ir.expr import Expr

StrideUnit = Literal["element", "byte"]
STACK_BYTES = 1 << 16
Scope = Literal["global", "cluster", "shared", "warp", "local"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is promised about a buffer; checked when arrays are bound.

    Parameters
    ----------
    align
        Alignment of the first element in bytes; 0 promises nothing (packed records).
    divisible
        For each axis a divisor of its extent (1 where nothing is known); () for all ones.
    index_bits
        Width in which every extent and every flat offset fits.
    stride_align
        Bytes that divide every stride that is a variable; 1 promises nothing.
    """

    align: int = 0
    divisible: tuple[int, ...] = ()
    index_bits: Literal[32, 64] = 64
    stride_align: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Memory that loads and stores name; compared by identity.

    Parameters
    ----------
    name
        Name of the tensor it holds.
    dtype
        Element type.
    shape
        Extents; () for one element.
    strides
        Step of each axis in ``unit``; () means compact C order, counted in elements.
    unit
        Whether strides and flat offsets count elements or bytes.
    scope
        ``global``: seen by all threads; ``cluster``: by a cluster of blocks, in the shared memory
        of its first; ``shared``, ``warp``: by a block of threads; ``local``: registers or the
        stack of one thread.
    facts
        Promises about the memory.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...] = ()
    unit: StrideUnit = "element"
    scope: Scope = "global"
    facts: Facts = field(default_factory=Facts)

    @property
    def is_compact(self) -> bool:
        """Whether elements lie in C order without gaps."""
        return not self.strides

    @property
    def allocated_extents(self) -> tuple[Expr, ...]:
        """Factors of the number of elements that the memory holds, padding included."""
        return self.shape if self.is_compact else (self.shape[0], self.strides[0])

    @property
    def is_on_stack(self) -> bool:
        """Whether a CPU keeps it on the stack or in registers: small, constant, one thread's."""
        count = 1
        for extent in self.allocated_extents:
            value = getattr(extent, "value", None)
            if not isinstance(value, int):
                return False
            count *= value
        return self.scope == "local" and count * self.dtype.itemsize <= STACK_BYTES
