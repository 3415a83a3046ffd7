# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 bits: every bit pattern is widened as ml_dtypes does, and folds give float32."""

import ml_dtypes
import numpy as np
import pytest
import torch

import axisfold
from axisfold.dtypes import FLOAT32
from axisfold.errors import DTypeError
from axisfold.tensor.float8 import FORMATS
from axisfold.tensor.member import Member
from axisfold.tensor.trace import trace

EVERY_BYTE = np.arange(256, dtype="u1")


@pytest.mark.parametrize("name", FORMATS)
def test_every_bit_pattern(name):
    x = EVERY_BYTE.view(getattr(ml_dtypes, name))
    want = x.astype("f4")
    result = axisfold.max(x, axis=())
    assert result.dtype == "float32"
    assert np.array_equal(result, want, equal_nan=True)
    is_number = ~np.isnan(want)
    assert np.array_equal(np.signbit(result[is_number]), np.signbit(want[is_number]))


def test_folds_are_those_of_float32():
    x = np.random.default_rng(3).integers(0, 120, (40, 33), "u1").view(ml_dtypes.float8_e4m3fn)
    wide = x.astype("f4")
    for name, axis in (("sum", 0), ("sum", 1), ("var", 1), ("argmax", 1), ("count_nonzero", 0)):
        result = getattr(axisfold, name)(x[:, ::-1], axis=axis)
        want = getattr(axisfold, name)(wide[:, ::-1], axis=axis)
        assert np.array_equal(result, want)
        assert result.dtype == want.dtype
    assert axisfold.sum(x, dtype="float64") == wide.sum(dtype="f8")


def test_tensors():
    x = torch.tensor([1.5, -2.0, 0.25]).to(torch.float8_e5m2)
    result = axisfold.sum(x)
    assert (result.dtype, result.item()) == (torch.float32, -0.25)


def test_elements_are_read_as_bytes():
    reducer = axisfold.Reducer("total", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s)
    traced = trace([Member(reducer)], [FORMATS["float8_e5m2"]])
    assert [v.dtype for v in traced.elements[0]] == ["uint8"]
    assert traced.results[0].dtype == FLOAT32


@pytest.mark.parametrize("name", ["int4", "uint2", "float4_e2m1fn", "float6_e3m2fn"])
def test_narrower_elements_are_refused(name):
    x = np.ones(4, getattr(ml_dtypes, name))
    with pytest.raises(DTypeError) as caught:
        axisfold.sum(x)
    assert str(caught.value).startswith(
        f"dtype {name} is not supported: axisfold reduces numbers and truth values only."
    )
    with pytest.raises(DTypeError, match="D101"):
        axisfold.sum(np.ones(3), dtype=x.dtype)
