# SPDX-License-Identifier: Apache-2.0
"""Softmax, layer norm and RMS norm of examples/te against NumPy in float64."""

import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from axisfold import build, lower

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "te"
TOLERANCE = {
    "float64": {"rtol": 1e-12, "atol": 1e-14},
    "float32": {"rtol": 4e-6, "atol": 1e-6},
    "float16": {"rtol": 2e-3, "atol": 1e-3},
}
EXTENTS = {
    1: [(0,), (1,), (13,), (257,)],
    2: [(0, 5), (5, 0), (1, 1), (1, 13), (13, 1), (7, 31), (3, 257)],
    3: [(2, 0, 3), (0, 2, 3), (1, 1, 1), (5, 7, 11), (2, 64, 3), (3, 2, 37)],
}


@cache
def program(example):
    return runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="example")["program"]


def softmax(x, axis, log):
    with np.errstate(all="ignore"):
        shifted = x - x.max(axis=axis, keepdims=True, initial=-np.inf)
        total = np.exp(shifted).sum(axis=axis, keepdims=True)
        return shifted - np.log(total) if log else np.exp(shifted) / total


def layer_norm(x, axes, gamma, beta, is_centred):
    with np.errstate(all="ignore"):
        count = np.prod([x.shape[a] for a in axes])
        if is_centred:
            x = x - x.sum(axis=axes, keepdims=True) / count
        scale = np.sqrt(np.square(x).sum(axis=axes, keepdims=True) / count + 1e-5)
        shape = [e if a in axes else 1 for a, e in enumerate(x.shape)]
        return x / scale * gamma.reshape(shape) + beta.reshape(shape)


def normal(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    ("rank", "axis", "dtype"),
    [
        (1, 0, "float32"), (2, 1, "float32"), (2, 0, "float64"), (3, 1, "float32"),
        (3, -1, "float16"),
    ],
)  # fmt: skip
def test_softmax(rank, axis, dtype, log):
    s, args = program("softmax")(rank, axis, dtype, log)
    f = build(s, args)
    for shape in EXTENTS[rank]:
        x = normal(shape, dtype) * np.array(3, dtype)
        y = np.full_like(x, 77)
        f(x, y)
        np.testing.assert_allclose(y, softmax(x.astype("float64"), axis, log), **TOLERANCE[dtype])


@pytest.mark.parametrize("log", [False, True])
def test_softmax_of_rows_with_infinities_and_nan(log):
    s, args = program("softmax")(2, 1, "float64", log)
    x = normal((6, 5), "float64")
    x[0, 2] = np.nan
    x[1, 2] = -np.inf
    x[2, 2] = np.inf
    x[3] = -np.inf
    x[4] = np.inf
    y = np.empty_like(x)
    build(s, args)(x, y)
    np.testing.assert_allclose(y, softmax(x, 1, log), rtol=1e-12)
    assert np.isfinite(y[5]).all()


@pytest.mark.parametrize(
    ("rank", "axes", "dtype", "is_centred"),
    [
        (1, [0], "float32", True), (2, [1], "float32", True), (2, [0], "float32", False),
        (2, [0, 1], "float64", True), (3, [1], "float32", True), (3, [0, 2], "float64", True),
        (3, [1, 2], "float16", True), (3, [-1], "float16", False),
    ],
)  # fmt: skip
def test_layer_norm_and_rms_norm(rank, axes, dtype, is_centred):
    s, args = program("layer_norm")(rank, axes, dtype, 1e-5, is_centred)
    f = build(s, args)
    axes = tuple(a % rank for a in axes)
    for shape in EXTENTS[rank]:
        x = normal(shape, dtype) * np.array(30, dtype)
        gamma = normal([shape[a] for a in axes], dtype, 1)
        beta = normal(gamma.shape, dtype, 2) if is_centred else np.zeros_like(gamma)
        y = np.full_like(x, 77)
        f(x, gamma, *([beta] if is_centred else []), y)
        wide = (a.astype("float64") for a in (gamma, beta))
        wanted = layer_norm(x.astype("float64"), axes, *wide, is_centred)
        np.testing.assert_allclose(y, wanted, **TOLERANCE[dtype])


def test_layer_norm_of_rows_with_infinities_and_nan():
    s, args = program("layer_norm")(2, [1], "float64")
    x = normal((4, 5), "float64")
    x[0, 1], x[1, 1], x[2] = np.nan, np.inf, -np.inf
    gamma, beta = normal((2, 5), "float64")
    y = np.empty_like(x)
    build(s, args)(x, gamma, beta, y)
    np.testing.assert_allclose(y, layer_norm(x, (1,), gamma, beta, True), rtol=1e-12)
    assert np.isfinite(y[3]).all()


def test_a_large_float16_row_does_not_overflow():
    s, args = program("layer_norm")(2, [1], "float16", is_centred=False)
    x = np.full((1, 4096), 100, "float16")  # squares and their sum are far past 65504
    gamma = np.ones(4096, "float16")
    y = np.empty_like(x)
    build(s, args)(x, gamma, y)
    assert (y == 1).all()


def test_a_reduction_with_two_readers_is_computed_once():
    s, args = program("layer_norm")(2, [1])
    text = str(lower(s, args))
    assert text.count("total[0] = 0f64") == 1
    assert text.count("for (k1") == 2  # the sum and the sum of squares
    assert "allocate(wide" not in text
    assert "allocate(centred" not in text
