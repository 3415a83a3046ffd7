# SPDX-License-Identifier: Apache-2.0
"""The values of ``initial=``: converted as NumPy does, and put where a kernel reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from axisfold import bfloat16
from axisfold.api.targets import Place
from axisfold.dtypes import DType
from axisfold.errors import ArgumentError, ArgumentTypeError, RangeError
from axisfold.interop.libraries import is_on_gpu, library_of
from axisfold.interop.views import Form, Maker
from axisfold.runtime.cuda.driver import call

Array: TypeAlias = np.ndarray[Any, Any]

_SCALAR = Form((), ())


def values_of(function: str, initial: Any, inputs: int, count: int) -> list[Any]:
    """Return a value for each of ``count`` initial values: those of the inputs, over and over.

    Raises
    ------
    ArgumentError
        ``A346``: there is not one value for each input.
    """
    given = initial if isinstance(initial, tuple) else (initial,)
    if len(given) != inputs:
        raise ArgumentError(
            f"{function}: initial={initial!r} is {len(given)} values for {inputs} inputs.",
            code="A346",
            hint="Give one number for an input, and a tuple of them for several.",
        )
    return [given[n % inputs] for n in range(count)]


def on_host(function: str, value: Any, dtype: DType) -> Array:
    """Return a value as an array of one element.

    Raises
    ------
    RangeError
        ``A347``: the dtype does not reach that far.
    ArgumentTypeError
        ``A348``: the dtype has no such values.
    ArgumentError
        ``A349``: it is no number, or not one.
    """
    whole: Any = value if type(value) in (int, float) else _number(function, value).item()
    if dtype.kind == "bfloat":
        return bfloat16.bits_of(np.array([_real(function, whole, dtype)]))
    result = np.empty(1, dtype.stored)
    if not dtype.is_complex:
        whole = _real(function, whole, dtype)
    try:
        with np.errstate(over="ignore"):
            result[0] = whole
    except OverflowError:
        raise RangeError(
            f"{function}: initial={value!r} is out of range for {dtype}, in which it is folded.",
            code="A347",
            hint="Ask for a wider dtype with dtype=, or convert the input.",
        ) from None
    except ValueError:
        raise ArgumentError(
            f"{function}: initial={value!r} is no value of {dtype}, in which it is folded.",
            code="A349",
            hint="Give a number of that dtype.",
        ) from None
    return result


def _number(function: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
        kind = array.dtype.kind
        is_number = array.shape == () and (kind in "biufcV" or isinstance(value, int))
    except (TypeError, ValueError):
        is_number = False
    if not is_number:
        raise ArgumentError(
            f"{function}: initial={value!r} is not one number.",
            code="A349",
            hint="Give a number; arrays of them are not taken.",
        )
    return array


def _real(function: str, value: Any, dtype: DType) -> Any:
    if isinstance(value, complex):
        raise ArgumentTypeError(
            f"{function}: initial={value!r} is complex, but it is folded in {dtype}.",
            code="A348",
            hint="Give a real number, or ask for a complex dtype with dtype=.",
        )
    return value


def on_device(
    function: str,
    value: Any,
    dtype: DType,
    make: Callable[[Form, DType, int], Maker],
    like: Any,
    place: Place,
) -> tuple[int, Any]:
    """Return the address of a value on a device, and what keeps its memory.

    It is written in the order of the stream, so that nothing waits; one that is there already is
    used as it is.

    Raises
    ------
    ArgumentError
        ``A349``: an array that is not one number of the dtype on the device; and as
        :func:`on_host`.
    """
    if is_on_gpu(value):
        return _there(function, value, dtype, place)
    allocate = make(_SCALAR, dtype, place.device).allocate
    return _sent(on_host(function, value, dtype), allocate, like, place.stream)


def _there(function: str, value: Any, dtype: DType, place: Place) -> tuple[int, Any]:
    found = library_of(value).view(f"{function}: initial", value, place.stream)
    if found.shape != () or found.dtype != dtype.name or found.device != place.device:
        raise ArgumentError(
            f"{function}: initial is an array of shape {found.shape} and {found.dtype} on device "
            f"{found.device}, but it has to be one number of {dtype} on device {place.device}.",
            code="A349",
            hint="Give a number of Python.",
        )
    return found.address, value


def _sent(
    value: Array, allocate: Callable[[Any], tuple[Any, int]], like: Any, stream: int
) -> tuple[int, Any]:
    """Write a value by its words: they are part of the command, as also a captured graph needs."""
    owner, address = allocate(like)
    width = min(value.itemsize, 4)
    words = value.view(f"u{width}")
    for n, word in enumerate(words.tolist()):
        call(f"cuMemsetD{8 * width}Async", address + n * width, word, 1, stream)
    return address, owner
