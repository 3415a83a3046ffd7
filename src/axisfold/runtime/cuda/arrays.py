# SPDX-License-Identifier: Apache-2.0
"""Device arrays of any library as plain data: address, shape, strides, dtype, device.

PyTorch tensors and CuPy arrays are read directly, others through DLPack, and those that do not
have it, such as numba's, through ``__cuda_array_interface__``.  Libraries are found through
``sys.modules``: whoever holds an array has imported its library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from axisfold.errors import ArgumentError
from axisfold.runtime.cuda.driver import api, call, missing_extra
from axisfold.runtime.placement import is_on_gpu, is_tensor

LEGACY_STREAM: Final = 1


@dataclass(frozen=True, slots=True)
class View:
    """A device array.

    Attributes
    ----------
    address
        Of the first element.
    shape, strides
        Extents, and steps in bytes.
    dtype
        Name of the element type.
    itemsize
        Bytes of an element.
    device
        Number of the device; None for an array without elements that does not say.
    is_readonly
        Whether it must not be written.
    library
        ``"torch"``, ``"cupy"`` or ``""``: whose current stream counts.
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
        """A NumPy array of the same address and layout, to compute with; nobody may read it."""
        shadow: np.ndarray[Any, Any] = np.asarray(_Interface(self))
        return shadow


class _Interface:
    """What NumPy makes an array of."""

    def __init__(self, view: View) -> None:
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


def quick_key(array: Any) -> tuple[Any, int] | None:
    """Return what a call depends on, and the address; None if only :func:`view` knows."""
    if is_tensor(array):
        try:
            key = (
                array.shape, array.stride(), array.dtype, array.get_device(),
                array.requires_grad and sys.modules["torch"].is_grad_enabled(),
                array.is_neg(), array.is_conj(),
            )  # fmt: skip
            return key, array.data_ptr()
        except RuntimeError:  # sparse or without memory
            return None
    if is_cupy(array):
        return (array.shape, array.strides, array.dtype, array.data.device_id), array.data.ptr
    return None


def view(label: str, array: Any, stream: int) -> View:
    """Return a device array as plain data.

    Parameters
    ----------
    label
        How messages name it.
    array
        The array.
    stream
        Handle of the stream that will use it; what writes it now is finished before.

    Raises
    ------
    ArgumentError
        ``A202``: not an array, or one without plain memory; ``A208``: in the memory of the host;
        ``A215``: a tensor whose values are not those in memory, or that is part of a gradient.
    """
    if not is_on_gpu(array):
        raise _not_on_gpu(label, array)
    if is_tensor(array):
        return _view_tensor(label, array)
    if is_cupy(array):
        return View(
            array.data.ptr, array.shape, array.strides, _name(array.dtype), array.itemsize,
            array.data.device_id, library="cupy", owner=array,
        )  # fmt: skip
    own = getattr(type(array), "device_view", None)
    if own is not None:
        found: View = own(array)
        return found
    return (
        _view_dlpack(label, array, stream) if _has_dlpack(array) else _view_interface(label, array)
    )


def _not_on_gpu(label: str, array: Any) -> ArgumentError:
    kind = f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}"
    is_array = isinstance(array, np.ndarray) or is_tensor(array) or _has_dlpack(array)
    if not is_array:
        return ArgumentError(
            f"{label} is a {type(array).__name__}, not a CUDA array.",
            code="A202",
            hint="Pass an array of PyTorch, CuPy, numba or any library with DLPack.",
        )
    return ArgumentError(
        f"{label} is a {kind} in the memory of the host, but the function was built for CUDA.",
        code="A208",
        hint="Copy it to the device, as by cupy.asarray(x) or x.cuda(), or build for 'llvm'.",
    )


def _has_dlpack(array: Any) -> bool:
    return hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__")


def is_cupy(array: Any) -> bool:
    """Whether an object is an array of CuPy."""
    kind = getattr(sys.modules.get("cupy"), "ndarray", None)
    return kind is not None and isinstance(array, kind)


def _name(dtype: Any) -> str:
    """Return the name of a NumPy dtype, in which a foreign byte order shows."""
    return str(dtype.name) if dtype.isnative else str(dtype.str)


