# SPDX-License-Identifier: Apache-2.0
"""Reducers of sums of exponentials, and of what each exponential is of them.

The state is the largest element and the sum of the exponentials of all others, relative to its
own: a sum that is close to 1 keeps all of its digits in ``log1p``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from axisfold.dtypes import FLOAT16, FLOAT32, FLOAT64, INT64
from axisfold.ir import build
from axisfold.ir.intrinsics import SHORT_LIFT
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.values import two_sum

_INF = math.inf
# Whole numbers that ``te.exp_difference`` takes.
_MOST = 256.0
# Positive float32 that are summed as they are: where a logarithm follows, and where a quotient
# shows what the sum is off by.
_TERMS, _FEW = 16, 2
# Exponentials are times this, as CPUs take a hundred cycles for subnormal numbers.
_LIFT = SHORT_LIFT
# What is 0 as a float16, and no subnormal float32 when it is divided by a sum.
_LEAST = 2.0**-22


def _scale(a: Any, m: Any) -> Any:
    """``exp(a - m)`` for a <= m, and 1 where both are the same infinity."""
    return te.select(a.equal(m), 1.0, te.exp_nonpositive(a - m))


def _merge(a: Any, b: Any) -> dict[str, Any]:
    # A NaN stays in m, or comes from it into s.
    take_b = b.m > a.m
    less, m = te.select(take_b, a.m, b.m), te.select(take_b, b.m, a.m)
    rest = (te.select(take_b, a.s, b.s) + 1.0) * _scale(less, m)
    return {"m": m, "s": te.select(take_b, b.s, a.s) + rest}


def _absorb(a: Any, x: Any) -> dict[str, Any]:
    x = te.cast(FLOAT64, x)
    m = te.maximum(a.m, x)
    scale = _scale(te.minimum(a.m, x), m)
    return {"m": m, "s": te.select(x > a.m, (a.s + 1.0) * scale, a.s + scale)}


def _wide(x: Any) -> Any:
    return te.cast(FLOAT64, x)


def _narrow(x: Any) -> Any:
    """An element that is no wider than float32 in that."""
    return te.cast(FLOAT64 if x.dtype.bits > FLOAT32.bits else FLOAT32, x)


def _plain(x: Any, origin: Any, *, is_less: bool = False) -> Any:
    """``exp(x - origin)`` times ``_LIFT``, up to the rounding of the difference.

    Where only what ``is_less`` than the origin counts, the origin itself gives 0.
    """
    difference = _difference(x, origin, _narrow(x) - origin, is_less)
    if x.dtype.is_half:
        return te.exp_short(difference)
    is_single = difference.dtype == FLOAT32
    return (te.exp_rounded if is_single else te.exp_nonpositive)(difference) * _LIFT


def _exact(x: Any, origin: Any, *, is_less: bool = False) -> Any:
    """As :func:`_plain`; the difference of float32 is not rounded.

    The exponential of a rounded difference d is off by up to d / 2 units in the last place.
    """
    if x.dtype != FLOAT32:
        return _plain(x, origin, is_less=is_less)
    difference, rest = two_sum(x, origin * -1.0)
    difference = _difference(x, origin, difference, is_less)
    power = te.exp_nonpositive(difference) * _LIFT
    return power + power * te.select(difference > -104.0, rest, 0.0)


def _difference(x: Any, origin: Any, difference: Any, is_less: bool) -> Any:
    return te.select(_narrow(x).equal(origin), -_INF, difference) if is_less else difference


def _held(t: Any, origin: Any) -> Callable[[Any], Any] | None:
    """Return :func:`_exact` where what elements share is computed once, None if that is nothing.

    Elements that count are near the origin: where that is large, differences are exact.
    """
    if t.dtype != FLOAT32:
        return None
    is_near = te.abs(origin) < _MOST
    whole = t.once(te.select(is_near, te.round(origin), 0.0))
    base = t.once(te.select(is_near, 0.0, origin))
    return lambda x: te.exp_difference(x - base, whole) * _LIFT


def _sum(t: Any, function: Callable[[Any], Any], terms: int) -> Any:
    """Sum over a run; exponentials of 16-bit floats need no more digits than float32 has."""
    return t.sum(function, dtype=FLOAT32 if t.dtype.is_half else FLOAT64, terms=terms)


def _tile(power: Callable[..., Any]) -> Callable[[Any], dict[str, Any]]:
    """Return the tile form, with one rescaling for each run."""

    def tile(t: Any) -> dict[str, Any]:
        m = t.max(_narrow, loses_nan=True)
        largest = t.sum(lambda x: te.cast(INT64, _narrow(x).equal(m)))
        others = _sum(t, lambda x: power(x, m, is_less=True), _TERMS)
        return {"m": m, "s": te.cast(FLOAT64, others) / _LIFT + te.cast(FLOAT64, largest - 1)}

    return tile


def _tile_of_all(t: Any) -> dict[str, Any]:
    """Return the tile form where the digits of a sum close to 1 do not count."""
    if t.dtype == FLOAT64:
        return _tile(_exact)(t)
    m = t.max(_narrow, loses_nan=True)
    origin = _finite(m)
    plain = functools.partial(_exact, origin=origin)
    power = t.hold(plain, lambda power, r: _least(t, power) * r.scale, _held(t, origin))
    return {"m": m, "s": te.cast(FLOAT64, _sum(t, lambda x: power, _FEW)) / _LIFT - 1.0}


def _finite(m: Any) -> Any:
    """What to take off elements whose largest one is m: of -inf, too, exponentials are 0."""
    return te.select(m.equal(-_INF), 0.0, m)


def _reducer(
    name: str,
    tile: Callable[[Any], dict[str, Any]],
    finalize: Callable[[Any], Any],
    spread: Callable[[Any, Any], Any] | None = None,
) -> Reducer:
    return Reducer(
        name,
        state={"m": "acc", "s": "compensated"},
        identity={"m": -_INF, "s": -1},
        lift=lambda x: {"m": x, "s": 0.0},
        combine=_merge,
        finalize=finalize,
        absorb=_absorb,
        tile=tile,
        spread=spread,
    )


LOGSUMEXP = _reducer("logsumexp", _tile(_plain), lambda a: a.m + te.log1p(a.s))


def _origin(a: Any, empty: str) -> Any:
    """Return what is taken off each element.

    A row of -inf has no largest element to be relative to, and so gives NaN, unless it counts as
    empty: relative to any number its exponentials are 0.
    """
    return te.select(a.m.equal(-_INF), 0.0, a.m) if empty == "zero" else a.m


def _least(x: Any, power: Any) -> Any:
    """Return an exponential of ``x`` that gives no subnormal share, but 0 as well."""
    return te.select(power > _LEAST, power, _LEAST) if x.dtype == FLOAT16 else power


def _of_none(a: Any, empty: str) -> Any:
    """Return the factor of exponentials that are all 0 in a row of -inf."""
    return 1.0 if empty == "zero" else te.select(a.m.equal(-_INF), math.nan, 1.0)


def softmax(empty: str = "nan") -> Reducer:
    """Return the reducer of each element's share of the sum of exponentials."""

    def finalize(a: Any) -> dict[str, Any]:
        total = te.select(a.m.equal(-_INF), 1.0, a.s + 1.0)
        # As inf / inf, for all elements beside an infinite one.
        total = te.select(a.m.equal(_INF), math.nan, total)
        return {
            "m": _origin(a, empty),
            "total": total * _LIFT,
            "origin": _finite(te.cast(FLOAT32, a.m)),
            "scale": te.cast(FLOAT32, _of_none(a, empty) / (total * _LIFT)),
        }

    return _reducer("softmax", _tile_of_all, finalize, _share)


def _share(x: Any, r: Any) -> Any:
    x = build.as_expr(x)
    if x.dtype.is_half or x.dtype == FLOAT32:
        # As in the tile form: where threads hold their elements, this power is in a register.
        return _least(x, _exact(x, r.origin)) * r.scale
    wide = te.cast(FLOAT64, x)
    power = te.exp_nonpositive(wide - r.m) * _LIFT
    # The difference of float64 numbers is rounded; exp would make much of that.
    _, rest = two_sum(wide, r.m * -1.0)
    return te.select(rest.equal(rest), power + power * rest, power) / r.total


def log_softmax(empty: str = "nan") -> Reducer:
    """Return the reducer of the logarithm of :func:`softmax`."""
    return _reducer(
        "log_softmax",
        _tile(_exact),
        lambda a: {"m": _origin(a, empty), "log": te.log1p(a.s)},
        _log_share,
    )


def _log_share(x: Any, r: Any) -> Any:
    x = build.as_expr(x)
    hold = FLOAT32 if x.dtype.is_half else FLOAT64
    return (te.cast(hold, x) - te.cast(hold, r.m)) - te.cast(hold, r.log)
