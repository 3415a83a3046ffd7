# SPDX-License-Identifier: Apache-2.0
"""Every rule for GPUs and every reduction of the catalogue, in the simulator."""

import numpy as np
import pytest
from fold_support import agree, elements, expected, simulated
from fold_support.simulated import fold_in_sim

import axisfold
from axisfold import te
from axisfold.api.catalog import CATALOG
from axisfold.ir.stmt import For
from axisfold.ir.walk import post_order
from axisfold.plan import planner, rules_cuda, sizes_gpu
from axisfold.plan.rules_cuda_columns import FEW_PARTS
from axisfold.target import Target

# rule -> shape and axis that it is chosen for; lengths end in tails
CASES = {
    "short_row": ((9, 100), 1),
    "row": ((6, 4100), 1),
    "row_split": ((2, 9001), 1),
    "thread_column": ((5, 70), 0),
    "column": ((70, 128), 0),
    "column_split": ((1001, 120), 0),
    "narrow": ((41, 33), 0),
    "narrow_split": ((3001, 6), 0),
}
# Reducers whose states are merged by exponentials or quotients.
DEAR = ("logsumexp", "var", "std", "nanvar", "nanstd")
SEARCHES = ("argmax", "argmin", "nanargmax", "nanargmin")
SMALL = ("short_row", "thread_column", "narrow")
LARGE = ("row", "row_split", "column", "column_split", "narrow_split")


@pytest.fixture(autouse=True)
def _small_card(monkeypatch):
    """Six blocks are a wave of this card, so that simulations are short."""
    monkeypatch.setattr(simulated, "TARGET", Target("sim", multiprocessors=3))
    monkeypatch.setattr(sizes_gpu, "RESIDENT", 2)
    monkeypatch.setattr(planner, "_plans", {})


def check(name, x, axis, rule=None, **options):
    found, results = fold_in_sim([x], [name], axis, **options)
    # Where merging states is dear, and in searches, short rows are held while passes go over them.
    is_whole = name in (*DEAR, *SEARCHES) and rule in ("short_row", "tiled_row")
    assert found in (rule, sizes_gpu.TILED.get(rule), "whole_row" if is_whole else rule) or not rule
    result = results[0] if len(results) == 1 else np.stack(results)
    agree(name, result, expected(name, x, axis), x, axis)


@pytest.mark.parametrize("name", CATALOG)
def test_catalogue(name):
    rule = SMALL[list(CATALOG).index(name) % len(SMALL)]
    shape, axis = CASES[rule]
    check(name, elements(shape, "float32", name), axis, rule)


@pytest.mark.parametrize("rule", LARGE)
@pytest.mark.parametrize("name", ["sum", "argmax", "var", "logsumexp"])
def test_large_folds(name, rule):
    shape, axis = CASES[rule]
    check(name, elements(shape, "float32", name), axis, rule, seed=1)


