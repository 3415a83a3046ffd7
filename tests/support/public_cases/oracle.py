# SPDX-License-Identifier: Apache-2.0
"""Right values, fold by fold, in exact or wider arithmetic."""

import math
from fractions import Fraction

import numpy as np


def folds(x, axis):
    """Return the kept shape, and for each result the folded elements in C order."""
    every = range(x.ndim)
    given = every if axis is None else axis if isinstance(axis, tuple) else (axis,)
    folded = sorted(a % x.ndim for a in given)
    kept = [a for a in every if a not in folded]
    shape = tuple(x.shape[a] for a in kept)
    rows = np.ascontiguousarray(x.transpose([*kept, *folded])).reshape(math.prod(shape), -1)
    return shape, rows


def by_fold(function):
    """Return the right value of a function of the elements of one fold."""

    def want(x, axis):
        shape, rows = folds(x, axis)
        return np.array([function(row) for row in rows]).reshape(shape)

    return want


def _real(row):
    return row.astype("f8")


def _mean(row):
    return math.fsum(_real(row)) / len(row)


def variance(row, ddof=0):
    """Return the exact variance, rounded once."""
    exact = [Fraction(v) for v in _real(row).tolist()]
    mean = sum(exact) / len(exact)
    return float(sum((v - mean) ** 2 for v in exact) / (len(exact) - ddof))


count = by_fold(len)
total = by_fold(lambda row: math.fsum(_real(row)))
mean = by_fold(_mean)
norm = by_fold(lambda row: math.sqrt(math.fsum(_real(row) ** 2)))
exact_variance = by_fold(variance)
integers = by_fold(lambda row: int(row.astype("O").sum()))


def wide(name, **options):
    """Return NumPy's result of the elements in float64 or complex128."""

    def want(x, axis):
        kind = "c16" if x.dtype.kind == "c" else "f8"
        return getattr(np, name)(x.astype(kind), axis=axis, **options)

    return want


def numpy(name, **options):
    """Return NumPy's own result."""
    return lambda x, axis: getattr(np, name)(x, axis=axis, **options)


def several(*wanted):
    """Return the right values of reductions in one read."""
    return lambda x, axis: tuple(want(x, axis) for want in wanted)
