# SPDX-License-Identifier: Apache-2.0
"""Reducers of smallest and largest elements, and of where they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from axisfold.dtypes import FLOAT32, INT64, DType, highest, lowest
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer

FIRST_INDEX_OF_NONE: Final = highest(INT64)


def _better_first(
    wins: Callable[[Any, Any], Any], *, passes_nan: bool = False
) -> Callable[[Any, Any], Any]:
    """Keep the state that wins, and the smaller index among equals; NaN is above all or below."""

    def combine(a: Any, b: Any) -> Any:
        tie = te.any(te.same(a.v, b.v), te.all(te.isnan(a.v), te.isnan(b.v)))
        better, worse = (a.v, b.v) if passes_nan else (b.v, a.v)
        ahead = te.any(wins(b.v, a.v), te.all(te.isnan(better), ~te.isnan(worse)))
        take_b = te.any(ahead, te.all(tie, b.i < a.i))
        return {"i": te.select(take_b, b.i, a.i), "v": te.select(take_b, b.v, a.v)}

    return combine


def _greater(a: Any, b: Any) -> Any:
    return te.less(b, a)


def _is_none(a: Any) -> Any:
    """Whether a state is of no element."""
    return te.same(a.i, FIRST_INDEX_OF_NONE)


def _held(x: Any) -> Any:
    return te.cast(FLOAT32, x) if x.dtype.is_half else x


# No 16-bit float.
_NO_HALF: Final = 1.0 + 2.0**-23


def _is_best(x: Any, best: Any) -> Any:
    """Whether x is the best value: any NaN is, where there is one."""
    return te.any(te.same(x, best), te.isnan(x))


def _is_best_half(x: Any, best: Any) -> Any:
    """The same of a 16-bit float as float32, by one comparison: neither less nor greater."""
    value = te.select(te.isnan(best), _NO_HALF, best)
    return te.all(~(x < value), ~(x > value))


def _first_in_tile(
    identity: Callable[[DType], Any],
    wins: Callable[[Any, Any], Any],
    is_behind: Callable[[Any, Any], Any],
    better: Callable[[Any, Any], Any],
) -> Callable[[Any], Any]:
    """Find the best value of a run, and the first element that is it."""

    def takes(x: Any, v: Any) -> Any:
        """Whether x wins, or is the first NaN."""
        return te.all(~is_behind(x, v), ~te.isnan(v))

    def tile(t: Any) -> Any:
        if t.is_complex or t.is_masked:
            return None  # parts have no order of their own, and the first may not count
        combine, is_best = _better_first(wins), _is_best_half if t.dtype.is_half else _is_best
        index, best = t.first_best(_held, identity, takes, combine, better, is_best)
        t.later(lambda a: te.any(takes(te.cast(a.v.dtype, best), a.v), _is_none(a)))
        return {"i": index, "v": best}

    return tile


def _largest(dtype: DType) -> Any:
    return complex(highest_part(dtype), highest_part(dtype)) if dtype.is_complex else highest(dtype)


def _least(dtype: DType) -> Any:
    return (
        complex(-highest_part(dtype), -highest_part(dtype)) if dtype.is_complex else lowest(dtype)
    )


def highest_part(dtype: DType) -> float:
    """Return the identity of min for each part of a complex dtype."""
    return float(highest(DType("float", dtype.bits // 2)))


MIN = Reducer(
    "min",
    state={"v": "input"},
    identity=_largest,
    lift=lambda x: x,
    combine=lambda a, b: te.minimum(a.v, b.v),
    facts=("idempotent", "exact"),
    absorbing=lambda dtype: False if dtype.is_bool else None,
)
MAX = Reducer(
    "max",
    state={"v": "input"},
    identity=_least,
    lift=lambda x: x,
    combine=lambda a, b: te.maximum(a.v, b.v),
    facts=("idempotent", "exact"),
    absorbing=lambda dtype: True if dtype.is_bool else None,
)
ARGMIN = Reducer(
    "argmin",
    state={"i": "int64", "v": "held"},
    identity={"i": FIRST_INDEX_OF_NONE, "v": _largest},
    lift=lambda x, index: {"i": index, "v": x},
    combine=_better_first(te.less),
    tile=_first_in_tile(highest, te.less, lambda x, v: x >= v, te.minimum),
    finalize=lambda a: a.i,
    facts=("idempotent", "exact"),
)
ARGMAX = Reducer(
    "argmax",
    state={"i": "int64", "v": "held"},
    identity={"i": FIRST_INDEX_OF_NONE, "v": _least},
    lift=lambda x, index: {"i": index, "v": x},
    combine=_better_first(_greater),
    tile=_first_in_tile(lowest, _greater, lambda x, v: x <= v, te.maximum),
    finalize=lambda a: a.i,
    facts=("idempotent", "exact"),
)


def _first_where(is_it: Callable[[Any], Any], arg: Reducer) -> Reducer:
    """Return the reducer of the index of the first truth value that is wanted, 0 without one."""

    def where(x: Any, index: Any) -> Any:
        return te.select(is_it(x), index, FIRST_INDEX_OF_NONE)

    def tile(t: Any) -> Any:
        found = None if arg.tile is None else arg.tile(t)
        if found is None:
            return None
        t.later(lambda a: te.all(is_it(found["v"]), _is_none(a)))
        return {"i": where(found["v"], found["i"])}

    return Reducer(
        arg.name,
        state={"i": "int64"},
        identity={"i": FIRST_INDEX_OF_NONE},
        lift=where,
        combine=lambda a, b: te.minimum(a.i, b.i),
        tile=tile,
        finalize=lambda a: te.select(_is_none(a), 0, a.i),
        facts=("idempotent", "exact", "first"),
    )


FIRST_FALSE = _first_where(lambda x: ~x, ARGMIN)
FIRST_TRUE = _first_where(lambda x: x, ARGMAX)


def _or_none(a: Any) -> Any:
    """The index, -1 where no element was folded."""
    return te.select(_is_none(a), -1, a.i)


def _partial(arg: Reducer) -> Reducer:
    """Return the reducer of an index where elements may be passed over."""
    return Reducer(
        arg.name,
        state=arg.state,
        identity=arg.identity,
        lift=arg.lift,
        combine=arg.combine,
        finalize=_or_none,
        facts=arg.facts,
    )


PARTIAL_ARGMIN = _partial(ARGMIN)
PARTIAL_ARGMAX = _partial(ARGMAX)


def _number(value: Any, other: Any) -> Any:
    """The value, or the other one if that is a NaN."""
    return te.select(te.isnan(value), other, value)


def _nan_or(bound: Callable[[DType], Any]) -> Callable[[DType], Any]:
    """The identity among values of which NaN are passed over."""

    def identity(dtype: DType) -> Any:
        if dtype.is_complex:
            return complex(math.nan, math.nan)
        return math.nan if dtype.is_float else bound(dtype)

    return identity


def _first_number_in_tile(
    identity: Callable[[DType], Any],
    wins: Callable[[Any, Any], Any],
    is_behind: Callable[[Any, Any], Any],
) -> Callable[[Any], Any]:
    """Find the best number of a run, and the first element that is it; it starts from NaN."""

    def takes(x: Any, v: Any) -> Any:
        """Whether x is a number that wins, or the first one."""
        return te.all(~is_behind(x, v), ~te.isnan(x))

    def better(a: Any, b: Any) -> Any:
        return te.select(takes(b, a), b, a)

    def tile(t: Any) -> Any:
        if t.is_complex or t.is_masked:
            return None  # parts have no order of their own, and the first may not count
        combine = _better_first(wins, passes_nan=True)
        start = _nan_or(identity)
        index, best = t.first_best(_held, start, takes, combine, better, te.same)
        t.later(lambda a: takes(te.cast(a.v.dtype, best), a.v))
        return {"i": te.select(te.isnan(best), FIRST_INDEX_OF_NONE, index), "v": best}

    return tile


def _nan_arg(
    arg: Reducer, identity: Any, wins: Callable[[Any, Any], Any], tile: Callable[[Any], Any]
) -> Reducer:
    """Return the reducer of an index that passes over NaN."""
    return Reducer(
        f"nan{arg.name}",
        state=arg.state,
        identity={"i": FIRST_INDEX_OF_NONE, "v": identity},
        lift=lambda x, index: {"i": te.select(te.isnan(x), FIRST_INDEX_OF_NONE, index), "v": x},
        combine=_better_first(wins, passes_nan=True),
        tile=tile,
        finalize=_or_none,
        facts=arg.facts,
    )


NANARGMIN = _nan_arg(
    ARGMIN,
    _nan_or(_largest),
    te.less,
    _first_number_in_tile(highest, te.less, lambda x, v: x >= v),
)
NANARGMAX = _nan_arg(
    ARGMAX,
    _nan_or(_least),
    _greater,
    _first_number_in_tile(lowest, _greater, lambda x, v: x <= v),
)
NANMIN = Reducer(
    "nanmin",
    state={"v": "input"},
    identity=_nan_or(highest),
    lift=lambda x: x,
    combine=lambda a, b: te.minimum(_number(a.v, b.v), _number(b.v, a.v)),
    facts=("idempotent", "exact"),
)
NANMAX = Reducer(
    "nanmax",
    state={"v": "input"},
    identity=_nan_or(lowest),
    lift=lambda x: x,
    combine=lambda a, b: te.maximum(_number(a.v, b.v), _number(b.v, a.v)),
    facts=("idempotent", "exact"),
)


def _both(name: str, finalize: Callable[[Any], Any]) -> Reducer:
    return Reducer(
        name,
        state={"low": "input", "high": "input"},
        identity={"low": _largest, "high": _least},
        lift=lambda x: {"low": x, "high": x},
        combine=lambda a, b: {
            "low": te.minimum(a.low, b.low),
            "high": te.maximum(a.high, b.high),
        },
        finalize=finalize,
        facts=("idempotent", "exact"),
    )


PTP = _both("ptp", lambda a: a.high - a.low)
MINMAX = _both("minmax", lambda a: {"min": a.low, "max": a.high})
