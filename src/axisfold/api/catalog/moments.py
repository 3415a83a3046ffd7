# SPDX-License-Identifier: Apache-2.0
"""Reducers of means and variances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axisfold.dtypes import FLOAT64
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.values import Complex


def _tile_mean(t: Any) -> dict[str, Any] | None:
    """Masked elements, as those that count are counted in int32; short numbers, as sums have."""
    total = t.sum(lambda x: x)
    return {"s": total} if (t.is_masked and t.is_single) or t.is_narrow else None


MEAN = Reducer(
    "mean",
    state={"s": "compensated"},
    identity=0,
    lift=lambda x: x,
    combine=lambda a, b: a.s + b.s,
    finalize=lambda a, count: a.s / te.cast(FLOAT64, count),
    tile=_tile_mean,
)


def _merge_moments(a: Any, b: Any) -> dict[str, Any]:
    """Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm", 1979."""
    n = a.n + b.n
    delta = b.mean - a.mean
    share = te.select(n.equal(0.0), 0.0, b.n / n)
    weight = a.n * share
    # A state of no elements adds nothing, also where delta**2 overflows.
    spread = te.select(weight.equal(0.0), 0.0, te.square_abs(delta) * weight)
    return {"n": n, "mean": a.mean + delta * share, "m2": a.m2 + b.m2 + spread}


def _lift_moment(x: Any) -> dict[str, Any]:
    """One element deviates from itself by 0; an infinity by NaN, as from a mean that it is in."""
    is_inexact = isinstance(x, Complex) or x.dtype.is_float
    return {"n": 1.0, "mean": x, "m2": te.square_abs(x - x) if is_inexact else 0.0}


def _absorb_moment(a: Any, x: Any) -> dict[str, Any]:
    """Welford, "Note on a method for calculating corrected sums", 1962."""
    x = te.cast(FLOAT64, x) if not isinstance(x, Complex) else x
    n = a.n + 1.0
    delta = x - a.mean
    mean = a.mean + delta / n
    rest = x - mean
    return {"n": n, "mean": mean, "m2": a.m2 + _inner(delta, rest)}


def _inner(a: Any, b: Any) -> Any:
    return a.re * b.re + a.im * b.im if isinstance(a, Complex) else a * b


def _tile_moments(t: Any) -> dict[str, Any]:
    """Two passes over a short tile: its mean, then squares about it.

    For short floats one pass, about the first element p: M2 = Σ(x - p)² - n (mean - p)².  Since p
    is one of the n elements, M2 >= (mean - p)², so that the difference is at least 1 / (n + 1) of
    the sum: of the digits of float64 it loses log2(n + 1), which leaves those of float32.
    """
    n = te.cast(FLOAT64, t.count)
    if t.is_single and not t.is_masked:
        pilot = t.head(_wide)
        total = t.sum(lambda x: _wide(x) - pilot)
        squares = t.sum(lambda x: te.square_abs(_wide(x) - pilot))
        shift = total / n
        m2 = te.maximum(squares - te.square_abs(shift) * n, 0.0)
        return {"n": n, "mean": pilot + shift, "m2": m2}
    mean = t.sum(lambda x: x) / n
    return {"n": n, "mean": mean, "m2": t.sum(lambda x: te.square_abs(x - mean))}


def _wide(x: Any) -> Any:
    return te.cast("complex128" if isinstance(x, Complex) else FLOAT64, x)


def _variance(a: Any, count: Any, correction: float) -> Any:
    """NaN where there are no degrees of freedom left."""
    freedom = te.cast(FLOAT64, count) - correction
    return te.select(freedom > 0.0, a.m2 / freedom, float("nan"))


def _lift_square(x: Any, m: Any) -> Any:
    wide = [v if isinstance(v, Complex) else te.cast(FLOAT64, v) for v in (x, m)]
    return te.square_abs(wide[0] - wide[1])


def _moments(name: str, finalize: Callable[[Any, Any], Any], has_mean: bool) -> Reducer:
    if has_mean:
        return Reducer(
            name,
            state={"m2": "compensated_real"},
            identity=0,
            lift=_lift_square,
            combine=lambda a, b: a.m2 + b.m2,
            finalize=finalize,
        )
    return Reducer(
        name,
        state={"n": "float64", "mean": "acc", "m2": "compensated_real"},
        identity={"n": 0, "mean": 0, "m2": 0},
        lift=_lift_moment,
        combine=_merge_moments,
        absorb=_absorb_moment,
        tile=_tile_moments,
        finalize=finalize,
    )


def variance(correction: float = 0, has_mean: bool = False) -> Reducer:
    """Return the reducer of the variance with ``n - correction`` degrees of freedom.

    A mean that is known is a second input.
    """
    return _moments("var", lambda a, count: _variance(a, count, correction), has_mean)


def deviation(correction: float = 0, has_mean: bool = False) -> Reducer:
    """Return the reducer of the standard deviation."""
    return _moments("std", lambda a, count: te.sqrt(_variance(a, count, correction)), has_mean)


def _weigh(x: Any, w: Any) -> dict[str, Any]:
    """Products of float32 and narrower elements are exact in float64."""
    wide = w if isinstance(w, Complex) else te.cast(FLOAT64, w)
    return {"s": (x if isinstance(x, Complex) else te.cast(FLOAT64, x)) * wide, "w": wide}


def average(has_weights: bool = False, returned: bool = False) -> Reducer:
    """Return the reducer of the average, of elements alone or with their weights.

    With weights their sum is a result too, as an average of weights that add up to 0 is refused.
    """
    if has_weights:
        return Reducer(
            "average",
            state={"s": "compensated", "w": "compensated"},
            identity={"s": 0, "w": 0},
            lift=_weigh,
            combine=lambda a, b: {"s": a.s + b.s, "w": a.w + b.w},
            finalize=lambda a: {"average": a.s / a.w, "sum_of_weights": a.w},
        )
    if not returned:
        return MEAN
    return Reducer(
        "average",
        state=MEAN.state,
        identity=MEAN.identity,
        lift=MEAN.lift,
        combine=MEAN.combine,
        finalize=lambda a, count: {
            "average": a.s / te.cast(FLOAT64, count),
            "sum_of_weights": te.cast(FLOAT64, count),
        },
    )
