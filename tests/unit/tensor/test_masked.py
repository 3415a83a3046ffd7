# SPDX-License-Identifier: Apache-2.0
"""Values of elements that a mask lets pass: the choice comes before a conversion."""

from __future__ import annotations

import math

import numpy as np
import pytest

import axisfold
from axisfold.dtypes import BOOL, parse
from axisfold.ir import build
from axisfold.ir.expr import Cast, Select, Var
from axisfold.tensor.values import masked

MASK = Var("mask", BOOL)


@pytest.mark.parametrize(
    ("narrow", "wide", "otherwise"),
    [("float32", "float64", 0.0), ("int32", "float64", 1.0), ("int32", "int64", 0)],
)
def test_elements_are_chosen_before_they_are_widened(narrow, wide, otherwise):
    x = Var("x", parse(narrow))
    found = masked(MASK, build.cast(wide, x), build.const(otherwise, wide))
    short = build.const(otherwise, narrow)
    assert found == build.cast(wide, build.select(MASK, x, short))


@pytest.mark.parametrize(
    ("narrow", "wide", "otherwise"),
    [
        ("float16", "float64", 0.0),  # vectors of these are chosen from as float32
        ("float64", "float32", 0.0),
        ("int32", "float64", -0.0),
        ("float32", "float64", -math.inf),
    ],
)
def test_other_values_are_chosen_from_as_they_are(narrow, wide, otherwise):
    value = build.cast(wide, Var("x", parse(narrow)))
    found = masked(MASK, value, build.const(otherwise, wide))
    assert isinstance(found, Select)
    assert found.true_value is value


def test_a_mask_that_is_counted_is_not_chosen_from():
    one = build.cast("int64", MASK)
    assert masked(MASK, one, build.const(0, "int64")) is one
    assert isinstance(masked(MASK, one, build.const(1, "int64")), Select)
    assert isinstance(masked(Var("other", BOOL), one, build.const(0, "int64")), Select)
    assert isinstance(one, Cast)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("sum", "int8"), ("prod", "int32"), ("nansum", "float32"), ("nanmean", "float32")],
)
def test_folds_under_a_mask(name, dtype):
    rng = np.random.default_rng(3)
    x = rng.integers(-2, 3, (37, 1029)).astype(dtype)
    if dtype == "float32":
        x[rng.random(x.shape) < 0.3] = np.nan
    mask = rng.random(x.shape) < 0.5
    mask[:5, 5] = True
    for axis in (0, 1, None):
        found = getattr(axisfold, name)(x, axis=axis, where=mask)
        wanted = getattr(np, name)(x, axis=axis, where=mask)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-30)