@pytest.mark.parametrize(
    ("name", "dtype", "shape"),
    [("sum", "float32", (6200, 3)), ("max", "float32", (3073, 8)), ("prod", "float16", (4100, 16)),
     ("sum", "int8", (7001, 2)), ("mean", "float64", (3584, 2)), ("norm", "float32", (801, 32)),
     ("sum", "float32", (6144, 4)), ("argmax", "float16", (4100, 16)),
     ("argmax", "float32", (6145, 3)), ("argmin", "int8", (6001, 17)),
     ("var", "float32", (3073, 8)), ("std", "float16", (801, 64)),
     ("logsumexp", "float32", (801, 32))],
)  # fmt: skip
def test_several_rows_for_each_team(name, dtype, shape):
    check(name, elements(shape, dtype, name, seed=2), 1, "short_row")
    (plan,) = planner._plans.values()
    # The last blocks are not whole, but where rows fill them.
    assert plan.layout.gpu.rows > 1
    assert "unrolled" in str(plan.compiled.ir)


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax"])
@pytest.mark.parametrize(
    ("rule", "shape", "axis", "dtype", "overlaps"),
    [("whole_row", (9, 100), 1, "float16", False), ("whole_row", (9, 33), 1, "float32", False),
     ("tiled_row", (6, 4200), 1, "float16", True), ("tiled_row", (6, 4101), 1, "float32", False),
     ("tiled_row", (6, 5000), 1, "float32", True), ("tiled_row", (9, 64), 1, "float64", False),
     ("tiled_row_split", (2, 9008), 1, "float16", False),
     ("tiled_column", (33, 2048), 0, "float16", False),
     ("tiled_column", (70, 2048), 0, "float16", True),
     ("tiled_column_split", (1001, 128), 0, "float32", True)],
)  # fmt: skip
def test_searches(rule, shape, axis, dtype, overlaps, name):
    rng = np.random.default_rng(7)
    equal = rng.integers(-3, 4, shape).astype(dtype)
    signs = np.where(rng.random(shape) < 0.5, -0.0, 0.0).astype(dtype)
    infinite = np.full(shape, np.inf if name == "argmin" else -np.inf, dtype)
    gaps = equal.copy()
    gaps.reshape(-1)[rng.integers(0, gaps.size, 5)] = np.nan
    for x in (equal, signs, infinite, gaps):
        found, [result] = fold_in_sim([x], [name], axis)
        assert found == rule
        assert np.array_equal(result, getattr(np, name)(x.astype("f8"), axis))
    assert {p.layout.gpu.overlaps for p in planner._plans.values()} == {overlaps}


@pytest.mark.parametrize(("name", "stages"), [("sum", 0), ("argmax", 0), ("var", 1)])
@pytest.mark.parametrize(("width", "few"), [(512, True), (120, False)])
def test_states_of_parts(name, stages, width, few):
    """Few states of a column are one thread's to fold, if that is cheap."""
    check(name, elements((2001, width), "float32", name), 0, "column_split")
    (plan,) = planner._plans.values()
    assert (plan.layout.gpu.parts <= FEW_PARTS) == few
    shared = [s for s in plan.schedule.stages if s.scope == "shared"]
    assert len(shared) == 1 + (stages if few else 1)


@pytest.mark.parametrize(("name", "rule", "is_rolled"), [
    ("var", "row_split", True), ("minmax", "row_split", True), ("sum", "row_split", False),
    ("minmax", "row", False), ("var", "row", True),
])  # fmt: skip
def test_merges_of_lanes_are_rolled_where_they_are_long(name, rule, is_rolled):
    """Less is long where blocks share a row, so that each combines once."""
    shape, axis = CASES[rule]
    x = elements(shape, "float32", "max")
    found, results = fold_in_sim([x], ["min", "max"] if name == "minmax" else [name], axis)
    assert found in (rule, sizes_gpu.TILED[rule])
    if name == "minmax":
        assert np.array_equal(results, [x.min(axis), x.max(axis)])
    (plan,) = planner._plans.values()
    loops = [n for n in post_order(plan.compiled.device.body) if isinstance(n, For)]
    assert any(loop.var.name == "round" for loop in loops) == is_rolled


TILED = {
    "tiled_row": ((9, 100), 1),
    "tiled_row_split": ((2, 9001), 1),
    "tiled_column": ((70, 128), 0),
    "tiled_column_split": ((1001, 128), 0),
}


@pytest.mark.parametrize("rule", TILED)
@pytest.mark.parametrize(("name", "dtype"), [("var", "float32"), ("logsumexp", "float32"),
                                             ("std", "float32")])  # fmt: skip
def test_folds_by_tiles(rule, name, dtype):
    shape, axis = TILED[rule]
    check(name, elements(shape, dtype, name), axis, rule)


@pytest.mark.parametrize(("shape", "dtype"), [((5, 4200), "float32"), ((5, 8200), "float16")])
def test_rows_of_few_threads_where_merges_are_dear(monkeypatch, shape, dtype):
    monkeypatch.setattr(sizes_gpu, "HALF_FULL", 1)
    check("logsumexp", elements(shape, dtype, "logsumexp"), 1, "row")


