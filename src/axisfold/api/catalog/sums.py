# SPDX-License-Identifier: Apache-2.0
"""Reducers of sums, products, counts and truth values."""

from __future__ import annotations

from typing import Any

from axisfold.dtypes import INT64
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer


def _tile_sum(t: Any) -> Any:
    """Short numbers only: their sums fit narrower dtypes for a while."""
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
    facts=("idempotent", "exact"),
    absorbing=True,
)
ALL = Reducer(
    "all",
    state={"v": "bool"},
    identity=True,
    lift=te.not_zero,
    combine=lambda a, b: te.all(a.v, b.v),
    tile=_tile_truth("min"),
    facts=("idempotent", "exact"),
    absorbing=False,
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
