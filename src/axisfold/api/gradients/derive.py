# SPDX-License-Identifier: Apache-2.0
"""Gradients of Reducers: the author's own, or derived from lift, combine and finalize.

A gradient can be derived where ``combine`` treats each field by itself, as a sum, a product, a
minimum or a maximum of the two states' values.  A field is then a fold of what ``lift`` made of
each element, and the chain rule goes from the results through ``finalize``, the fold and ``lift``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import add, mul
from types import SimpleNamespace
from typing import Any, Final, Literal

from axisfold.api.gradients.differentiate import Library, NotDerivable, derivative, evaluate
from axisfold.api.gradients.rules import Fold, broadcast, product_of_others, shared
from axisfold.dtypes import FLOAT64
from axisfold.errors import ReducerError
from axisfold.ir.expr import Binary, Expr, Var
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.trace import Member, Traced, trace

FieldFold = Literal["add", "mul", "min", "max"]
# Compensated sums are a matter of rounding: their derivative is that of the plain sum.
_PLAIN: Final = {"compensated": "acc", "compensated_real": "acc"}


@dataclass(frozen=True, slots=True)
class Derived:
    """What the chain rule needs of a reducer.

    Attributes
    ----------
    traced
        The reducer on float64 elements, with plain fields.
    folds
        How each field is folded.
    lift_slopes
        For each field the derivative of its lifted value by each input, None where it is 0.
    result_slopes
        For each result its derivative by each field, None where it is 0.
    """

    traced: Traced
    folds: tuple[FieldFold, ...]
    lift_slopes: tuple[tuple[Expr | None, ...], ...]
    result_slopes: tuple[tuple[Expr | None, ...], ...]


def reducer_gradient(reducer: Reducer, f: Fold, library: Library) -> tuple[Any, ...]:
    """Return the gradient by each input.

    Raises
    ------
    ReducerError
        ``R130``: none was given and none can be derived; ``R131``: the one given returned what
        does not fit.
    """
    if reducer.gradient is not None:
        return _given(reducer, reducer.gradient, f)
    if reducer.spread is not None:
        raise _no_gradient(reducer, "its spread makes results of the elements too")
    if any("complex" in str(x.dtype) for x in f.inputs):
        raise _no_gradient(reducer, "its elements are complex")
    try:
        return _chain(derived(reducer), f, library)
    except NotDerivable as reason:
        raise _no_gradient(reducer, str(reason)) from None


def _no_gradient(reducer: Reducer, reason: str) -> ReducerError:
    names = ", ".join(reducer.input_names)
    returned = "by x" if len(reducer.input_names) == 1 else f"as a tuple, by {names}"
    return ReducerError(
        f"reducer {reducer.name!r} has no gradient: {reason}, so that none can be derived.",
        code="R130",
        hint=f"Give one: Reducer(…, gradient=lambda {names}, result, upstream: …), which returns "
        f"the gradient {returned}.",
    )


def _given(reducer: Reducer, function: Callable[..., Any], f: Fold) -> tuple[Any, ...]:
    """Call the author's own gradient."""
    extra = {"xp": f.xp, "axis": f.axes, "count": f.count, "where": f.mask}
    wanted = inspect.signature(function).parameters
    if reducer.spread is not None and f.mask is not None and "where" not in wanted:
        raise ReducerError(
            f"gradient of reducer {reducer.name!r} takes no where, but where= was given: elements "
            "that are not folded have results too.",
            code="R130",
            hint="Let the gradient take where: which elements are folded, None for all.",
        )
    names = result_names(reducer)
    result, upstream = (
        values[0] if names == ("",) else SimpleNamespace(**dict(zip(names, values, strict=True)))
        for values in (f.results, f.upstream)
    )
    given = function(*f.inputs, result, upstream, **{n: v for n, v in extra.items() if n in wanted})
    found = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if len(found) != len(f.inputs):
        raise ReducerError(
            f"gradient of reducer {reducer.name!r} returned {len(found)} values for "
            f"{len(f.inputs)} inputs.",
            code="R131",
            hint="Return one gradient for each input, in a tuple.",
        )
    return found


@lru_cache(maxsize=256)
def derived(reducer: Reducer) -> Derived:
    """Derive what the chain rule needs.

    Raises
    ------
    NotDerivable
        The text says why.
    """
    state = {field: _PLAIN.get(spec, spec) for field, spec in reducer.state.items()}
    plain = Reducer(
        reducer.name, state, reducer.identity, reducer.lift, reducer.combine, reducer.finalize
    )
    traced = trace([Member(plain)], [FLOAT64] * len(reducer.input_names))
    combiner = traced.combiner
    triples = zip(combiner.lhs, combiner.rhs, combiner.result, strict=True)
    folds = tuple(_fold_of(field, *t) for field, t in zip(reducer.state, triples, strict=True))
    elements = [element for (element,) in traced.elements]
    return Derived(
        traced,
        folds,
        tuple(tuple(derivative(e, x) for x in elements) for e in traced.lifted),
        tuple(
            tuple(derivative(r.parts[0], v) for v in combiner.lhs) if r.dtype.is_float
            else (None,) * len(folds)
            for r in traced.results
        ),
    )  # fmt: skip


