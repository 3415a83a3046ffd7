# SPDX-License-Identifier: Apache-2.0
"""The reductions of the Python array API standard, in its signatures, for arrays of any library."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from axisfold.api import functions
from axisfold.errors import ArgumentTypeError

__array_api_version__ = "2024.12"

REDUCTIONS: Final = (
    "all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "std", "sum",
    "var",
)  # fmt: skip

__all__ = [*REDUCTIONS, "__array_api_version__", "wrap"]  # noqa: PLE0604 - all are strings

Axes: TypeAlias = int | tuple[int, ...] | None


def sum(x: Any, /, *, axis: Axes = None, dtype: Any | None = None, keepdims: bool = False) -> Any:
    """Sum of elements.

    Parameters
    ----------
    x : array
        Numbers; truth values are counted.
    axis : None, int or tuple of int
        Folded axes; None for all.
    dtype : dtype, optional
        To convert elements to before they are folded, and of the result.  Without it integers
        give int64, unsigned ones uint64 (32 bits in JAX without x64), floats their own dtype.
    keepdims : bool
        Leave the folded axes in the result with extent 1.

    Returns
    -------
    array
        Of the input's library and the kept axes' shape; without axes what the library has for
        one number, such as NumPy's scalar.

    Raises
    ------
    ArgumentTypeError
        ``A313``: ``x`` is no array; and what :func:`axisfold.sum` raises.
    """
    return _fold(functions.sum, x, axis, keepdims, **_summed(x, dtype))


def prod(x: Any, /, *, axis: Axes = None, dtype: Any | None = None, keepdims: bool = False) -> Any:
    """Product of elements; arguments, dtypes and errors as of :func:`sum`."""
    return _fold(functions.prod, x, axis, keepdims, **_summed(x, dtype))


def mean(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Arithmetic mean: float64 for integers, else of the input's dtype; otherwise as `sum`."""
    return _fold(functions.mean, x, axis, keepdims)


def var(x: Any, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Variance, of n - ``correction`` degrees of freedom (NaN if there are none); as :func:`mean`.

    Raises
    ------
    ArgumentError
        ``A311``: a correction that is no finite number.
    """
    return _fold(functions.var, x, axis, keepdims, correction=correction)


def std(x: Any, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Standard deviation, the square root of :func:`var`."""
    return _fold(functions.std, x, axis, keepdims, correction=correction)


def min(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Smallest element, NaN if there is one; of the input's dtype, otherwise as :func:`sum`.

    Raises
    ------
    EmptyError
        ``A308``: no elements are folded.
    """
    return _fold(functions.min, x, axis, keepdims)


def max(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Largest element; otherwise as :func:`min`."""
    return _fold(functions.max, x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index of the first smallest element, or of the first NaN, along one axis or in C order.

    Raises
    ------
    ArgumentTypeError
        ``A314``: several axes, for which the standard has no index.
    EmptyError
        ``A308``: no elements are folded.
    """
    return _fold(functions.argmin, x, _one_axis("argmin", axis), keepdims)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Index of the first largest element; otherwise as :func:`argmin`."""
    return _fold(functions.argmax, x, _one_axis("argmax", axis), keepdims)


def any(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Whether any element is not zero; NaN is not.  False without elements."""
    return _fold(functions.any, x, axis, keepdims)


def all(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Whether all elements are not zero; NaN is not.  True without elements."""
    return _fold(functions.all, x, axis, keepdims)


def count_nonzero(x: Any, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Number of elements that are not zero, in the default integer dtype."""
    return _fold(functions.count_nonzero, x, axis, keepdims)


def wrap(namespace: Any) -> ModuleType:
    """Return a namespace of the standard whose reductions are these, and all else another's.

    Parameters
    ----------
    namespace : module
        Of the standard: ``numpy``, ``array_api_compat.torch``, ``jax.numpy``, ``cupy``.

    Returns
    -------
    module
        Its ``__array_api_version__`` is that of the given one.

    Raises
    ------
    ArgumentTypeError
        ``A315``: it makes no arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from axisfold import array_api
    >>> xp = array_api.wrap(np)
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    array([4, 6])
    """
    if not callable(getattr(namespace, "asarray", None)):
        raise ArgumentTypeError(
            f"wrap: {namespace!r} is no namespace of the array API: it has no asarray().",
            code="A315",
            hint="Pass a module, such as numpy or array_api_compat.torch.",
        )
    return _Wrapped(namespace)


class _Wrapped(ModuleType):
    """A module, so that it can also be put into ``sys.modules`` and imported by name."""

    def __init__(self, namespace: Any) -> None:
        of = getattr(namespace, "__name__", type(namespace).__name__)
        super().__init__(f"axisfold.array_api.wrap({of})", wrap.__doc__)
        self._namespace = namespace
        for name in REDUCTIONS:
            setattr(self, name, globals()[name])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._namespace, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._namespace), *REDUCTIONS})


def _fold(function: Callable[..., Any], x: Any, axis: Any, keepdims: Any, **options: Any) -> Any:
    """Call a reduction with an array."""
    if not (hasattr(x, "dtype") and hasattr(x, "shape")):
        raise ArgumentTypeError(
            f"array_api.{function.__name__}: x={x!r} is no array: it has no dtype and shape.",
            code="A313",
            hint="Make an array of it, as by asarray(x); the functions of axisfold take lists too.",
        )
    return function(x, axis=axis, keepdims=keepdims, **options)


def _summed(x: Any, dtype: Any) -> dict[str, Any]:
    """Return the dtype to ask a sum for, where the one that its library prefers is another.

    PyTorch's sums of unsigned elements are signed, the standard's are not.
    """
    if dtype is not None:
        return {"dtype": dtype}
    # Words that PyTorch's compiler can follow.
    is_unsigned = type(x) is not np.ndarray and str(getattr(x, "dtype", "")).startswith(
        "torch.uint"
    )
    return {"dtype": "uint64"} if is_unsigned else {}


def _one_axis(function: str, axis: Any) -> Any:
    if isinstance(axis, tuple):
        raise ArgumentTypeError(
            f"array_api.{function}: axis={axis!r} is a tuple, but the array API has indices along "
            "one axis only.",
            code="A314",
            hint=f"Use an integer or None; axisfold.{function} takes several axes.",
        )
    return axis
