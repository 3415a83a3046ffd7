# SPDX-License-Identifier: Apache-2.0
"""Arrays of libraries that we do not know by name, our own device arrays, numbers and lists.

Device arrays are read through DLPack, and those that do not have it, such as numba's, through
``__cuda_array_interface__``; those of the host through DLPack or as NumPy reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from axisfold.dtypes import DType
from axisfold.errors import ArgumentError
from axisfold.interop import dlpack, numpy
from axisfold.interop.dtypes import name_of
from axisfold.interop.views import HOST, Form, Maker, View, compact_strides
from axisfold.runtime.cuda.driver import api, call
from axisfold.runtime.cuda.memory import DeviceArray

NAME: Final = ""


def owns(array: Any) -> bool:
    """Say yes: this module is asked last."""
    return True


def is_on_gpu(array: Any) -> bool:
    """Whether an object is an array in the memory of a CUDA device."""
    try:
        return dlpack.is_in_cuda_memory(array)
    except AttributeError:
        return getattr(array, "__cuda_array_interface__", None) is not None


def is_watched(array: Any) -> bool:
    """Say no: their libraries are not known."""
    return False


def quick_key(array: Any) -> tuple[Hashable, int] | None:
    """Return None: each array is asked anew."""
    return None


def view(label: str, array: Any, stream: int) -> View:
    """Return an array as plain data.

    Raises
    ------
    ArgumentError
        ``A202``: not an array, or one without plain memory.
    """
    if isinstance(array, DeviceArray):
        return array.device_view()
    if dlpack.has_dlpack(array):
        return dlpack.read(label, array, stream)
    if is_on_gpu(array):
        return _view_interface(label, array)
    raise ArgumentError(
        f"{label} is a {type(array).__name__}, not an array.",
        code="A202",
        hint="Pass an array of NumPy, PyTorch, CuPy, JAX, numba or any library with DLPack.",
    )


def _view_interface(label: str, array: Any) -> View:
    facts = array.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise ArgumentError(
            f"{label} has a mask, and the kernel would not see it.", code="A202",
            hint="Fill its masked elements first.",
        )  # fmt: skip
    address, is_readonly = facts["data"]
    dtype = np.dtype(facts["typestr"])
    shape = tuple(facts["shape"])
    strides = facts.get("strides")
    return View(
        address or 0, shape,
        compact_strides(shape, dtype.itemsize) if strides is None else tuple(strides),
        name_of(dtype), dtype.itemsize, _device_of(label, address) if address else None,
        bool(is_readonly), stream=facts.get("stream"), owner=array,
    )  # fmt: skip


def _device_of(label: str, address: int) -> int:
    """Return the device that memory belongs to."""
    driver = api()
    kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    status, ordinal = driver.cuPointerGetAttribute(kind, address)
    if status:
        raise ArgumentError(
            f"{label} says that it lives at address {address:#x} of a CUDA device, but the driver "
            "knows no such memory.",
            code="A202",
        )
    return int(ordinal)


def stream_of(array: Any) -> Callable[[], int] | None:
    """Return None: the default stream is as good as any."""
    return None


def resolved(label: str, array: Any) -> Any:
    """Return an array that :func:`view` or NumPy reads.

    On the host DLPack comes first, and ``__array__`` last.
    """
    if is_on_gpu(array):
        return array
    if dlpack.has_dlpack(array):
        try:
            dlpack.read(label, array, 0)
        except ArgumentError:
            if not hasattr(array, "__array__"):
                raise
        else:
            return array
    return numpy.resolved(label, array)


def result_dtype(dtype: DType, inputs: Sequence[DType]) -> DType:
    """Return NumPy's dtype."""
    return dtype


def assign(out: Any, result: Any, stream: int) -> None:
    """Write a result into another device array of its dtype; both are compact alike."""
    target, source = view("out", out, stream), view("result", result, stream)
    size = source.itemsize * prod(source.shape)
    call("cuMemcpyDtoDAsync", target.address, source.address, size, stream)


def maker(form: Form, dtype: DType, device: int) -> Maker:
    """Return what makes NumPy's arrays on the host, and our own on a device.

    They are handed over to the input's library if that has a namespace of the array API.
    """
    made = numpy.maker(form, dtype, HOST) if device == HOST else _own(form, dtype, device)

    def finish(result: Any, like: Any) -> Any:
        namespace = getattr(like, "__array_namespace__", None)
        if namespace is not None:
            return namespace().from_dlpack(result)
        return result if made.finish is None else made.finish(result, like)

    return Maker(made.allocate, finish)


def _own(form: Form, dtype: DType, device: int) -> Maker:
    kind = dtype.to_numpy()
    strides = None if form.is_compact else form.strides

    def allocate(like: Any) -> tuple[Any, int]:
        result = DeviceArray(
            form.shape, kind, device, strides=strides, first=form.first, is_ordered=True
        )
        return result, result.base

    return Maker(allocate)