def _fold_of(field: str, lhs: Var, rhs: Var, combined: Expr) -> FieldFold:
    match combined:
        case Binary("add" | "mul" | "min" | "max" as op, a, b) if {a, b} == {lhs, rhs}:
            return op
        case _:
            raise NotDerivable(
                f"combine makes field {field!r} of more than a sum, product, minimum or maximum "
                "of the two states'"
            )


def result_names(reducer: Reducer) -> tuple[str, ...]:
    """Return the names of a reducer's results without its own name, "" for a single one."""
    results = trace([Member(reducer)], [FLOAT64] * len(reducer.input_names)).results
    return tuple(r.name[len(reducer.name) + 1 :] for r in results)


def _chain(d: Derived, f: Fold, library: Library) -> tuple[Any, ...]:
    """From the results through finalize, the fold and lift."""
    like = f.inputs[0]
    values = {v: x for (v,), x in zip(d.traced.elements, f.inputs, strict=True)}
    if d.traced.uses_index:
        values[d.traced.index] = _positions(f, library)
    lifted = _evaluate_present(d.traced.lifted, values, library, like)
    states = [
        _folded(f, fold, value, identity)
        for fold, value, identity in zip(
            d.folds, lifted, evaluate(d.traced.combiner.identity, {}, library, like), strict=True
        )
    ]
    if f.initial is not None:
        states = _with_initial(d, f, states, library)
    at_state: dict[Var, Any] = dict(zip(d.traced.combiner.lhs, states, strict=True))
    count = f.count
    at_state[d.traced.count] = library.number(count, FLOAT64, like) if f.mask is None else count
    totals: list[Any] = [0] * len(f.inputs)
    for number, fold in enumerate(d.folds):
        by_state = _upstream_of_state(d, f, number, at_state, library)
        if by_state is None:
            continue
        by_lifted = _through(f, fold, lifted[number], states[number], by_state)
        if fold == "mul" and f.initial is not None:
            by_lifted = by_lifted * _lifted_initial(d, f, library)[number]
        slopes = _evaluate_present(d.lift_slopes[number], values, library, like)
        for which, slope in enumerate(slopes):
            if slope is not None:
                totals[which] = totals[which] + by_lifted * slope
    return tuple(totals)


def _lifted_initial(d: Derived, f: Fold, library: Library) -> list[Any]:
    like = f.inputs[0]
    numbers = [library.number(value, FLOAT64, like) for value in f.initial or ()]
    values = {v: n for (v,), n in zip(d.traced.elements, numbers, strict=True)}
    return evaluate(d.traced.lifted, values, library, like)


def _with_initial(d: Derived, f: Fold, states: Sequence[Any], library: Library) -> list[Any]:
    """Merge the states with that of the value folded beside the elements."""
    merge = {"add": add, "mul": mul, "min": f.xp.minimum, "max": f.xp.maximum}
    lifted = _lifted_initial(d, f, library)
    return [merge[how](a, b) for how, a, b in zip(d.folds, states, lifted, strict=True)]


def _upstream_of_state(
    d: Derived, f: Fold, number: int, values: Mapping[Var, Any], library: Library
) -> Any:
    """The gradient by one field of the state; None if no result depends on it."""
    slopes = _evaluate_present([s[number] for s in d.result_slopes], values, library, f.inputs[0])
    parts = [g * s for g, s in zip(f.upstream, slopes, strict=True) if s is not None]
    return sum(parts[1:], parts[0]) if parts else None


def _folded(f: Fold, fold: FieldFold, value: Any, identity: Any) -> Any:
    xp = f.xp
    if f.mask is not None:
        value = xp.where(f.mask, value, identity)
    whole = broadcast(xp, value, f.shape)
    if not f.axes:
        return whole
    match fold:
        case "add":
            return xp.sum(whole, f.axes, keepdims=True)
        case "min":
            return xp.amin(whole, f.axes, keepdims=True)
        case "max":
            return xp.amax(whole, f.axes, keepdims=True)
        case "mul":
            return _product(f, whole)


def _through(f: Fold, fold: FieldFold, lifted: Any, state: Any, upstream: Any) -> Any:
    """From the gradient by a folded field to that by each lifted value."""
    match fold:
        case "add":
            return upstream
        case "mul":
            return upstream * product_of_others(f, f.folded(lifted, 1))
        case "min" | "max":
            return shared(f, lifted, state, upstream)


def _product(f: Fold, values: Any) -> Any:
    for axis in f.axes:
        values = f.xp.prod(values, axis, keepdims=True)
    return values


def _positions(f: Fold, library: Library) -> Any:
    """The C-order index of each element over the folded axes."""
    total: Any = 0
    step: Any = 1
    for axis in sorted(f.axes, reverse=True):
        extent = f.shape[axis]
        line = library.arange(extent, f.inputs[0]) * step
        total = total + line.reshape([extent if a == axis else 1 for a in range(len(f.shape))])
        step = step * extent
    return total


def _evaluate_present(
    exprs: Sequence[Expr | None], values: Mapping[Var, Any], library: Library, like: Any
) -> list[Any]:
    """As :func:`evaluate`, None for None."""
    found = iter(evaluate([e for e in exprs if e is not None], values, library, like))
    return [None if e is None else next(found) for e in exprs]
