# SPDX-License-Identifier: Apache-2.0
"""where, initial, out and min_count of every reduction, against what is left of each slice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_support import make_array, slices
from numeric_support.exact import JUDGES, numbers

import axisfold as af
from axisfold.api.catalog import CATALOG

NUMERIC = settings(settings.get_profile("numeric"))
NAMES = [n for n in CATALOG if n not in ("minmax", "average", "norm", "logsumexp")]
DTYPES = ("float32", "float64", "float16", "int16", "complex64")


def judged(name, x, axis, mask, got, initial=None):
    """Check each element of a result on the elements that are left, with the initial value."""
    shape, rows = slices(x, axis)
    _, masks = slices(np.broadcast_to(mask, x.shape), axis)
    flat = np.asarray(got).reshape(shape)
    for (place, row), (_, chosen) in zip(rows, masks, strict=True):
        left = row[chosen]
        if initial is not None:
            left = np.append(left, np.asarray(initial, left.dtype))
        if name.endswith(("argmin", "argmax")):
            kept = np.flatnonzero(chosen & ~np.isnan(row) if name.startswith("nan") else chosen)
            best = kept[getattr(np, name.removeprefix("nan"))(row[kept])]
            assert flat[place] == best, (name, place)
        elif (
            name.startswith("nan") and not len(numbers(left)) and name not in ("nansum", "nanprod")
        ):
            assert np.isnan(flat[place]), (name, place)
        else:
            verdict = JUDGES[name](left, flat[place])
            assert verdict is None, (name, place, verdict, left.tolist())


@pytest.mark.parametrize("name", NAMES)
@given(
    shape=st.sampled_from([(5,), (3, 21), (21, 3), (2, 3, 9), (4, 70)]),
    dtype=st.sampled_from(DTYPES), layout=st.sampled_from(["C", "F", "stepped", "reversed"]),
    every=st.booleans(), thin=st.booleans(), seed=st.integers(0, 2**32),
)  # fmt: skip
@settings(NUMERIC, max_examples=2)
def test_masks(name, shape, dtype, layout, every, thin, seed):
    row = CATALOG[name]
    rng = np.random.default_rng(seed)
    flavour = "plain" if row.check or dtype == "float16" else "special"
    x = make_array(shape, dtype, layout, flavour, seed)
    axis = None if every else int(rng.integers(len(shape)))
    mask = rng.random((1,) * thin + shape[thin:]) < 0.6
    if row.check:  # of no element there is no index
        mask = np.broadcast_to(mask, shape).copy()
        mask[(slice(None),) * (axis or 0) + (0,)] = True
    initial = x.dtype.type(3) if row.needs_elements and not row.check else None
    options = {} if initial is None else {"initial": initial}
    got = getattr(af, name)(x, axis=axis, where=mask, **options)
    judged(name, x, axis, mask, got, initial)


@pytest.mark.parametrize("name", [n for n in NAMES if CATALOG[n].takes("initial")])
@pytest.mark.parametrize("shape", [(0, 3), (6, 3)])
def test_initial_values(name, shape):
    x = make_array(shape, "float32", "C", "plain", 1)
    for value in (2, -7.5, np.float32(0.25), np.array(3.0)):
        if name in ("any", "all"):
            continue
        got = getattr(af, name)(x, axis=0, initial=value)
        judged(name, x, 0, True, got, value)


def test_initial_values_compile_nothing():
    from axisfold.plan import planner

    x = np.arange(6.0)
    af.sum(x, initial=1.0)
    before = len(planner._plans)
    assert [af.sum(x, initial=float(k)) for k in range(50)] == [15.0 + k for k in range(50)]
    assert len(planner._plans) == before


def test_initial_in_the_dtype_of_the_result():
    x = np.arange(3, dtype="int8")
    assert af.sum(x, initial=1000) == 1003
    assert af.sum(x, initial=2.5) == np.sum(x, initial=2.5) == 5
    assert af.max(x, initial=2.7) == 2
    assert af.sum(np.ones(2, "f2"), initial=1e5) == np.inf
    assert af.any(np.zeros(3), initial=2)
    assert not af.all(np.ones(3), initial=0)


@pytest.mark.parametrize("axis", [None, 1])
def test_least_counts(axis):
    x = np.arange(12.0).reshape(3, 4)
    x[0, :3] = x[1, 0] = np.nan
    left = (~np.isnan(x)).sum(axis)
    for name in ("nansum", "nanvar", "nanmax"):
        plain = getattr(af, name)(x, axis=axis)
        for least in (1, 3):
            got = getattr(af, name)(x, axis=axis, min_count=least)
            np.testing.assert_array_equal(got, np.where(left >= least, plain, np.nan))
    mask = ~np.isnan(x)
    np.testing.assert_array_equal(
        af.sum(x, axis=axis, where=mask, min_count=3),
        np.where(left >= 3, np.nansum(x, axis=axis), np.nan),
    )
    assert np.isnan(af.sum(np.ones(3), min_count=4))
    assert af.sum(np.ones(3), min_count=3) == 3
    assert af.nansum(np.ones((2, 3), int), axis=1, min_count=3).tolist() == [3, 3]
    with pytest.raises(af.errors.DTypeError, match="D303"):
        af.sum(np.ones(3, int), where=np.ones(3, bool), min_count=3)


def test_least_counts_of_integers_that_are_reached():
    x = np.arange(12).reshape(3, 4)
    assert af.nansum(x, axis=1, min_count=4).tolist() == [6, 22, 38]
    assert af.nanmax(x.astype("u1"), min_count=12).dtype == "u1"
    assert af.nanprod(x > 0, axis=0, min_count=3).tolist() == [0, 1, 1, 1]
    assert af.nansum(x[:0], axis=1, min_count=5).shape == (0,)
    both = af.fold(x, ["mean", "max"], axis=0, min_count=3)
    assert both.max.tolist() == [8, 9, 10, 11]
    assert np.isnan(af.nansum(x, axis=1, min_count=5, dtype=float)).all()


def test_an_array_for_a_result_of_no_axes():
    for x in (np.arange(6.0), 3.0, [1, 2]):
        result = af.sum(x, out=...)
        assert type(result) is np.ndarray
        assert (result.shape, result) == ((), np.sum(x))
    assert af.sum(np.ones((2, 3)), axis=0, out=...).tolist() == [2, 2, 2]
    first, second = af.minmax(np.arange(3), out=(..., None))
    assert (type(first), type(second)) == (np.ndarray, np.int64)


@pytest.mark.parametrize(("name", "dtype"), [("var", "float32"), ("nanstd", "complex128")])
def test_a_mean_that_is_known(name, dtype):
    x = make_array((5, 6, 7), dtype, "F", "plain", 4)
    mean = x.mean(axis=1, keepdims=True) + np.array(0.25, dtype)
    mask = x.real > 0
    for where in (True, mask):
        for about in (mean, 1.5, np.asfortranarray(mean)):
            wide = x.astype("c16" if dtype == "complex128" else "f8") - about
            want = (np.abs(wide) ** 2).sum(axis=1, where=where)
            want = want / (np.broadcast_to(where, x.shape).sum(axis=1) - 0.5)
            got = getattr(af, name)(x, axis=1, mean=about, where=where, correction=0.5)
            assert got.dtype == ("f4" if dtype == "float32" else "f8")
            want = np.sqrt(want) if name == "nanstd" else want
            np.testing.assert_allclose(got, want, rtol=3e-7 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_out_of_a_signature_that_is_known(layout):
    def new():
        return make_array((5, 6, 7), "float64", layout, "plain", 1)

    x = new()
    right = [af.sum(x, axis=1, where=mask) for mask in (True, x > 0)]
    for where, want in zip((True, x > 0), right, strict=True):
        for _ in range(2):
            out = np.full((5, 7), np.nan)
            assert af.sum(x, axis=1, out=out, where=where) is out
            np.testing.assert_array_equal(out, want)
        fine = [np.empty((7, 5)).T, np.empty((5, 14))[:, ::2], np.empty((5, 7), ">f8"),
                np.empty(5 * 7 * 8 + 1, "u1")[1:].view("f8").reshape(5, 7)]  # fmt: skip
        for out in fine:
            assert af.sum(x, axis=1, out=out, where=where) is out
            np.testing.assert_array_equal(out, want)
        shared = new()
        inside = shared[:, 2]
        af.sum(shared, axis=1, out=inside, where=where)
        np.testing.assert_array_equal(inside, want)
    locked = np.full((5, 7), 3.0)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="A354"):
        af.sum(x, axis=1, out=locked)
    assert (locked == 3).all()


def test_several_reducers_with_every_option():
    x = make_array((6, 40), "float64", "C", "plain", 3)
    mask = x > 0
    last = af.Reducer("total", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s)
    out = (np.empty(40), None, np.empty(40, "f4"))
    got = af.fold(x, ["sum", "max", last], axis=0, where=mask, initial=0.5, out=out)
    assert got.sum is out[0]
    assert got.total is out[2]
    np.testing.assert_allclose(got.sum, np.sum(x, axis=0, where=mask, initial=0.5), rtol=1e-12)
    np.testing.assert_array_equal(got.max, np.max(x, axis=0, where=mask, initial=0.5))
    np.testing.assert_allclose(got.total, got.sum, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_initial_of_several_inputs(axis):
    dot = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    got = af.fold((x, y), dot, axis=axis, initial=(2, 5), where=x > 3)
    np.testing.assert_array_equal(got, (x * y * (x > 3)).sum(axis) + 10)


@pytest.mark.parametrize("dtype", ["float64", "float32", ">f8", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_out_of_any_layout(dtype, order):
    x = make_array((3, 5, 7), "float64", "C", "plain", 1)
    for axis, shape in ((0, (5, 7)), (1, (3, 7)), ((0, 2), (5,))):
        want = af.sum(x, axis=axis)
        big = np.full([2 * n for n in shape], 9, dtype, order)
        for out in (
            np.empty(shape, dtype, order),
            big[tuple(slice(None, None, -2) for _ in shape)],
        ):
            assert af.sum(x, axis=axis, out=out) is out
            np.testing.assert_allclose(out, want, rtol=1e-6)
        assert (big[tuple(slice(None, None, 2) for _ in shape)] == 9).all()


def test_out_that_shares_memory_with_the_input():
    for axis in (0, 1):
        memory = np.arange(16.0).reshape(4, 4)
        want = memory.sum(axis)
        af.sum(memory, axis=axis, out=memory[1])
        np.testing.assert_array_equal(memory[1], want)


def test_one_read_gives_minimum_and_maximum():
    x = make_array((4, 9), "float32", "C", "special", 2)
    got = af.minmax(x, axis=1)
    np.testing.assert_array_equal(got.min, af.min(x, axis=1))
    np.testing.assert_array_equal(got.max, af.max(x, axis=1))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (1, 0)])
def test_averages(axis):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 8)), rng.random((5, 8))
    got, total = af.average(x, axis=axis, weights=w, returned=True)
    want, weight = np.average(x, axis=axis, weights=w, returned=True)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_allclose(total, weight, rtol=1e-12)
    if isinstance(axis, int):
        short = w.take(0, axis=1 - axis)
        np.testing.assert_allclose(
            af.average(x, axis=axis, weights=short, keepdims=True),
            np.average(x, axis=axis, weights=short, keepdims=True), rtol=1e-12,
        )  # fmt: skip
    assert af.average(np.ones(3, "f2"), weights=np.ones(3, "f4")).dtype == np.float32


@pytest.mark.parametrize("p", [0, 1, 2, 3, 0.5, -1, -2.5, np.inf, -np.inf, None])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_orders_of_norms(p, dtype):
    x = make_array((6, 50), dtype, "C", "plain", 4)
    x[x == 0] = 1
    for axis in (0, 1)[-1 if dtype == "complex128" else 0 :]:
        want = np.linalg.norm(x.astype("c16"), ord=p, axis=axis)
        np.testing.assert_allclose(af.norm(x, p, axis=axis), want, rtol=1e-6)
    if dtype == "float32" and p != 0:
        for scale in (1e30, 1e-30):
            far = (x * np.float32(scale)).astype("f4") / np.float32(50)
            want = af.norm(x.astype("f8"), p, axis=1) * (scale / 50)
            np.testing.assert_allclose(af.norm(far, p, axis=1), want, rtol=1e-5)
