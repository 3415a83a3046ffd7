# SPDX-License-Identifier: Apache-2.0
"""The arrays that folds of device arrays return: of the inputs' library, in the caller's shape."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from axisfold.dtypes import DType
from axisfold.errors import DTypeError
from axisfold.plan.canonical import Problem
from axisfold.runtime.cuda.memory import DeviceArray

# From an input to a new array beside it, and the address at which its memory begins.
Make: TypeAlias = Callable[[Any], tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class Form:
    """How a result lies in the compact memory that a kernel writes.

    Attributes
    ----------
    shape
        Extents as the caller sees them.
    strides
        Steps in elements.
    first
        Elements before the first one.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int = 0

    @property
    def is_compact(self) -> bool:
        """Whether elements lie in C order."""
        return self.first == 0 and self.strides == compact_strides(self.shape)


def compact_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides, in elements, of an array in C order."""
    return tuple(prod(max(n, 1) for n in shape[axis + 1 :]) for axis in range(len(shape)))


def result_form(
    problem: Problem, shape: Sequence[int], reduced: frozenset[int], keepdims: bool
) -> Form:
    """Return the form of the results of a canonical problem.

    Parameters
    ----------
    problem
        The canonical problem: kernels write its kept axes in order.
    shape, reduced
        Shape of the caller's inputs, and the folded axes.
    keepdims
        Whether folded axes stay with extent 1.
    """
    steps = compact_strides([shape[axis] for axis in problem.out_axes])
    own = dict(zip(problem.out_axes, steps, strict=True))
    first = 0
    for position in problem.flipped:
        axis = problem.out_axes[position]
        first += own[axis] * (shape[axis] - 1)
        own[axis] = -own[axis]
    axes = [axis for axis in range(len(shape)) if keepdims or axis not in reduced]
    extents = tuple(1 if axis in reduced else shape[axis] for axis in axes)
    in_c_order = compact_strides(extents)
    if 0 in extents:
        return Form(extents, in_c_order)
    # An axis of one element has no step: any will do.
    strides = tuple(own.get(axis, step) for axis, step in zip(axes, in_c_order, strict=True))
    return Form(extents, strides, first)


def maker(library: str, form: Form, dtype: DType, device: int) -> Make:
    """Return what makes result arrays.

    Parameters
    ----------
    library
        ``"torch"``, ``"cupy"`` or ``""`` for our own.
    form
        Shape and strides.
    dtype
        Of the elements.
    device
        Number of the device.

    Raises
    ------
    DTypeError
        ``D302``: the library has no such dtype.
    """
    match library:
        case "torch":
            return _torch(form, dtype)
        case "cupy":
            return _cupy(form, dtype, device)
        case _:
            return _own(form, dtype, device)


def _torch(form: Form, dtype: DType) -> Make:
    kind = getattr(sys.modules["torch"], dtype.name, None)
    if kind is None:
        raise DTypeError(
            f"the result is of {dtype}, which this version of PyTorch does not have.",
            code="D302",
            hint="Ask for another with dtype=, or convert the input first.",
        )
    shape, strides = form.shape, form.strides
    if form.is_compact:

        def make(like: Any) -> tuple[Any, int]:
            result = like.new_empty(shape, dtype=kind)
            return result, result.data_ptr()
    else:  # tensors have no negative strides, so that none is flipped here

        def make(like: Any) -> tuple[Any, int]:
            result = like.new_empty_strided(shape, strides, dtype=kind)
            return result, result.data_ptr()

    return make


def _cupy(form: Form, dtype: DType, device: int) -> Make:
    cupy = sys.modules["cupy"]
    kind, shape = dtype.to_numpy(), form.shape
    size = kind.itemsize
    start = form.first * size
    strides = tuple(step * size for step in form.strides)

    def compact() -> tuple[Any, int]:
        result = cupy.empty(shape, kind)
        return result, result.data.ptr

    def strided() -> tuple[Any, int]:
        memory = cupy.cuda.alloc(prod(shape) * size)
        return cupy.ndarray(shape, kind, memory + start, strides), memory.ptr

    allocate = compact if form.is_compact else strided

    def make(like: Any) -> tuple[Any, int]:
        if cupy.cuda.runtime.getDevice() == device:
            return allocate()
        with cupy.cuda.Device(device):
            return allocate()

    return make


def _own(form: Form, dtype: DType, device: int) -> Make:
    kind = dtype.to_numpy()
    strides = None if form.is_compact else form.strides

    def make(like: Any) -> tuple[Any, int]:
        result = DeviceArray(
            form.shape, kind, device, strides=strides, first=form.first, is_ordered=True
        )
        return result, result.base

    return make
