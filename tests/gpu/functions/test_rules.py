# SPDX-License-Identifier: Apache-2.0
"""Every rule for GPUs on the device, by name: values, tails and equal bits of every run."""

import cupy
import numpy as np
import pytest
from fold_support import agree, elements, expected, spreads

import axisfold
from axisfold.api.launches import forget
from axisfold.plan import planner, sizes_gpu

pytestmark = pytest.mark.gpu

# rule -> shapes and the axis that it is chosen for; lengths around its tiles
CASES = {
    "short_row": ([(5000, n) for n in (1, 3, 8, 32, 33, 997, 1000, 1999, 4095, 4096)], 1),
    "row": ([(2000, n) for n in (4097, 5000, 8191, 8192, 8196)], 1),
    "row_split": ([(2, n) for n in (100_000, 1 << 20, (1 << 20) + 1, (1 << 20) + 4)], 1),
    "thread_column": ([(n, 70_001) for n in (1, 5, 16)], 0),
    "column": ([(n, 270_336) for n in (17, 64, 129)], 0),
    "column_split": ([(n, 4096) for n in (1000, 4099)], 0),
    "narrow": ([(n, 33) for n in (17, 41)], 0),
    "narrow_split": ([(100_003, n) for n in (1, 2, 3, 8, 33, 257, 1000)], 0),
    "tiled_row": ([(5000, n) for n in (33, 1000, 5000)], 1),
    "tiled_row_split": ([(3, n) for n in (100_000, 100_001)], 1),
    "tiled_column": ([(n, 270_336) for n in (17, 100)], 0),
    "tiled_column_split": ([(n, 4096) for n in (1000, 4099)], 0),
}
# The same with a reducer whose states are dear to merge: fewer threads for each row, taller tiles.
DEAR = {
    "whole_row": ([(20_000, n) for n in (33, 997, 1000, 4096, 8192)], 1),
    "tiled_row": ([(20_000, n) for n in (4100, 8196)], 1),
    "tiled_row_split": ([(3, n) for n in (100_000, 100_001)], 1),
    "tiled_column": ([(n, 270_336) for n in (17, 100)], 0),
    "tiled_column_split": ([(n, 4096) for n in (1000, 4099)], 0),
}


@pytest.fixture(autouse=True)
def _plan_anew(monkeypatch):
    monkeypatch.setattr(planner, "_plans", {})
    forget()


@pytest.mark.parametrize("rule", CASES)
def test_by_name(rule):
    shapes, axis = CASES[rule]
    name = "var" if rule.startswith("tiled") else "sum"
    for shape in shapes:
        x = elements(shape, "float32", name)
        results = [getattr(axisfold, name)(cupy.asarray(x), axis=axis).get() for _ in range(3)]
        agree(name, results[0], expected(name, x, axis), x, axis)
        assert all(np.array_equal(results[0], r) for r in results)
    made = {plan.rule.name for plan in planner._plans.values()}
    assert rule in made


@pytest.mark.parametrize("rule", [*CASES, *(f"dear {rule}" for rule in DEAR)])
def test_once(rule):
    """A single small run of each rule, which the tools of compute-sanitizer watch."""
    is_dear = rule.startswith("dear ")
    shapes, axis = (DEAR if is_dear else CASES)[rule.removeprefix("dear ")]
    name = "logsumexp" if is_dear else "var" if rule.startswith("tiled") else "sum"
    x = elements(shapes[-1], "float32", name)
    result = getattr(axisfold, name)(cupy.asarray(x), axis=axis).get()
    agree(name, result, expected(name, x, axis), x, axis)
    assert rule.removeprefix("dear ") in {plan.rule.name for plan in planner._plans.values()}


@pytest.mark.parametrize("axis", [0, 1])
def test_ordered_once(axis):
    last = axisfold.Reducer(
        "last", state={"n": "int64", "v": "input"}, identity={"n": 0, "v": 0},
        lift=lambda x: {"n": 1, "v": x},
        combine=lambda a, b: {"n": a.n + b.n, "v": axisfold.te.select(b.n > 0, b.v, a.v)},
        finalize=lambda a: a.v, facts=("ordered",),
    )  # fmt: skip
    for shape in [(40, 1025), (3, 70001)]:
        x = elements(shape, "float32", "sum")
        found = axisfold.fold(cupy.asarray(x), last, axis=axis).get()
        assert (found == x.take(-1, axis)).all()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", [(300, 33), (40, 1000), (30, 5000), (70, 1000), (5, 1000)])
