# SPDX-License-Identifier: Apache-2.0
"""Arrays of CuPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, Final

from axisfold.dtypes import DType
from axisfold.interop.dtypes import name_of
from axisfold.interop.views import LOW_BITS, Form, Maker, View

NAME: Final = "cupy"


def owns(array: Any) -> bool:
    """Whether an object is an array of CuPy."""
    kind = getattr(sys.modules.get("cupy"), "ndarray", None)
    return kind is not None and isinstance(array, kind)


def is_on_gpu(array: Any) -> bool:
    """Say yes: CuPy has no other memory."""
    return True


def is_watched(array: Any) -> bool:
    """Say no: nothing is recorded of CuPy's arrays."""
    return False


def quick_key(array: Any) -> tuple[Hashable, int] | None:
    """Return what a call depends on, and the address."""
    data = array.data
    address = data.ptr
    key = (array.shape, array.strides, array.dtype, data.device_id, address & LOW_BITS)
    return key, address


def resolved(label: str, array: Any) -> Any:
    """Return the array: its values are those in memory."""
    return array


def view(label: str, array: Any, stream: int) -> View:
    """Return an array as plain data."""
    return View(
        array.data.ptr, array.shape, array.strides, name_of(array.dtype), array.itemsize,
        array.data.device_id, library=NAME, owner=array,
    )  # fmt: skip


def stream_of(array: Any) -> Callable[[], int] | None:
    """Return what returns the handle of the current stream of an array's device."""
    get_current_stream, device = sys.modules["cupy"].cuda.get_current_stream, array.data.device_id
    return lambda: int(get_current_stream(device).ptr)


def result_dtype(dtype: DType, inputs: Sequence[DType]) -> DType:
    """Return NumPy's dtype."""
    return dtype


def assign(out: Any, result: Any, stream: int) -> None:
    """Write a result into another array of its shape, converting its elements."""
    with sys.modules["cupy"].cuda.Device(out.data.device_id):
        out[...] = result


def maker(form: Form, dtype: DType, device: int) -> Maker:
    """Return what makes arrays on a device."""
    cupy = sys.modules["cupy"]
    kind, shape = dtype.to_numpy(), form.shape
    size = kind.itemsize
    start = form.first * size
    strides = tuple(step * size for step in form.strides)

    def compact() -> tuple[Any, int]:
        result = cupy.empty(shape, kind)
        return result, result.data.ptr

    def strided() -> tuple[Any, int]:
        memory = cupy.cuda.alloc(prod(shape) * size)
        return cupy.ndarray(shape, kind, memory + start, strides), memory.ptr

    allocate = compact if form.is_compact else strided

    def make(like: Any) -> tuple[Any, int]:
        if cupy.cuda.runtime.getDevice() == device:
            return allocate()
        with cupy.cuda.Device(device):
            return allocate()

    return Maker(make)
