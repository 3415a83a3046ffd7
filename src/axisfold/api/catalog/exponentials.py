# SPDX-License-Identifier: Apache-2.0
"""Reducers of sums of exponentials, and of what each exponential is of them.

The state is the largest element and the sum of the exponentials of all others, relative to its
own: a sum that is close to 1 keeps all of its digits in ``log1p``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from axisfold.dtypes import FLOAT32, FLOAT64, INT64
from axisfold.ir import build
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.values import two_sum

_INF = math.inf


def _scale(a: Any, m: Any) -> Any:
    """``exp(a - m)`` for a <= m, and 1 where both are the same infinity."""
    return te.select(a.equal(m), 1.0, te.exp(a - m))


def _merge(a: Any, b: Any) -> dict[str, Any]:
    take_b = b.m > a.m
    less = te.select(take_b, a.m, b.m)
    m = te.maximum(a.m, b.m)
    rest = (te.select(take_b, a.s, b.s) + 1.0) * _scale(less, m)
    return {"m": m, "s": te.select(take_b, b.s, a.s) + rest}


def _absorb(a: Any, x: Any) -> dict[str, Any]:
    x = te.cast(FLOAT64, x)
    m = te.maximum(a.m, x)
    scale = _scale(te.minimum(a.m, x), m)
    return {"m": m, "s": te.select(x > a.m, (a.s + 1.0) * scale, a.s + scale)}


def _tile(hold: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """Return the tile form, with one rescaling for each run, by exponentials of ``hold(x)``."""

    def tile(t: Any) -> dict[str, Any]:
        m = t.max(hold)
        largest = t.sum(lambda x: te.cast(INT64, hold(x).equal(m)))
        others = t.sum(lambda x: te.select(hold(x).equal(m), 0.0, te.exp(hold(x) - m)))
        return {"m": m, "s": others + te.cast(FLOAT64, largest - 1)}

    return tile


def _wide(x: Any) -> Any:
    return te.cast(FLOAT64, x)


def _narrow(x: Any) -> Any:
    """An element that is no wider than float32 in that."""
    return te.cast(FLOAT64 if x.dtype.bits > FLOAT32.bits else FLOAT32, x)


def _reducer(
    name: str,
    hold: Callable[[Any], Any],
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
        tile=_tile(hold),
        spread=spread,
    )


LOGSUMEXP = _reducer("logsumexp", _narrow, lambda a: a.m + te.log1p(a.s))


def _origin(a: Any, empty: str) -> Any:
    """Return what is taken off each element.

    A row of -inf has no largest element to be relative to, and so gives NaN, unless it counts as
    empty: relative to any number its exponentials are 0.
    """
    return te.select(a.m.equal(-_INF), 0.0, a.m) if empty == "zero" else a.m


def softmax(empty: str = "nan") -> Reducer:
    """Return the reducer of each element's share of the sum of exponentials."""
    return _reducer(
        "softmax",
        _wide,
        lambda a: {
            "m": _origin(a, empty),
            # As inf / inf, for all elements beside an infinite one.
            "total": te.select(a.m.equal(_INF), math.nan, a.s + 1.0),
        },
        _share,
    )


def _share(x: Any, r: Any) -> Any:
    wide = te.cast(FLOAT64, x)
    power = te.exp(wide - r.m)
    if build.as_expr(x).dtype != FLOAT64:
        return power * (1.0 / r.total)
    # The difference of float64 numbers is rounded; exp would make much of that.
    _, rest = two_sum(wide, r.m * -1.0)
    return te.select(rest.equal(rest), power + power * rest, power) / r.total


def log_softmax(empty: str = "nan") -> Reducer:
    """Return the reducer of the logarithm of :func:`softmax`."""
    return _reducer(
        "log_softmax",
        _wide,
        lambda a: {"m": _origin(a, empty), "log": te.log1p(a.s)},
        lambda x, r: (te.cast(FLOAT64, x) - r.m) - r.log,
    )