def test_softmax_once(shape, dtype):
    for axis in (0, 1):
        x = elements(shape, dtype, "softmax")
        spreads.agree("softmax", axisfold.softmax(cupy.asarray(x), axis).get(), x, axis)


@pytest.mark.parametrize("length", [2, 3, 4, 8, 33])
def test_several_short_rows_for_each_team(length):
    """Rows enough for several at once, and blocks at the end that are not whole."""
    cases = (
        ("float32", "sum"), ("float16", "max"), ("complex64", "sum"), ("float32", "argmax"),
        ("float32", "var"),
    )  # fmt: skip
    for more, (dtype, name) in enumerate(cases):
        x = elements((2_400_000 // length + 1000 * more, length), dtype, name)
        found = getattr(axisfold, name)(cupy.asarray(x), axis=1).get()
        agree(name, found, expected(name, x, 1), x, 1)
    made = [plan.layout.gpu for plan in planner._plans.values()]
    # Argmax of the longer ones is held, too.
    several = {"short_row", "tiled_row"} if length <= sizes_gpu.MOST_ROW_OF_TILES else {"short_row"}
    assert {gpu.form for gpu in made} == several | {"whole_row"}
    assert {gpu.form for gpu in made if gpu.rows > 1} >= several


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax"])
@pytest.mark.parametrize(
    ("rule", "shape", "axis"),
    [("whole_row", (3000, 33), 1), ("whole_row", (3000, 256), 1), ("tiled_row", (3000, 16), 1),
     ("tiled_row", (3000, 6000), 1), ("tiled_row", (3000, 4099), 1),
     ("tiled_row", (1100, 9000), 1), ("tiled_row_split", (2, 100_008), 1),
     ("tiled_column", (17, 270_336), 0), ("tiled_column_split", (1000, 4096), 0)],
)  # fmt: skip
def test_searches(rule, shape, axis, name):
    """Ties, signs of zero and NaN, of halves by two steps and of float32."""
    rng = np.random.default_rng(3)
    for dtype in ("float16", "float32"):
        x = rng.integers(-9, 10, shape).astype(dtype)
        zeros = np.where(rng.random(shape) < 0.5, -0.0, 0.0).astype(dtype)
        gaps = x.copy()
        gaps.reshape(-1)[rng.integers(0, gaps.size, 99)] = np.nan
        for y in (x, zeros, gaps):
            found = getattr(axisfold, name)(cupy.asarray(y), axis=axis).get()
            assert np.array_equal(found, getattr(np, name)(y, axis))
    assert rule in {plan.rule.name for plan in planner._plans.values()}


@pytest.mark.parametrize("rule", DEAR)
def test_dear_merges(rule):
    shapes, axis = DEAR[rule]
    for shape in shapes:
        for dtype in ("float32", "float16"):
            x = elements(shape, dtype, "logsumexp")
            found = [axisfold.logsumexp(cupy.asarray(x), axis=axis).get() for _ in range(2)]
            agree("logsumexp", found[0], expected("logsumexp", x, axis), x, axis)
            assert np.array_equal(*found)
    assert rule in {plan.rule.name for plan in planner._plans.values()}


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("rule", CASES)
def test_dtypes(rule, dtype):
    shapes, axis = CASES[rule]
    for name in ("var", "sum") if rule.startswith("tiled") else ("sum", "argmax"):
        x = elements(shapes[-1], dtype, name)
        agree(name, getattr(axisfold, name)(cupy.asarray(x), axis=axis).get(),
              expected(name, x, axis), x, axis)  # fmt: skip


@pytest.mark.parametrize("skip", [0, 1, 2, 3])
def test_starts_that_are_not_aligned(skip):
    memory = cupy.asarray(elements(((1 << 20) + 4,), "float32", "sum"))
    for shape, axis in (((1 << 20,), None), ((1024, 1024), 1), ((1024, 1024), 0)):
        x = memory[skip : skip + (1 << 20)].reshape(shape)
        agree("sum", axisfold.sum(x, axis=axis).get(), expected("sum", x.get(), axis),
              x.get(), axis)  # fmt: skip
