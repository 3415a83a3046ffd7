# SPDX-License-Identifier: Apache-2.0
"""Calling programs with device arrays: checked the first time, then looked up by their layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from axisfold.errors import ArgumentError
from axisfold.interop.dlpack import Loan
from axisfold.interop.libraries import current_stream, device_view, library_of
from axisfold.interop.views import View
from axisfold.ir.stmt import Kernel
from axisfold.runtime.binding import (
    LayoutMismatch,
    bind_layout,
    carry_over,
    check_arrays,
    check_count,
    check_dtype,
)
from axisfold.runtime.cuda.driver import api, device
from axisfold.runtime.cuda.program import Bound, Program
from axisfold.runtime.cuda.streams import keep, stream_handle, wait_for

# Records of layouts that a function keeps; then it starts anew.
_MOST_RECORDS: Final = 4096


@dataclass(eq=False)
class Version:
    """A program for one class of layouts, made when first needed.

    Attributes
    ----------
    lower
        Returns the loop IR.
    compile
        Returns the program of loop IR.
    """

    lower: Callable[[], Kernel]
    compile: Callable[[Kernel], Program]

    @cached_property
    def ir(self) -> Kernel:
        """The loop IR."""
        return self.lower()

    @cached_property
    def program(self) -> Program:
        """The program."""
        return self.compile(self.ir)


@dataclass(frozen=True, slots=True)
class _Record:
    """What is known of calls with arrays of given layouts."""

    bound: Bound
    stream: Callable[[], int]
    # Pairs of arguments one of which is written, and the bytes that each spans around its address.
    pairs: tuple[tuple[int, int, int, int, int, int], ...]

    def may_overlap(self, addresses: Sequence[int]) -> bool:
        for i, low, high, j, lowest, highest in self.pairs:
            a, b = addresses[i], addresses[j]
            if a + low < b + highest and b + lowest < a + high:
                return True
        return False


class Caller:
    """A function of device arrays.

    Parameters
    ----------
    declared
        The program for the layouts that the tensors declare.
    general
        The program for all others.
    """

    def __init__(self, declared: Version, general: Version) -> None:
        self.declared, self.general = declared, general
        self._records: dict[Any, _Record] = {}
        self._masks = [max(b.facts.align, b.dtype.itemsize) - 1 for b in declared.ir.params]

    def __call__(self, arrays: Sequence[Any], stream: Any = None) -> None:
        """Launch on arrays and return at once.

        Parameters
        ----------
        arrays
            In the order of the kernel's parameters.
        stream
            A stream or its handle; None takes the current stream of the arrays' library.
        """
        quick = [library_of(array).quick_key(array) for array in arrays]
        if None not in quick and len(quick) == len(self._masks):
            keys, addresses = zip(*quick, strict=True)
            key = self._key(keys, addresses)
            record = self._records.get(key)
            if record is not None and not record.may_overlap(addresses):
                handle = record.stream() if stream is None else stream_handle(stream)
                record.bound.run(addresses, handle)
                return
        self._call_checked(arrays, stream)

    def _key(self, keys: Sequence[Any], addresses: Sequence[int]) -> Any:
        low = tuple(a & mask for a, mask in zip(addresses, self._masks, strict=True))
        return (*keys, low)

    def _call_checked(self, arrays: Sequence[Any], stream: Any) -> None:
        kernel = self.declared.ir
        check_count(kernel, arrays)
        api()  # without a driver there is no device array: say that first
        get_stream = current_stream(arrays) if stream is None else lambda: stream_handle(stream)
        handle = get_stream()
        views = [
            device_view(f"argument {position} ({buffer.name})", array, handle)
            for position, (buffer, array) in enumerate(zip(kernel.params, arrays, strict=True))
        ]
        addresses = [v.address for v in views]
        quick = [library_of(array).quick_key(array) for array in arrays]
        keys = [v.key if q is None else q[0] for v, q in zip(views, quick, strict=True)]
        key = self._key(keys, addresses)
        record = self._records.get(key)
        if record is None or record.may_overlap(addresses):
            record = _Record(
                self._bind(views), current_stream(arrays), _written_pairs(kernel, views)
            )
            if len(self._records) >= _MOST_RECORDS:
                self._records.clear()
            self._records[key] = record
        with record.bound.device.current():
            for v in views:
                if v.stream is not None:
                    wait_for(handle, v.stream)
            record.bound.run(addresses, handle)
            keep_loans(views, handle)

    def _bind(self, views: Sequence[View]) -> Bound:
        """Check everything, and return the launches."""
        kernel = self.declared.ir
        for position, (buffer, v) in enumerate(zip(kernel.params, views, strict=True)):
            label = f"argument {position} ({buffer.name})"
            check_dtype(label, buffer, v.dtype, is_output=buffer in kernel.outputs)
            check_aligned(label, v)
        where = _common_device(kernel, views)
        shadows = [v.shadow for v in views]
        extents = check_arrays(kernel, shadows, of_right_dtype=True)
        version = self.declared
        try:
            values = bind_layout(version.ir, shadows, extents)
        except LayoutMismatch:
            version = self.general
            values = bind_layout(version.ir, shadows, extents)
        program = version.program
        return program.configure(carry_over(version.ir, program.kernel, values), device(where))


def keep_loans(views: Sequence[View], stream: int) -> None:
    """Keep what libraries lent by DLPack until a stream has read or written it."""
    loans = [v.owner for v in views if isinstance(v.owner, Loan)]
    if loans:
        keep(loans, stream)


def check_aligned(label: str, v: View) -> None:
    """Refuse elements that no GPU can read: they lie at multiples of their size.

    Raises
    ------
    ArgumentError
        ``A211``: always that.
    """
    size = v.itemsize
    steps = [s for s, n in zip(v.strides, v.shape, strict=True) if n > 1]
    if 0 not in v.shape and any(part % size for part in (v.address, *steps)):
        raise ArgumentError(
            f"{label} has elements that do not lie at multiples of {size} bytes (address "
            f"{v.address:#x}, strides {v.strides}), and a GPU cannot read those.",
            code="A211",
            hint="Pass a copy.",
        )


def _common_device(kernel: Kernel, views: Sequence[View]) -> int:
    """Return the device that all arrays are on."""
    found: dict[int, str] = {}
    for buffer, v in zip(kernel.params, views, strict=True):
        if v.device is not None:
            found.setdefault(v.device, buffer.name)
    if len(found) > 1:
        places = " and ".join(f"{name} on {index}" for index, name in found.items())
        raise ArgumentError(
            f"the arguments of {kernel.name} are on different CUDA devices: {places}.",
            code="A209",
            hint="Copy them to one device.",
        )
    return next(iter(found), 0)


def _written_pairs(
    kernel: Kernel, views: Sequence[View]
) -> tuple[tuple[int, int, int, int, int, int], ...]:
    spans = [_span(v) for v in views]
    written = [buffer in kernel.outputs for buffer in kernel.params]
    return tuple(
        (i, *spans[i], j, *spans[j])
        for i in range(len(views))
        for j in range(i)
        if written[i] or written[j]
    )


def _span(v: View) -> tuple[int, int]:
    """Return the first byte and the end of an array, counted from its address."""
    if 0 in v.shape:
        return 0, 0
    reach = [s * (n - 1) for s, n in zip(v.strides, v.shape, strict=True)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + v.itemsize
