# SPDX-License-Identifier: Apache-2.0
"""Arrays of any dtype, layout and kind of values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

LAYOUTS = (
    "C", "F", "transposed", "stepped", "reversed", "broadcast", "record", "misaligned", "swapped",
    "overlapping", "readonly",
)  # fmt: skip

FLAVOURS = ("plain", "ties", "special", "extreme", "cancelling", "zeros")


def make_array(
    shape: tuple[int, ...], dtype: str, layout: str, flavour: str, seed: int
) -> np.ndarray[Any, Any]:
    """Return an array of the shape, in a layout that its name tells, with values of a flavour."""
    rng = np.random.default_rng(seed)
    if layout == "broadcast":
        thin = tuple(1 if n > 1 and rng.random() < 0.6 else n for n in shape)
        return np.broadcast_to(_values(rng, thin, dtype, flavour), shape)
    if layout == "overlapping" and shape:
        return _overlapping(rng, shape, dtype, flavour)
    return _arranged(rng, np.asarray(_values(rng, shape, dtype, flavour)), layout)


def _arranged(rng: np.random.Generator, x: Any, layout: str) -> Any:
    """Return the same values in another layout."""
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "transposed":
        order = rng.permutation(x.ndim)
        return x.transpose(order).copy("C").transpose(np.argsort(order))
    if layout in ("stepped", "reversed") and x.ndim:
        steps = [int(rng.integers(1, 4)) if layout == "stepped" else 1 for _ in x.shape]
        big = np.empty([n * s + 1 for n, s in zip(x.shape, steps, strict=True)], x.dtype)
        poison(big)
        signs = [s if layout == "stepped" or rng.random() < 0.3 else -1 for s in steps]
        cut = tuple(
            slice(None, n * s, s) if s > 0 else slice(n - 1 if n else 0, None, -1)
            for n, s in zip(x.shape, signs, strict=True)
        )
        view = big[cut]
        view = view[tuple(slice(0, n) for n in x.shape)]
        view[...] = x
        return view
    if layout == "record":
        packed = np.zeros(x.shape, np.dtype([("pad", "u1", (3,)), ("value", x.dtype)]))
        packed["value"] = x
        return packed["value"]
    if layout == "misaligned":
        raw = np.zeros(x.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(x.tobytes(), np.uint8)
        return raw[1 : 1 + x.nbytes].view(x.dtype).reshape(x.shape)
    if layout == "swapped":
        return x.astype(x.dtype.newbyteorder())
    if layout == "readonly":
        x.flags.writeable = False
    return x


def _overlapping(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, flavour: str) -> Any:
    steps = [int(rng.integers(1, 3)) for _ in shape]
    length = 1 + sum(max(n - 1, 0) * s for n, s in zip(shape, steps, strict=True))
    flat = _values(rng, (length,), dtype, flavour)
    strides = [s * flat.itemsize for s in steps]
    return np.lib.stride_tricks.as_strided(flat, shape, strides, writeable=False)


def poison(x: np.ndarray[Any, Any]) -> None:
    """Fill with values that show in every result they touch."""
    if x.dtype.kind == "b":
        x.fill(True)
    else:
        x.view(np.uint8).fill(0xFF)


def _values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, flavour: str) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < {"plain": 0.5, "zeros": 0.0}.get(flavour, 0.9)
    if kind in "iu":
        return _integers(rng, shape, np.dtype(dtype), flavour)
    if kind == "c":
        real = np.dtype(dtype).type(0).real.dtype.name
        both = np.empty(shape, dtype)
        both.real, both.imag = (_floats(rng, shape, real, flavour) for _ in range(2))
        return both
    return _floats(rng, shape, dtype, flavour)


def _integers(rng: np.random.Generator, shape: Any, dtype: Any, flavour: str) -> Any:
    info = np.iinfo(dtype)
    low, high = max(-5, int(info.min)), 6
    if flavour == "ties":
        low, high = 0, 2
    elif flavour in ("extreme", "special"):
        low, high = int(info.min), int(info.max)
    elif flavour == "zeros":
        low, high = 0, 1
    x = rng.integers(low, high, shape, dtype=dtype, endpoint=flavour in ("extreme", "special"))
    if flavour == "special":
        x = np.where(rng.random(shape) < 0.3, dtype.type([info.min, info.max][rng.integers(2)]), x)
    return np.asarray(x, dtype)


def _floats(rng: np.random.Generator, shape: Any, dtype: str, flavour: str) -> Any:
    info = np.finfo(dtype)
    x = rng.standard_normal(shape)
    if flavour == "ties":
        x = rng.choice([0.0, -0.0, 1.0, -1.0], shape)
    elif flavour == "zeros":
        x = rng.choice([0.0, -0.0], shape)
    elif flavour == "special":
        odd = [math.nan, math.inf, -math.inf, 0.0, -0.0]
        x = np.where(rng.random(shape) < 0.15, rng.choice(odd, shape), x)
    elif flavour == "extreme":
        # Subnormal to a quarter of the largest, so that sums of some elements may overflow.
        top = math.log2(float(info.max)) - 2
        bottom = math.log2(float(info.smallest_subnormal))
        x = np.sign(x) * np.exp2(rng.uniform(bottom, top, shape))
    elif flavour == "cancelling":
        x = np.where(rng.random(shape) < 0.5, 1.0, -1.0) * (100.0 + x * 1e-3)
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype)
