# SPDX-License-Identifier: Apache-2.0
"""Results of the input's shape by every rule for GPUs, in the simulator."""

import fold_support
import numpy as np
import pytest
from fold_support import elements, simulated
from fold_support.simulated import fold_in_sim
from fold_support.spreads import NAMES, agree

import axisfold
from axisfold import te
from axisfold.plan import planner, sizes_gpu
from axisfold.target import Target

# rule -> shape and axis that it is chosen for; lengths end in tails
CASES = {
    "whole_row_elements": ((9, 100), 1),
    "whole_row_elements of two warps": ((3, 2000), 1),
    "whole_row_elements of long rows": ((6, 4100), 1),
    "tiled_row_split_then_elements": ((2, 9001), 1),
    "thread_column_elements": ((5, 70), 0),
    "column_elements": ((70, 33), 0),
    "column_split_then_elements": ((1001, 36), 0),
    "short_row_then_elements": ((5, 20), None),
    "tiled_row_split_then_elements of one": ((9001,), 0),
}


@pytest.fixture(autouse=True)
def _small_card(monkeypatch):
    """Six blocks are a wave of this card, so that simulations are short."""
    monkeypatch.setattr(simulated, "TARGET", Target("sim", multiprocessors=3))
    monkeypatch.setattr(sizes_gpu, "RESIDENT", 2)
    monkeypatch.setattr(planner, "_plans", {})


@pytest.mark.parametrize("rule", CASES)
def test_rules(rule):
    shape, axis = CASES[rule]
    half = [("softmax", "float16")] * rule.startswith("whole")
    for name, dtype in [*zip(NAMES, ("float32", "float64"), strict=True), *half]:
        x = elements(shape, dtype, name)
        found, [result] = fold_in_sim([x], [name], axis, seed=len(shape))
        assert found == rule.partition(" of ")[0]
        agree(name, result, x, axis)


@pytest.mark.parametrize(
    ("extent", "dtype", "team", "cluster"),
    [(256, "float32", 32, 1), (384, "float32", 64, 2), (640, "float32", 128, 4),
     (1024, "float16", 128, 4), (768, "float64", 128, 4), (416, "float32", 0, 0)],
)  # fmt: skip
def test_long_rows_are_held_by_blocks_and_clusters(extent, dtype, team, cluster, monkeypatch):
    monkeypatch.setattr(sizes_gpu, "SHORT_ROW", 100)
    monkeypatch.setattr(sizes_gpu, "LONG_TEAM", 32)
    monkeypatch.setattr(sizes_gpu, "MOST_THREADS", 32)
    monkeypatch.setattr(sizes_gpu, "HELD_ELEMENTS", 8)
    x = elements((3, extent), dtype, "softmax")
    x[1, 5], x[2, 7:] = np.inf, -np.inf
    for name in NAMES:
        found, [result] = fold_in_sim([x], [name], 1, seed=3)
        agree(name, result, x, 1)
        (made,) = planner._plans.values()
        planner._plans.clear()
        gpu = made.layout.gpu
        assert (found, gpu.is_held) == ("whole_row_elements", extent % 128 == 0)
        assert not gpu.is_held or (gpu.team, gpu.cluster) == (team, cluster)
        assert _sums_own(made) == (gpu.is_held and _has_wide_sums(name, dtype))


# Length and type -> lanes of a load, threads and loads of each; rows end within a block.
SHORT = {
    (3, "float32"): (1, 1, 3), (4, "float32"): (4, 1, 1), (8, "float32"): (4, 1, 2),
    (5, "float32"): (1, 2, 3), (16, "float32"): (4, 2, 2),
    (33, "float32"): (1, 8, 5), (100, "float32"): (4, 8, 4),
    (128, "float32"): (4, 8, 4), (256, "float32"): (4, 16, 4), (333, "float32"): (1, 16, 21),
    (511, "float32"): (1, 64, 8), (512, "float32"): (4, 32, 4), (256, "float16"): (8, 16, 2),
    (333, "float16"): (1, 16, 21), (128, "float64"): (2, 32, 2),
}  # fmt: skip


