# SPDX-License-Identifier: Apache-2.0
"""Sums of exponentials by runs: which rule folds them, their last digits, and hostile data."""

from types import SimpleNamespace

import numpy as np
import pytest
from fold_support.flags import needs_flags, underflows
from fold_support.spreads import agree

import axisfold as af
from axisfold import te
from axisfold.api.catalog.exponentials import softmax
from axisfold.api.launches import forget
from axisfold.build import build
from axisfold.ir.stmt import Allocate, For, If
from axisfold.ir.walk import post_order
from axisfold.plan import planner
from axisfold.runtime import cpu

INF, NAN = np.inf, np.nan


@pytest.fixture
def rules(monkeypatch):
    """Plan everything anew, and note the rule of each plan."""
    found, real = [], planner.make_plan

    def noted(*args):
        found.append(real(*args))
        return found[-1]

    monkeypatch.setattr(planner, "make_plan", noted)
    monkeypatch.setattr(planner, "_plans", {})
    forget()
    return found


def wanted(x, axis):
    """Return the logarithm of the sum in long double; one of the largest elements is apart."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        top = wide.max(axis=axis, keepdims=True)
        is_top = wide == top
        others = np.where(is_top, 0, np.exp(wide - top)).sum(axis=axis, keepdims=True)
        count = is_top.sum(axis=axis, keepdims=True)
        result = np.where(np.isinf(top), top, top + np.log1p(others + (count - 1)))
    return np.squeeze(result, axis)


def steep(count):
    """Elements far below the largest, all alike, so that all errors add up."""
    x = np.full((3, count), -15.7, "f4")
    x[:, count // 2] = 0.3
    return x


def stairs(count):
    """Elements that rise: each run has a new largest one."""
    return np.linspace(-90, 80, 3 * count, dtype="f4").reshape(count, 3).T.copy()


def normal(*shape, scale=1, dtype="f4"):
    return (np.random.default_rng(8).standard_normal(shape) * scale).astype(dtype)


ARRAYS = [
    (normal(5, 9001), 1, "row_of_passes"),
    (normal(4, 4096, scale=300), 1, "row_of_passes"),
    (normal(9, 4097, scale=1e-3), 1, "row_of_passes"),
    (normal(70, 33), 1, "row_of_passes"),
    (normal(3, 257, 8).transpose(0, 2, 1)[:, ::2], 1, "row_of_passes"),
    (normal(6, 3000)[::-1, 5:], 1, "row_of_passes"),
    (normal(6, 6000)[:, ::2], 1, "row_of_passes"),
    (steep(20_011), 1, "row_of_passes"),
    (stairs(5003), 1, "row_of_passes"),
    (normal(7, 5000, dtype="f2"), 1, "row_of_passes"),
    (normal(7, 700, dtype="f8"), 1, "tiled_row"),
    (normal(2, 300_001), 1, "tiled_long_row"),
    (normal(30_001), 0, "tiled_long_row"),
    (normal(601, 70), 0, "column_of_passes"),
    (normal(19, 8197), 0, "column_of_passes"),
    (normal(19, 4099), 0, "column_of_passes"),
    (steep(2011).T.copy().repeat(30, axis=1), 0, "column_of_passes"),
    (normal(401, 70, dtype="f8"), 0, "column_of_passes"),
]


@pytest.mark.parametrize(("x", "axis", "rule"), ARRAYS, ids=lambda v: str(getattr(v, "shape", v)))
def test_logsumexp(rules, x, axis, rule):
    found = af.logsumexp(x, axis=axis)
    assert [plan.rule.name for plan in rules] == [rule]
    want = wanted(x, axis)
    # As of a sum: |m| and the logarithm are rounded, and the differences from m.
    unit = np.finfo(x.dtype).eps * np.maximum(np.abs(want), 1)
    assert (np.abs(found - want) <= 1.5 * unit).all()


@pytest.mark.parametrize("count", [3, 5000])
@pytest.mark.parametrize("dtype", ["f4", "f2", "f8"])
def test_rows_without_a_finite_sum(dtype, count):
    x = np.full((7, count), -INF, dtype)
    x[1, 0], x[2, -1], x[3, count // 2] = INF, NAN, 5
    x[4] = INF
    x[5, :2] = INF, NAN
    x[6] = NAN
    want = np.array([-INF, INF, NAN, 5, INF, NAN, NAN], dtype)
    for array, axis in ((x, 1), (x.T.copy(), 0), (x.repeat(2, axis=1)[:, ::2], 1)):
        np.testing.assert_array_equal(af.logsumexp(array, axis=axis), want)
        for name in ("softmax", "log_softmax") if dtype == "f4" and axis == 1 else ():
            agree(name, getattr(af, name)(array, axis), array, axis)


def test_largest_elements_count_as_often_as_they_are_there():
    x = np.full((3, 9000), -40, "f4")
    x[0, 5], x[1, [7, 8000]], x[2] = 0, 0, 0
    others = np.exp(-40.0)
    want = [np.log1p(8999 * others), np.log(2 + 8998 * others), np.log(9000)]
    np.testing.assert_allclose(af.logsumexp(x, axis=1), want, rtol=2e-7)
    np.testing.assert_allclose(af.logsumexp(x.T.copy(), axis=0), want, rtol=2e-7)


@pytest.mark.parametrize("scale", [1e-3, 1, 30])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_are_right_to_one_unit(scale, axis):
    x = (normal(300, 301) * scale).astype("f4")
    want = wanted(x, axis)
    off = np.abs(af.logsumexp(x, axis=axis) - want) / np.spacing(np.abs(want).astype("f4"))
    assert off.max() < 1


@pytest.fixture(params=["this machine", "one without FMA"])
def _fuses(request, monkeypatch):
    """Where products are rounded before they are added, powers take some operations more."""
    if request.param != "this machine":
        cpu.host_key()
        name, features = cpu._state["host"]
        text = f"{features},".replace("+fma,", "-fma,")
        monkeypatch.setitem(cpu._state, "host", (name, text))
        monkeypatch.setitem(cpu._state, "key", request.param)
        monkeypatch.setattr(planner, "_plans", {})
        forget()
    yield
    forget()


@pytest.mark.usefixtures("_fuses")
@pytest.mark.parametrize("far", [-5, -40, -87])
def test_results_close_to_zero_are_right_to_five_units(far):
    x = np.zeros((2000, 2), "f4")
    x[:, 1] = np.linspace(far, far / 2, 2000)
    want = np.log1p(np.exp(x[:, 1].astype("f8")))
    off = np.abs(af.logsumexp(x, axis=1) - want) / np.spacing(want.astype("f4"))
    assert off.max() < 5


def test_results_as_small_as_there_are():
    x = np.array([[0, -87.5, -100, -103]], "f4").repeat(3, axis=0)
    x[1, 1:], x[2, 1:] = -103, -INF
    want = np.log1p(np.exp(x[:, 1:].astype("f8")).sum(axis=1)).astype("f4")
    np.testing.assert_allclose(af.logsumexp(x, axis=1), want, rtol=1e-6, atol=3e-45)
    assert af.logsumexp(np.zeros((2, 0), "f4"), axis=1).tolist() == [-INF, -INF]


def test_memory_is_asked_for_what_is_read_next(rules):
    af.logsumexp(normal(3, 100), axis=1)
    text = rules[0].compiled.source()
    assert "getelementptr i8" in text
    assert "i64 16384" in text  # a run of 4096 elements
    for part in text.split("loop.b")[1:]:
        assert part.count("call void @llvm.prefetch") <= 1  # of two vectors, which are a line
    assert "call void @llvm.prefetch" in text


def test_prefetch_of_a_schedule_of_ones_own():
    x = te.placeholder((64, 96), name="x", dtype="float32")
    y = te.placeholder((64, 96), name="y", dtype="float64")
    z = te.compute((64, 96), lambda i, j: te.cast("float64", x[i, j]) + y[i, j], name="z")
    s = te.create_schedule(z.op)
    _, lane = s[z].split(s[z].op.axis[1], factor=8)
    s[z].vectorize(lane)
    plain = build(s, [x, y, z]).source()
    s[z].pragma(s[z].op.axis[0], "prefetch", 512)
    made = build(s, [x, y, z])
    assert "prefetch" not in plain
    assert made.source().count("call void @llvm.prefetch") == 2
    a, b = normal(64, 96), normal(64, 96, dtype="f8")
    out = np.full_like(b, NAN)
    made(a, b, out)
    np.testing.assert_array_equal(out, a.astype("f8") + b)


WHOLE = (0, 1, -3, 37, -90, 255, -256, 256)


@pytest.mark.usefixtures("_fuses")
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(("dtype", "reach"), [("float32", 120), ("float64", 800)])
def test_exponentials_of_differences_that_are_not_rounded(dtype, reach, lanes):
    n = 2040
    x, a = (te.placeholder((n,), name=name, dtype=dtype) for name in "xa")
    z = te.compute((n,), lambda i: te.exp_difference(x[i], a[i]), name="z")
    s = te.create_schedule(z.op)
    _, lane = s[z].split(s[z].op.axis[0], factor=lanes)
    if lanes > 1:
        s[z].vectorize(lane)
    made = build(s, [x, a, z])
    rng, info = np.random.default_rng(3), np.finfo(dtype)
    for whole in WHOLE:
        near, far = rng.uniform(-3, 0.5, n // 4), rng.uniform(-reach, 0.5, n // 2)
        below = np.concatenate([far, near, -np.geomspace(1e-9, 1, n // 4)])
        given = (whole + below).astype(dtype)
        given[::97] = rng.standard_normal(given[::97].size) * 1e-4
        given[given > whole + 1] = whole
        given[:6] = -INF, NAN, info.min, whole, -info.tiny, np.nextafter(whole, -INF, dtype=dtype)
        given[4] = min(given[4], whole)
        out = np.empty_like(given)
        made(given, np.full(n, whole, dtype), out)
        want = np.exp(given.astype(np.longdouble) - whole)
        unit = np.maximum(np.abs(np.spacing(want.astype(dtype))), info.smallest_subnormal)
        assert np.isnan(out[1])
        assert out[3] == 1
        assert (np.abs(out - want) <= unit)[np.arange(n) != 1].all()


# Where powers are relative to a whole number below 256, and beyond, where differences are exact.
ORIGINS = (0, 1e-3, -3.3, 20, -90, 130.7, 255.4, 257, -1000.7, 1e5)


@pytest.mark.parametrize("scale", [1e-4, 1, 60])
def test_softmax_of_rows_around_any_number(rules, scale):
    for origin in ORIGINS:
        x = (normal(9, 777, scale=scale) + origin).astype("f4")
        x[0], x[1, 5:] = x[0, 0], -INF
        out = np.full((9, 900), 7, "f4")
        af.softmax(x, 1, out=out[:, 11:788])
        agree("softmax", out[:, 11:788], x, 1)
        assert (out[:, :11] == 7).all()
        assert (out[:, 788:] == 7).all()
    assert {plan.rule.name for plan in rules} == {"held_row"}


@pytest.mark.parametrize("scale", [1e-4, 1, 60])
def test_softmax_of_columns_around_any_number(rules, scale):
    for origin in ORIGINS:
        x = (normal(777, 70, scale=scale) + origin).astype("f4")
        x[:, 0], x[5:, 1] = x[0, 0], -INF
        out = np.full((777, 80), 7, "f4")
        af.softmax(x, 0, out=out[:, 5:75])
        agree("softmax", out[:, 5:75], x, 0)
        assert (np.delete(out, np.s_[5:75], axis=1) == 7).all()
    assert {plan.rule.name for plan in rules} == {"held_column"}


HOSTILE = (
    [-INF, -INF, -INF], [-3.4028235e38, -3.4028235e38, -INF], [3.4028235e38, -3.4028235e38, 0],
    [INF, 0, 1], [NAN, 1, 2], [NAN, INF, -INF], [-INF, 0, 1], [255.5, 255.4, 200],
    [256.5, 256.25, 255], [-255.75, -256, -300], [1e-30, -1e-30, 0], [0.5, 0.49999, -87.5],
)  # fmt: skip


@pytest.mark.parametrize("count", [1, 3, 1000])
@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_softmax_of_hostile_rows(rules, count, dtype):
    with np.errstate(over="ignore"):
        x = np.array(HOSTILE, "f4").astype(dtype).repeat(count, axis=1)
    for array in (x, x[:, ::-1].copy(), x.repeat(2, axis=1)[:, ::2]):
        agree("softmax", af.softmax(array, 1), array, 1)
    agree("softmax", af.softmax(x[:0], 1), x[:0], 1)
    assert af.softmax(x[:, :0], 1).shape == (len(x), 0)
    zero = af.softmax(x, 1, empty="zero")
    is_empty = (x == -INF).all(axis=1)
    assert (zero[is_empty] == 0).all()
    np.testing.assert_array_equal(zero[~is_empty], af.softmax(x, 1)[~is_empty])
    for array in (x.T.copy(), x[:, ::-1].T.copy(), x.repeat(6, axis=0).T.copy()):
        agree("softmax", af.softmax(array, 0), array, 0)
    np.testing.assert_array_equal(af.softmax(x.T.copy(), 0, empty="zero")[:, is_empty], 0)
    assert {"held_row", "held_column"} <= {plan.rule.name for plan in rules}


@pytest.fixture
def one_thread(monkeypatch):
    """Fold in the thread that asks for it."""
    monkeypatch.setattr(af.config, "threads", 1)


# Results that are subnormal are not asked for: those of softmax are sums at least.
@needs_flags
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d) for n in ("logsumexp", "log_softmax") for d in ("f4", "f2", "f8")]
    + [("softmax", "f4"), ("softmax", "f8")],
)
def test_exponentials_are_not_subnormal(one_thread, name, axis, dtype):
    """Products that are take a processor more than a hundred cycles."""
    far = {"f4": 125, "f2": 125, "f8": 800}[dtype]
    x = (np.random.default_rng(5).random((528, 1200)) * -far).astype(dtype)
    if name == "softmax":
        x[x < {"f4": -75, "f8": -690}[dtype]] = -np.inf
    call = lambda: getattr(af, name)(x, axis=axis)  # noqa: E731
    call()
    assert not underflows(call)


def test_shares_that_are_0_as_float16_are_normal_before():
    n = 4096
    x = te.placeholder((n,), name="x", dtype="float16")
    total = 3e9
    r = SimpleNamespace(
        origin=te.const(1.0, "float32"), scale=te.const(2.0**-64 / total, "float32")
    )
    z = te.compute((n,), lambda i: softmax().spread(x[i], r), name="z")
    given = np.linspace(-140, 0.5, n).astype("f2")
    given[:2], out = (-INF, -6e4), np.empty(n, "f4")
    build(te.create_schedule(z.op), [x, z])(given, out)
    assert out.min() > np.finfo("f4").tiny
    np.testing.assert_allclose(out, np.exp(given.astype("f8") - 1) / total, rtol=1e-5, atol=1e-25)


def test_one_pass_sums_what_is_less_and_counts_the_rest(monkeypatch):
    monkeypatch.setattr(planner, "_plans", {})
    af.logsumexp(normal(40, 1000), axis=1)
    (plan,) = planner._plans.values()
    first, second = plan.traced.tile_passes
    assert not first.narrow
    assert [str(e.dtype) for e in second.narrow] == ["float32", "int32"]
    assert [str(e.dtype) for e in second.sources] == ["float64", "int64"]
    assert [str(t.dtype) for t in plan.graph.tiles[1]] == ["float64", "int32"]


def test_turns_without_an_element_are_skipped(monkeypatch):
    monkeypatch.setattr(planner, "_plans", {})
    x = normal(40, 600)
    np.testing.assert_allclose(af.logsumexp(x, axis=1), wanted(x, 1), rtol=1e-6)
    (plan,) = planner._plans.values()
    nodes = list(post_order(plan.compiled.device.body))
    (turns,) = (n for n in nodes if isinstance(n, For) and n.var.name == "u")
    body = turns.body
    while isinstance(body, Allocate):
        body = body.body
    assert isinstance(body, If)
    assert body.otherwise is None