def _view_tensor(label: str, array: Any) -> View:
    torch = sys.modules["torch"]
    if array.requires_grad and torch.is_grad_enabled():
        raise ArgumentError(
            f"{label} requires a gradient, and the kernel would not record one.",
            code="A215",
            hint="Pass x.detach(), or call under torch.no_grad().",
        )
    if array.is_neg() or array.is_conj():
        raise ArgumentError(
            f"{label} is a tensor that is negated or conjugated when it is read, which the kernel "
            "would not do.",
            code="A215",
            hint="Pass x.resolve_neg() or x.resolve_conj().",
        )
    try:
        strides, address = array.stride(), array.data_ptr()
    except RuntimeError as error:
        raise ArgumentError(
            f"{label} is a tensor without plain memory (layout {array.layout}).",
            code="A202",
            hint="Pass x.to_dense().",
        ) from error
    size = array.element_size()
    return View(
        address, tuple(array.shape), tuple(s * size for s in strides),
        str(array.dtype).removeprefix("torch."), size, array.get_device(),
        library="torch", owner=array,
    )  # fmt: skip


def _view_dlpack(label: str, array: Any, stream: int) -> View:
    try:
        from cuda.core.utils import StridedMemoryView
    except ImportError as error:
        raise missing_extra("cuda.core") from error
    # Its constructor did the same until version 1.0.
    read = getattr(StridedMemoryView, "from_dlpack", StridedMemoryView)
    try:
        found = read(array, stream_ptr=stream or LEGACY_STREAM)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"{label} is a {type(array).__name__} whose memory cannot be shared: {error}",
            code="A202",
        ) from error
    size = found.dtype.itemsize
    shape = tuple(found.shape)
    strides = compact_strides(shape, 1) if found.strides is None else tuple(found.strides)
    # JAX's arrays never change; not every version says so through DLPack.
    is_readonly = found.readonly or type(array).__module__.startswith("jax")
    return View(
        int(found.ptr), shape, tuple(s * size for s in strides), _name(found.dtype), size,
        int(found.device_id), is_readonly, owner=found,
    )  # fmt: skip


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
        _name(dtype), dtype.itemsize, _device_of(label, address) if address else None,
        bool(is_readonly), stream=facts.get("stream"), owner=array,
    )  # fmt: skip


def compact_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the strides of an array in C order whose elements have a size."""
    strides: list[int] = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= max(extent, 1)
    return tuple(strides)


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


def current_stream(library: str, device: int) -> Callable[[], int]:
    """Return a function that returns the handle of a library's current stream on a device."""
    if library == "torch":
        current = sys.modules["torch"]._C._cuda_getCurrentRawStream
        return lambda: int(current(device))
    if library == "cupy":
        get_current_stream = sys.modules["cupy"].cuda.get_current_stream
        return lambda: int(get_current_stream(device).ptr)
    return lambda: 0


def stream_handle(stream: Any) -> int:
    """Return the handle of a stream: an integer, or an object of a library.

    Raises
    ------
    ArgumentError
        ``A214``: it is neither.
    """
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, numba
        stream = getattr(stream, name, stream)
    if hasattr(stream, "value"):  # a pointer of ctypes, in which None is 0
        stream = stream.value or 0
    if not isinstance(stream, int) or isinstance(stream, bool) or stream < 0:
        raise ArgumentError(
            f"stream={stream!r} is no CUDA stream.",
            code="A214",
            hint="Pass a stream of PyTorch, CuPy, numba or cuda.core, or its handle; None takes "
            "the current one of the arrays' library.",
        )
    return stream


def wait_for(stream: int, other: int) -> None:
    """Let the work that comes next on a stream wait for what another has now."""
    if other == stream or {other, stream} == {0, LEGACY_STREAM}:
        return
    flags = api().CUevent_flags.CU_EVENT_DISABLE_TIMING
    event = call("cuEventCreate", flags)
    call("cuEventRecord", event, other)
    call("cuStreamWaitEvent", stream, event, 0)
    call("cuEventDestroy", event)  # once it is reached