@pytest.mark.parametrize("name", ["logsumexp", "var"])
@pytest.mark.parametrize("shape", [(37, 5), (9, 100), (3, 2000)])
def test_whole_rows(name, shape):
    for dtype in ("float32", "float16", "float64"):
        x = elements(shape, dtype, name)
        found, [result] = fold_in_sim([x], [name], 1)
        assert found == "whole_row"
        agree(name, result, expected(name, x, 1), x, 1)


@pytest.mark.parametrize("extent", [5, 64, 1000])
def test_everything_folded_is_held_as_a_row_is(extent):
    for dtype in ("float32", "float16"):
        x = elements((extent,), dtype, "logsumexp")
        found, [result] = fold_in_sim([x], ["logsumexp"], 0)
        assert found == "whole_row"
        agree("logsumexp", result, expected("logsumexp", x, 0), x, 0)


def test_threads_fold_what_they_hold_in_its_own_precision():
    x = elements((3, 2048), "float32", "logsumexp")
    x[1, 7], x[2, :2000] = np.nan, -np.inf
    found, [result] = fold_in_sim([x], ["logsumexp"], 1, seed=2)
    agree("logsumexp", result, expected("logsumexp", x, 1), x, 1)
    (made,) = planner._plans.values()
    assert found == "whole_row"
    own = [part for part in made.graph.tile_parts if part is not None]
    assert [[str(t.dtype) for t in part.op.outputs] for part in own] == [["float32", "int32"]]


@pytest.mark.parametrize("layout", ["steps", "transposed"])
def test_first_matches_in_any_order_of_memory(layout):
    x = LAYOUTS[layout](np.round(elements((4, 6, 19), "float32", "argmax") / 4))
    for axis in (None, 0, 1, 2):
        check("argmax", x, axis)


@pytest.mark.parametrize("rule", ["row", "row_split", "column", "column_split", "narrow_split"])
def test_parameters(monkeypatch, rule):
    shape, axis = CASES[rule]
    x = elements(shape, "float32", "sum")
    texts = set()
    for unroll in (2, 8):
        changed = {r.name: r.with_values({"unroll": unroll}) for r in rules_cuda.RULES
                   if "unroll" in r.parameters}  # fmt: skip
        rules = tuple(changed.get(r.name, r) for r in rules_cuda.RULES)
        monkeypatch.setattr(rules_cuda, "RULES", rules)
        monkeypatch.setattr(planner, "_plans", {})
        check("sum", x, axis, rule)
        texts |= {str(plan.schedule.trace) for plan in planner._plans.values()}
    assert len(texts) == 2


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64"])
@pytest.mark.parametrize("rule", CASES)
def test_dtypes(dtype, rule):
    shape, axis = CASES[rule]
    for name in ("sum", "argmin") if axis == 0 else ("mean", "norm"):
        check(name, elements(shape, dtype, name), axis)


@pytest.mark.parametrize("rule", CASES)
def test_loads_are_as_long_as_the_address_allows(rule):
    shape, axis = CASES[rule]
    memory = np.zeros(np.prod(shape) + 4, "f4")
    start = -memory.ctypes.data // 4 % 4
    for skip in range(4):
        x = memory[start + skip :][: np.prod(shape)].reshape(shape)
        x[...] = elements(shape, "float32", "sum")
        check("sum", x, axis)


@pytest.mark.parametrize("rule", ["short_row", "row", "row_split", "column"])
def test_masks(rule):
    shape, axis = CASES[rule]
    x = elements(shape, "float32", "sum")
    mask = np.random.default_rng(3).random(shape) < 0.6
    x[~mask] = np.nan
    for name in ("nanmean", "var", "argmax") if rule in ("short_row", "column") else ("nansum",):
        want = getattr(axisfold, name)(x, axis=axis, where=mask)
        _, [result] = fold_in_sim([x, mask], [name], axis, is_masked=True)
        np.testing.assert_allclose(result, want, rtol=1e-5)


