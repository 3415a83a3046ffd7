# SPDX-License-Identifier: Apache-2.0
"""Scalars of a program from the shapes and strides of the arrays it runs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from axisfold.analysis.scalars import scalar_value
from axisfold.errors import ArgumentError, DTypeError, ShapeError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Var
from axisfold.ir.stmt import Kernel


def bind_scalars(kernel: Kernel, arrays: Sequence[Any]) -> dict[Var, int]:
    """Return the values of the variables among extents and strides of a kernel's parameters.

    Raises
    ------
    ArgumentError
        ``A201``: wrong number of arrays; ``A202``: not an array; ``A204``: a read-only output.
    DTypeError
        ``D201``: wrong dtype.
    ShapeError
        ``A203``: wrong rank; ``A206``: an extent or a stride that the program does not take.
    """
    if len(arrays) != len(kernel.params):
        raise ArgumentError(
            f"{kernel.name} takes {len(kernel.params)} arrays, but {len(arrays)} were given.",
            code="A201",
        )
    pairs = list(zip(kernel.params, arrays, strict=True))
    for buffer, array in pairs:
        _check(buffer, array, is_output=buffer in kernel.outputs)
    wanted: list[tuple[str, Expr, int]] = []
    for buffer, array in pairs:
        wanted += [
            (f"extent {axis} of {buffer.name}", expr, extent)
            for axis, (expr, extent) in enumerate(zip(buffer.shape, array.shape, strict=True))
        ]
    for buffer, array in pairs:
        wanted += _strides(buffer, array)
    known: dict[Var, int] = {}
    for _, expr, value in wanted:
        if isinstance(expr, Var):
            known.setdefault(expr, value)
    for label, expr, value in wanted:
        needed = scalar_value(expr, known)
        if needed != value:
            raise ShapeError(f"{label} is {value}, but {needed} is needed.", code="A206")
    return known


def _check(buffer: Buffer, array: Any, *, is_output: bool) -> None:
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"{buffer.name} is a {type(array).__name__}, not a NumPy array.",
            code="A202",
            hint="Convert it with numpy.asarray.",
        )
    if not buffer.dtype.is_of(array.dtype):
        raise DTypeError(
            f"{buffer.name} has dtype {array.dtype}, but the program was made for {buffer.dtype}.",
            code="D201",
            hint=f"Convert it with .astype('{buffer.dtype}').",
        )
    if array.ndim != len(buffer.shape):
        raise ShapeError(
            f"{buffer.name} has {array.ndim} axes, but the program was made for "
            f"{len(buffer.shape)}.",
            code="A203",
        )
    if is_output and not array.flags.writeable:
        raise ArgumentError(
            f"{buffer.name} is an output but read-only.", code="A204", hint="Pass a writable array."
        )


def _strides(buffer: Buffer, array: np.ndarray[Any, Any]) -> list[tuple[str, Expr, int]]:
    """Return what the strides must be; () in a buffer means C order without gaps."""
    if buffer.is_compact:
        if not array.flags.c_contiguous:
            raise ShapeError(
                f"{buffer.name} has strides {array.strides}, but the program reads it in C order "
                "without gaps.",
                code="A206",
                hint="Declare strides for the buffer, or pass numpy.ascontiguousarray of it.",
            )
        return []
    unit = 1 if buffer.unit == "byte" else array.itemsize
    found = []
    for axis, (expr, stride) in enumerate(zip(buffer.strides, array.strides, strict=True)):
        if stride % unit:
            raise ShapeError(
                f"stride {axis} of {buffer.name} is {stride} bytes, which is no whole number of "
                "elements.",
                code="A206",
                hint='Declare the buffer with unit="byte".',
            )
        found.append((f"stride {axis} of {buffer.name}", expr, stride // unit))
    return found
