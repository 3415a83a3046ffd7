# SPDX-License-Identifier: Apache-2.0
"""Subclasses of NumPy's array, to which results are given back by ``__array_wrap__``.

Those that have their own ``__array_ufunc__`` or ``__array_function__`` mean something else by a
sum, and give plain arrays; masked arrays are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from axisfold.dtypes import DType
from axisfold.interop import numpy
from axisfold.interop.views import Form, Maker, View

NAME: Final = "numpy.subclass"


def owns(array: Any) -> bool:
    """Whether an object is an array of a subclass whose results are of that class."""
    kind = type(array)
    return (
        isinstance(array, np.ndarray)
        and kind is not np.ndarray
        and not isinstance(array, np.ma.MaskedArray)
        and kind.__array_ufunc__ is np.ndarray.__array_ufunc__
        and kind.__array_function__ is np.ndarray.__array_function__
    )


def is_matrix(array: Any) -> bool:
    """Whether an array always has two axes, folded ones too."""
    return isinstance(array, np.matrix)


def is_on_gpu(array: Any) -> bool:
    """Say no: NumPy has no other memory than the host's."""
    return False


def is_watched(array: Any) -> bool:
    """Say no: NumPy records nothing."""
    return False


def quick_key(array: Any) -> tuple[Hashable, int] | None:
    """Return None: each array is asked anew."""
    return None


def resolved(label: str, array: Any) -> numpy.Array:
    """Return the plain array of the same memory."""
    return numpy.resolved(label, array)


def view(label: str, array: Any, stream: int) -> View:
    """Return an array as plain data."""
    return numpy.view(label, array, stream)


def stream_of(array: Any) -> Callable[[], int] | None:
    """Return None: the host has no streams."""
    return None


def result_dtype(dtype: DType, inputs: Sequence[DType]) -> DType:
    """Return the dtype: it is NumPy's."""
    return dtype


def assign(out: Any, result: Any, stream: int) -> None:
    """Write a result into another array of its shape, converting its elements."""
    numpy.assign(out, result, stream)


def maker(form: Form, dtype: DType, device: int) -> Maker:
    """Return what makes arrays of the input's class, also without axes; of a matrix scalars."""
    made = numpy.maker(form, dtype, device)

    def finish(result: Any, like: Any) -> Any:
        if not form.shape and is_matrix(like):
            return result[()]
        if made.finish is not None and form.shape:
            result = made.finish(result, like)
        return like.__array_wrap__(result, None, True)

    return Maker(made.allocate, finish)
