# SPDX-License-Identifier: Apache-2.0
"""From a call to a launch: a dictionary look-up when the signature was seen before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from axisfold.api import gradients
from axisfold.api.arguments import item_of, member_of, wanted_dtype
from axisfold.api.catalog import Row
from axisfold.api.catalog.parameters import python_signature
from axisfold.api.checked import checked_keepdims, checked_min_count
from axisfold.api.docstrings import docstring
from axisfold.api.entries import teach
from axisfold.api.finish import checks_of, packer_of
from axisfold.api.fold import Layout, Planned, plan_fold
from axisfold.api.gradients import is_compiling
from axisfold.api.launches import launches, run_planned
from axisfold.api.options import (
    NO_OPERANDS,
    Operands,
    Request,
    axis_key,
    named_call,
    remembered,
)
from axisfold.api.patterns import apply_pattern
from axisfold.api.weights import weights_beside
from axisfold.errors import ArgumentError, KeywordError
from axisfold.interop import numpy
from axisfold.interop.libraries import library_of
from axisfold.interop.views import Library
from axisfold.plan.planner import HOST
from axisfold.target import Target
from axisfold.tensor.float8 import element_of, value_dtype


def make_function(row: Row) -> Callable[..., Any]:
    """Return the function of a row of the catalogue.

    A call of an array's own type with no other options than ``axis`` and ``keepdims`` is a
    dictionary look-up and a launch; all others are put in order by :func:`named_call` first.
    """
    name = row.name
    axis_is_first = row.signature.startswith("axis")

    def function(
        x: Any, *args: Any, axis: Any = None, keepdims: Any = False, **options: Any
    ) -> Any:
        if len(args) == 1 and axis is None and axis_is_first:
            axis, args = args[0], ()
        if type(x) is not np.ndarray and is_compiling():
            return gradients.compile_named(name, x, args, axis, keepdims, options)
        if args or options:
            return run_named(row, x, args, axis, keepdims, options)
        kind = type(axis)  # as axis_key, which is called for tuples only: this counts
        known = axis_key(axis) if kind is tuple else (axis, kind)
        call = (name, known, keepdims, type(keepdims))
        quick = library_of(x).quick_key(x)
        if quick is not None:
            try:
                launch = launches.get((call, quick[0]))
            except TypeError:  # no key: an array of one integer, or what the slow path refuses
                return run_named(row, x, args, axis, keepdims, options)
            if launch is not None:
                return launch.one(x, quick[1])
        request, _ = named_call(row, (), axis, keepdims, options)
        if library_of(x).is_watched(x):
            return gradients.record(request, (x,), NO_OPERANDS)
        result = run_planned(request, (x,), NO_OPERANDS, call, partial(plan_request, request))
        if quick is not None:
            teach(name, x, axis, keepdims, launches.get((call, quick[0])))
        return result

    function.__name__ = function.__qualname__ = name
    function.__module__ = "axisfold"
    function.__doc__ = docstring(row)
    function.__signature__ = python_signature(row.signature)  # type: ignore[attr-defined]
    return function


def run_named(
    row: Row, x: Any, args: Sequence[Any], axis: Any, keepdims: Any, options: Mapping[str, Any]
) -> Any:
    """Run a named reduction with any of its arguments."""
    request, operands = named_call(row, args, axis, keepdims, options)
    return run(request, (x,), operands)


def all_inputs(request: Request, inputs: Sequence[Any], operands: Operands) -> tuple[Any, ...]:
    """Return all that a kernel folds: the inputs, weights, a mean, a mask."""
    found = tuple(inputs)
    if operands.weights is not None:
        x = found[0] if hasattr(found[0], "shape") else numpy.resolved("x", found[0])
        found = (x, weights_beside(x, operands.weights, request.axis))
    if operands.mean is not None:
        found = (*found, operands.mean)
    return found if operands.where is None else (*found, operands.where)


def run(request: Request, inputs: Sequence[Any], operands: Operands = NO_OPERANDS) -> Any:
    """Run a request on arrays, on the device where they are.

    Parameters
    ----------
    request
        What is folded, and how.
    inputs
        Arrays; what was given, not yet checked.
    operands
        The other arrays of the call.
    """
    given = all_inputs(request, inputs, operands)
    if any(library_of(x).is_watched(x) for x in given):
        return gradients.record(request, given, operands)
    return run_unwatched(request, given, operands)


def run_unwatched(request: Request, inputs: Sequence[Any], operands: Operands = NO_OPERANDS) -> Any:
    """As :func:`run`, of arrays that no gradient or trace depends on; a mask is the last one."""
    return run_planned(request, inputs, operands, request.key, partial(plan_request, request))


def plan_request(
    request: Request,
    arrays: Sequence[Layout],
    target: Target = HOST,
    library: Library = numpy,
) -> Planned:
    """Plan a request for arrays, of which only dtypes, shapes and strides count.

    Parameters
    ----------
    request
        What is folded, and how.
    arrays
        Inputs; the last one is the mask, if there is one.
    target
        What the kernel is for.
    library
        Whose results are wanted.

    Raises
    ------
    ArgumentError
        ``A344``: ``where`` may pass over everything, and there is no initial value.
    """
    wanted = wanted_dtype(request.dtype)
    own = arrays[:-1] if request.is_masked else arrays
    dtypes = [value_dtype(element_of(a.dtype)) for a in own]
    members = [member_of(item, dtypes, wanted, request) for item in request.items]
    needs = [
        item.row.name
        for item in request.items
        if item.row is not None and item.needs_elements and not request.has_initial
    ]
    if request.is_masked:
        _check_initial(request)
    fit = library.result_dtype if wanted is None else None
    planned = plan_fold(
        arrays, members, request.axis, needs, target, fit=fit, is_masked=request.is_masked
    )
    traced = planned.traced
    checks = checks_of(request.items, members, traced.widths, is_masked=request.is_masked)
    return replace(planned, pack=packer_of(request, traced.results), checks=checks)


def _check_initial(request: Request) -> None:
    for item in request.items:
        if item.row is not None and item.needs_elements and item.row.check is None:
            if request.has_initial:
                return
            raise ArgumentError(
                f"{item.row.name} has no value if where= passes over all elements of a result.",
                code="A344",
                hint="Give one with initial=.",
            )


def fold(
    x: Any,
    reducer: Any,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = None,
    *,
    out: Any = None,
    where: Any = True,
    initial: Any = None,
    min_count: int = 0,
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
    out : array, or tuple of arrays
        Arrays to write the results into, one for each; None in a tuple makes a new one.
    where : array of bool
        Elements to fold, broadcast to the input; the others are passed over.
    initial : scalar, or tuple of scalars for several inputs
        One more element, lifted and combined with the others, but not counted.  Reductions of
        the catalogue take it in the dtype of their result, a Reducer in that of the input.
    min_count : int
        Results are NaN where fewer elements were folded; integers have none and are refused where
        there may be fewer.
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
        ``A301`` out of range, ``A302`` named twice.
    ArgumentTypeError
        ``A303`` an axis that is no integer, ``A341`` keepdims that is no truth value.
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
    operands = Operands(None if where is True else where, initial, out)
    if isinstance(axis, str):
        if checked_keepdims("fold", keepdims):
            raise _no_keepdims(axis)
        return _fold_pattern(x, reducer, axis, sizes, operands, dtype=dtype, min_count=min_count)
    if sizes:
        raise _unknown_keyword(sizes)
    inputs = x if isinstance(x, tuple) else (x,)
    if not inputs:
        raise ArgumentError(
            "fold was given no input.", code="A310", hint="Pass an array or a tuple of arrays."
        )
    is_list = isinstance(reducer, list)
    reducers = reducer if is_list else [reducer]
    call = (is_list, axis, keepdims, dtype, min_count)
    if is_compiling():
        return gradients.compile_fold(inputs, reducers, operands, *call)
    return run(fold_request(reducers, operands, *call), inputs, operands)


def fold_request(
    reducers: Sequence[Any],
    operands: Operands,
    is_list: bool,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    min_count: Any,
) -> Request:
    """Return the request of a call of :func:`fold`, whose errors it raises."""
    has_operands = (operands.where is not None, operands.initial is not None)
    options = map(axis_key, (axis, keepdims, dtype, min_count))

    def make() -> Request:
        items = tuple(item_of(item) for item in reducers)
        if not items:
            raise ArgumentError(
                "fold was given no reducer.", code="A306", hint="Pass a name or a Reducer."
            )
        keep, least = checked_keepdims("fold", keepdims), checked_min_count("fold", min_count)
        return Request("fold", items, is_list, axis, keep, dtype, *has_operands, least)

    return remembered(("fold", *reducers, is_list, *options, *has_operands), make)


def _fold_pattern(
    x: Any, reducer: Any, pattern: str, sizes: Mapping[str, int], given: Operands, **options: Any
) -> Any:
    """Fold the views that a pattern tells, and arrange the results as it says."""
    views, recipe = apply_pattern(pattern, x if isinstance(x, tuple) else (x,), sizes)
    where = True if given.where is None else recipe.mask(given.where)
    out = None if given.out is None else recipe.target(given.out)
    result = fold(
        views, reducer, recipe.axes, out=out, where=where, initial=given.initial, **options
    )
    if given.out is None:
        return recipe.arrange(result)
    if not isinstance(given.out, tuple):
        return given.out
    made = zip(result, given.out, strict=True)
    return type(result)(*(recipe.arrange(r) if o is None else o for r, o in made))


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
