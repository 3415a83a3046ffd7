# SPDX-License-Identifier: Apache-2.0
"""Reducers of vector norms."""

from __future__ import annotations

from typing import Any

from axisfold.dtypes import FLOAT64
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.values import Complex

# Blue, "A portable Fortran program to find the Euclidean norm of a vector", 1978, with the
# constants for float64 of Anderson, "Algorithm 978: safe scaling in the level 1 BLAS", 2017.
_SMALL, _BIG = 2.0**-511, 2.0**486
_SCALE_SMALL, _SCALE_BIG = 2.0**537, 2.0**-538


def _lift_norm(x: Any) -> dict[str, Any]:
    if isinstance(x, Complex):
        re, im = _lift_norm(x.re), _lift_norm(x.im)
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


def _norm(a: Any) -> Any:
    large = te.sqrt(a.big + a.medium * (_SCALE_BIG * _SCALE_BIG)) / _SCALE_BIG
    tiny = te.sqrt(a.small) / _SCALE_SMALL
    middle = te.sqrt(a.medium)
    low, high = te.minimum(tiny, middle), te.maximum(tiny, middle)
    ratio = low / high
    both = te.select(high.equal(0.0), high, high * te.sqrt(ratio * ratio + 1.0))
    no_small = te.any(a.small.equal(0.0), te.isnan(a.medium))
    return te.select(a.big > 0.0, large, te.select(no_small, middle, both))


NORM = Reducer(
    "norm",
    state=dict.fromkeys(("big", "medium", "small"), "compensated_real"),
    identity={"big": 0, "medium": 0, "small": 0},
    lift=_lift_norm,
    combine=lambda a, b: {k: getattr(a, k) + getattr(b, k) for k in ("big", "medium", "small")},
    finalize=_norm,
)
