# SPDX-License-Identifier: Apache-2.0
"""Reducers of sums, products, counts and truth values."""

from __future__ import annotations

from typing import Any

from axisfold.dtypes import FLOAT32, FLOAT64, INT64
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer


def _tile_sum(t: Any) -> Any:
    """Short integers only: their sums fit narrower dtypes for a while."""
    total = t.sum(lambda x: x)
    return {"s": total} if t.is_narrow else None


def _tile_truth(best: str) -> Any:
    """Truth values as bytes: vectors of single bits are slow."""
    return lambda t: {
        "v": getattr(t, best)(lambda x: te.cast("uint8", te.not_zero(x))).not_equal(0)
    }


SUM = Reducer(
    "sum",
    state={"s": "compensated"},
    identity=0,
    lift=lambda x: x,
    combine=lambda a, b: a.s + b.s,
    tile=_tile_sum,
)
PROD = Reducer(
    "prod", state={"p": "acc"}, identity=1, lift=lambda x: x, combine=lambda a, b: a.p * b.p
)
ANY = Reducer(
    "any",
    state={"v": "bool"},
    identity=False,
    lift=te.not_zero,
    combine=lambda a, b: te.any(a.v, b.v),
    tile=_tile_truth("max"),
    facts=("idempotent", "exact", "absorbing"),
)
ALL = Reducer(
    "all",
    state={"v": "bool"},
    identity=True,
    lift=te.not_zero,
    combine=lambda a, b: te.all(a.v, b.v),
    tile=_tile_truth("min"),
    facts=("idempotent", "exact", "absorbing"),
)
COUNT_NONZERO = Reducer(
    "count_nonzero",
    state={"n": "int64"},
    identity=0,
    lift=lambda x: te.cast(INT64, te.not_zero(x)),
    combine=lambda a, b: a.n + b.n,
    tile=lambda t: {"n": t.sum(lambda x: te.cast(INT64, te.not_zero(x)))},
    facts=("exact",),
)


def _scale(a: Any, m: Any) -> Any:
    """``exp(a - m)`` for a <= m, and 1 where both are the same infinity."""
    return te.select(a.equal(m), 1.0, te.exp(a - m))


def _merge_logsumexp(a: Any, b: Any) -> dict[str, Any]:
    m = te.maximum(a.m, b.m)
    scale = _scale(te.minimum(a.m, b.m), m)
    return {"m": m, "s": te.select(b.m > a.m, a.s * scale + b.s, a.s + b.s * scale)}


def _absorb_logsumexp(a: Any, x: Any) -> dict[str, Any]:
    """One exponential for each element, that of the smaller against the larger."""
    x = te.cast(FLOAT64, x)
    m = te.maximum(a.m, x)
    scale = _scale(te.minimum(a.m, x), m)
    return {"m": m, "s": te.select(x > a.m, a.s * scale + 1.0, a.s + scale)}


def _tile_logsumexp(t: Any) -> dict[str, Any]:
    """One rescaling for each run; exponentials of what is no wider than float32 in that."""

    def held(x: Any) -> Any:
        return te.cast(FLOAT64 if x.dtype.bits > FLOAT32.bits else FLOAT32, x)

    m = t.max(held)
    return {"m": m, "s": t.sum(lambda x: _scale(held(x), m))}


LOGSUMEXP = Reducer(
    "logsumexp",
    state={"m": "acc", "s": "compensated"},
    identity={"m": -float("inf"), "s": 0},
    lift=lambda x: {"m": x, "s": 1.0},
    combine=_merge_logsumexp,
    finalize=lambda a: a.m + te.log(a.s),
    absorb=_absorb_logsumexp,
    tile=_tile_logsumexp,
)
