# SPDX-License-Identifier: Apache-2.0
"""A handler of XLA's typed foreign function interface, made without a C++ compiler.

XLA calls a function pointer with a C struct (``xla/ffi/api/c_api.h``, version 0.x): the addresses,
extents and dtypes of operands and results, and attributes.  The layout is spelled in ctypes here,
and the pointer is that of a Python function; kernels run without the GIL as always.  Compared with
``jax.pure_callback`` nothing is copied on the way in, and no array is made of JAX's own.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import Any, Final

import jax
import numpy as np

from axisfold.api.gradients.request import fold_on_host

TARGET: Final = "axisfold_fold"
_MAJOR: Final = 0
_METADATA: Final = 1
_INTERNAL: Final = 13


class _Head(Structure):
    _fields_ = (("struct_size", c_size_t), ("extension", c_void_p))


class _Extension(Structure):
    _fields_ = (("struct_size", c_size_t), ("kind", c_int), ("next", c_void_p))


class _Version(Structure):
    _fields_ = (*_Head._fields_, ("major", c_int), ("minor", c_int))


class _Metadata(Structure):
    _fields_ = (("struct_size", c_size_t), ("version", _Version), ("traits", ctypes.c_uint32))


class _MetadataExtension(Structure):
    _fields_ = (("base", _Extension), ("metadata", POINTER(_Metadata)))


class _Buffer(Structure):
    _fields_ = (
        *_Head._fields_,
        ("dtype", c_int),
        ("data", c_void_p),
        ("rank", c_int64),
        ("dims", POINTER(c_int64)),
    )


class _Buffers(Structure):
    _fields_ = (
        *_Head._fields_,
        ("size", c_int64),
        ("types", c_void_p),
        ("buffers", POINTER(POINTER(_Buffer))),
    )


class _Text(Structure):
    _fields_ = (("start", c_void_p), ("length", c_size_t))


class _Attributes(Structure):
    _fields_ = (
        *_Head._fields_,
        ("size", c_int64),
        ("types", c_void_p),
        ("names", c_void_p),
        ("values", POINTER(POINTER(_Text))),
    )


class _ErrorArgs(Structure):
    _fields_ = (*_Head._fields_, ("message", c_char_p), ("code", c_int))


class _Api(Structure):
    _fields_ = (
        *_Head._fields_,
        ("version", _Version),
        ("internal", c_void_p),
        ("create_error", ctypes.CFUNCTYPE(c_void_p, POINTER(_ErrorArgs))),
    )


class _CallFrame(Structure):
    _fields_ = (
        *_Head._fields_,
        ("api", POINTER(_Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("operands", _Buffers),
        ("results", _Buffers),
        ("attributes", _Attributes),
    )


# XLA's numbers of dtypes.
_DTYPES: Final = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32",
    9: "uint64", 10: "float16", 11: "float32", 12: "float64", 15: "complex64", 16: "bfloat16",
    18: "complex128", 19: "float8_e5m2", 20: "float8_e4m3fn",
}  # fmt: skip


def _handle(address: int) -> int | None:
    """Answer a call of XLA: what this handler is, or a fold."""
    frame = _CallFrame.from_address(address)
    if frame.extension:
        extension = _MetadataExtension.from_address(frame.extension)
        if extension.base.kind == _METADATA:
            # Minor versions only add to what is used here, so XLA's own will do.
            version = extension.metadata.contents.version
            version.major, version.minor = _MAJOR, frame.api.contents.version.minor
            extension.metadata.contents.traits = 0
            return None
    try:
        text = frame.attributes.values[0].contents
        request = ctypes.string_at(text.start, text.length).decode()
        found = fold_on_host(request, *_arrays(frame.operands))
        for result, values in zip(_arrays(frame.results), found, strict=True):
            np.copyto(result, values, casting="unsafe")
    except BaseException as error:  # noqa: BLE001 - no exception may pass through XLA's frames
        return _error(frame, f"{type(error).__name__}: {error}")
    return None


def _error(frame: _CallFrame, message: str) -> int:
    arguments = _ErrorArgs(ctypes.sizeof(_ErrorArgs), None, message.encode(), _INTERNAL)
    created: int = frame.api.contents.create_error(ctypes.byref(arguments))
    return created


class _Interface:
    """What NumPy makes an array of."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def _arrays(buffers: _Buffers) -> list[np.ndarray[Any, Any]]:
    found = []
    for number in range(buffers.size):
        buffer = buffers.buffers[number].contents
        shape = tuple(buffer.dims[: buffer.rank])
        dtype = np.dtype(_DTYPES[buffer.dtype])
        # An array without elements may have no address, which NumPy refuses.
        if 0 in shape:
            found.append(np.empty(shape, dtype))
            continue
        interface = {
            "version": 3, "shape": shape, "data": (buffer.data, False),
            "typestr": f"|V{dtype.itemsize}",
        }  # fmt: skip
        found.append(np.asarray(_Interface(interface)).view(dtype))
    return found


_prototype = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_pointer: Final = _prototype(_handle)


_registered: list[bool] = []


def is_registered() -> bool:
    """Return whether XLA on the CPU takes the handler; it is registered when first asked for."""
    if not _registered:
        _registered.append(_register())
    return _registered[0]


def _register() -> bool:
    ffi = jax.ffi
    try:
        jax.devices("cpu")  # what is refused later, when XLA starts, would break all of JAX
        ffi.register_ffi_target(TARGET, ffi.pycapsule(_pointer), platform="cpu", api_version=1)
    except (RuntimeError, ValueError):  # no CPU, or another major version of the interface
        return False
    return True
