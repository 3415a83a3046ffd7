# SPDX-License-Identifier: Apache-2.0
"""Results of the input's shape: softmax, log_softmax and reducers with ``spread``."""

import numpy as np
import pytest
from fold_support.spreads import NAMES, agree, expected
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_support import FLAVOURS, LAYOUTS, make_array

import axisfold as af
from axisfold import te
from axisfold.api.launches import forget
from axisfold.plan import planner, sizes_cpu
from axisfold.plan.rules_spread_cpu import ELEMENTS_AHEAD
from axisfold.plan.script import schedule_source

NUMERIC = settings(settings.get_profile("numeric"))
DTYPES = ("float32", "float16", "float64", "int8", "uint64", "bool")
EXTENTS = st.sampled_from([0, 1, 1, 2, 3, 5, 8, 17, 33])
INF, NAN = np.inf, np.nan


@st.composite
def calls(draw):
    rank = draw(st.integers(0, 4))
    shape = tuple(draw(EXTENTS) for _ in range(rank))
    axes = st.sets(st.integers(0, rank - 1) if rank else st.nothing()).map(tuple)
    axis = draw(st.none() | axes | (st.integers(-rank, rank - 1) if rank else st.nothing()))
    layout, flavour = draw(st.sampled_from(LAYOUTS)), draw(st.sampled_from(FLAVOURS))
    return shape, axis, layout, flavour, draw(st.integers(0, 2**32))


@given(dtype=st.sampled_from(DTYPES), call=calls(), name=st.sampled_from(NAMES))
@settings(NUMERIC, max_examples=6)
def test_random_arrays(dtype, call, name):
    check_call(dtype, call, name)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@given(call=calls(), name=st.sampled_from(NAMES))
@settings(NUMERIC, max_examples=60)
def test_many_random_arrays(dtype, call, name):
    check_call(dtype, call, name)


def check_call(dtype, call, name):
    shape, axis, layout, flavour, seed = call
    x = make_array(shape, dtype, layout, flavour, seed)
    before = x.tobytes()
    result = np.asarray(getattr(af, name)(x, axis=axis))
    assert result.dtype == (dtype if dtype.startswith("float") else "float64")
    assert result.flags.c_contiguous
    agree(name, result, x, axis)
    assert x.tobytes() == before


@pytest.mark.parametrize("layout", ["C", "F", "stepped"])
def test_layouts_and_axes_of_three_axes(layout):
    # Axes that are neighbours in the input but not in the result, and the other way round.
    x = make_array((6, 7, 70), "float32", layout, "plain", 3)
    wide = x.astype("f8")
    for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2), ()):
        want = wide - wide.mean(axis=axis, keepdims=True)
        np.testing.assert_allclose(af.fold(x, CENTER, axis), want, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_results_with_steps_of_two_elements(dtype):
    # The input lies in Fortran's order, so that neighbours in it are two elements apart here.
    for shape in ((4, 2), (33, 2), (5, 3, 2)):
        x = make_array(shape, dtype, "F", "plain", 3)
        wide = x.astype("c16")
        for axis in (0, -1, None):
            want = wide - wide.mean(axis=axis, keepdims=True)
            np.testing.assert_allclose(af.fold(x, CENTER, axis), want, rtol=1e-5, atol=1e-6)
        if dtype == "float32":
            agree("softmax", af.softmax(x, 0), x, 0)


# Runs of a row, lanes, tiles of columns and chunks of a whole array, each with a tail.
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3, 1100), 1), ((520, 3), 0), ((70, 601), 0), ((40_001,), 0), ((2, 20_001), None)],
)
def test_long_folds(shape, axis):
    name = NAMES[len(shape) - 1]
    x = (np.random.default_rng(1).standard_normal(shape) * 30).astype("f4")
    agree(name, getattr(af, name)(x, axis), x, axis)


