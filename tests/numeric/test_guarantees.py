# SPDX-License-Identifier: Apache-2.0
"""The numbers that the documentation promises."""

import math
from fractions import Fraction

import numpy as np
import pytest

import axisfold as af
from axisfold.api.arguments import item_of, member_of
from axisfold.api.check.kernels import Plans
from axisfold.api.check.states import States
from axisfold.config import config
from axisfold.dtypes import parse

RNG = np.random.default_rng(5)


def test_float16_means_of_many_values():
    x = (RNG.standard_normal(10**5) * 3 + 100).astype("f2")
    mean = math.fsum(x.astype("f8")) / len(x)
    variance = math.fsum((x.astype("f8") - mean) ** 2) / len(x)
    assert af.mean(x) == np.float16(mean)
    assert af.var(x) == np.float16(variance)
    assert np.isfinite([af.mean(x), af.var(x)]).all()


@pytest.mark.parametrize("columns", [1, 3])
def test_variance_far_from_zero(columns):
    x = (1e7 + RNG.random((5000, columns))).astype("f4")
    for axis, view in ((0, x), (1, np.ascontiguousarray(x.T))):
        want = np.var(x.astype("f8"), axis=0)
        np.testing.assert_allclose(af.var(view, axis=axis), want, rtol=1e-3)


INFINITE = ([np.inf], [1, np.inf], [-np.inf, 2, 3], [np.inf, np.inf])


def states_of(name, dtype):
    return States(member_of(item_of(name), [parse(dtype)], None), [parse(dtype)])


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64"])
def test_an_infinity_has_no_variance(dtype):
    states = states_of("var", dtype)
    for values in INFINITE:
        merged = states.results(states.fold(states.lift([np.array(values, dtype)])), len(values))
        assert np.isnan(merged["var"]).all()


def test_an_infinity_has_no_variance_by_any_rule():
    kernels = Plans(states_of("var", "float32"))
    for rule, kernel in kernels.by_rule().items():
        for values in INFINITE:
            rows = np.ones((kernel.arrangement.rows or 1, 37), "f4")
            rows[:, -len(values) :] = values
            found = kernels.run(kernel, [kernel.arrangement.view(rows)])
            assert np.isnan(found["var"]).all(), (rule, values)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logsumexp_makes_no_nan(dtype):
    values = np.array([-np.inf, np.inf, 0, 700, -700, 3], dtype)
    for _ in range(40):
        x = RNG.choice(values, (3, 19))
        for axis in (None, 0, 1):
            assert not np.isnan(af.logsumexp(x, axis=axis)).any()
    assert af.logsumexp(np.full(5, -np.inf, dtype)) == -np.inf
    assert np.isnan(af.logsumexp(np.array([np.nan, np.inf], dtype)))


def test_norms_neither_overflow_nor_vanish():
    for dtype, values, want in (
        ("f4", [1e20, 1, 1], 1e20), ("f4", [1e-30, 1e-30], math.sqrt(2) * 1e-30),
        ("f8", [1e200, 1e200], math.sqrt(2) * 1e200),
        ("f8", [1e-200, 1e-200], math.sqrt(2) * 1e-200),
    ):  # fmt: skip
        x = np.array(values, dtype)
        unit = 2 * float(np.finfo(dtype).eps)
        for given, axis in ((x, None), (np.stack([x] * 9, 1), 0), (np.stack([x] * 9), 1)):
            np.testing.assert_allclose(af.norm(given, axis=axis), want, rtol=unit)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["mean", "nansum", "where", "norm of order 1"])
def test_the_bound_of_sums_of_other_functions(name, dtype):
    u = 2.0 ** -(24 if dtype == "float32" else 53)
    x = np.full(2**13, 0.999 * u)
    x[0], x[5::7] = 1, -0.25
    x = x.astype(dtype)
    given = np.insert(x, 3, np.nan) if name == "nansum" else np.append(x, 1e30).astype(dtype)
    keep = np.append(np.ones(len(x), bool), False)
    calls = {
        "mean": lambda v, axis: af.mean(v, axis=axis) * len(x),
        "nansum": lambda v, axis: af.nansum(v, axis=axis),
        "where": lambda v, axis: af.sum(
            v, axis=axis, where=keep if axis else keep[:, None] if v.ndim > 1 else keep
        ),
        "norm of order 1": lambda v, axis: af.norm(v, 1, axis=axis),
    }
    data = x if name in ("mean", "norm of order 1") else given
    size = math.fsum(np.abs(x.astype("f8")))
    want = size if name == "norm of order 1" else math.fsum(x.astype("f8"))
    limit = (math.log2(len(x)) + 9) * u * size
    for view, axis in ((data, 0), (np.stack([data] * 3, 1), 0), (np.stack([data] * 3), 1)):
        got = np.ravel(calls[name](view, axis))
        assert all(abs(Fraction(float(g)) - Fraction(want)) <= Fraction(limit) for g in got)


def test_the_same_bits_by_any_number_of_threads():
    x = RNG.standard_normal((300, 701)).astype("f4")
    mask = x > -1
    before = config.threads
    seen = set()
    try:
        for threads in (1, *range(1, 9), 8):
            config.threads = threads
            results = [
                *(af.fold(x, ["sum", "var", "argmax"], axis=a) for a in (None, 0, 1)),
                (af.sum(x, where=mask), af.norm(x, 3), af.logsumexp(x)),
            ]
            seen.add(b"".join(np.asarray(r).tobytes() for group in results for r in group))
    finally:
        config.threads = before
    assert len(seen) == 1
