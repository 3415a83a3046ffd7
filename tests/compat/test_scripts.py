# SPDX-License-Identifier: Apache-2.0
"""Schedules of well-known te scripts."""

import numpy as np
import pytest

import axisfold.compat.tvm as tvm
from axisfold.compat.tvm import te
from axisfold.errors import UnsupportedError

SIZE, TILE, STEP = 64, 16, 4


def product():
    A = te.placeholder((SIZE, SIZE), name="A")
    B = te.placeholder((SIZE, SIZE), name="B")
    k = te.reduce_axis((0, SIZE), "k")
    packed = te.compute(
        (SIZE / TILE, SIZE, TILE), lambda n, k, lane: B[k, n * TILE + lane], name="packed"
    )
    C = te.compute(
        (SIZE, SIZE),
        lambda m, n: te.sum(A[m, k] * packed[n // TILE, k, te.indexmod(n, TILE)], axis=k),
        name="C",
    )
    return A, B, packed, C


def check(s, A, B, C):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (2, SIZE, SIZE)).astype("float32")
    c = tvm.nd.array(np.zeros((SIZE, SIZE), dtype=C.dtype), tvm.device("llvm", 0))
    tvm.build(s, [A, B, C], target="llvm", name="mmult")(a, b, c)
    assert (c.numpy() == a @ b).all()


def test_matrix_product_with_packed_columns_and_a_write_cache():
    A, B, packed, C = product()
    s = te.create_schedule(C.op)
    cache = s.cache_write(C, "global")
    mo, no, _, _ = s[C].tile(C.op.axis[0], C.op.axis[1], TILE, TILE)
    s[cache].compute_at(s[C], no)
    mc, nc = s[cache].op.axis
    (k,) = s[cache].op.reduce_axis
    ko, ki = s[cache].split(k, factor=STEP)
    s[cache].reorder(ko, mc, ki, nc)
    s[cache].vectorize(nc)  # 64 columns of C, of which a tile of 16 is computed here
    s[cache].unroll(ki)
    s[C].parallel(mo)
    n, _, lane = s[packed].op.axis
    s[packed].vectorize(lane)
    s[packed].parallel(n)
    text = str(tvm.lower(s, [A, B, C], simple_mode=True))
    assert 'for (n.c: int32, 0, 16) "vectorized"' in text
    check(s, A, B, C)


def test_a_vectorized_loop_of_unknown_extent_in_an_attached_stage_is_serial():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].vectorize(B.op.axis[1])
    s[B].unroll(B.op.axis[0])
    assert '"vectorized"' not in str(tvm.lower(s, [A, C]))
    x, out = np.ones((5, 5), "float32"), np.zeros(5, "float32")
    tvm.build(s, [A, C])(x, out)
    assert (out == 10).all()


def test_loops_and_extents_are_read_as_in_te():
    A, _, _, C = product()
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=TILE)
    assert s[C].leaf_iter_vars[:2] == [outer, inner]
    assert inner in s[C].all_iter_vars
    assert C.op.axis[0].dom.extent.value == int(A.shape[0]) == SIZE
    assert str(te.add(A[0, 0], te.multiply(A[0, 1], te.subtract(3, A[1, 1])))) == (
        "(A[0, 0] + (A[0, 1]*(3f - A[1, 1])))"
    )


@pytest.mark.parametrize("name", ["tensorize", "prefetch", "rolling_buffer", "transform_layout"])
def test_primitives_that_are_out_of_scope(name):
    _, _, _, C = product()
    s = te.create_schedule(C.op)
    with pytest.raises(UnsupportedError, match=f"{name} is not one of axisfold's schedule"):
        getattr(s[C], name)(C.op.axis[0], None)
