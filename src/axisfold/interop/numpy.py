# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays, and all that NumPy makes an array of: numbers, lists, buffers, ``__array__``."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from axisfold.dtypes import DType
from axisfold.errors import ArgumentError, ArgumentTypeError
from axisfold.interop.dtypes import name_of
from axisfold.interop.recycled import allocator
from axisfold.interop.views import HOST, Form, Maker, View
from axisfold.tensor.float8 import element_of

NAME: Final = "numpy"

Array: TypeAlias = np.ndarray[Any, Any]


def owns(array: Any) -> bool:
    """Whether an object is an array or a scalar of NumPy."""
    return isinstance(array, np.ndarray | np.generic)


def is_on_gpu(array: Any) -> bool:
    """Say no: NumPy has no other memory than the host's."""
    return False


def is_watched(array: Any) -> bool:
    """Say no: nothing is recorded of NumPy's arrays."""
    return False


def _address_reader() -> Callable[[Any], int]:
    """Return what reads the address of an array's first element.

    NumPy's ABI has it right behind the header of the object; its ``__array_interface__`` is a new
    dictionary with all else, and takes ten times as long.
    """

    def by_interface(array: Any) -> int:
        address: int = array.__array_interface__["data"][0]
        return address

    def in_memory(array: Any) -> int:
        return ctypes.c_size_t.from_address(id(array) + object.__basicsize__).value

    probe = np.empty(1)
    is_there = sys.implementation.name == "cpython" and in_memory(probe) == by_interface(probe)
    return in_memory if is_there else by_interface


address_of: Final = _address_reader()


def quick_key(array: Any) -> tuple[Hashable, int] | None:
    """Return what a call depends on, and the address; None if only :func:`view` knows."""
    if type(array) is not np.ndarray:
        return None
    return (array.dtype, array.shape, array.strides), address_of(array)


def resolved(label: str, value: Any) -> Array:
    """Return an array in the machine's byte order; elements in the other are converted.

    Raises
    ------
    ArgumentError
        ``A304``: nested lists make no array; ``A309``: the value is a masked array.
    ArgumentTypeError
        ``A317``: it is no array.
    DTypeError
        ``D101``: elements are no numbers.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{label} is a masked array, and its masked elements would be folded too.",
            code="A309",
            hint="Fold x.filled(value) with a value that does not count, or x.compressed().",
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            f"{label} is no array: {str(error).rstrip('.')}.",
            code="A304",
            hint="Pass a NumPy array or nested lists of numbers.",
        ) from error
    is_one_object = array.dtype == object and array.ndim == 0
    if is_one_object and not isinstance(value, (np.ndarray, np.generic, int)):
        raise ArgumentTypeError(
            f"{label} is a {type(value).__name__}, which is no array.",
            code="A317",
            hint="Pass an array, a number or nested lists of numbers.",
        )
    element_of(array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def view(label: str, array: Any, stream: int) -> View:
    """Return an array as plain data."""
    return View(
        address_of(array), array.shape, array.strides, name_of(array.dtype), array.itemsize, HOST,
        not array.flags.writeable, NAME, owner=array,
    )  # fmt: skip


def stream_of(array: Any) -> Callable[[], int] | None:
    """Return None: the host has no streams."""
    return None


def result_dtype(dtype: DType, inputs: Sequence[DType]) -> DType:
    """Return the dtype: it is NumPy's."""
    return dtype


def assign(out: Any, result: Any, stream: int) -> None:
    """Write a result into another array of its shape, converting its elements."""
    with np.errstate(all="ignore"):
        np.copyto(out, result, casting="same_kind")


def maker(form: Form, dtype: DType, device: int) -> Maker:
    """Return what makes arrays, and scalars of results without axes."""
    kind, shape = dtype.to_numpy(), form.shape
    steps = tuple(step * kind.itemsize for step in form.strides)
    start, size = form.first * kind.itemsize, math.prod(shape)
    make = allocator(size * kind.itemsize)

    def compact(like: Any) -> tuple[Any, int]:
        result = make(shape, kind)
        return result, address_of(result)

    def strided(like: Any) -> tuple[Any, int]:
        memory = make((size,), kind)
        address = address_of(memory)
        return np.ndarray(shape, kind, memory, start, steps), address

    if not shape:
        return Maker(compact, lambda result, like: result[()])
    if form.is_compact:
        return Maker(compact)
    if min(form.strides) < 0:
        return Maker(strided, lambda result, like: np.ascontiguousarray(result))
    return Maker(strided)
