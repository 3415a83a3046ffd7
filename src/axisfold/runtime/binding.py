# SPDX-License-Identifier: Apache-2.0
"""Binding host arrays to a kernel's parameters: checks, extents, strides, addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axisfold.analysis.evaluate import evaluate
from axisfold.errors import ArgumentError, DTypeError, ShapeError
from axisfold.interop.dlpack import has_dlpack
from axisfold.interop.libraries import library_of
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import Const, Var
from axisfold.ir.stmt import Kernel

Array = np.ndarray[Any, Any]

# How long NumPy may search for a shared byte of two interleaved arrays before we assume one.
_OVERLAP_WORK = 10_000


class LayoutMismatch(Exception):
    """An array does not have the layout that the kernel was compiled for."""


def host_arrays(kernel: Kernel, arrays: Sequence[Any]) -> Sequence[Array]:
    """Return NumPy arrays of the same memory as host arrays of any library.

    Raises
    ------
    ArgumentError
        ``A201``: wrong number of arguments; ``A202``: not an array, or one without plain memory;
        ``A208``: in a GPU's memory; ``A215``: a tensor that is part of a gradient.
    DTypeError
        ``D201``: wrong dtype.
    """
    check_count(kernel, arrays)
    if all(type(array) is np.ndarray for array in arrays):
        return arrays
    return [
        _host_array(f"argument {position} ({buffer.name})", buffer, array, buffer in kernel.outputs)
        for position, (buffer, array) in enumerate(zip(kernel.params, arrays, strict=True))
    ]


def _host_array(label: str, buffer: Buffer, array: Any, is_output: bool) -> Array:
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(
            f"{label} is a masked array, and the kernel would not see its mask.",
            code="A202",
            hint="Pass .filled(value), or fold .compressed().",
        )
    if isinstance(array, np.ndarray):
        return array
    library = library_of(array)
    if library.is_on_gpu(array):
        raise ArgumentError(
            f"{label} is in the memory of a GPU, but the function was built for the CPU.",
            code="A208",
            hint="Copy it to the host, as by x.cpu() or cupy.asnumpy(x), or build for 'cuda'.",
        )
    if isinstance(array, np.generic) or not has_dlpack(array):
        raise ArgumentError(
            f"{label} is a {type(array).__name__}, not a NumPy array.",
            code="A202",
            hint="Convert it with numpy.asarray.",
        )
    view = library.view(label, array, 0)
    check_dtype(label, buffer, view.dtype, is_output=is_output)
    shadow = view.shadow
    # NumPy's own dtypes do not say what these elements are.
    return shadow.view(buffer.dtype.stored) if shadow.dtype.kind == "V" else shadow


def check_arrays(
    kernel: Kernel, arrays: Sequence[Array], *, of_right_dtype: bool = False
) -> dict[Var, int]:
    """Check everything but layouts, and return the values of the extents.

    Parameters
    ----------
    kernel
        The program.
    arrays
        In the order of its parameters.
    of_right_dtype
        Dtypes have been checked: the arrays stand for others, whose dtype NumPy may not have.

    Raises
    ------
    ArgumentError
        ``A204``: read-only output; ``A205``: an output overlaps another argument or itself.
    DTypeError
        ``D201``: wrong dtype.
    ShapeError
        ``A203``: wrong rank; ``A206``: wrong extent; ``A207``: an extent that is no multiple of
        the declared divisor.
    """
    extents: dict[Var, int] = {}
    for position, (buffer, array) in enumerate(zip(kernel.params, arrays, strict=True)):
        label = f"argument {position} ({buffer.name})"
        if not of_right_dtype and not buffer.dtype.is_of(array.dtype):
            given = str(array.dtype) if array.dtype.isnative else array.dtype.str
            check_dtype(label, buffer, given, is_output=buffer in kernel.outputs)
        _check_array(label, buffer, array, is_output=buffer in kernel.outputs)
    for only_variables in (True, False):
        for position, (buffer, array) in enumerate(zip(kernel.params, arrays, strict=True)):
            label = f"argument {position} ({buffer.name})"
            _check_extents(label, buffer, array, extents, only_variables)
            _check_divisors(label, buffer, array)
    _check_overlaps(kernel, arrays)
    return extents


def check_count(kernel: Kernel, arrays: Sequence[Any]) -> None:
    """Refuse another number of arguments than the kernel takes.

    Raises
    ------
    ArgumentError
        ``A201``: always that.
    """
    if len(arrays) != len(kernel.params):
        raise ArgumentError(
            f"{kernel.name} takes {len(kernel.params)} arrays "
            f"({', '.join(b.name for b in kernel.params)}), but {len(arrays)} were given.",
            code="A201",
        )


def check_dtype(label: str, buffer: Buffer, given: str, *, is_output: bool) -> None:
    """Refuse a dtype, by its name, that is not the one of a buffer.

    Raises
    ------
    DTypeError
        ``D201``: always that.
    """
    if given != buffer.dtype.name:
        hint = f"Convert it with .astype('{buffer.dtype}')."
        raise DTypeError(
            f"{label} has dtype {given}, but the kernel was built for {buffer.dtype}.",
            code="D201",
            hint="Pass an array of that dtype." if is_output else hint,
        )


def _check_array(label: str, buffer: Buffer, array: Array, *, is_output: bool) -> None:
    if array.ndim != len(buffer.shape):
        raise ShapeError(
            f"{label} has {array.ndim} axes, but the kernel was built for {len(buffer.shape)}.",
            code="A203",
        )
    if is_output and not array.flags.writeable:
        raise ArgumentError(
            f"{label} is an output but read-only.", code="A204", hint="Pass a writable array."
        )


def _check_extents(
    label: str, buffer: Buffer, array: Array, extents: dict[Var, int], only_variables: bool
) -> None:
    for axis, (expr, extent) in enumerate(zip(buffer.shape, array.shape, strict=True)):
        if isinstance(expr, Var):
            wanted = extents.setdefault(expr, extent)
            if extent < expr.least:
                raise ShapeError(
                    f"{label} has extent {extent} along axis {axis}, but the kernel was built for "
                    f"{expr.least} and more.",
                    code="A206",
                    hint="Leave least= away.",
                )
        elif only_variables:
            continue
        else:
            wanted = evaluate(expr, extents)
        if wanted != extent:
            known = "" if isinstance(expr, Const) else f" ({expr} = {wanted})"
            raise ShapeError(
                f"{label} has extent {extent} along axis {axis}, but {wanted}{known} is needed.",
                code="A206",
            )


def _check_divisors(label: str, buffer: Buffer, array: Array) -> None:
    for axis, (divisor, extent) in enumerate(
        zip(buffer.facts.divisible, array.shape, strict=False)
    ):
        if extent % divisor:
            raise ShapeError(
                f"{label} has extent {extent} along axis {axis}, which is no multiple of "
                f"{divisor}.",
                code="A207",
                hint="Pad the array, or leave divisible= away.",
            )


def _check_overlaps(kernel: Kernel, arrays: Sequence[Array]) -> None:
    for position, (buffer, array) in enumerate(zip(kernel.params, arrays, strict=True)):
        if buffer not in kernel.outputs:
            continue
        if _may_overlap_itself(array):
            raise ArgumentError(
                f"argument {position} ({buffer.name}) is an output whose elements may overlap "
                f"(strides {array.strides}).",
                code="A205",
                hint="Pass an array whose elements all have memory of their own.",
            )
        for other, (given, second) in enumerate(zip(kernel.params, arrays, strict=True)):
            if other != position and share_memory(array, second):
                raise ArgumentError(
                    f"argument {position} ({buffer.name}) is an output and shares memory with "
                    f"argument {other} ({given.name}).",
                    code="A205",
                    hint="Pass a separate array.",
                )


def _may_overlap_itself(array: Array) -> bool:
    """Return whether two elements may share a byte; False for everything that slicing makes."""
    if not array.size:
        return False
    reach = array.itemsize
    steps = zip(map(abs, array.strides), array.shape, strict=True)
    for stride, extent in sorted((s, n) for s, n in steps if n > 1):
        if stride < reach:
            return True
        reach = stride * (extent - 1) + reach
    return False


def share_memory(a: Array, b: Array) -> bool:
    """Return whether two arrays share a byte; interleaved ones, such as record fields, do not."""
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def bind_layout(kernel: Kernel, arrays: Sequence[Array], known: dict[Var, int]) -> dict[Var, int]:
    """Return the values of extents and strides, in the kernel's stride units.

    Raises
    ------
    LayoutMismatch
        An array's strides or alignment are not those that the kernel was compiled for.
    """
    values = dict(known)
    for buffer, array in zip(kernel.params, arrays, strict=True):
        if not _has_facts(buffer.facts, array):
            raise LayoutMismatch
        if buffer.is_compact:
            if not array.flags.c_contiguous:
                raise LayoutMismatch
            continue
        unit = 1 if buffer.unit == "byte" else array.itemsize
        for expr, stride, extent in zip(buffer.strides, array.strides, array.shape, strict=True):
            if extent <= 1 and not isinstance(expr, Var):
                continue
            if stride % unit:
                raise LayoutMismatch
            wanted = (
                values.setdefault(expr, stride // unit)
                if isinstance(expr, Var)
                else evaluate(expr, values)
            )
            if wanted != stride // unit:
                raise LayoutMismatch
    return values


def carry_over(before: Kernel, after: Kernel, values: Mapping[Var, int]) -> dict[Var, int]:
    """Return the values under the variables that a pipeline has put in place of a kernel's."""
    return {
        new: values[old]
        for source, target in zip(before.params, after.params, strict=True)
        for old, new in zip(
            (*source.shape, *source.strides), (*target.shape, *target.strides), strict=True
        )
        if isinstance(old, Var) and isinstance(new, Var)
    }


def _has_facts(facts: Facts, array: Array) -> bool:
    """Return whether an array keeps what was promised of it."""
    if facts.align and array.ctypes.data % facts.align:
        return False
    if any(extent % divisor for extent, divisor in zip(array.shape, facts.divisible, strict=False)):
        return False
    reach = sum(abs(s) * (n - 1) for s, n in zip(array.strides, array.shape, strict=True) if n)
    return facts.index_bits == 64 or max(reach, *array.shape, 0) < 1 << 31
