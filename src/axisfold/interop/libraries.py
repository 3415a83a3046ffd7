# SPDX-License-Identifier: Apache-2.0
"""Whose an array is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from axisfold.errors import ArgumentError
from axisfold.interop import cupy, dlpack, jax, numpy, others, subclasses, torch
from axisfold.interop.views import Library, View

# Those that know their arrays by type; all other objects are asked for protocols.
_KNOWN: Final[tuple[Library, ...]] = (subclasses, numpy, torch, cupy, jax)
BY_NAME: Final[dict[str, Library]] = {each.NAME: each for each in (*_KNOWN, others)}

_of_type: Final[dict[type, Library]] = {}


def library_of(array: Any) -> Library:
    """Return the library of an object, whatever it is."""
    kind = type(array)
    found = _of_type.get(kind)
    if found is None:
        found = next((each for each in _KNOWN if each.owns(array)), None)
        if found is None:  # not remembered: its library may be loaded later
            return others
        _of_type[kind] = found
    return found


def is_on_gpu(array: Any) -> bool:
    """Whether an object is an array in the memory of a CUDA device."""
    return library_of(array).is_on_gpu(array)


def device_view(label: str, array: Any, stream: int) -> View:
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
    library = library_of(array)
    if library.is_on_gpu(array):
        return library.view(label, array, stream)
    if library is others and not dlpack.has_dlpack(array):
        raise ArgumentError(
            f"{label} is a {type(array).__name__}, not a CUDA array.",
            code="A202",
            hint="Pass an array of PyTorch, CuPy, numba or any library with DLPack.",
        )
    kind = f"{type(array).__module__.partition('.')[0]}.{type(array).__name__}"
    raise ArgumentError(
        f"{label} is a {kind} in the memory of the host, but the function was built for CUDA.",
        code="A208",
        hint="Copy it to the device, as by cupy.asarray(x) or x.cuda(), or build for 'llvm'.",
    )


def current_stream(arrays: Iterable[Any]) -> Callable[[], int]:
    """Return what returns the current stream of the first array whose library has one."""
    streams = (library_of(array).stream_of(array) for array in arrays)
    return next((stream for stream in streams if stream is not None), lambda: 0)
