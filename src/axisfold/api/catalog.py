# SPDX-License-Identifier: Apache-2.0
"""The catalogue: every named reduction as one row of a table.

A row gives the reducer, how elements are converted before they are folded, and the dtype of the
result (NumPy's rules).  The functions, their docstrings and most tests are made from the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from axisfold.dtypes import BOOL, FLOAT64, INT64, UINT64, DType, highest, lowest
from axisfold.tensor import math as te
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.values import Complex

FIRST_INDEX_OF_NONE: Final = highest(INT64)


def _better_first(wins: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Keep the state that wins, the first NaN above all, and the smaller index among equals."""

    def combine(a: Any, b: Any) -> Any:
        both_nan = te.all(te.isnan(a.v), te.isnan(b.v))
        tie = te.any(te.same(a.v, b.v), both_nan)
        ahead = te.any(wins(b.v, a.v), te.all(te.isnan(b.v), ~te.isnan(a.v)))
        take_b = te.any(ahead, te.all(tie, b.i < a.i))
        return {"i": te.select(take_b, b.i, a.i), "v": te.select(take_b, b.v, a.v)}

    return combine


def _largest(dtype: DType) -> Any:
    return complex(highest_part(dtype), highest_part(dtype)) if dtype.is_complex else highest(dtype)


def _least(dtype: DType) -> Any:
    return (
        complex(-highest_part(dtype), -highest_part(dtype)) if dtype.is_complex else lowest(dtype)
    )