LAYOUTS = {
    "transposed": lambda b: b.transpose(2, 0, 1),
    "steps": lambda b: b[::2, ::3, ::2],
    "negative": lambda b: b[::-1, :, ::-1],
    "expanded": lambda b: np.broadcast_to(b[:1], b.shape),
    "one column": lambda b: b[:, 3:4, :],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), ()])
def test_layouts(layout, axis):
    x = LAYOUTS[layout](elements((4, 6, 19), "float32", "sum"))
    for keepdims in (False, True):
        _, [result] = fold_in_sim([x], ["sum"], axis, keepdims)
        want = x.astype("f8") if axis == () else np.sum(x, axis, "f8", keepdims=keepdims)
        agree("sum", result, want, x, axis)


@pytest.mark.parametrize("extent", [1, 31, 32, 33, 1000, 1023, 1025])
def test_tails(extent):
    for shape, axis in (((3, extent), 1), ((extent, 3), 0), ((extent,), None)):
        for name in ("sum", "argmax"):
            check(name, elements(shape, "float32", name), axis)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "logsumexp", "norm"])
def test_special_values(name):
    nan, inf = float("nan"), float("inf")
    rows = ([1, nan, 2, nan], [inf, 1, inf, -inf], [-0.0, 0.0], [nan], [-inf], [0.0, -0.0])
    x = np.stack([np.resize(np.array(row, "f4"), 37) for row in rows])
    want = axisfold.fold(x, name, 1)
    for array, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
        _, [result] = fold_in_sim([array], [name], axis)
        assert np.array_equal(result, want, equal_nan=True)
        assert np.array_equal(np.signbit(result), np.signbit(want))


@pytest.mark.parametrize("rule", [*CASES, "tiled_row", "tiled_column_split"])
def test_an_infinity_has_no_variance(rule):
    shape, axis = (CASES | TILED)[rule]
    x = elements(shape, "float32", "var")
    x[tuple(n // 2 if a == axis else slice(None) for a, n in enumerate(shape))] = np.inf
    assert np.isnan(fold_in_sim([x], ["var"], axis)[1][0]).all()
    assert np.isnan(fold_in_sim([x[:2, :2] * np.inf], ["var"], ())[1][0]).all()


@pytest.mark.parametrize(("shape", "axis"), [((0, 5), 0), ((5, 0), 1), ((0, 5), 1), ((0,), None)])
def test_no_elements(shape, axis):
    x = np.zeros(shape, "f4")
    for name in ("sum", "prod", "all"):
        _, [result] = fold_in_sim([x], [name], axis)
        assert np.array_equal(result, axisfold.fold(x, name, axis))


LAST = axisfold.Reducer(
    "last", state={"n": "int64", "v": "input"}, identity={"n": 0, "v": 0},
    lift=lambda x: {"n": 1, "v": x},
    combine=lambda a, b: {"n": a.n + b.n, "v": te.select(b.n > 0, b.v, a.v)},
    finalize=lambda a: a.v, facts=("ordered",),
)  # fmt: skip


@pytest.mark.parametrize("rule", CASES)
def test_a_reducer_of_an_order(rule):
    shape, axis = CASES[rule]
    x = elements(shape, "float32", "sum")
    found, [result] = fold_in_sim([x], [LAST], axis)
    assert np.array_equal(result, np.take(x, -1, axis))
    assert found == ("ordered_split" if rule == "row_split" else "ordered")


def test_several_inputs_and_results():
    a, b = elements((9, 70), "float64", "sum"), elements((70,), "float64", "sum")
    dot = axisfold.Reducer(
        "dot", state={"s": "acc"}, identity=0, lift=lambda x, y: x * y,
        combine=lambda p, q: p.s + q.s,
    )  # fmt: skip
    assert np.allclose(fold_in_sim([a, b], [dot], 1)[1][0], (a * b).sum(1), rtol=1e-13)
    names = ["mean", "max", "argmin"]
    for name, result in zip(names, fold_in_sim([a], names, 1)[1], strict=True):
        agree(name, result, expected(name, a, 1), a, 1)
