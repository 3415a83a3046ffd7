# SPDX-License-Identifier: Apache-2.0
"""Arrays of JAX, on the host and on CUDA devices."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from axisfold.dtypes import DType
from axisfold.errors import ArgumentError, DTypeError
from axisfold.interop import dlpack, numpy
from axisfold.interop.dtypes import name_of
from axisfold.interop.views import HOST, Form, Maker, View, compact_strides
from axisfold.runtime.cuda.memory import DeviceArray

NAME: Final = "jax"
# JAX takes memory of the host over if it begins at a multiple of it, and copies it else.
_ALIGNMENT: Final = 64

# Its arrays are never written.
assign: Final = None


def owns(array: Any) -> bool:
    """Whether an object is an array of JAX, or a tracer that stands for one."""
    kind = getattr(sys.modules.get("jax"), "Array", None)
    return kind is not None and isinstance(array, kind)


def is_tracer(array: Any) -> bool:
    """Whether an array stands for others in a transformation, such as ``jax.jit``."""
    return isinstance(array, sys.modules["jax"].core.Tracer)


def is_on_gpu(array: Any) -> bool:
    """Whether an array is in the memory of a CUDA device."""
    return _has_memory(array) and array.platform() == "gpu"


def _has_memory(array: Any) -> bool:
    """Whether an array is neither a tracer, nor deleted, nor one of random keys."""
    return hasattr(array, "platform") and not array.is_deleted()


def has_doubles() -> bool:
    """Whether JAX has dtypes of 64 bits now."""
    return bool(sys.modules["jax"].config.jax_enable_x64)


def is_watched(array: Any) -> bool:
    """Whether an array belongs to a transformation, which has to see what is done with it."""
    return is_tracer(array)


def quick_key(array: Any) -> tuple[Hashable, int] | None:
    """Return what a call depends on, and the address; None if only :func:`view` knows."""
    # The stream that writes a device array has to be asked for.
    if not _has_memory(array) or array.platform() != "cpu":
        return None
    try:
        address = array.block_until_ready().unsafe_buffer_pointer()
    except (RuntimeError, ValueError):  # spread over devices
        return None
    return (NAME, array.shape, array.dtype, has_doubles()), address


def view(label: str, array: Any, stream: int) -> View:
    """Return an array as plain data.

    Raises
    ------
    ArgumentError
        ``A202``: an array without plain memory on one device; ``A215``: a tracer.
    """
    if is_tracer(array):
        raise ArgumentError(
            f"{label} is a tracer of JAX ({type(array).__name__}), which has no memory.",
            code="A215",
            hint="Call axisfold outside of the transformed function.",
        )
    if not _has_memory(array):
        raise _no_memory(label, array, "it is deleted or made of random keys.")
    if not is_on_gpu(array):
        return _view_host(label, array)
    found = dlpack.read(label, array, stream, NAME)
    return View(
        found.address, found.shape, found.strides, found.dtype, found.itemsize, found.device,
        True, NAME, owner=found.owner,
    )  # fmt: skip


def _view_host(label: str, array: Any) -> View:
    try:
        address = array.block_until_ready().unsafe_buffer_pointer()
    except (RuntimeError, ValueError) as error:
        raise _no_memory(label, array, str(error)) from error
    size = array.dtype.itemsize
    return View(
        address, array.shape, compact_strides(array.shape, size), name_of(array.dtype), size,
        HOST, True, NAME, owner=array,
    )  # fmt: skip


def _no_memory(label: str, array: Any, reason: str) -> ArgumentError:
    return ArgumentError(
        f"{label} is a {type(array).__name__} of JAX without plain memory on one device: {reason}",
        code="A202",
        hint="Pass an array of numbers on one device, as from jax.device_put(x, device).",
    )


def stream_of(array: Any) -> Callable[[], int] | None:
    """Return None: DLPack's handshake orders JAX's streams and the default one."""
    return None


def resolved(label: str, array: Any) -> Any:
    """Return the array: its values are those in memory."""
    return array


def result_dtype(dtype: DType, inputs: Sequence[DType]) -> DType:
    """Return the dtype that JAX has in its place: half as wide unless it has those of 64 bits."""
    if has_doubles() or dtype.itemsize < (16 if dtype.is_complex else 8):
        return dtype
    return DType(dtype.kind, dtype.bits // 2)


def maker(form: Form, dtype: DType, device: int) -> Maker:
    """Return what makes arrays; JAX takes over the memory, which is ours until then.

    Raises
    ------
    DTypeError
        ``D302``: JAX has no such dtype now.
    """
    if result_dtype(dtype, ()) != dtype:
        raise DTypeError(
            f"the result is of {dtype}, which JAX does not have unless jax_enable_x64 is set.",
            code="D302",
            hint="Ask for another with dtype=, or convert the input first.",
        )
    return _host(form, dtype) if device == HOST else _device(form, dtype, device)


def _host(form: Form, dtype: DType) -> Maker:
    jax = sys.modules["jax"]
    kind, shape = dtype.to_numpy(), form.shape
    steps = tuple(step * kind.itemsize for step in form.strides)
    start, size = form.first * kind.itemsize, math.prod(shape) * kind.itemsize

    def allocate(like: Any) -> tuple[Any, int]:
        memory = np.empty(size + _ALIGNMENT, np.uint8)
        address = numpy.address_of(memory)
        skipped = -address % _ALIGNMENT
        return np.ndarray(shape, kind, memory, skipped + start, steps), address + skipped

    def finish(result: Any, like: Any) -> Any:
        place = like.sharding if like.committed else None
        return jax.device_put(np.ascontiguousarray(result).reshape(shape), place)

    return Maker(allocate, finish)


def _device(form: Form, dtype: DType, device: int) -> Maker:
    jax = sys.modules["jax"]
    kind = dtype.to_numpy()
    # The order in memory, in which JAX takes it, and back.
    order = sorted(range(len(form.shape)), key=lambda axis: -form.strides[axis])
    inverse = sorted(range(len(order)), key=order.__getitem__)
    lying = tuple(form.shape[axis] for axis in order)

    def allocate(like: Any) -> tuple[Any, int]:
        result = DeviceArray(lying, dtype.stored, device, is_ordered=True)
        return result, result.base

    def finish(result: Any, like: Any) -> Any:
        taken = jax.dlpack.from_dlpack(result)
        taken = taken if taken.dtype == kind else taken.view(kind)
        return taken if form.is_compact else taken.transpose(inverse)

    return Maker(allocate, finish)
