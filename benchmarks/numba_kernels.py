# SPDX-License-Identifier: Apache-2.0
"""Kernels as a skilled user of Numba writes them: parallel, fastmath, a chunk for each thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba import get_num_threads, njit, prange

CHUNK: Final = 1 << 16
BOUND: Final = 1 << 12
fast = njit(parallel=True, fastmath=True, nogil=True)
strict = njit(parallel=True, nogil=True)


def _full(
    start: str, step: str, merge: str, finish: str = "t", kind: str = "np.float64"
) -> Callable[..., Any]:
    """Return a fold of a flat array by chunks; the texts are expressions."""
    text = f"""
def kernel(x):
    n = x.size
    chunks = (n + {CHUNK} - 1) // {CHUNK}
    parts = np.empty(chunks, {kind})
    for c in prange(chunks):
        t = {start}
        for i in range(c * {CHUNK}, min(n, (c + 1) * {CHUNK})):
            v = x[i]
            t = {step}
        parts[c] = t
    t = parts[0]
    for c in range(1, chunks):
        p = parts[c]
        t = {merge}
    return {finish}
"""
    names: dict[str, Any] = {"np": np, "math": math, "prange": prange, "max": max, "min": min}
    exec(text, names)
    return fast(names["kernel"])


@fast
def _minmax(x):
    chunks = (x.size + CHUNK - 1) // CHUNK
    lows, highs = np.empty(chunks, x.dtype), np.empty(chunks, x.dtype)
    for c in prange(chunks):
        low = high = x[c * CHUNK]
        for i in range(c * CHUNK, min(x.size, (c + 1) * CHUNK)):
            low, high = min(low, x[i]), max(high, x[i])
        lows[c], highs[c] = low, high
    return lows.min(), highs.max()


@fast
def _row_sum(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        t = np.float32(0)
        for j in range(x.shape[1]):
            t += x[i, j]
        out[i] = t
    return out


@fast
def _column_sum(x):
    rows, columns = x.shape
    threads = get_num_threads()
    parts = np.zeros((threads, columns), x.dtype)
    for c in prange(threads):
        own = parts[c]
        for i in range(rows * c // threads, rows * (c + 1) // threads):
            row = x[i]
            for j in range(columns):
                own[j] += row[j]
    return parts.sum(axis=0)


@njit
def _least(parts):
    out = parts[0].copy()
    for c in range(1, parts.shape[0]):
        for j in range(parts.shape[1]):
            out[j] = min(out[j], parts[c, j])
    return out


@fast
def _column_min(x):
    rows, columns = x.shape
    threads = get_num_threads()
    parts = np.full((threads, columns), np.inf, x.dtype)
    for c in prange(threads):
        own = parts[c]
        for i in range(rows * c // threads, rows * (c + 1) // threads):
            row = x[i]
            for j in range(columns):
                own[j] = min(own[j], row[j])
    return _least(parts)


@njit(fastmath=True)
def _first_of_row(row):
    best = row[0]
    for j in range(row.size):
        best = max(best, row[j])
    for j in range(row.size):
        if row[j] == best:
            return j
    return 0


@fast
def _row_argmax(x):
    out = np.empty(x.shape[0], np.int64)
    for i in prange(x.shape[0]):
        out[i] = _first_of_row(x[i])
    return out


@fast
def _column_argmax(x):
    rows, columns = x.shape
    out = np.empty(columns, np.int64)
    tile = 2048
    for c in prange((columns + tile - 1) // tile):
        low, high = c * tile, min(columns, (c + 1) * tile)
        best = x[0, low:high].copy()
        where = np.zeros(high - low, np.int32)
        for i in range(1, rows):
            row = x[i, low:high]
            for j in range(high - low):
                better = row[j] > best[j]
                best[j] = row[j] if better else best[j]
                where[j] = i if better else where[j]
        out[low:high] = where
    return out


@fast
def _full_argmax(x):
    chunks = (x.size + CHUNK - 1) // CHUNK
    best, where = np.empty(chunks, x.dtype), np.empty(chunks, np.int64)
    for c in prange(chunks):
        part = x[c * CHUNK : (c + 1) * CHUNK]
        j = _first_of_row(part)
        best[c], where[c] = part[j], c * CHUNK + j
    return where[np.argmax(best)]


@njit(fastmath=True)
def _moments(part):
    mean = 0.0
    for v in part:
        mean += v
    mean /= part.size
    m2 = 0.0
    for v in part:
        m2 += (v - mean) * (v - mean)
    return mean, m2


@fast
def _full_moments(x):
    chunks = (x.size + BOUND - 1) // BOUND
    means, squares = np.empty(chunks), np.empty(chunks)
    for c in prange(chunks):
        means[c], squares[c] = _moments(x[c * BOUND : (c + 1) * BOUND])
    n = mean = m2 = 0.0
    for c in range(chunks):
        size = min(x.size - c * BOUND, BOUND)
        delta = means[c] - mean
        m2 += squares[c] + delta * delta * n * size / (n + size)
        n += size
        mean += delta * size / n
    return mean, m2 / n


@fast
def _row_var(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        out[i] = _moments(x[i])[1] / x.shape[1]
    return out


@fast
def _column_var(x):
    rows, columns = x.shape
    out = np.empty(columns, x.dtype)
    tile = 1024
    for c in prange((columns + tile - 1) // tile):
        low, high = c * tile, min(columns, (c + 1) * tile)
        shift = x[0, low:high].astype(np.float32)
        s = np.zeros(high - low, np.float32)
        q = np.zeros(high - low, np.float32)
        for i in range(rows):
            row = x[i, low:high]
            for j in range(high - low):
                d = row[j] - shift[j]
                s[j] += d
                q[j] += d * d
        for j in range(high - low):
            out[low + j] = (q[j] - s[j] * s[j] / rows) / rows
    return out


@fast
def _row_norm(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        t = np.float32(0)
        for j in range(x.shape[1]):
            t += x[i, j] * x[i, j]
        out[i] = math.sqrt(t)
    return out


@strict
def _row_nanmean(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        t, n = 0.0, 0
        for j in range(x.shape[1]):
            v = x[i, j]
            if v == v:
                t += v
                n += 1
        out[i] = t / n
    return out


@fast
def _row_logsumexp(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        t = np.float32(0)
        for j in range(x.shape[1]):
            t += math.exp(x[i, j] - top)
        out[i] = top + math.log(t)
    return out


@fast
def _row_softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        t = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - top)
            t += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= t
    return out


@fast
def _dot(x, y):
    t = np.float32(0)
    for i in prange(x.size):
        t += x[i] * y[i]
    return t


@fast
def _distance(x, y):
    t = np.float32(0)
    for i in prange(x.size):
        t += (x[i] - y[i]) * (x[i] - y[i])
    return t


@njit(parallel=True, nogil=True)
def _any(x):
    chunks = (x.size + CHUNK - 1) // CHUNK
    parts = np.zeros(chunks, np.uint8)
    for c in prange(chunks):
        t = np.uint8(0)
        for i in range(c * CHUNK, min(x.size, (c + 1) * CHUNK)):
            t |= x[i]
        parts[c] = t
    return parts.max() != 0


@njit(parallel=True, nogil=True)
def _all(x):
    chunks = (x.size + CHUNK - 1) // CHUNK
    parts = np.ones(chunks, np.uint8)
    for c in prange(chunks):
        t = np.uint8(1)
        for i in range(c * CHUNK, min(x.size, (c + 1) * CHUNK)):
            t &= x[i]
        parts[c] = t
    return parts.min() != 0


@njit(parallel=True, nogil=True)
def _count_bytes(x):
    total = 0
    for c in prange((x.size + 251) // 252):
        t = np.uint8(0)
        for i in range(c * 252, min(x.size, (c + 1) * 252)):
            t += x[i]
        total += t
    return total


_sum = _full("np.float32(0)", "t + v", "t + p")
_double = _full("np.float64(0)", "t + v", "t + p")
_complex = _full("np.complex64(0)", "t + v", "t + p", kind="np.complex128")


@njit(parallel=True, nogil=True)
def _total(x):
    t = 0
    for i in prange(x.size):
        t += np.int64(x[i])
    return t


_prod = _full("np.float64(1)", "t * v", "t * p")
_max = _full("np.float32(x[c * 65536])", "max(t, v)", "max(t, p)")
_count = _full("np.int32(0)", "t + (v != 0)", "t + p", "np.int64(t)")


@njit(parallel=True, nogil=True)
def _nansum(x):
    chunks = (x.size + CHUNK - 1) // CHUNK
    parts = np.empty(chunks)
    for c in prange(chunks):
        t = np.zeros(32, np.float32)
        part = x[c * CHUNK : (c + 1) * CHUNK]
        rounds = part.size // 32
        for i in range(rounds):
            for k in range(32):
                v = part[i * 32 + k]
                t[k] += v if v == v else np.float32(0)
        for i in range(rounds * 32, part.size):
            t[0] += part[i] if part[i] == part[i] else np.float32(0)
        parts[c] = t.sum()
    return parts.sum()


def _sums(x: Any, axis: Any) -> Any:
    if x.dtype.itemsize < 4 and x.dtype.kind not in "iu":
        raise NotImplementedError  # Numba has no arithmetic of 16-bit floats on CPUs
    if axis is None:
        flat = x.T if x.flags.f_contiguous else x
        flat = flat.reshape(-1)
        if x.dtype.kind in "iu":
            return _total(flat)
        if x.dtype.kind == "c":
            return _complex(flat)
        return _sum(flat) if x.dtype == np.float32 else _double(flat)
    if x.ndim != 2 or x.dtype.kind != "f":
        raise NotImplementedError
    if x.strides[0] < x.strides[1]:
        x, axis = x.T, 1 - axis
    return _row_sum(x) if axis == 1 else _column_sum(x)


def _by_axis(**kernels: Any) -> Callable[..., Any]:
    def run(x: Any, axis: Any) -> Any:
        name = {None: "full", 0: "column", 1: "row"}[axis]
        if name not in kernels:
            raise NotImplementedError
        return kernels[name](x.reshape(-1) if axis is None else x)

    return run


OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "sum": _sums,
    "mean": _by_axis(full=lambda x: _sum(x) / x.size),
    "prod": _by_axis(full=_prod),
    "max": _by_axis(full=_max),
    "min": _by_axis(column=_column_min),
    "minmax": _by_axis(full=_minmax),
    "meanvar": _by_axis(full=_full_moments),
    "argmax": _by_axis(full=_full_argmax, row=_row_argmax, column=_column_argmax),
    "var": _by_axis(full=lambda x: _full_moments(x)[1], row=_row_var, column=_column_var),
    "norm": _by_axis(row=_row_norm),
    "nansum": _by_axis(full=_nansum),
    "nanmean": _by_axis(row=_row_nanmean),
    "logsumexp": _by_axis(row=_row_logsumexp),
    "softmax": _by_axis(row=_row_softmax),
    "dot": lambda x, y, axis: _dot(x, y),
    "distance": lambda x, y, axis: _distance(x, y),
    "any": _by_axis(full=lambda x: _any(x.view(np.uint8))),
    "all": _by_axis(full=lambda x: _all(x.view(np.uint8))),
    "count_nonzero": _by_axis(
        full=lambda x: _count_bytes(x.view(np.uint8)) if x.dtype == bool else _count(x)
    ),
}