@pytest.mark.parametrize(("extent", "dtype"), SHORT)
def test_short_rows_are_held_by_few_threads(extent, dtype):
    x = elements((9, extent), dtype, "softmax")
    x[1, extent // 2], x[2, 1:], x[3, 2], x[8] = np.inf, -np.inf, np.nan, -np.inf
    for name in NAMES:
        found, [result] = fold_in_sim([x], [name], 1, seed=3)
        agree(name, result, x, 1)
        (made,) = planner._plans.values()
        planner._plans.clear()
        gpu = made.layout.gpu
        assert (found, gpu.is_held) == ("whole_row_elements", True)
        assert (gpu.lanes, gpu.team, gpu.steps) == SHORT[extent, dtype]
        assert _sums_own(made) == (gpu.steps <= sizes_gpu.HELD and _has_wide_sums(name, dtype))


def _has_wide_sums(name, dtype):
    """Return whether sums of float32 are float64; of 16 bits those of softmax are not."""
    return dtype == "float32" or (name, dtype) == ("log_softmax", "float16")


def _sums_own(made):
    """Return whether each thread sums what it holds of a row in float32."""
    own = [part for part in made.graph.tile_parts if part is not None]
    return any(t.dtype == "float32" for part in own for t in part.op.outputs)


def test_own_sums_are_off_by_no_more_than_their_results():
    """Many small terms beside one large: each float32 sum of a thread has four terms at most."""
    x = np.zeros((2, 4096), "float32")
    x[:, ::97], x[1, 1::2] = -16, np.linspace(-24, 0, 2048, dtype="float32")
    found, [result] = fold_in_sim([x], ["softmax"], 1, seed=3)
    (made,) = planner._plans.values()
    assert found == "whole_row_elements"
    assert _sums_own(made)
    wide = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    want = wide / wide.sum(axis=1, keepdims=True)
    assert np.abs(result / want - 1).max() < 5 * np.finfo("f4").eps


@pytest.mark.parametrize("extent", [32, 128, 200])
@pytest.mark.parametrize("name", ["logsumexp", "var"])
def test_short_rows_of_dear_states(name, extent):
    x = elements((9, extent), "float32", name)
    found, [result] = fold_in_sim([x], [name], 1, seed=3)
    fold_support.agree(name, result, fold_support.expected(name, x, 1), x, 1)
    (made,) = planner._plans.values()
    gpu = made.layout.gpu
    assert (found, gpu.team) == ("whole_row", {32: 4, 128: 4, 200: 8}[extent])


LAYOUTS = {
    "transposed": lambda b: b.transpose(2, 0, 1),
    "steps": lambda b: b[::2, ::3, ::2],
    "negative": lambda b: b[::-1, :, ::-1],
    "expanded": lambda b: np.broadcast_to(b[:1], b.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), ()])
def test_layouts(layout, axis):
    x = LAYOUTS[layout](elements((4, 6, 19), "float16", "softmax"))
    agree("softmax", fold_in_sim([x], ["softmax"], axis)[1][0], x, axis)


@pytest.mark.parametrize("axis", [0, 1])
def test_special_values(axis):
    nan, inf = float("nan"), float("inf")
    rows = ([1, nan, 2, nan], [inf, 1, inf, -inf], [inf, 0], [-inf], [-inf, 0], [0, -40], [1e4])
    x = np.stack([np.resize(np.array(row, "f4"), 37) for row in rows])
    x = x if axis else np.ascontiguousarray(x.T)
    for name in NAMES:
        agree(name, fold_in_sim([x], [name], axis)[1][0], x, axis)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_no_elements(shape):
    for axis in (0, 1, None):
        assert fold_in_sim([np.zeros(shape, "f4")], ["softmax"], axis)[1][0].shape == shape


def test_complex_results():
    shift = axisfold.Reducer(
        "shift", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s, spread=lambda x, a: x - a.s
    )
    x = elements((5, 40), "complex64", "sum")
    for axis in (0, 1):
        _, [result] = fold_in_sim([x], [shift], axis)
        np.testing.assert_allclose(result, x - x.sum(axis, keepdims=True), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_an_ordered_reducer(axis):
    last = axisfold.Reducer(
        "until", {"n": "int64", "v": "input"}, {"n": 0, "v": 0}, lambda x: {"n": 1, "v": x},
        lambda a, b: {"n": a.n + b.n, "v": te.select(b.n > 0, b.v, a.v)},
        finalize=lambda a: a.v, spread=lambda x, v: v - x, facts=("ordered",),
    )  # fmt: skip
    x = elements((40, 33), "float32", "sum")
    _, [result] = fold_in_sim([x], [last], axis)
    want = x[-1, -1] if axis is None else np.take(x, [-1], axis)
    assert np.array_equal(result, want - x)
