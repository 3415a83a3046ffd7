# SPDX-License-Identifier: Apache-2.0
"""What softmax and log_softmax should give, in more digits than float64 has where it can be."""

import numpy as np

NAMES = ("softmax", "log_softmax")
# Units in the last place of the result's dtype.
MOST_ULPS = {"float64": 4, "float32": 3}


def expected(name, x, axis):
    """Return the result for real elements, in long double, and how float64 exponents tell on it.

    The difference of two float64 numbers is rounded, by d / 2 units of e**-d.
    """
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        if not wide.size:
            return wide, wide
        top = wide.max(axis=axis, keepdims=True)
        power = np.exp(wide - top)
        # One of the largest elements is taken off, so that log1p sees the digits of the others.
        largest = (wide == top).sum(axis=axis, keepdims=True)
        rest = np.where(wide == top, 0, power)
        others = rest.sum(axis=axis, keepdims=True) + (largest - 1)
        distance = np.where(rest > 0, top - wide, 0)
        rounding = (distance * rest).sum(axis=axis, keepdims=True) / (1 + others)
        if name == "softmax":
            want = np.where(np.isposinf(top), np.nan, power / (1 + others))
            return want, want * rounding
        return wide - top - np.log1p(others), np.broadcast_to(rounding, x.shape)


def agree(name, result, x, axis):
    """Assert that a result is right to a few units in the last place, NaN and inf exactly."""
    want, rounding = expected(name, x, axis)
    assert result.shape == x.shape
    info = np.finfo(result.dtype)
    most = MOST_ULPS.get(str(result.dtype), 1)
    with np.errstate(all="ignore"):
        rounded = want.astype(result.dtype)
        same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        unit = np.maximum(np.abs(want) * info.eps, info.smallest_subnormal)
        error = np.abs(result - want)
        bound = most * unit + rounding * np.finfo("f8").eps
    assert (same | (error <= bound)).all(), (name, x.shape, axis, (error / unit)[~same].max())
