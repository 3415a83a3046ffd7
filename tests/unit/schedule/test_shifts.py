# SPDX-License-Identifier: Apache-2.0
"""Groups of neighbours that are computed at once: the last one begins early (shift_inwards)."""

import itertools

import numpy as np
import pytest

import axisfold
from axisfold import te
from axisfold.analysis.simplify import can_prove
from axisfold.build import build, lower
from axisfold.ir.expr import Binary, Load, Var
from axisfold.ir.stmt import For, Seq, Store
from axisfold.ir.walk import post_order
from axisfold.passes.pipelines import device

GROUP, TILE = 8, 16


def sums_of_columns(*, lanes=4, shifts=True):
    """Sums of columns by tiles, of states that are read by vectors of fewer lanes than a group."""
    n, m = te.size_var("n", least=GROUP), te.size_var("m")
    A = te.placeholder((m, n), "float64", name="A")
    scale = te.placeholder((n,), "float64", name="scale")
    k = te.reduce_axis((0, m), "k")
    P = te.compute((n,), lambda i: te.sum(A[k, i] * scale[i], axis=k), name="P")
    B = te.compute((n,), lambda i: P[i] + i, name="B")
    s = te.create_schedule(B.op)
    for stage in (P, B) if shifts else ():
        s[stage].pragma(stage.op.axis[0], "shift_inwards", GROUP)
    tile, inner = s[B].split(B.op.axis[0], factor=TILE)
    s[B].vectorize(s[B].split(inner, factor=lanes)[1])
    s[B].parallel(tile)
    s[P].compute_at(s[B], tile)
    vector, lane = s[P].split(P.op.axis[0], factor=GROUP)
    outer, row = s[P].split(k, factor=4)
    s[P].reorder(outer, vector, row, lane)
    s[P].unroll(row)
    s[P].vectorize(lane)
    return s, [A, scale, B]


def test_no_vector_is_one_in_part():
    nodes = [*post_order(device(lower(*sums_of_columns())).body)]
    assert all(n.mask is None for n in nodes if isinstance(n, Store))
    masked = [*post_order(device(lower(*sums_of_columns(shifts=False))).body)]
    assert any(n.mask is not None for n in masked if isinstance(n, Store))


def test_addresses_of_rows_that_are_written_out_move_evenly():
    kernel = device(lower(*sums_of_columns()))
    loops = [n for n in post_order(kernel.body) if isinstance(n, For)]
    (written_out,) = [n.body for n in loops if isinstance(n.body, Seq) and len(n.body.body) == 4]
    reads = [n.index for n in post_order(written_out) if isinstance(n, Load)]
    assert not any(isinstance(n, Binary) and n.op == "min" for i in reads for n in post_order(i))


@pytest.mark.parametrize("lanes", [4, 8])
def test_columns_beyond_the_edge_are_neither_read_nor_written(lanes):
    function = build(*sums_of_columns(lanes=lanes))
    for n, m in itertools.product([8, 9, 12, 15, 16, 17, 20, 23, 31, 32, 33], [0, 1, 4, 7]):
        whole = np.full((m, n + GROUP), np.nan)
        whole[:, :n] = np.arange(m * n).reshape(m, n)
        scale = np.full(n + GROUP, np.nan)
        scale[:n] = np.arange(n) + 1
        out = np.full(n + GROUP, -7.0)
        function(whole[:, :n], scale[:n], out[:n])
        expected = whole[:, :n].sum(axis=0) * scale[:n] + np.arange(n)
        assert out[:n].tolist() == expected.tolist()
        assert (out[n:] == -7).all()


def test_an_extent_is_known_to_be_no_less():
    n = te.size_var("n", least=8)
    assert can_prove(n >= 8)
    assert not can_prove(n >= 9)
    assert not can_prove(Var("m", is_size=True) >= 8)


COLUMNS = [63, 64, 65, 71, 95, 100, 127, 129]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("sum", "float64"),
        ("sum", "int8"),
        ("max", "float16"),
        ("argmin", "float32"),
        ("var", "float32"),
        ("count_nonzero", "int8"),
    ],
)
def test_columns_of_any_number(name, dtype):
    rng = np.random.default_rng(len(name))
    fold = getattr(axisfold, name)
    for rows, columns in [*itertools.product([3, 40], COLUMNS), (2100, 67), (5, 8195), (600, 70)]:
        whole = np.full((rows, columns + 64), 99, dtype)
        whole[:, :columns] = rng.integers(-9, 9, (rows, columns))
        x = whole[:, :columns]
        if dtype.startswith("float"):
            whole[:, columns:] = np.nan
            x[rng.integers(rows), columns - 1] = np.nan
        found = fold(x, axis=0)
        out = np.full(columns + 64, -7, found.dtype)
        fold(x, axis=0, out=out[:columns])
        with np.errstate(invalid="ignore"):
            expected = getattr(np, name)(x.astype(float), axis=0)
        np.testing.assert_allclose(found, expected, rtol=1e-3 if dtype == "float16" else 1e-6)
        np.testing.assert_array_equal(out[:columns], found)
        assert (out[columns:] == -7).all()


@pytest.mark.parametrize("columns", COLUMNS)
def test_results_in_the_place_of_a_row(columns):
    x = np.random.default_rng(columns).random((20, columns))
    expected = x.sum(axis=0)
    axisfold.sum(x, axis=0, out=x[7])
    np.testing.assert_allclose(x[7], expected, rtol=1e-12)


@pytest.mark.parametrize("columns", [67, 8195, 16390])
def test_threads_share_columns_that_two_tiles_have(columns, monkeypatch):
    x = np.random.default_rng(columns).random((30, columns), dtype=np.float32)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(axisfold.config, "threads", threads)
        found.append(axisfold.sum(x, axis=0).tobytes())
    assert found[0] == found[1]
