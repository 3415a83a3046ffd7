# SPDX-License-Identifier: Apache-2.0
"""What the options of reductions refuse: class, code, and that nothing was written."""

import numpy as np
import pytest

import axisfold as af
from axisfold.errors import AxisfoldError

X = np.arange(12.0).reshape(3, 4)
INTS = np.arange(12).reshape(3, 4)
CENTER = af.Reducer(
    "center", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s, spread=lambda x, r: x - r.s
)
NAN = np.array([[np.nan, np.nan], [1.0, np.nan]])


def readonly():
    out = np.zeros(4)
    out.flags.writeable = False
    return out


REFUSALS = [
    (lambda: af.sum(X, foo=1), TypeError, "A340", "sum has no argument 'foo'"),
    (lambda: af.sum(X, 0, axis=0), TypeError, "A340", "'axis' twice"),
    (lambda: af.max(X, 0, None, False, 1, True, 2), TypeError, "A340", "by position at most"),
    (lambda: af.sum(X, keepdims="no"), TypeError, "A341", "sum: keepdims='no'"),
    (lambda: af.fold(X, "sum", keepdims=1.5), TypeError, "A341", "fold: keepdims=1.5"),
    (lambda: af.nansum(X, min_count="a"), TypeError, "A342", "min_count='a'"),
    (lambda: af.sum(INTS, min_count=99), TypeError, "D303", "dtype='float64'"),
    (lambda: af.nansum(INTS, where=INTS > 2, min_count=1), TypeError, "D303", "of int64"),
    (lambda: af.fold(X, ["max", "argmax"], min_count=13), TypeError, "D303", "argmax is of int64"),
    (lambda: af.var(X, correction="1"), ValueError, "A311", "'1' is no finite number"),
    (lambda: af.nanstd(X, ddof=b"1"), ValueError, "A311", "b'1' is no finite number"),
    (lambda: af.var(X, ddof=1, correction=0), ValueError, "A311", "correction=0 and ddof=1"),
    (lambda: af.sum(X, mean=0), TypeError, "A340", "'mean'"),
    (lambda: af.norm(X, "2"), ValueError, "A345", "ord='2'"),
    (lambda: af.fold(X, "softmax", keepdims=True), ValueError, "A316", "softmax has results"),
    (lambda: af.fold(X, CENTER, 1, keepdims=True), ValueError, "A316", "center has results"),
    (lambda: af.softmax(X, out=np.empty((3, 3))), ValueError, "A356", r"shape \(3, 3\)"),
    (lambda: af.softmax(X, where=X), TypeError, "A343", "where is of float64"),
    (lambda: af.fold(X, "sum", "a b -> a", keepdims="no"), TypeError, "A341", "keepdims='no'"),
    (lambda: af.sum(X, where=np.ones(4)), TypeError, "A343", "where is of float64"),
    (lambda: af.sum(X, where=np.ones(3, bool)), ValueError, "A307", r"\(3,\)"),
    (lambda: af.sum(X, where=np.ones((2, 3, 4), bool)), ValueError, "A307", "adds no elements"),
    (lambda: af.max(X, where=X > 1), ValueError, "A344", "initial="),
    (lambda: af.norm(X, "fro"), ValueError, "A345", "ord='fro'"),
    (lambda: af.fold(X, "sum", initial=(1, 2)), ValueError, "A346", "2 values for 1 inputs"),
    (lambda: af.max(INTS.astype("i1"), initial=300), OverflowError, "A347", "initial=300"),
    (lambda: af.sum(INTS.astype("u1"), initial=-1), OverflowError, "A347", "uint64"),
    (lambda: af.sum(X, initial=1j), TypeError, "A348", "complex"),
    (lambda: af.max(INTS, initial=np.nan), ValueError, "A349", "initial=nan"),
    (lambda: af.sum(X, initial=[1, 2]), ValueError, "A349", "not one number"),
    (lambda: af.nanargmax(NAN, axis=1), ValueError, "A350", "nanargmax"),
    (lambda: af.argmin(X, axis=1, where=X < 4), ValueError, "A350", "argmin"),
    (lambda: af.average(X, weights=np.zeros((3, 4))), ZeroDivisionError, "A351", "zero"),
    (lambda: af.average(X, weights=[1, 2]), TypeError, "A357", r"\(2,\)"),
    (lambda: af.average(X, axis=0, weights=[1, 2]), ValueError, "A358", r"\(2,\)"),
    (lambda: af.sum(X, out=3), TypeError, "A352", "int"),
    (lambda: af.sum(X, out=np.float64(0)), TypeError, "A352", "float64"),
    (lambda: af.fold(X, ["sum", "max"], out=np.zeros(())), TypeError, "A352", "2 results"),
    (lambda: af.sum(X, axis=0, out=readonly()), ValueError, "A354", "read-only"),
    (lambda: af.ptp(X > 1), TypeError, "D301", "ptp of bool"),
    (lambda: af.norm(np.zeros(0), -np.inf), ValueError, "A308", "norm"),
]


@pytest.mark.parametrize(("call", "kind", "code", "text"), REFUSALS)
def test_refusals(call, kind, code, text):
    with pytest.raises(AxisfoldError, match=text) as caught:
        call()
    assert isinstance(caught.value, kind)
    assert caught.value.code == code


def test_truth_values_are_not_mistaken_for_numbers_that_equal_them():
    assert af.sum(X, axis=0, keepdims=True).shape == (1, 4)
    assert af.sum(X, axis=0, keepdims=np.True_).shape == (1, 4)
    with pytest.raises(TypeError, match=r"keepdims=1\.0"):
        af.sum(X, axis=0, keepdims=1.0)


def test_an_axis_out_of_range_is_numpys_error():
    with pytest.raises(np.exceptions.AxisError, match="A301"):
        af.sum(X, axis=2)
    with pytest.raises(np.exceptions.AxisError, match="A301"):
        af.sum(X, axis=(0, -3))


@pytest.mark.parametrize(
    ("out", "code"),
    [
        (np.full(3, 7.0), "A356"), (np.full((1, 4), 7.0), "A356"), (np.full(4, 7), "D304"),
        (np.full(4, 7, "u1"), "D304"),
    ],
)  # fmt: skip
def test_an_array_that_does_not_fit_is_not_written(out, code):
    with pytest.raises(AxisfoldError, match=code):
        af.sum(X, axis=0, out=out)
    assert (out == 7).all()


def test_a_result_that_is_refused_is_not_written():
    out = np.full(2, 7)
    with pytest.raises(ValueError, match="A350"):
        af.nanargmin(NAN, axis=1, out=out)
    assert (out == 7).all()


def test_outs_that_share_memory():
    out = np.full(4, 7.0)
    with pytest.raises(ValueError, match="A355"):
        af.fold(X, ["sum", "max"], axis=0, out=(out, out))
    assert (out == 7).all()


@pytest.mark.parametrize(("source", "target"), [
    (s, t) for s in ("bool", "int8", "uint64", "float16", "float64", "complex64")
    for t in ("bool", "int32", "uint8", "float32", "complex128")
])  # fmt: skip
def test_the_kinds_that_numpy_casts(source, target):
    from axisfold.dtypes import is_same_kind, parse

    assert is_same_kind(parse(source), parse(target)) == np.can_cast(source, target, "same_kind")