@pytest.fixture
def rules(monkeypatch):
    """Plan everything anew, and note the rule of each plan."""
    found = []
    real = planner.make_plan

    def noted(*args):
        plan = real(*args)
        found.append(plan.rule.name)
        return plan

    monkeypatch.setattr(planner, "make_plan", noted)
    monkeypatch.setattr(planner, "_plans", {})
    forget()
    return found


@pytest.mark.parametrize(
    ("shape", "axis", "rule"),
    [
        ((9, 70), 1, "held_row"),
        ((9, 70), None, "tiled_row_then_elements"),
        ((600, 33), 0, "held_column"),
        ((600, 15), 0, "column_parts_then_elements"),
    ],
)
def test_rules(rules, shape, axis, rule):
    af.softmax(np.ones(shape, "f4"), axis)
    assert rules == [rule]


# Runs of 16 rows, lanes and tiles of 2048 columns, each with a tail.
COLUMNS = [
    ("float32", (40, 70), 0, "column_of_passes_then_elements"),
    ("float32", (333, 2051), 0, "column_of_passes_then_elements"),
    ("float16", (49, 2049), 0, "column_of_passes_then_elements"),
    ("float64", (35, 67), 0, "column_of_passes_then_elements"),
    ("float32", (6, 2300), 0, "column_of_passes_elements"),
    ("float32", (5, 37, 29), 1, "column_of_passes_elements"),
    ("float64", (3, 17, 9), 1, "column_of_passes_elements"),
    ("float32", (20, 3), 0, "column_of_passes_then_elements"),
]


@pytest.mark.parametrize(("dtype", "shape", "axis", "rule"), COLUMNS)
def test_columns_from_memory(rules, monkeypatch, dtype, shape, axis, rule):
    monkeypatch.setattr(sizes_cpu, "HELD_ELEMENTS", 0)
    check_columns(dtype, shape, axis)
    assert set(rules) == {rule}


# Vectors, groups of a few of them, and tiles of columns, each with a tail; blocks of rows.
@pytest.mark.parametrize(
    ("dtype", "shape", "axis"),
    [
        *((dtype, shape, axis) for dtype, shape, axis, _ in COLUMNS if dtype != "float64"),
        ("float32", (2, 64), 0),
        ("float32", (1000, 129), 0),
        ("float32", (3, 4, 5, 17), 2),
        ("float16", (7, 65), 0),
        ("float16", (2, 33, 190), 1),
    ],
)
def test_columns_in_a_cache(rules, dtype, shape, axis):
    check_columns(dtype, shape, axis)
    is_held = dtype == "float32" or shape[-1] >= 64
    assert ("held_column" in rules) == is_held


def test_short_sums_of_columns_are_registers(monkeypatch):
    # Those of a column are not neighbours: as parts of an array they would be written one by one.
    monkeypatch.setattr(sizes_cpu, "HELD_ELEMENTS", 0)
    made = []
    real = planner.make_plan
    monkeypatch.setattr(planner, "make_plan", lambda *args: made.append(real(*args)) or made[-1])
    monkeypatch.setattr(planner, "_plans", {})
    forget()
    af.softmax(np.ones((40, 70), "f4"), 0)
    (plan,) = made
    assert plan.rule.name == "column_of_passes_then_elements"
    assert "scatter" not in plan.compiled.source()
    assert "tile1_narrow].compute_at(s[tile1]" in schedule_source(plan)
    assert f'"prefetch", {ELEMENTS_AHEAD})' in schedule_source(plan)


