# SPDX-License-Identifier: Apache-2.0
"""Arrays that need not exist: shape, dtype and strides, which are all that a plan depends on."""

from __future__ import annotations

import importlib
import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from axisfold.dtypes import DType, parse
from axisfold.errors import ArgumentError, DTypeError, ResourceError, ShapeError
from axisfold.interop.numpy import Array


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array without memory, for :func:`axisfold.explain` and :func:`axisfold.tune`.

    Parameters
    ----------
    shape : tuple of int
        Extents.
    dtype : dtype-like
        Dtype of the elements.
    strides : tuple of int, optional
        Bytes from one element to the next along each axis; by default without gaps.
    order : {"C", "F"}
        Without strides: which axis is innermost in memory, the last one or the first.

    Raises
    ------
    ShapeError
        ``A421``: an extent that is none, another number of strides, or more bytes than memory
        has addresses.
    ArgumentError
        ``A422``: another order.
    DTypeError
        ``D101``: dtype not supported; ``A425``: bfloat16 without the package ml_dtypes.

    Examples
    --------
    >>> from axisfold.api.spec import ArraySpec
    >>> ArraySpec((3, 4), "float32").strides
    (16, 4)
    """

    shape: tuple[int, ...]
    dtype: Any = "float64"
    strides: tuple[int, ...] = ()
    order: str = "C"

    def __post_init__(self) -> None:
        shape = _integers("shape", self.shape)
        if min(shape, default=0) < 0:
            raise ShapeError(
                f"ArraySpec has shape {shape}, and an extent is negative.",
                code="A421",
                hint="Extents are 0 or more.",
            )
        if self.order not in ("C", "F"):
            raise ArgumentError(
                f"ArraySpec has order {self.order!r}.", code="A422", hint="Use 'C' or 'F'."
            )
        dtype = _known_to_numpy(parse(self.dtype))
        strides = _integers("strides", self.strides) or _compact(shape, dtype.itemsize, self.order)
        if len(strides) != len(shape):
            raise ShapeError(
                f"ArraySpec has shape {shape} of {len(shape)} axes, and {len(strides)} strides.",
                code="A421",
                hint="Give a stride in bytes for each axis, or none.",
            )
        if max(map(abs, strides), default=0) * max(shape, default=0) >= 1 << 63:
            raise ShapeError(
                f"shape {shape} of {dtype} has more bytes than memory has addresses.",
                code="A421",
                hint="Use smaller extents.",
            )
        for name, value in (("shape", shape), ("dtype", dtype), ("strides", strides)):
            object.__setattr__(self, name, value)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def address(self) -> int:
        """A multiple of everything, as that of an array that a library allocates is."""
        return 0

    def allocate(self, fill: int) -> Array:
        """Return an array in memory of this layout, each element of which is ``fill``.

        Raises
        ------
        ResourceError
            ``A423``: it would take more than half of the machine's memory.
        """
        spans = [
            abs(step) * (extent - 1) for step, extent in zip(self.strides, self.shape, strict=True)
        ]
        size = (sum(spans) if 0 not in self.shape else 0) + self.itemsize
        most = _memory_bytes() // 2
        if most and size > most:
            raise ResourceError(
                f"an array of shape {self.shape} takes {size} bytes, more than half of this "
                "machine's memory.",
                code="A423",
                hint="Use a smaller shape of the same layout; without measuring, any shape does.",
            )
        first = sum(-step * (extent - 1) for step, extent in self._backwards())
        memory = np.zeros(size, np.uint8)
        array = np.ndarray(self.shape, self.dtype, memory, first, self.strides)
        array[...] = fill
        return array

    def _backwards(self) -> list[tuple[int, int]]:
        pairs = zip(self.strides, self.shape, strict=True)
        return [(step, extent) for step, extent in pairs if step < 0 < extent]


def _known_to_numpy(dtype: DType) -> np.dtype[Any]:
    """Return NumPy's dtype; ml_dtypes is imported, as nobody need have made an array."""
    if dtype.kind == "bfloat":
        try:
            importlib.import_module("ml_dtypes")
        except ImportError as error:
            raise DTypeError(
                f"ArraySpec has dtype {dtype}, which NumPy has from the package ml_dtypes, "
                "and that is not installed.",
                code="A425",
                hint="Install ml_dtypes, or use float16, which is as large.",
            ) from error
    return dtype.to_numpy()


def _integers(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError as error:
        raise ShapeError(
            f"ArraySpec has {name} {values!r}, which are no integers.",
            code="A421",
            hint="Use a tuple such as (4096, 4096).",
        ) from error


def _compact(shape: Sequence[int], itemsize: int, order: str) -> tuple[int, ...]:
    axes = list(range(len(shape)))
    strides = [0] * len(shape)
    step = itemsize
    for axis in axes if order == "F" else reversed(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def _memory_bytes() -> int:
    """Return the memory of the machine; 0 if it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