def highest_part(dtype: DType) -> float:
    """Return the identity of min for each part of a complex dtype."""
    return float(highest(DType("float", dtype.bits // 2)))


def _merge_moments(a: Any, b: Any) -> dict[str, Any]:
    """Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm", 1979."""
    n = a.n + b.n
    delta = b.mean - a.mean
    share = te.select(n.equal(0.0), 0.0, b.n / n)
    weight = a.n * share
    # A state of no elements adds nothing, also where delta**2 overflows.
    spread = te.select(weight.equal(0.0), 0.0, te.square_abs(delta) * weight)
    return {"n": n, "mean": a.mean + delta * share, "m2": a.m2 + b.m2 + spread}


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
    """Two passes over a short tile: its mean, then squares about it."""
    n = te.cast(FLOAT64, t.count)
    mean = t.sum(lambda x: x) / n
    return {"n": n, "mean": mean, "m2": t.sum(lambda x: te.square_abs(x - mean))}


def _variance(a: Any, count: Any, correction: float) -> Any:
    """NaN where there are no degrees of freedom left."""
    freedom = te.cast(FLOAT64, count) - correction
    return te.select(freedom > 0.0, a.m2 / freedom, float("nan"))


def _moments(name: str, finalize: Callable[[Any, Any], Any]) -> Reducer:
    return Reducer(
        name,
        state={"n": "float64", "mean": "acc", "m2": "compensated_real"},
        identity={"n": 0, "mean": 0, "m2": 0},
        lift=lambda x: {"n": 1.0, "mean": x, "m2": 0.0},
        combine=_merge_moments,
        absorb=_absorb_moment,
        tile=_tile_moments,
        finalize=finalize,
    )


def variance(correction: float = 0) -> Reducer:
    """Return the reducer of the variance with ``n - correction`` degrees of freedom."""
    return _moments("var", lambda a, count: _variance(a, count, correction))


def deviation(correction: float = 0) -> Reducer:
    """Return the reducer of the standard deviation."""
    return _moments("std", lambda a, count: te.sqrt(_variance(a, count, correction)))


def _scale(a: Any, m: Any) -> Any:
    """``exp(a - m)`` for a <= m, and 1 where both are the same infinity."""
    return te.select(a.equal(m), 1.0, te.exp(a - m))


def _merge_logsumexp(a: Any, b: Any) -> dict[str, Any]:
    m = te.maximum(a.m, b.m)
    return {"m": m, "s": a.s * _scale(a.m, m) + b.s * _scale(b.m, m)}


def _absorb_logsumexp(a: Any, x: Any) -> dict[str, Any]:
    """One exponential for each element, that of the smaller against the larger."""
    x = te.cast(FLOAT64, x)
    m = te.maximum(a.m, x)
    scale = _scale(te.minimum(a.m, x), m)
    return {"m": m, "s": te.select(x > a.m, a.s * scale + 1.0, a.s + scale)}


def _tile_logsumexp(t: Any) -> dict[str, Any]:
    """One rescaling for each run."""
    m = t.max(lambda x: te.cast(FLOAT64, x))
    return {"m": m, "s": t.sum(lambda x: _scale(te.cast(FLOAT64, x), m))}


# Blue, "A portable Fortran program to find the Euclidean norm of a vector", 1978, with the
# constants for float64 of Anderson, "Algorithm 978: safe scaling in the level 1 BLAS", 2017.
_SMALL, _BIG = 2.0**-511, 2.0**486
_SCALE_SMALL, _SCALE_BIG = 2.0**537, 2.0**-538


def _lift_norm(x: Any) -> dict[str, Any]:
    if isinstance(x, Complex):
        re, im = _lift_norm(x.re), _lift_norm(x.im)
        return {k: re[k] + im[k] for k in re}
    size = te.abs(te.cast(FLOAT64, x))
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


@dataclass(frozen=True, slots=True)
class Row:
    """One named reduction.

    Attributes
    ----------
    name, summary
        Name of the function and first line of its docstring.
    make
        Returns the reducer; takes the function's extra arguments.
    result
        From the element dtype to the result dtype.
    compute
        From the element dtype to the dtype in which elements are folded.
    takes_dtype
        Whether the function has a ``dtype=``.
    takes_complex
        Whether complex elements have a result.
    needs_elements
        Whether folding nothing is an error.
    takes_correction
        Whether the function has a ``correction=`` of the degrees of freedom.
    """

    name: str
    summary: str
    make: Callable[..., Reducer]
    result: Callable[[DType], DType]
    compute: Callable[[DType], DType] = lambda d: d
    takes_dtype: bool = False
    takes_complex: bool = True
    needs_elements: bool = False
    takes_correction: bool = False


def same(dtype: DType) -> DType:
    """Return the element's dtype."""
    return dtype


def summed(dtype: DType) -> DType:
    """Return NumPy's dtype of sums: int64 or uint64 for integers and truth values."""
    if dtype.kind in ("bool", "int"):
        return INT64
    return UINT64 if dtype.kind == "uint" else dtype


def inexact(dtype: DType) -> DType:
    """Return float64 for integers and truth values, else the element's dtype."""
    return dtype if dtype.is_float or dtype.is_complex else FLOAT64


def real_inexact(dtype: DType) -> DType:
    """Return as :func:`inexact`, the dtype of the parts for complex elements."""
    return DType("float", dtype.bits // 2) if dtype.is_complex else inexact(dtype)


SUM = Reducer(
    "sum", state={"s": "compensated"}, identity=0, lift=lambda x: x, combine=lambda a, b: a.s + b.s
)
PROD = Reducer(
    "prod", state={"p": "acc"}, identity=1, lift=lambda x: x, combine=lambda a, b: a.p * b.p
)
MEAN = Reducer(
    "mean",
    state={"s": "compensated"},
    identity=0,
    lift=lambda x: x,
    combine=lambda a, b: a.s + b.s,
    finalize=lambda a, count: a.s / te.cast(FLOAT64, count),
)
MIN = Reducer(
    "min",
    state={"v": "input"},
    identity=_largest,
    lift=lambda x: x,
    combine=lambda a, b: te.minimum(a.v, b.v),
    facts=("idempotent", "exact"),
)
MAX = Reducer(
    "max",
    state={"v": "input"},
    identity=_least,
    lift=lambda x: x,
    combine=lambda a, b: te.maximum(a.v, b.v),
    facts=("idempotent", "exact"),
)
ARGMIN = Reducer(
    "argmin",
    state={"i": "int64", "v": "input"},
    identity={"i": FIRST_INDEX_OF_NONE, "v": _largest},
    lift=lambda x, index: {"i": index, "v": x},
    combine=_better_first(te.less),
    finalize=lambda a: a.i,
    facts=("idempotent", "exact"),
)
ARGMAX = Reducer(
    "argmax",
    state={"i": "int64", "v": "input"},
    identity={"i": FIRST_INDEX_OF_NONE, "v": _least},
    lift=lambda x, index: {"i": index, "v": x},
    combine=_better_first(lambda a, b: te.less(b, a)),
    finalize=lambda a: a.i,
    facts=("idempotent", "exact"),
)
ANY = Reducer(
    "any",
    state={"v": "bool"},
    identity=False,
    lift=te.not_zero,
    combine=lambda a, b: te.any(a.v, b.v),
    facts=("idempotent", "exact", "absorbing"),
)
ALL = Reducer(
    "all",
    state={"v": "bool"},
    identity=True,
    lift=te.not_zero,
    combine=lambda a, b: te.all(a.v, b.v),
    facts=("idempotent", "exact", "absorbing"),
)
COUNT_NONZERO = Reducer(
    "count_nonzero",
    state={"n": "int64"},
    identity=0,
    lift=lambda x: te.cast(INT64, te.not_zero(x)),
    combine=lambda a, b: a.n + b.n,
    facts=("exact",),
)
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
NORM = Reducer(
    "norm",
    state=dict.fromkeys(("big", "medium", "small"), "compensated_real"),
    identity={"big": 0, "medium": 0, "small": 0},
    lift=_lift_norm,
    combine=lambda a, b: {k: getattr(a, k) + getattr(b, k) for k in ("big", "medium", "small")},
    finalize=_norm,
)

_ROWS: Final = (
    Row("sum", "Sum of elements.", lambda: SUM, summed, takes_dtype=True),
    Row("prod", "Product of elements.", lambda: PROD, summed, takes_dtype=True),
    Row("mean", "Arithmetic mean.", lambda: MEAN, inexact, inexact, takes_dtype=True),
    Row(
        "var",
        "Variance, of n - correction degrees of freedom.",
        variance,
        real_inexact,
        inexact,
        takes_dtype=True,
        takes_correction=True,
    ),
    Row(
        "std",
        "Standard deviation, of n - correction degrees of freedom.",
        deviation,
        real_inexact,
        inexact,
        takes_dtype=True,
        takes_correction=True,
    ),
    Row("min", "Smallest element.", lambda: MIN, same, needs_elements=True),
    Row("max", "Largest element.", lambda: MAX, same, needs_elements=True),
    Row(
        "argmin",
        "Index of the first smallest element.",
        lambda: ARGMIN,
        lambda d: INT64,
        needs_elements=True,
    ),
    Row(
        "argmax",
        "Index of the first largest element.",
        lambda: ARGMAX,
        lambda d: INT64,
        needs_elements=True,
    ),
    Row("any", "Whether any element is true.", lambda: ANY, lambda d: BOOL),
    Row("all", "Whether all elements are true.", lambda: ALL, lambda d: BOOL),
    Row(
        "count_nonzero",
        "Number of elements that differ from zero.",
        lambda: COUNT_NONZERO,
        lambda d: INT64,
    ),
    Row(
        "logsumexp",
        "Logarithm of the sum of exponentials.",
        lambda: LOGSUMEXP,
        inexact,
        inexact,
        takes_complex=False,
    ),
    Row("norm", "Euclidean norm.", lambda: NORM, real_inexact, inexact),
)

CATALOG: Final[dict[str, Row]] = {row.name: row for row in _ROWS}
