# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library that has DLPack, on the host and on CUDA devices.

A capsule is read and never taken over: whoever made it frees what it holds when it is dropped.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from dataclasses import dataclass
from typing import Any, Final

from axisfold.errors import ArgumentError
from axisfold.interop.dtypes import dlpack_name
from axisfold.interop.views import HOST, View, compact_strides
from axisfold.runtime.cuda.streams import LEGACY_STREAM

# Numbers of kinds of memory: the host's, a CUDA device's, the host's made for devices, shared.
_CPU: Final = 1
_CUDA: Final = 2
_CUDA_HOST: Final = 3
_CUDA_MANAGED: Final = 13
_READ_ONLY: Final = 1
_FAILURES: Final = (BufferError, RuntimeError, TypeError, ValueError, NotImplementedError)


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device", c_int32),
        ("rank", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Versioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (py_object, c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (py_object, c_char_p), c_void_p


@dataclass(frozen=True, slots=True)
class Loan:
    """An array and the capsule of its memory; the lender waits until both are dropped."""

    array: Any
    capsule: Any


def has_dlpack(array: Any) -> bool:
    """Whether an object can hand out its memory by DLPack."""
    return hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__")


def is_in_cuda_memory(array: Any) -> bool:
    """Whether an object with DLPack is in memory of a CUDA device."""
    return array.__dlpack_device__()[0] in (_CUDA, _CUDA_MANAGED)


def read(label: str, array: Any, stream: int, library: str = "") -> View:
    """Return an array as plain data.

    Parameters
    ----------
    label
        How messages name it.
    array
        An object with ``__dlpack__``.
    stream
        Handle of the stream that will use a device array.
    library
        Whose array it is.

    Raises
    ------
    ArgumentError
        ``A202``: its memory cannot be shared, or is neither the host's nor a CUDA device's.
    """
    is_on_host = not is_in_cuda_memory(array)
    try:
        capsule = _capsule(array, None if is_on_host else stream or LEGACY_STREAM)
    except _FAILURES as error:
        raise ArgumentError(
            f"{label} is a {type(array).__name__} whose memory cannot be shared: {error}",
            code="A202",
        ) from error
    tensor, is_readonly = _tensor(capsule)
    if tensor.device_type not in (_CPU, _CUDA_HOST, _CUDA, _CUDA_MANAGED):
        raise ArgumentError(
            f"{label} is a {type(array).__name__} on a device of DLPack's kind "
            f"{tensor.device_type}, which is neither the host nor a CUDA device.",
            code="A202",
            hint="Copy it to the host.",
        )
    shape = tuple(tensor.shape[: tensor.rank])
    steps = tuple(tensor.strides[: tensor.rank]) if tensor.strides else compact_strides(shape)
    size = -(-tensor.bits * tensor.lanes // 8)
    return View(
        (tensor.data or 0) + tensor.byte_offset, shape, tuple(step * size for step in steps),
        dlpack_name(tensor.code, tensor.bits, tensor.lanes), size,
        HOST if is_on_host else tensor.device, is_readonly, library, owner=Loan(array, capsule),
    )  # fmt: skip


def _capsule(array: Any, stream: int | None) -> Any:
    options = {} if stream is None else {"stream": stream}
    try:
        return array.__dlpack__(max_version=(1, 1), **options)
    except TypeError:  # made before DLPack had versions
        return array.__dlpack__(**options)


def _tensor(capsule: Any) -> tuple[_Tensor, bool]:
    """Return the tensor in a capsule, and whether it must not be written."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        return versioned.tensor, bool(versioned.flags & _READ_ONLY)
    return _Tensor.from_address(_pointer(capsule, b"dltensor")), False
