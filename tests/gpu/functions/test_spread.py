# SPDX-License-Identifier: Apache-2.0
"""Results of the input's shape on CUDA arrays."""

import cupy
import numpy as np
import pytest
import torch
from fold_support import elements
from fold_support.spreads import NAMES, agree

import axisfold
from axisfold.plan import planner

pytestmark = pytest.mark.gpu

# Each kind of length that a rule is chosen by, with and without a tail.
SHAPES = [(1, 1), (31, 33), (5, 1025), (1000, 32), (1023, 3), (2, 70_001), (70_001, 3)]
DTYPES = ("float32", "float64", "float16", "int32", "bool")


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_every_shape(name, axis):
    for shape in SHAPES:
        x = elements(shape, "float32", name)
        result = getattr(axisfold, name)(cupy.asarray(x), axis=axis)
        assert isinstance(result, cupy.ndarray)
        assert result.flags.c_contiguous
        agree(name, result.get(), x, axis)


# Teams of a few threads, of a warp, of several, and rows that only a cache holds.
WHOLE = [(3001, n) for n in (4, 33, 100, 128, 256, 333, 511, 512, 1000, 4096)]
WHOLE += [(600, n) for n in (4100, 32768, 32769)]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", WHOLE)
def test_whole_rows(shape, dtype):
    for name in NAMES:
        x = elements(shape, dtype, name)
        agree(name, getattr(axisfold, name)(cupy.asarray(x), axis=1).get(), x, 1)
    assert "whole_row_elements" in {plan.rule.name for plan in planner._plans.values()}


def test_out_that_is_not_aligned():
    x = elements((70, 128), "float32", "softmax")
    for skip in (1, 4):
        out = cupy.zeros(70 * 128 + 4, "f4")[skip : skip + 70 * 128].reshape(70, 128)
        assert axisfold.softmax(cupy.asarray(x), 1, out=out) is out
        agree("softmax", out.get(), x, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype(name, dtype):
    for axis in (0, 1):
        x = elements((67, 129), dtype, name)
        result = getattr(axisfold, name)(torch.from_numpy(x).cuda(), axis=axis)
        agree(name, result.cpu().numpy(), x, axis)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), ()])
def test_layouts(axis):
    base = elements((6, 30, 19), "float32", "softmax")
    for view in (
        lambda b: b.transpose(2, 0, 1),
        lambda b: b[::2, ::3, ::2],
        lambda b: b[::-1, :, ::-1],
    ):
        x = view(base)
        result = axisfold.softmax(view(cupy.asarray(base)), axis)
        assert result.flags.c_contiguous
        agree("softmax", result.get(), x, axis)


def test_special_values():
    nan, inf = float("nan"), float("inf")
    rows = ([1, nan, 2, nan], [inf, 1, inf, -inf], [inf, 0], [-inf], [-inf, 0], [0, -40], [1e4])
    x = np.stack([np.resize(np.array(row, "f4"), 37) for row in rows])
    for name in NAMES:
        agree(name, getattr(axisfold, name)(cupy.asarray(x), 1).get(), x, 1)
    masked = axisfold.softmax(cupy.asarray(x), 1, empty="zero").get()
    assert (masked[3] == 0).all()


def test_no_elements():
    for axis in (0, 1, None):
        assert axisfold.softmax(cupy.zeros((5, 0), "f4"), axis).shape == (5, 0)
