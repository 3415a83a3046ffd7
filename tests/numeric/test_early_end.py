# SPDX-License-Identifier: Apache-2.0
"""any and all, which read no further than they need: the same answers wherever the match is."""

import numpy as np
import pytest

import axisfold as af
from axisfold import te

# A run of bytes, 8 places that are read at once; a part of four runs, which threads share.
RUN = 8 * (8192 + 64)
PART = 4 * RUN
LENGTH = 3 * PART + 777
EDGES = sorted(
    {0, LENGTH - 1, LENGTH // 2, PART * 3, PART * 3 - 1, PART + RUN}
    | {edge + d for edge in (64, 8256, RUN, PART, 2 * PART) for d in (-1, 0, 1)}
)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_edge(threads, monkeypatch):
    monkeypatch.setattr(af.config, "threads", threads)
    x, out = np.zeros(LENGTH, bool), np.array(False)
    assert not af.any(x)
    assert af.all(~x)
    for place in EDGES:
        x[place] = True
        out[()] = False
        assert af.any(x, out=out) is out
        assert out[()], place
        no = ~x
        out[()] = True
        assert not af.all(no, out=out)[()], place
        x[place] = False


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "complex64", "bfloat16"])
def test_other_elements(dtype):
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x = np.zeros(LENGTH // 2, kind)
    assert not af.any(x)
    for place in (0, 8191, 300_000, len(x) - 1):
        for value in (1, -1, *([np.nan, 1e-30] if x.dtype.kind != "i" else [])):
            x[place] = value
            assert af.any(x), (place, value)
            assert not af.any(x, where=np.arange(len(x)) != place)
        x[place] = 0
    x[:] = -0.0 if x.dtype.kind != "i" else 0
    assert not af.any(x)
    x[:] = 2
    assert af.all(x)
    x[-1] = 0
    assert not af.all(x)


def test_rows_end_alone():
    x = np.zeros((6, LENGTH), bool)
    x[1, 0] = x[2, -1] = x[3, PART] = x[5, LENGTH // 2] = True
    for _ in range(3):
        out = ~x.any(axis=1)
        af.any(x, axis=1, out=out)
        assert out.tolist() == [False, True, True, True, False, True]
        assert af.all(~x, axis=1).tolist() == [not v for v in out]
    both = af.fold(x, ["any", "all"], axis=1)
    assert both.any.tolist() == out.tolist()
    assert not both.all.any()


@pytest.mark.parametrize("length", [3, 1023, 1024, 1025, 4100])
def test_rows_side_by_side(length):
    """Four rows are read at a time, until all of them have ended."""
    x = np.zeros((4 * 9 + 3, length), bool)
    x[np.arange(1, 39), np.arange(1, 39) * 41 % length] = True
    x[12:16, 0] = True
    assert af.any(x, axis=1).tolist() == x.any(axis=1).tolist()
    assert af.all(~x, axis=1).tolist() == (~x).all(axis=1).tolist()
    wide = np.where(x, np.nan, 0.0)
    assert af.any(wide, axis=1).tolist() == x.any(axis=1).tolist()


def test_several_axes_and_strides():
    x = np.zeros((3, 5, 300_000), bool)
    assert not af.any(x, axis=(0, 2)).any()
    x[2, 4, -1] = x[0, 1, 3] = True
    assert af.any(x, axis=(0, 2)).tolist() == [False, True, False, False, True]
    assert af.any(x[:, :, ::-1], axis=(0, 2)).tolist() == [False, True, False, False, True]
    assert af.any(x[..., ::3])
    assert not af.any(x[..., 1::3][1:2])
    assert af.any(x[1:, 2:, 1:-1]) == x[1:, 2:, 1:-1].any()
    assert af.any(x)
    assert not af.all(x)
    assert af.any(np.asfortranarray(x[:, :, :999]))
    assert not af.any(x[:0])
    assert af.all(x[:0])


def test_a_reducer_of_the_user():
    """Zero is the end of a product of integers, and a pair ends when both of it have."""
    product = af.Reducer(
        "product", {"p": "acc"}, 1, lambda x: x, lambda a, b: a.p * b.p,
        absorbing=lambda t: 0 if t.is_integer else None,
    )  # fmt: skip
    signs = af.Reducer(
        "signs", {"minus": "bool", "plus": "bool"}, {"minus": False, "plus": False},
        lambda x: (x < 0, x > 0),
        lambda a, b: (te.any(a.minus, b.minus), te.any(a.plus, b.plus)),
        absorbing={"minus": True, "plus": True},
    )  # fmt: skip
    x = np.ones(LENGTH // 4, "int32")
    for place in (0, 9000, 70_000, len(x) - 1):
        assert af.fold(x, product) == 1
        x[place] = 0
        assert af.fold(x, product) == 0
        x[place] = -1
        assert af.fold(x, signs) == (True, True)
        x[place] = 1
        assert af.fold(x, signs) == (False, True)
    assert af.fold(x.astype(float), product) == 1.0
    af.check_reducer(product, ["int32", "float64"], examples=10, kernels=False)
    af.check_reducer(signs, "int32", examples=10, kernels=False)
