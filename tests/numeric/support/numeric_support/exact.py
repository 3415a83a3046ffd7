# SPDX-License-Identifier: Apache-2.0
"""The right answers, slice by slice, in exact arithmetic; and the errors that are allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

ARRAY = np.ndarray[Any, Any]
UNIT = Fraction(1, 2**53)  # unit roundoff of the accumulators


def expected_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """Return NumPy's result dtype, and its rules for the two functions that it lacks."""
    one = np.ones(2, dtype)
    if name == "logsumexp":
        return one.dtype if one.dtype.kind == "f" else np.dtype("float64")
    if name == "norm":
        return np.std(one).dtype
    if name == "average":
        return np.mean(one).dtype
    if name == "count_nonzero":
        return np.dtype("int64")
    return np.asarray(getattr(np, name)(one)).dtype


def slices(x: ARRAY, axis: Any) -> tuple[tuple[int, ...], Iterator[tuple[tuple[int, ...], ARRAY]]]:
    """Return the kept shape, and for each element of the result the folded elements in C order."""
    if axis is None:
        reduced = tuple(range(x.ndim))
    else:
        reduced = tuple(sorted(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))))
    kept = tuple(a for a in range(x.ndim) if a not in reduced)
    shape = tuple(x.shape[a] for a in kept)
    count = math.prod(x.shape[a] for a in reduced)
    flat = np.ascontiguousarray(x.transpose(kept + reduced)).reshape((*shape, count))
    return shape, ((place, flat[place]) for place in np.ndindex(*shape))


def check(name: str, x: ARRAY, axis: Any, keepdims: bool, got: Any) -> None:
    """Assert that ``got`` is the reduction of ``x``: values, dtype, shape and type."""
    if name == "minmax":
        assert got._fields == ("min", "max")
        for part in ("min", "max"):
            check(part, x, axis, keepdims, getattr(got, part))
        return
    native = x.astype(x.dtype.newbyteorder("="))
    shape, rows = slices(native, axis)
    full = np.sum(np.empty(x.shape, bool), axis=axis, keepdims=keepdims).shape
    assert isinstance(got, np.ndarray) == bool(full), f"{name}: result is a {type(got).__name__}"
    assert got.shape == full, f"{name}: shape {got.shape}, not {full}"
    wanted = expected_dtype(name, native.dtype)
    assert got.dtype == wanted, f"{name}: dtype {got.dtype}, not {wanted}"
    flat = np.asarray(got).reshape(shape)
    judge = JUDGES[name]
    for place, row in rows:
        value = flat[place]
        verdict = judge(row, value)
        assert verdict is None, (
            f"{name}: got {value!r} at {place}, but {verdict}; elements {row[:40].tolist()!r}"
        )


def _exact_integer(row: ARRAY, value: Any, total: int) -> str | None:
    bits = value.dtype.itemsize * 8
    return None if (int(value) - total) % 2**bits == 0 else f"exactly {total} modulo 2**{bits}"


def _non_finite(row: ARRAY) -> float | None:
    """The IEEE sum when an element is not finite."""
    if np.isfinite(row).all():
        return None
    if np.isnan(row).any() or (np.isposinf(row).any() and np.isneginf(row).any()):
        return math.nan
    return math.inf if np.isposinf(row).any() else -math.inf


def _same_float(value: Any, wanted: float) -> str | None:
    if math.isnan(wanted):
        return None if np.isnan(value) else "a NaN"
    return None if value == wanted else repr(wanted)


def _close(value: Any, exact: Fraction, slack: Fraction) -> str | None:
    """Within ``slack`` and one rounding to the dtype of the result."""
    info = np.finfo(value.dtype)
    rounding = (
        abs(exact) * Fraction(float(info.eps)) / 2 + Fraction(float(info.smallest_subnormal)) / 2
    )
    limit = slack * (1 + Fraction(float(info.eps))) + rounding
    if np.isnan(value):
        return f"{float(exact)!r}"
    if np.isinf(value):
        return (
            None
            if (abs(exact) + limit) >= Fraction(float(info.max)) and (value > 0) == (exact > 0)
            else f"{exact!r}"
        )
    error = abs(Fraction(float(value)) - exact)
    return None if error <= limit else f"{_text(exact)} +- {_text(limit)} (error {_text(error)})"


