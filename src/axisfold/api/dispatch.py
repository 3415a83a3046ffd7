# SPDX-License-Identifier: Apache-2.0
"""From a call to a launch: a dictionary look-up when the signature was seen before."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axisfold.api.arguments import as_array, member_of, wanted_dtype
from axisfold.api.catalog import Row
from axisfold.api.device import run_on_device
from axisfold.api.fold import Launch, Layout, Planned, bind, plan_fold
from axisfold.api.patterns import apply_pattern
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError, KeywordError
from axisfold.plan.planner import HOST
from axisfold.runtime.placement import is_on_gpu
from axisfold.target import Target
from axisfold.tensor.reducer import Reducer

MAX_SIGNATURES: Final = 4096

_launches: dict[Hashable, Launch] = {}


def _remember(key: Hashable, launch: Launch) -> None:
    """Keep a launch; a program of endlessly many shapes starts over now and then."""
    if len(_launches) >= MAX_SIGNATURES:
        _launches.clear()
    _launches[key] = launch


def make_function(row: Row) -> Callable[..., Any]:
    """Return the function of a row of the catalogue."""
    if row.takes_correction:

        def with_correction(
            x: Any,
            axis: Any = None,
            keepdims: bool = False,
            dtype: Any = None,
            *,
            correction: float = 0,
            ddof: float | None = None,
        ) -> Any:
            freedom = _correction(row, correction, ddof)
            return reduce_named(row, x, axis, keepdims, dtype, freedom)

        function: Callable[..., Any] = with_correction
    elif row.takes_dtype:

        def with_dtype(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
            return reduce_named(row, x, axis, keepdims, dtype)

        function = with_dtype
    else:

        def plain(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return reduce_named(row, x, axis, keepdims, None)

        function = plain
    function.__name__ = function.__qualname__ = row.name
    function.__module__ = "axisfold"
    function.__doc__ = _docstring(row)
    return function


def _correction(row: Row, correction: Any, ddof: Any) -> float:
    """Return what is taken off the degrees of freedom, whichever name it was given by.

    Raises
    ------
    ArgumentError
        ``A311``: both names were used, or the value is no finite number.
    """
    if ddof is not None and correction:
        raise ArgumentError(
            f"{row.name} was given both correction={correction!r} and ddof={ddof!r}.",
            code="A311",
            hint="They are two names of one number: give one.",
        )
    given = correction if ddof is None else ddof
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentError(
            f"{row.name}: {given!r} is no finite number to take off the degrees of freedom.",
            code="A311",
            hint="Use 0 for the variance of a population, 1 for that of a sample.",
        )
    return value


def reduce_named(
    row: Row, x: Any, axis: Any, keepdims: bool, dtype: Any, correction: float = 0.0
) -> Any:
    """Run a named reduction."""
    if type(x) is np.ndarray:
        key = (row.name, x.dtype, x.shape, x.strides, _axis_key(axis), keepdims, dtype, correction)
        try:
            launch = _launches.get(key)
        except TypeError:  # a list of axes, or an axis that the slow path refuses
            return _first(row, x, axis, keepdims, dtype, correction)(x)
        if launch is not None:
            return launch(x)
        array = as_array(x)
        launch = _first(row, array, axis, keepdims, dtype, correction)
        if array is x:
            _remember(key, launch)
        return launch(array)
    if is_on_gpu(x):
        call = (row.name, _axis_key(axis), keepdims, dtype, correction)
        plan = partial(_plan_named, row, axis, dtype, correction)
        return run_on_device(call, (x,), plan, bool(keepdims))
    array = as_array(x)
    return _first(row, array, axis, keepdims, dtype, correction)(array)


def _axis_key(axis: Any) -> Hashable:
    """Tell 1 from True and 1.0, which are one key to a dictionary."""
    return (axis, *map(type, axis)) if type(axis) is tuple else (axis, type(axis))


def _first(row: Row, x: Any, axis: Any, keepdims: bool, dtype: Any, correction: float) -> Launch:
    return bind([x], _plan_named(row, axis, dtype, correction, [x]), bool(keepdims))


def _plan_named(
    row: Row,
    axis: Any,
    dtype: Any,
    correction: float,
    arrays: Sequence[Layout],
    target: Target = HOST,
) -> Planned:
    options = {"correction": correction} if row.takes_correction else {}
    element = parse(arrays[0].dtype)
    member, needs = member_of(row.name, element, wanted_dtype(dtype), **options)
    return plan_fold(arrays, [member], axis, [row.name] if needs else [], target)


def fold(
    x: Any,
    reducer: Any,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = None,
    **sizes: int,
) -> Any:
    """Fold arrays with any reducer.

    Parameters
    ----------
    x : array_like or tuple of array_like
        Input of shape ``(*kept, *folded)`` in any order of axes and any strides, on the host or on
        a CUDA device; a tuple is several inputs, broadcast against each other.
    reducer : str, Reducer, or list of these
        Name of a reduction of the catalogue, or your own.  A list is folded in one read of
        memory and gives a named tuple of results.
    axis : None, int, tuple of int, or str
        Folded axes; None for all, ``()`` for none (each element is folded by itself).  A pattern
        names all axes of the inputs, and after ``->`` those to keep: ``"b h w c -> b c"``.
    keepdims : bool
        Leave the folded axes in the result with extent 1.
    dtype : dtype-like
        Dtype of the result, where the reduction has a choice.
    **sizes : int
        Extents of axes that a pattern names, where an axis of an input is split into several:
        ``"b (h p) -> b h", p=2``.

    Returns
    -------
    numpy.ndarray or scalar, or a named tuple of them
        Of the kept axes' shape.  Floating results of a Reducer take the input's float dtype.
        Of inputs on a CUDA device, arrays of the same library on that device, also of no axes;
        the work is put on the library's current stream, and nothing waits for it.

    Raises
    ------
    ArgumentError
        ``A304`` no array, ``A305`` unknown reduction, ``A306`` no reducer, ``A309`` a masked
        array, ``A310`` no input, ``A331`` a pattern that cannot be read, ``A334`` arguments that
        do not go with a pattern.
    AxisError
        ``A301`` out of range, ``A302`` named twice, ``A303`` not an integer, ``A332`` a name of
        a pattern that stands for no axis.
    DTypeError
        ``D101`` unsupported dtype, ``D301`` no such reduction of complex elements.
    EmptyError
        ``A308``: a reduction without identity folds no elements.
    KeywordError
        ``A335``: an unknown keyword argument.
    ReducerError
        The reducer does not fit the inputs.
    ShapeError
        ``A307`` inputs that do not broadcast, ``A333`` an extent that does not fit a pattern.

    Examples
    --------
    >>> import numpy as np, axisfold
    >>> axisfold.fold(np.arange(6.0).reshape(2, 3), ["min", "max"], axis=1)
    FoldResult(min=array([0., 3.]), max=array([2., 5.]))
    >>> axisfold.fold(np.arange(12.0).reshape(1, 3, 4), "sum", "batch h (w p) -> w h", p=2)
    array([[ 1.,  9., 17.],
           [ 5., 13., 21.]])
    """
    if isinstance(axis, str):
        views, recipe = apply_pattern(axis, x if isinstance(x, tuple) else (x,), sizes)
        if keepdims:
            raise _no_keepdims(axis)
        return recipe.arrange(fold(views, reducer, recipe.axes, dtype=dtype))
    if sizes:
        raise _unknown_keyword(sizes)
    inputs = x if isinstance(x, tuple) else (x,)
    items = list(reducer) if isinstance(reducer, list) else [reducer]
    if not items:
        raise ArgumentError(
            "fold was given no reducer.", code="A306", hint="Pass a name or a Reducer."
        )
    if not inputs:
        raise ArgumentError(
            "fold was given no input.", code="A310", hint="Pass an array or a tuple of arrays."
        )
    is_list = isinstance(reducer, list)
    if any(is_on_gpu(v) for v in inputs):
        call = (tuple(items), is_list, _axis_key(axis), keepdims, dtype)
        plan = partial(_plan_fold, items, axis, dtype)
        return run_on_device(call, inputs, plan, bool(keepdims), as_tuple=is_list)
    key = _fold_key(inputs, items, is_list, axis, keepdims, dtype)
    launch = None if key is None else _launches.get(key)
    if launch is not None:
        return launch(*inputs)
    arrays = [as_array(v, f"input {n}") for n, v in enumerate(inputs)]
    planned = _plan_fold(items, axis, dtype, arrays)
    launch = bind(arrays, planned, bool(keepdims), as_tuple=is_list)
    if key is not None and all(a is b for a, b in zip(arrays, inputs, strict=True)):
        _remember(key, launch)
    return launch(*arrays)


def _no_keepdims(pattern: str) -> ArgumentError:
    return ArgumentError(
        f"fold was given keepdims=True and the pattern {pattern!r}.",
        code="A334",
        hint="The pattern says which axes stay: write 1 in the place of a folded one.",
    )


def _unknown_keyword(sizes: dict[str, int]) -> KeywordError:
    name = next(iter(sizes))
    return KeywordError(
        f"fold has no argument {name!r}, and its axes are not given by a pattern, in which "
        f"{name}={sizes[name]!r} were the extent of an axis.",
        code="A335",
        hint='A pattern is a string such as "b (h p) -> b h".',
    )


def _fold_key(
    inputs: Sequence[Any],
    items: Sequence[Any],
    is_list: bool,
    axis: Any,
    keepdims: bool,
    dtype: Any,
) -> Hashable | None:
    """Return the signature of a call, None if it cannot be remembered."""
    if not all(type(v) is np.ndarray for v in inputs):
        return None
    if not all(isinstance(i, (str, Reducer)) for i in items):
        return None
    layouts = tuple((v.dtype, v.shape, v.strides) for v in inputs)
    key = (layouts, tuple(items), is_list, _axis_key(axis), keepdims, dtype)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _plan_fold(
    items: Sequence[Any], axis: Any, dtype: Any, arrays: Sequence[Layout], target: Target = HOST
) -> Planned:
    wanted = wanted_dtype(dtype)
    chosen = [member_of(item, parse(arrays[0].dtype), wanted) for item in items]
    needs = [item for item, (_, needed) in zip(items, chosen, strict=True) if needed]
    return plan_fold(arrays, [m for m, _ in chosen], axis, needs, target)


def _docstring(row: Row) -> str:
    dtype_entry = (
        "dtype : dtype-like\n    Dtype to convert elements to, and of the result.\n"
        if row.takes_dtype
        else ""
    )
    correction_entry = (
        "correction, ddof : float\n"
        "    Two names of what is taken off the number of elements: 0 for a population, 1 for a\n"
        "    sample.  NaN where nothing is left.\n"
        if row.takes_correction
        else ""
    )
    empty = (
        "EmptyError\n    ``A308``: no elements are folded into an element of the result.\n"
        if row.needs_elements
        else ""
    )
    return f"""{row.summary}

Parameters
----------
x : array_like
    Input of any strides and order.
axis : None, int or tuple of int
    Folded axes; None for all, ``()`` for none.
keepdims : bool
    Leave the folded axes in the result with extent 1.
{dtype_entry}{correction_entry}
Returns
-------
numpy.ndarray or scalar
    Of the kept axes' shape, in NumPy's dtype.  Of an input on a CUDA device, an array of the same
    library there, also of no axes.

Raises
------
AxisError
    ``A301`` out of range, ``A302`` named twice, ``A303`` not an integer.
DTypeError
    ``D101``: dtype not supported.
{empty}"""