def check_columns(dtype, shape, axis):
    x = (np.random.default_rng(4).standard_normal(shape) * 20).astype(dtype)
    columns = np.moveaxis(x, axis, 0)
    columns[..., 0] = -INF
    columns[len(columns) // 2, ..., 1], columns[-1, ..., 2] = NAN, INF
    if shape[-1] > 3:
        columns[:3, ..., -1] = columns[0, ..., -1]  # equal elements
    for name in NAMES if dtype == "float32" else NAMES[:1]:
        out = np.full(shape, 7, dtype)
        getattr(af, name)(x, axis, out=out)
        agree(name, out, x, axis)


@pytest.mark.parametrize("shape", [(40, 1), (40, 2), (40, 3), (1, 70), (0, 70), (40, 0), (17, 64)])
def test_few_columns_and_few_rows(shape):
    x = np.random.default_rng(4).standard_normal(shape).astype("f4")
    for name in NAMES:
        out = np.full(shape, NAN, "f4")
        assert getattr(af, name)(x, 0, out=out) is out
        agree(name, out, x, 0)


def test_columns_with_gaps_and_a_mask(rules):
    x = np.random.default_rng(4).standard_normal((90, 150)).astype("f4")[::2, :75]
    mask = np.random.default_rng(5).random(x.shape) < 0.7
    mask[0] = True
    mask[:, 9] = False
    out = np.full((45, 150), 7, "f4")[:, ::2]
    af.softmax(x, 0, out=out)
    agree("softmax", out, x, 0)
    assert rules == ["held_column"]
    given = np.where(mask, x, -INF).astype("f4")
    result = af.softmax(x, 0, where=mask)
    assert (result[~mask] == 0).all()
    seen = np.arange(75) != 9
    agree("softmax", result[:, seen], given[:, seen], 0)


ROWS = (
    [1, 2, 3], [INF, 0, 1], [INF, INF, 0], [-INF, -INF, -INF], [NAN, 1, 2], [-INF, 0, 1],
    [-INF, INF, 0], [NAN, INF, -INF], [1000, 1000, 999], [0, -800, -40],
)  # fmt: skip


def test_special_values_are_those_of_scipy():
    special = pytest.importorskip("scipy.special")
    x = np.array(ROWS, "f4")
    for name in NAMES:
        with np.errstate(all="ignore"):
            want = getattr(special, name)(x.astype("f8"), axis=1)
        for array, axis in ((x, 1), (np.ascontiguousarray(x.T), 0)):
            result = getattr(af, name)(array, axis)
            result = result.T if axis == 0 else result
            np.testing.assert_allclose(result, want, rtol=1e-6, atol=1e-17)


def test_rows_of_minus_infinity():
    x = np.array([[-INF, -INF], [-INF, 0]], "f4")
    assert np.isnan(af.softmax(x, 1)).tolist() == [[True, True], [False, False]]
    assert np.isnan(af.log_softmax(x, 1)).tolist() == [[True, True], [False, False]]
    assert af.softmax(x, 1, empty="zero").tolist() == [[0, 0], [0, 1]]
    assert af.log_softmax(x, 1, empty="zero").tolist() == [[-INF, -INF], [-INF, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_close_to_one_keep_their_digits(dtype):
    x = np.array([[0, -40]], dtype)
    tail = np.array(np.exp(-40.0), dtype)
    for axis, array in ((1, x), (0, x.T)):
        np.testing.assert_allclose(af.logsumexp(array, axis=axis), tail, rtol=3e-7)
    assert af.log_softmax(x, 1).tolist() == [[-tail, -40 - tail]]


@pytest.mark.parametrize("shape", [(16, 33), (5, 3, 4), (1, 40)])
@pytest.mark.parametrize("axis", [0, 1])
def test_large_elements_have_the_shares_of_small_ones(shape, axis):
    # Whole numbers, whose sums with an offset are exact up to 2**24.
    x = np.random.default_rng(4).integers(-9, 9, shape).astype("f4")
    want, _ = expected("softmax", x, axis)
    for offset in (255, -257, 5e3, -1e5, 1e6, 2.0**24 - 9):
        share = af.softmax(x + np.float32(offset), axis=axis)
        np.testing.assert_allclose(share, want.astype("f8"), rtol=5e-7)
    ends = np.where(x < 0, x * 0 - 3e38, x * 0 + 3e38).astype("f4")
    want, _ = expected("softmax", ends, axis)
    np.testing.assert_allclose(af.softmax(ends, axis=axis), want.astype("f8"), rtol=5e-7)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [8, 16, 33, 200])
def test_shares_of_float32_are_within_four_units(length, axis):
    x = (np.random.default_rng(length).standard_normal((length, 3000)) * 3).astype("f4")
    x = x if axis == 0 else np.ascontiguousarray(x.T)
    power = np.exp((y := x.astype(np.longdouble)) - y.max(axis, keepdims=True))
    want = power / power.sum(axis, keepdims=True)
    error = np.abs(af.softmax(x, axis=axis) - want) / np.spacing(want.astype("f4"))
    assert error.max() <= 4


def test_differences_of_float64_are_not_rounded():
    # exp turns an error of half a unit of 700 into one of 300 units of its result.
    x = np.array([700.1, 0.3, 0.7])
    agree("softmax", af.softmax(x), x, None)
    want = float(expected("softmax", x, None)[0][1])
    assert af.softmax(x)[1] == pytest.approx(want, rel=1e-15)


def test_scalars_lists_and_dtypes():
    assert af.softmax(3.0) == 1.0
    assert np.ndim(af.softmax(3.0)) == 0
    assert af.softmax([1, 1], dtype="float32").dtype == np.float32
    assert af.softmax([]).shape == (0,)
    both = af.fold(np.zeros((2, 5)), ["softmax", "log_softmax"], axis=1)
    assert both.softmax.tolist() == [[0.2] * 5] * 2
    np.testing.assert_allclose(both.log_softmax, np.log(0.2), rtol=1e-15)


@pytest.mark.parametrize(("name", "absent"), [("softmax", 0.0), ("log_softmax", -INF)])
@pytest.mark.parametrize(("dtype", "axis"), [("float32", 1), ("float64", 0)])
def test_elements_that_where_passes_over_have_no_share(name, absent, dtype, axis):
    f = getattr(af, name)
    x = make_array((7, 45), dtype, "C", "plain", 5)
    mask = x > 0
    mask[:, 0] = mask[0] = True
    x[~mask] = np.resize([NAN, INF, 1e30], (~mask).sum())
    result = f(x, axis, where=mask)
    agree(name, result, np.where(mask, x, -INF).astype(dtype), axis)
    assert (result[~mask] == absent).all()
    assert (f(x, axis, where=np.zeros((), bool)) == absent).all()
    out = np.empty((7, 90), dtype)[:, ::2]
    assert f(x, axis, where=mask, out=out) is out
    np.testing.assert_array_equal(out, result)
    f(x, axis, where=mask, out=x)
    np.testing.assert_array_equal(x, result)


CENTER = af.Reducer(
    "center", {"s": "compensated"}, 0, lambda x: x, lambda a, b: a.s + b.s,
    finalize=lambda a, count: a.s / te.cast("float64", count), spread=lambda x, mean: x - mean,
)  # fmt: skip
UNIT = af.Reducer(
    "unit", {"s": "float64"}, 0, lambda x: te.abs(x) * te.abs(x), lambda a, b: a.s + b.s,
    finalize=lambda a: te.sqrt(a.s), spread=lambda x, length: x / length,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1, ()])
def test_reducers_with_spread(dtype, axis):
    for layout in ("C", "F") if dtype == "float32" else ("C",):
        x = make_array((9, 37), dtype, layout, "plain", 2)
        x[x == 0] = 1
        wide = x.astype("c16" if x.dtype.kind == "c" else "f8")
        tolerance = 1e-6 if dtype in ("float32", "complex64") else 1e-13
        want = wide - wide.mean(axis=axis, keepdims=True)
        found = af.fold(x, CENTER, axis)
        assert found.dtype == (x.dtype if x.dtype.kind in "fc" else np.float64)
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance * 10)
        want = wide / np.sqrt((np.abs(wide) ** 2).sum(axis=axis, keepdims=True))
        np.testing.assert_allclose(af.fold(x, UNIT, axis), want, rtol=tolerance * 10)


