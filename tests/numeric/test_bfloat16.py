# SPDX-License-Identifier: Apache-2.0
"""bfloat16: arrays of ml_dtypes, and of bits where that package is not there."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import axisfold as af
from axisfold import te
from axisfold.dtypes import BFLOAT16, DType, finite_range, parse, promote

BF16 = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(5)


def values(shape):
    x = RANDOM.standard_normal(shape) * 2.0 ** RANDOM.integers(-8, 8, shape)
    return x.astype(BF16)


def is_same(found, expected):
    """Whether bits are equal, those of any two NaNs included."""
    a, b = (np.asarray(v).astype(np.float64) for v in (found, expected))
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize(
    ("name", "axis"), [("sum", 0), ("sum", 1), ("max", 1), ("argmax", 0), ("argmax", 1), ("var", 1)]
)
def test_results_are_those_of_float64_rounded_once(name, axis):
    x = values((33, 70))
    x[3, 5] = np.nan
    x = x[::-1, ::2]
    found = getattr(af, name)(x, axis=axis)
    wide = getattr(af, name)(x.astype(np.float64), axis=axis)
    is_float = wide.dtype == np.float64
    assert found.dtype == (BF16 if is_float else wide.dtype)
    assert is_same(found, wide.astype(BF16) if is_float else wide)


def test_sums_do_not_stop_at_256():
    assert float(af.sum(np.ones(4096, BF16))) == 4096
    assert af.sum(np.full(100, 257, np.int32), dtype="bfloat16").dtype == BF16


def test_dtype():
    assert parse(BF16) is BFLOAT16
    assert str(parse("bfloat16")) == "bfloat16"
    assert BFLOAT16.to_numpy() == BF16
    assert BFLOAT16.stored == np.uint16
    assert BFLOAT16.is_float
    assert parse("float16") != BFLOAT16
    names = {"float16": "float32", "float32": "float32", "float64": "float64", "int64": "bfloat16"}
    for other, common in {**names, "bool": "bfloat16", "complex64": "complex64"}.items():
        assert promote(BFLOAT16, parse(other)) == promote(parse(other), BFLOAT16) == common
    assert finite_range(BFLOAT16)[1] == float(ml_dtypes.finfo(BF16).max)
    assert DType("bfloat", 16, 8).name == "bfloat16x8"


@pytest.mark.parametrize("target", ["llvm", "sim"])
def test_built_functions_take_either_form(target):
    n = te.var("n")
    a = te.placeholder((n,), "bfloat16", "A")
    b = te.compute((n,), lambda i: a[i] * te.const(3, "bfloat16") + a[i], name="B")
    s = te.create_schedule(b.op)
    if target == "sim":
        s[b].bind(s[b].op.axis[0], te.thread_axis("blockIdx.x"))
    f = af.build(s, [a, b], target=target)
    x, out = values(100), np.full(100, 7, BF16)
    exact = (x.astype(np.float64) * 3).astype(BF16).astype(np.float64) + x.astype(np.float64)
    f(x, out)
    assert is_same(out, exact.astype(BF16))
    bits = np.zeros(100, np.uint16)
    f(x.view(np.uint16), bits)
    assert is_same(bits.view(BF16), exact.astype(BF16))


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
import axisfold as af
from axisfold.dtypes import parse
assert parse("bfloat16").to_numpy() == np.uint16
assert af.sum(np.full(300, 1, np.int32), dtype="bfloat16") == 0x4396  # 300
"""


def test_it_works_without_ml_dtypes():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)
