# SPDX-License-Identifier: Apache-2.0
"""Tiles that reach over the edge: their last index is computed again in place of guards."""

import numpy as np
import pytest

import axisfold
from axisfold import te
from axisfold.build import build, lower
from axisfold.ir.stmt import For
from axisfold.ir.walk import post_order
from axisfold.passes.pipelines import device

ROWS = 4


def tiles_of_rows(*, repeats=True):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "float64", name="A")
    scale = te.placeholder((n,), "float64", name="scale")
    k = te.reduce_axis((0, m), "k")
    P = te.compute((n,), lambda i: te.sum(A[i, k] * scale[i], axis=k), name="P")
    B = te.compute((n,), lambda i: P[i] + 1, name="B")
    s = te.create_schedule(B.op)
    outer, row = s[B].split(B.op.axis[0], factor=ROWS)
    s[B].vectorize(row)
    s[B].parallel(outer)
    s[P].compute_at(s[B], outer)
    s[P].reorder(k, P.op.axis[0])
    s[P].unroll(P.op.axis[0])
    if repeats:
        s[P].pragma(P.op.axis[0], "repeat_edge", 1)
    return s, [A, scale, B]


def parallel_loops(schedule, args):
    nodes = post_order(device(lower(schedule, args)).body)
    return [n for n in nodes if isinstance(n, For) and n.var.name == "i.outer"]


def test_only_results_of_a_tile_are_guarded():
    s, args = tiles_of_rows()
    text = str(lower(s, args))
    assert text.count("likely") == 1
    assert "min(" in text


def test_a_tile_that_repeats_its_last_row_has_no_program_for_the_rest():
    assert len(parallel_loops(*tiles_of_rows())) == 1
    assert len(parallel_loops(*tiles_of_rows(repeats=False))) == 2


@pytest.mark.parametrize("n", [0, 1, 3, 4, 6, 9])
def test_rows_beyond_the_edge_are_neither_read_nor_written(n):
    s, args = tiles_of_rows()
    function = build(s, args)
    whole = np.full((n + ROWS, 5), np.nan)
    whole[:n] = np.arange(n * 5).reshape(n, 5)
    scale = np.full(n + ROWS, np.nan)
    scale[:n] = np.arange(n) + 1
    out = np.full(n + ROWS, -7.0)
    function(whole[:n], scale[:n], out[:n])
    assert out[:n].tolist() == (whole[:n].sum(axis=1) * scale[:n] + 1).tolist()
    assert (out[n:] == -7).all()


def test_a_tile_reads_a_tile_of_its_own_beyond_the_edge():
    n = te.var("n")
    A = te.placeholder((n,), "int64", name="A")
    P = te.compute((n,), lambda i: A[i] * 2, name="P")
    Q = te.compute((n,), lambda i: P[i] + A[i], name="Q")
    B = te.compute((n,), lambda i: Q[i] - 1, name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=ROWS)
    for stage in (Q, P):
        s[stage].compute_at(s[B], outer)
        s[stage].pragma(stage.op.axis[0], "repeat_edge", 1)
    function = build(s, [A, B])
    for size in range(1, 10):
        out = np.full(size + 1, -7)
        function(np.arange(size), out[:size])
        assert out.tolist() == [*(3 * i - 1 for i in range(size)), -7]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7, 9])
@pytest.mark.parametrize("columns", [1, 9, 70, 4099])
def test_few_rows_are_folded_as_many_are(rows, columns):
    whole = np.full((rows + ROWS, columns), np.nan, np.float32)
    whole[:rows] = np.random.default_rng(rows).random((rows, columns), dtype=np.float32)
    x = whole[:rows]
    out = np.full(rows, -7, np.int64)
    assert axisfold.argmax(x, axis=1, out=out).tolist() == x.argmax(axis=1).tolist()
    np.testing.assert_allclose(axisfold.sum(x, axis=1), x.sum(axis=1, dtype=float), rtol=1e-6)
    np.testing.assert_allclose(axisfold.var(x, axis=1), x.var(axis=1, dtype=float), 1e-5, 1e-12)
    np.testing.assert_array_equal(axisfold.nanmax(x, axis=1), x.max(axis=1))
