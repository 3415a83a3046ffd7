# SPDX-License-Identifier: Apache-2.0
"""Inputs of cases, by shape and dtype."""

import mmap

import numpy as np


def _rng(shape):
    return np.random.default_rng([17, *shape])


def normal(shift=0.0, scale=1.0):
    return lambda shape, dtype: (_rng(shape).standard_normal(shape) * scale + shift).astype(dtype)


def uniform(scale=1.0, shift=0.0):
    return lambda shape, dtype: (_rng(shape).random(shape) * scale + shift).astype(dtype)


def integers(low, high):
    return lambda shape, dtype: _rng(shape).integers(low, high, shape).astype(dtype)


def full(value):
    return lambda shape, dtype: np.full(shape, value, dtype)


def endless(value):
    """As many elements as wanted, which are one in memory."""
    return lambda shape, dtype: np.broadcast_to(np.array(value, dtype), shape)


def repeated(make):
    """Return rows that are all the same in memory."""
    return lambda shape, dtype: np.broadcast_to(make(shape[1:], dtype), shape)


def opposites(value):
    """Return a row of a value above one of its opposite."""

    def make(shape, dtype):
        return np.broadcast_to(np.array([[value], [-value]], dtype), shape)

    return make


def heavy_first(shape, dtype):
    """Return ones, each below half a unit of the first row."""
    x = np.ones(shape, dtype)
    x[0] = {"float32": 2.0**24, "float64": 2.0**53}.get(np.dtype(dtype).name, 2.0**11)
    return x


def with_nans(make, each=7):
    def given(shape, dtype):
        x = make(shape, dtype)
        x.reshape(-1)[3::each] = np.nan
        return x

    return given


def placed(base, value, *places):
    """Return a constant with another value in a few places, each as far as the shape goes."""

    def make(shape, dtype):
        x = np.full(shape, base, dtype)
        for place in places:
            x[tuple(p % n for p, n in zip(place, shape, strict=True))] = value
        return x

    return make


def mapped(shape, dtype):
    """Return zeros that take no memory before they are written."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype).reshape(shape)