def _text(value: Fraction) -> str:
    try:
        return repr(float(value))
    except OverflowError:
        return "a huge number"


def _fractions(row: ARRAY) -> list[Fraction]:
    return (
        [Fraction(float(v)) for v in row]
        if row.dtype.kind == "f"
        else [Fraction(int(v)) for v in row]
    )


def sum_slack(values: list[Fraction], n: int | None = None) -> Fraction:
    """The promised bound of a sum, in the accumulators' precision."""
    count = len(values) if n is None else n
    return (Fraction(math.log2(max(count, 1))) + 8) * UNIT * sum(map(abs, values), Fraction(0))


def _overflows(values: list[Fraction]) -> bool:
    return sum(map(abs, values), Fraction(0)) >= Fraction(np.finfo("f8").max.item())


def _real_sum(row: ARRAY, value: Any, divisor: Fraction) -> str | None:
    odd = _non_finite(row)
    if odd is not None:
        return _same_float(value, odd)
    values = _fractions(row)
    if _overflows(values):
        return None
    if not values:
        return _same_float(value, 0.0)
    slack = sum_slack(values)
    if row.dtype.kind in "iu":  # converted to float64 one by one
        slack += UNIT * sum(map(abs, values), Fraction(0))
    return _close(value, sum(values, Fraction(0)) / divisor, slack / divisor)


def _parts(judge: Callable[[ARRAY, Any], str | None], row: ARRAY, value: Any) -> str | None:
    for part in ("real", "imag"):
        verdict = judge(getattr(row, part), getattr(value, part))
        if verdict is not None:
            return f"the {part} part {verdict}"
    return None


def _sum(row: ARRAY, value: Any) -> str | None:
    if row.dtype.kind == "c":
        return _parts(_sum, row, value)
    if row.dtype.kind != "f":
        return _exact_integer(row, value, sum(int(v) for v in row))
    return _real_sum(row, value, Fraction(1))


def _mean(row: ARRAY, value: Any) -> str | None:
    if row.dtype.kind == "c":
        return _parts(_mean, row, value)
    if not len(row):
        return _same_float(value, math.nan)
    return _real_sum(row, value, Fraction(len(row)))


def _prod(row: ARRAY, value: Any) -> str | None:
    if row.dtype.kind in "biu":
        return _exact_integer(row, value, math.prod(int(v) for v in row))
    if not np.isfinite(row).all() or row.dtype.kind == "c":
        return _prod_special(row, value)
    logs = [math.log2(abs(v)) for v in row.astype(float) if v]
    if sum(abs(v) for v in logs) > 1020:  # partial products may leave float64
        return None
    exact = math.prod(_fractions(row), start=Fraction(1))
    return _close(value, exact, 2 * len(row) * UNIT * abs(exact))


def _prod_special(row: ARRAY, value: Any) -> str | None:
    if row.dtype.kind == "f":
        hopeless = np.isnan(row).any() or (row == 0).any()
        if hopeless:
            return _same_float(value, math.nan)
        sign = np.prod(np.sign(row.astype(float)))
        logs = [abs(math.log2(abs(v))) for v in row.astype(float) if np.isfinite(v)]
        return _same_float(value, float(sign) * math.inf) if sum(logs) < 1020 else None
    if not np.isfinite(row).all():
        return None
    sizes = np.abs(row.astype("c16"))
    if np.sum(np.abs(np.log2(sizes[sizes > 0]))) > 1020 and len(row):
        return None
    re, im = Fraction(1), Fraction(0)
    for v in row:
        a, b = Fraction(float(v.real)), Fraction(float(v.imag))
        re, im = re * a - im * b, re * b + im * a
    size = Fraction(float(np.prod(sizes)))
    slack = 8 * (len(row) + 1) * UNIT * size
    if size > Fraction(float(np.finfo(value.dtype).max)) / 4:
        return None
    tiny = Fraction(float(np.finfo(value.dtype).smallest_subnormal))
    return _close(value.real, re, slack + tiny) or _close(value.imag, im, slack + tiny)


