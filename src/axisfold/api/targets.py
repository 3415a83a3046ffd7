# SPDX-License-Identifier: Apache-2.0
"""``out=``: arrays that results are written into, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from axisfold.dtypes import SUPPORTED, DType, is_same_kind, parse
from axisfold.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from axisfold.interop import numpy
from axisfold.interop.libraries import is_on_gpu, library_of
from axisfold.interop.views import HOST, Form, Maker, View
from axisfold.runtime.binding import share_memory

# Bytes of the longest store of a thread of a device.
WIDEST_STORE: Final = 16


@dataclass(frozen=True, slots=True)
class Place:
    """Where results are.

    Attributes
    ----------
    library
        Whose arrays they are.
    device
        Number of the device.
    stream
        Handle of the stream that writes them.
    align
        What divides the address of memory that a kernel writes.
    """

    library: str
    device: int
    stream: int
    align: int = 1


@dataclass(frozen=True, slots=True)
class OutArray:
    """An array for a result.

    Attributes
    ----------
    array
        The caller's.
    address
        Where the kernel writes it; None if the result is made apart and then assigned, because of
        its dtype or its layout, or as it shares memory with what is read.
    """

    array: Any
    address: int | None
    assign: Callable[[Any, Any, int], None]

    @property
    def maker(self) -> Maker:
        """What "makes" the array as it is."""
        return Maker(lambda like: (self.array, self.address or 0))


@dataclass(frozen=True, slots=True)
class Direct:
    """How a signature of host arrays recognises an array that it can write without more ado.

    Attributes
    ----------
    key
        What :func:`axisfold.interop.numpy.quick_key` tells of such an array; None if there is none.
    spans
        For each input the bytes from its address to the first and after the last one that is read.
    align
        What divides its address.
    """

    key: Hashable
    spans: tuple[tuple[int, int], ...]
    align: int

    @classmethod
    def of(cls, arrays: Sequence[Any], form: Form, dtype: DType | None, align: int) -> Direct:
        """Return it for inputs and for a result; None for results that are looked at first."""
        key = None
        if dtype is not None and not form.first:
            kind = dtype.to_numpy()
            key = (kind, form.shape, tuple(kind.itemsize * step for step in form.strides))
        return cls(key, tuple(_span(a.shape, a.strides, a.itemsize) for a in arrays), align)


def _span(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    if 0 in shape:
        return 0, 0
    reach = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


def direct_out(out: Any, direct: Direct, addresses: Sequence[int]) -> Maker | None:
    """Return what "makes" an array to write; None if :func:`out_arrays` has to look at it.

    Parameters
    ----------
    out
        What the caller gave.
    direct
        Of the signature.
    addresses
        Of the inputs.
    """
    found = numpy.quick_key(out)
    if found is None or found[0] != direct.key or not out.flags.behaved:
        return None
    start = found[1]
    if start % direct.align:
        return None
    end = start + out.nbytes
    for address, (low, high) in zip(addresses, direct.spans, strict=True):
        if start < address + high and address + low < end:
            return None
    return Maker(lambda like: (out, start))


def out_arrays(
    function: str,
    out: Any,
    forms: Sequence[tuple[Form, DType]],
    is_tuple: bool,
    read: Sequence[View],
    place: Place,
) -> list[OutArray | None]:
    """Return where each result is written, None for new arrays.

    Parameters
    ----------
    function
        Name for messages.
    out
        What the caller gave.
    forms
        How the kernel lays each result out, and its dtype.
    is_tuple
        Whether the results are several, and so ``out`` a tuple.
    read
        What the kernel reads.
    place
        Where the results are.

    Raises
    ------
    ArgumentTypeError
        ``A352``: no array of the library, or no tuple of them.
    ArgumentError
        ``A353``: on another device; ``A354``: read-only; ``A355``: two of them share memory.
    ShapeError
        ``A356``: another shape than the result's.
    DTypeError
        ``D304``: the result cannot be cast to its dtype.
    """
    given = [out]
    if is_tuple:
        if not isinstance(out, tuple) or len(out) != len(forms):
            raise ArgumentTypeError(
                f"{function}: out is a {type(out).__name__}, but there are {len(forms)} results.",
                code="A352",
                hint="Give a tuple with an array, or None, for each.",
            )
        given = list(out)
    found: list[OutArray | None] = []
    views: list[View] = []
    for n, (array, (form, dtype)) in enumerate(zip(given, forms, strict=True)):
        label = f"{function}: out[{n}]" if is_tuple else f"{function}: out"
        if array is ...:
            array = _new_array(form, dtype, place)
            if array is None:
                found.append(None)
                continue
        if array is None and is_tuple:
            found.append(None)
            continue
        v, assign = _checked(label, array, form, dtype, place)
        if any(_overlap(v, other) for other in views):
            raise ArgumentError(
                f"{label} shares memory with another array of out.",
                code="A355",
                hint="Give each result memory of its own.",
            )
        views.append(v)
        is_direct = _is_as_written(v, form, dtype, place.align)
        is_direct = is_direct and not any(_overlap(v, r) for r in read)
        found.append(OutArray(array, v.address if is_direct else None, assign))
    return found


def write_into(
    launch: Any, like: Any, pointers: Sequence[int], outs: Sequence[OutArray | None], stream: int
) -> Any:
    """Launch, and return the results in the caller's arrays.

    Parameters
    ----------
    launch
        A launch on the host or a device.
    like, pointers
        What it takes.
    outs
        Where each result is written.
    stream
        Handle of the stream that writes.
    """
    outputs = [
        # Results that may be refused are seen first.
        output if out is None or out.address is None or launch.checks else (out.maker, output[1])
        for out, output in zip(outs, launch.outputs, strict=True)
    ]
    done = launch.results(like, pointers, outputs)
    for n, out in enumerate(outs):
        if out is not None and done[n] is not out.array:
            out.assign(out.array, done[n], stream)
            done[n] = out.array
    return done[0] if launch.pack is None else launch.pack(*done)


def _checked(
    label: str, array: Any, form: Form, dtype: DType, place: Place
) -> tuple[View, Callable[[Any, Any, int], None]]:
    owner, where = library_of(array), place.device
    wanted = place.library or ("numpy" if where == HOST else "")
    if owner.assign is None:
        raise ArgumentTypeError(
            f"{label} is an array of {owner.NAME}, whose arrays are never written.",
            code="A352",
            hint="Leave out= away.",
        )
    if _family(wanted) != _family(owner.NAME) or _is_value(array):
        raise ArgumentTypeError(
            f"{label} is a {type(array).__name__}, but the result is an array of "
            f"{wanted or 'another library'}.",
            code="A352",
            hint="Give an array of the library of the input.",
        )
    if is_on_gpu(array) != (where != HOST):
        raise _elsewhere(label, HOST if where != HOST else None, where)
    v = owner.view(label, array, place.stream)
    if v.device not in (where, None):
        raise _elsewhere(label, v.device, where)
    if v.is_readonly:
        raise ArgumentError(
            f"{label} is read-only.", code="A354", hint="Give an array that can be written."
        )
    if owner.NAME != "numpy" and any(
        step == 0 and extent > 1 for extent, step in zip(v.shape, v.strides, strict=True)
    ):
        raise ArgumentError(
            f"{label} has several elements in one place of memory.",
            code="A359",
            hint="Give an array of its own memory, as by out.clone().",
        )
    if v.shape != form.shape:
        raise ShapeError(
            f"{label} has shape {v.shape}, but the result has shape {form.shape}.",
            code="A356",
            hint="Give an array of that shape; keepdims=True leaves axes of extent 1.",
        )
    # An array in foreign byte order is assigned to.
    target = parse(v.dtype) if v.dtype[0] in "<>" else SUPPORTED.get(v.dtype)
    if target is None or not is_same_kind(dtype, target):
        raise DTypeError(
            f"{label} is of {v.dtype}, to which the result of {dtype} cannot be cast by the rule "
            "'same_kind'.",
            code="D304",
            hint=f"Give an array of {dtype}, or of a higher kind of numbers.",
        )
    if not wanted and not _is_as_written(v, form, dtype, place.align):
        raise ArgumentTypeError(
            f"{label} is of {v.dtype} and strides {v.strides}, but the kernel writes {dtype} "
            "without gaps, and nothing is known that copies it.",
            code="A352",
            hint="Give a compact array of that dtype, or one of PyTorch or CuPy.",
        )
    return v, owner.assign


def _new_array(form: Form, dtype: DType, place: Place) -> Any:
    """Return an array of NumPy, whose results of no axes are scalars; None for other libraries."""
    is_numpy = place.device == HOST and place.library in ("", numpy.NAME)
    return np.empty(form.shape, dtype.to_numpy()) if is_numpy else None


def _is_value(array: Any) -> bool:
    """Whether an object has no memory of its own to write into, as a scalar of NumPy."""
    return isinstance(array, np.generic) or not hasattr(array, "shape")


def _family(library: str) -> str:
    """NumPy's arrays and their subclasses are of one family."""
    return library.partition(".")[0]


def _elsewhere(label: str, given: int | None, wanted: int) -> ArgumentError:
    def place(device: int | None) -> str:
        return "in the memory of the host" if device == HOST else f"on CUDA device {device}"

    there = "on a CUDA device" if given is None else place(given)
    return ArgumentError(
        f"{label} is {there}, but the result is {place(wanted)}.",
        code="A353",
        hint="Give an array beside the input.",
    )


def _is_as_written(v: View, form: Form, dtype: DType, align: int) -> bool:
    """Whether a kernel may write the memory: its results are compact, in the order of the form."""
    if v.dtype != dtype.name or form.first:
        return False
    steps = zip(v.shape, v.strides, form.strides, strict=True)
    is_alike = all(n == 1 or s == t * v.itemsize for n, s, t in steps)
    return is_alike and v.address % max(v.itemsize, align) == 0


def _overlap(a: View, b: View) -> bool:
    """Whether two arrays share a byte; on devices whether the ranges of their addresses do."""
    if a.device != b.device or 0 in a.shape or 0 in b.shape:
        return False
    return share_memory(a.shadow, b.shadow)