@pytest.mark.parametrize(
    ("shape", "axis", "rule"),
    [
        ((41, 2051), 0, "column_then_elements"),
        ((7, 2051), 0, "shallow_column_elements"),
        ((5, 1, 301), 1, "shallow_column_elements"),
        ((3, 41, 70), 1, "column_elements"),
        ((600, 70), 0, "column_then_elements"),
        ((50_000, 70), 0, "column_parts_then_elements"),
    ],
)
def test_columns_of_reducers_without_tiles(rules, shape, axis, rule):
    x = np.random.default_rng(6).standard_normal(shape).astype("f4")
    wide = x.astype("f8")
    want = wide - wide.mean(axis=axis, keepdims=True)
    np.testing.assert_allclose(af.fold(x, CENTER, axis), want, rtol=1e-6, atol=1e-6)
    assert rules == [rule]


def test_spread_over_several_inputs_with_names_and_index():
    """A regression line through the points of each row, and how far each point is from it."""
    names = ("x", "y", "xx", "xy")
    line = af.Reducer(
        "line", dict.fromkeys(names, "float64"), dict.fromkeys(names, 0),
        lambda x, y: {"x": x, "y": y, "xx": x * x, "xy": x * y},
        lambda a, b: {n: getattr(a, n) + getattr(b, n) for n in names},
        finalize=lambda a, count: {
            "slope": (te.cast("float64", count) * a.xy - a.x * a.y)
            / (te.cast("float64", count) * a.xx - a.x * a.x),
            "mean_x": a.x / te.cast("float64", count),
            "mean_y": a.y / te.cast("float64", count),
        },
        spread=lambda x, y, r, index: {
            "residue": y - r.mean_y - r.slope * (x - r.mean_x), "place": index,
        },
    )  # fmt: skip
    x, y = np.arange(8.0), np.random.default_rng(0).standard_normal((3, 2, 8))
    result = af.fold((x, y), line, axis=(0, 2))
    assert result.line_place.dtype == np.int64
    assert result.line_place[:, 1].tolist() == np.arange(24).reshape(3, 8).tolist()
    for n in range(2):
        points = np.tile(x, 3), y[:, n].ravel()
        slope, start = np.polyfit(*points, 1)
        np.testing.assert_allclose(
            result.line_residue[:, n].ravel(), points[1] - slope * points[0] - start, atol=1e-12
        )


