# SPDX-License-Identifier: Apache-2.0
"""Launches written by hand: indices in hardware order, and what is refused."""

import pytest

from axisfold.dtypes import FLOAT32, INT64
from axisfold.errors import ExpressionError
from axisfold.ir import build, threads
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Barrier, Kernel

X, Y, B, C, N = (Var(n) for n in ("x", "y", "b", "c", "n"))


def test_indices_are_put_in_order():
    made = threads.launch(
        "k",
        {
            "threadIdx.y": (Y, 4),
            "clusterCtaIdx.x": (C, build.const(2)),
            "threadIdx.x": (X, 8),
            "blockIdx.z": (B, N),
        },
        Barrier(),
        shared_bytes=64,
    )
    assert made.tags == ("blockIdx.z", "clusterCtaIdx.x", "threadIdx.x", "threadIdx.y")
    assert made.vars == (B, C, X, Y)
    assert made.extents == (N, build.const(2), build.const(8), build.const(4))
    text = str(Kernel("k", (), (), made))
    assert "launch k(b: int32 < n: int32, c: int32 < 2, x: int32 < 8, y: int32 < 4)" in text
    assert ", shared = 64 bytes {" in text


def test_extents_have_the_dtype_of_their_index():
    wide = Var("wide", INT64)
    made = threads.launch("k", {"blockIdx.x": (wide, 1 << 33)}, Barrier())
    assert made.extents == (build.const(1 << 33, INT64),)


@pytest.mark.parametrize(
    ("tag", "var", "extent", "code", "text"),
    [
        (
            "threadIdx.w",
            X,
            4,
            "E121",
            "'threadIdx.w' is no hardware index. Use one of blockIdx.x, ",
        ),
        ("threadIdx.x", X, N, "E122", "the extent n of threadIdx.x is no positive constant"),
        (
            "clusterCtaIdx.x",
            X,
            N,
            "E122",
            "the extent n of clusterCtaIdx.x is no positive constant",
        ),
        ("threadIdx.x", X, 0, "E122", "the extent 0 of threadIdx.x is no positive constant"),
        ("blockIdx.x", X, Var("f", FLOAT32), "E123", "the extent f of blockIdx.x is no integer"),
        ("blockIdx.x", Var("f", FLOAT32), 4, "E123", "the index blockIdx.x is held by "),
        ("blockIdx.x", "x", 4, "E123", "is held by 'x', which is no integer variable"),
    ],
)
def test_what_is_refused(tag, var, extent, code, text):
    with pytest.raises(ExpressionError) as caught:
        threads.launch("k", {tag: (var, extent)}, Barrier())
    assert caught.value.code == code
    assert text in str(caught.value)
