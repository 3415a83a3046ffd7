# SPDX-License-Identifier: Apache-2.0
"""An array of any library as plain data, and how results lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from axisfold.dtypes import DType

# The device number of the host's memory; those of CUDA devices count from 0.
HOST: Final = -1
# Device arrays that lie alike modulo the longest load of a thread are of one signature.
LOW_BITS: Final = 15


@dataclass(frozen=True, slots=True)
class View:
    """An array.

    Attributes
    ----------
    address
        Of the first element.
    shape, strides
        Extents, and steps in bytes.
    dtype
        Name of the element type, in which a foreign byte order shows.
    itemsize
        Bytes of an element.
    device
        Number of the device, :data:`HOST` for the host; None for an array without elements that
        does not say.
    is_readonly
        Whether it must not be written.
    library
        Whose results are wanted and whose current stream counts; "" for numbers and lists, and
        device arrays of no library that we know.
    stream
        Handle of a stream whose work may still write the array.
    owner
        What keeps the memory.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    itemsize: int
    device: int | None
    is_readonly: bool = False
    library: str = ""
    stream: int | None = None
    owner: Any = None

    @property
    def key(self) -> tuple[Any, ...]:
        """All that a call depends on beside addresses."""
        return (self.shape, self.strides, self.dtype, self.device, self.is_readonly, self.library)

    @property
    def shadow(self) -> np.ndarray[Any, Any]:
        """A NumPy array of the same address and layout; that of a device must not be read."""
        shadow: np.ndarray[Any, Any] = np.asarray(_Interface(self))
        return shadow


class _Interface:
    """What NumPy makes an array of; it keeps the memory too."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.__array_interface__ = {
            "version": 3,
            "data": (view.address, view.is_readonly),
            "shape": view.shape,
            "strides": view.strides,
            "typestr": _typestr(view),
        }


def _typestr(view: View) -> str:
    try:
        return np.dtype(view.dtype).str
    except TypeError:  # bfloat16 and other types that NumPy does not have
        return f"|V{view.itemsize}"


@dataclass(frozen=True, slots=True)
class Form:
    """How a result lies in the compact memory that a kernel writes.

    Attributes
    ----------
    shape
        Extents as the caller sees them.
    strides
        Steps in elements.
    first
        Elements before the first one.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int = 0

    @property
    def is_compact(self) -> bool:
        """Whether elements lie in C order."""
        return self.first == 0 and self.strides == compact_strides(self.shape)


def compact_strides(shape: Sequence[int], size: int = 1) -> tuple[int, ...]:
    """Return the strides of an array in C order whose elements have a size."""
    return tuple(size * prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes results of one form, dtype and device.

    Attributes
    ----------
    allocate
        From the array that the result is made for to new memory, and the address at which a
        kernel writes it.
    finish
        From that memory, once it is written or on its way, and the same array to what the caller
        gets; None if it is the memory as it is.
    """

    allocate: Callable[[Any], tuple[Any, int]]
    finish: Callable[[Any, Any], Any] | None = None


# What makes a result, and the byte offsets of its real components.
Output: TypeAlias = tuple[Maker, tuple[int, ...]]


def finished(outputs: Sequence[Output], results: Sequence[Any], like: Any) -> list[Any]:
    """Return what the caller gets of written memory."""
    return [
        result if maker.finish is None else maker.finish(result, like)
        for (maker, _), result in zip(outputs, results, strict=True)
    ]


class Library(Protocol):
    """What a module of this package knows of a library's arrays."""

    NAME: str

    def owns(self, array: Any) -> bool:
        """Whether an object is an array of this library."""

    def is_on_gpu(self, array: Any) -> bool:
        """Whether an array of this library is in the memory of a CUDA device."""

    def is_watched(self, array: Any) -> bool:
        """Whether a gradient or a trace depends on an array, so that it has to see folds of it."""

    def quick_key(self, array: Any) -> tuple[Hashable, int] | None:
        """Return what a call depends on, and the address; None if only :meth:`view` knows."""

    def view(self, label: str, array: Any, stream: int) -> View:
        """Return an array as plain data.

        Parameters
        ----------
        label
            How messages name it.
        array
            The array.
        stream
            Handle of the stream that will use it; what writes it now is finished before.
        """

    def resolved(self, label: str, array: Any) -> Any:
        """Return an array whose values are those in memory, of this library or of NumPy."""

    def stream_of(self, array: Any) -> Callable[[], int] | None:
        """Return what returns the handle of the current stream of an array's device.

        None for libraries without streams, and arrays on the host.
        """

    def result_dtype(self, dtype: DType, inputs: Sequence[DType]) -> DType:
        """Return the dtype of a result for which nobody asked for one.

        Parameters
        ----------
        dtype
            NumPy's.
        inputs
            Of the elements that are folded.
        """

    def maker(self, form: Form, dtype: DType, device: int) -> Maker:
        """Return what makes results."""

    @property
    def assign(self) -> Callable[[Any, Any, int], None] | None:
        """Writes a result into another array of its shape, on a stream, converting its elements.

        None for libraries whose arrays are never written.
        """