def test_spread_of_a_state_and_of_no_state():
    total = af.Reducer(
        "share", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s, spread=lambda x, a: x / a.s
    )
    x = np.arange(1.0, 7.0).reshape(2, 3)
    np.testing.assert_array_equal(af.fold(x, total, 1), x / x.sum(1, keepdims=True))
    double = af.Reducer(
        "double", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s, spread=lambda x, a: x * 2
    )
    np.testing.assert_array_equal(af.fold(x, double, 1), x * 2)


def test_an_ordered_reducer_with_spread():
    first = af.Reducer(
        "since", {"seen": "bool", "v": "input"}, {"seen": False, "v": 0},
        lambda x: {"seen": True, "v": x},
        lambda a, b: {"seen": te.any(a.seen, b.seen), "v": te.select(a.seen, a.v, b.v)},
        finalize=lambda a: a.v, spread=lambda x, v: x - v, facts=("ordered",),
    )  # fmt: skip
    x = np.arange(24).reshape(2, 3, 4) ** 2
    for array in (x, np.asfortranarray(x)):
        result = af.fold(array, first, axis=(0, 2))
        np.testing.assert_array_equal(result, x - x[:1, :, :1])
    x = np.arange(40 * 70).reshape(40, 70) ** 2
    np.testing.assert_array_equal(af.fold(x, first, axis=0), x - x[:1])