def _moments(row: ARRAY) -> tuple[Fraction, Fraction]:
    """The sum of squares about the mean, and about zero."""
    parts = [row.real, row.imag] if row.dtype.kind == "c" else [row]
    m2 = about_zero = Fraction(0)
    for part in parts:
        values = _fractions(part)
        mean = sum(values, Fraction(0)) / len(values)
        m2 += sum(((v - mean) ** 2 for v in values), Fraction(0))
        about_zero += sum((v * v for v in values), Fraction(0))
    return m2, about_zero


def _spread(row: ARRAY) -> tuple[Fraction, Fraction] | float | None:
    """The variance and its slack; a special value; or None where float64 overflows."""
    if not len(row) or not np.isfinite(row).all():
        return math.nan
    m2, about_zero = _moments(row)
    n = len(row)
    if about_zero * n >= Fraction(np.finfo("f8").max.item()):
        return None
    # Chan, Golub and LeVeque 1983: n u kappa, and kappa**2 = 1 + n mean**2 / m2.
    kappa = _root(about_zero * m2)
    slack = 4 * (n + 8) * UNIT * (kappa + m2) + ((n + 8) * UNIT) ** 2 * about_zero
    if row.dtype.kind in "iu":
        slack += 4 * n * UNIT * kappa + n * UNIT**2 * about_zero
    return m2 / n, slack / n + Fraction(1, 2**1070)


def _var(row: ARRAY, value: Any) -> str | None:
    found = _spread(row)
    if found is None:
        return None
    if isinstance(found, float):
        return _same_float(value, found)
    return _close(value, *found)


def _std(row: ARRAY, value: Any) -> str | None:
    found = _spread(row)
    if found is None:
        return None
    if isinstance(found, float):
        return _same_float(value, found)
    exact, slack = found
    root = _root(exact)
    low, high = _root(max(exact - slack, Fraction(0))), _root(exact + slack)
    return _close(value, root, max(root - low, high - root) + 4 * UNIT * root)


