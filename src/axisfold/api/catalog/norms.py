# SPDX-License-Identifier: Apache-2.0
"""Reducers of vector norms."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from axisfold.dtypes import FLOAT64, INT64
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.values import Complex

# Blue, "A portable Fortran program to find the Euclidean norm of a vector", 1978, with the
# constants for float64 of Anderson, "Algorithm 978: safe scaling in the level 1 BLAS", 2017.
_SMALL, _BIG = 2.0**-511, 2.0**486
_SCALE_SMALL, _SCALE_BIG = 2.0**537, 2.0**-538


def _lift_squares(x: Any) -> dict[str, Any]:
    if isinstance(x, Complex):
        re, im = _lift_squares(x.re), _lift_squares(x.im)
        return {k: re[k] + im[k] for k in re}
    size = te.abs(te.cast(FLOAT64, x))
    if x.dtype.bits < FLOAT64.bits:  # no square leaves the range
        return {"big": 0.0, "medium": size * size, "small": 0.0}
    is_big, is_small = size > _BIG, size < _SMALL

    def square(chosen: Any, scale: float) -> Any:
        scaled = te.select(chosen, size * scale, 0.0)
        return scaled * scaled

    medium = te.select(te.any(is_big, is_small), 0.0, size)
    return {
        "big": square(is_big, _SCALE_BIG),
        "medium": medium * medium,
        "small": square(is_small, _SCALE_SMALL),
    }


def _euclidean(a: Any) -> Any:
    large = te.sqrt(a.big + a.medium * (_SCALE_BIG * _SCALE_BIG)) / _SCALE_BIG
    tiny = te.sqrt(a.small) / _SCALE_SMALL
    middle = te.sqrt(a.medium)
    low, high = te.minimum(tiny, middle), te.maximum(tiny, middle)
    ratio = low / high
    both = te.select(high.equal(0.0), high, high * te.sqrt(ratio * ratio + 1.0))
    no_small = te.any(a.small.equal(0.0), te.isnan(a.medium))
    return te.select(a.big > 0.0, large, te.select(no_small, middle, both))


EUCLIDEAN = Reducer(
    "norm",
    state=dict.fromkeys(("big", "medium", "small"), "compensated_real"),
    identity={"big": 0, "medium": 0, "small": 0},
    lift=_lift_squares,
    combine=lambda a, b: {k: getattr(a, k) + getattr(b, k) for k in ("big", "medium", "small")},
    finalize=_euclidean,
)


def _magnitude(x: Any) -> Any:
    return te.abs(x) if isinstance(x, Complex) else te.abs(te.cast(FLOAT64, x))


TAXICAB = Reducer(
    "norm", state={"s": "compensated_real"}, identity=0, lift=_magnitude,
    combine=lambda a, b: a.s + b.s,
)  # fmt: skip
LARGEST = Reducer(
    "norm", state={"m": "float64"}, identity=0, lift=_magnitude,
    combine=lambda a, b: te.maximum(a.m, b.m), facts=("idempotent", "exact"),
)  # fmt: skip
SMALLEST = Reducer(
    "norm", state={"m": "float64"}, identity=math.inf, lift=_magnitude,
    combine=lambda a, b: te.minimum(a.m, b.m), facts=("idempotent", "exact"),
)  # fmt: skip
NONZERO = Reducer(
    "norm", state={"n": "int64"}, identity=0, lift=lambda x: te.cast(INT64, te.not_zero(x)),
    combine=lambda a, b: a.n + b.n, finalize=lambda a: te.cast(FLOAT64, a.n), facts=("exact",),
)  # fmt: skip


@lru_cache
def norm(ord: float = 2.0) -> Reducer:
    """Return the reducer of the vector norm of an order."""
    match ord:
        case 2.0:
            return EUCLIDEAN
        case 1.0:
            return TAXICAB
        case 0.0:
            return NONZERO
    if math.isinf(ord):
        return LARGEST if ord > 0 else SMALLEST
    return _of_order(ord)


def _of_order(p: float) -> Reducer:
    """The sum of powers relative to the magnitude that counts most, so that none overflows.

    That is the largest one for a positive order, the smallest for a negative one; ``s`` is the sum
    of ``(size / m)**p``, of which every term is at most 1.
    """
    outer, inner = (te.maximum, te.minimum) if p > 0 else (te.minimum, te.maximum)

    def share(size: Any, m: Any) -> Any:
        ratio = size / m if p > 0 else m / size
        return te.select(te.same(size, m), 1.0, te.power(ratio, abs(p)))

    def merge(a: Any, b: Any) -> dict[str, Any]:
        m = outer(a.m, b.m)
        return {"m": m, "s": a.s * share(a.m, m) + b.s * share(b.m, m)}

    def absorb(a: Any, x: Any) -> dict[str, Any]:
        size = _magnitude(x)
        m = outer(a.m, size)
        scale = share(inner(a.m, size), m)
        takes_over = size > a.m if p > 0 else size < a.m
        return {"m": m, "s": te.select(takes_over, a.s * scale + 1.0, a.s + scale)}

    return Reducer(
        "norm",
        state={"m": "float64", "s": "compensated_real"},
        identity={"m": 0.0 if p > 0 else math.inf, "s": 0},
        lift=lambda x: {"m": _magnitude(x), "s": 1.0},
        combine=merge,
        absorb=absorb,
        finalize=lambda a: te.select(
            te.same(a.s, 0.0), 0.0 if p > 0 else math.inf, a.m * te.power(a.s, 1.0 / p)
        ),
    )