def _root(value: Fraction) -> Fraction:
    """Square root to 80 digits."""
    if not value:
        return Fraction(0)
    shift = max(0, 600 - value.numerator.bit_length() + value.denominator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((value.numerator << shift) // value.denominator), 2 ** (shift // 2))


def _norm(row: ARRAY, value: Any) -> str | None:
    odd = np.abs(row.astype("c16")) if row.dtype.kind == "c" else row.astype("f8")
    if row.dtype.kind == "c":
        odd = np.concatenate([row.real, row.imag]).astype("f8")
    if not np.isfinite(odd).all():
        return _same_float(value, math.nan if np.isnan(odd).any() else math.inf)
    exact = _root(sum((v * v for v in _fractions(odd)), Fraction(0)))
    return _close(value, exact, 2 * (len(row) + 8) * UNIT * exact)


def _order(v: Any) -> tuple[Any, ...]:
    """Sort key of a value that is no NaN: +0 above -0, complex numbers by their parts."""
    if isinstance(v, complex):
        return (v.real, v.imag)
    return (v, math.copysign(1.0, v) if isinstance(v, float) else 0)


def _bits(value: Any) -> Any:
    return value.tobytes()


def _extreme(pick: Callable[..., Any]) -> Callable[[ARRAY, Any], str | None]:
    def judge(row: ARRAY, value: Any) -> str | None:
        if np.isnan(row).any():
            return None if np.isnan(value) else "a NaN"
        best = pick(row.tolist(), key=_order)
        if row.dtype.kind == "c":
            return None if value == best else repr(best)
        return None if _bits(value) == _bits(row.dtype.type(best)) else repr(best)

    return judge


def _position(pick: str) -> Callable[[ARRAY, Any], str | None]:
    def judge(row: ARRAY, value: Any) -> str | None:
        best = int(getattr(np, pick)(row))  # of one axis: the first NaN, else the first extreme
        return None if int(value) == best else str(best)

    return judge


def _logsumexp(row: ARRAY, value: Any) -> str | None:
    x = row.astype("f8")
    if np.isnan(x).any():
        return _same_float(value, math.nan)
    if not len(x) or np.isinf(x).any():
        top = x.max() if len(x) else -math.inf
        if math.isinf(top):
            return _same_float(value, float(top))
    wide = x.astype(np.longdouble)
    top = wide.max()
    exact = top + np.log(np.sum(np.exp(wide - top)))
    slack = 4 * (len(x) + 8) * UNIT + 4 * UNIT * abs(Fraction(float(top)))
    if abs(float(exact)) > np.finfo(value.dtype).max:
        return None
    return _close(value, Fraction(float(exact)), slack)


def _ptp(row: ARRAY, value: Any) -> str | None:
    if np.isnan(row).any():
        return None if np.isnan(value) else "a NaN"
    low, high = min(row.tolist(), key=_order), max(row.tolist(), key=_order)
    if row.dtype.kind in "iu":
        return _exact_integer(row, value, high - low)
    if row.dtype.kind == "c":
        with np.errstate(all="ignore"):
            exact = row.dtype.type(high) - row.dtype.type(low)
        return None if np.array_equal(value, exact, equal_nan=True) else repr(exact)
    if not math.isfinite(high) or not math.isfinite(low):
        return _same_float(value, high - low)
    exact = Fraction(high) - Fraction(low)
    # float16 is subtracted in float32.
    return _close(value, exact, exact / 2**24 if row.dtype.itemsize == 2 else Fraction(0))


def numbers(row: ARRAY) -> ARRAY:
    """Return the elements that are not NaN."""
    return row[~np.isnan(row)]


def _passing_over(judge: Callable[[ARRAY, Any], str | None]) -> Callable[..., str | None]:
    return lambda row, value: judge(numbers(row), value)


def _or_nan(judge: Callable[[ARRAY, Any], str | None]) -> Callable[..., str | None]:
    def judged(row: ARRAY, value: Any) -> str | None:
        left = numbers(row)
        if len(left):
            return judge(left, value)
        return None if np.isnan(value) else "a NaN"

    return judged


def _position_of_number(pick: str) -> Callable[[ARRAY, Any], str | None]:
    def judge(row: ARRAY, value: Any) -> str | None:
        places = np.flatnonzero(~np.isnan(row))
        best = int(places[getattr(np, pick)(row[places])]) if len(places) else -1
        return None if int(value) == best else str(best)

    return judge


JUDGES: dict[str, Callable[[ARRAY, Any], str | None]] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "min": _extreme(min),
    "max": _extreme(max),
    "argmin": _position("argmin"),
    "argmax": _position("argmax"),
    "any": lambda row, value: None if bool(value) == bool((row != 0).any()) else "the contrary",
    "all": lambda row, value: None if bool(value) == bool((row != 0).all()) else "the contrary",
    "count_nonzero": lambda row, value: _exact_integer(row, value, int((row != 0).sum())),
    "logsumexp": _logsumexp,
    "norm": _norm,
    "ptp": _ptp,
    "average": _mean,
    "nansum": _passing_over(_sum),
    "nanprod": _passing_over(_prod),
    "nanmean": _passing_over(_mean),
    "nanvar": _passing_over(_var),
    "nanstd": _passing_over(_std),
    "nanmin": _or_nan(_extreme(min)),
    "nanmax": _or_nan(_extreme(max)),
    "nanargmin": _position_of_number("argmin"),
    "nanargmax": _position_of_number("argmax"),
}
