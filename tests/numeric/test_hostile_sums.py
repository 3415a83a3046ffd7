# SPDX-License-Identifier: Apache-2.0
"""Sums of data that naive or pairwise summation gets wrong, in every layout."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import axisfold as af

UNIT = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


def placements(x):
    """The vector as a row, as both columns of a matrix, as one of three, reversed and stepped."""
    yield "row", x, 0
    two = np.stack([x, x], axis=1)
    yield "two columns", two, 0
    yield "two rows", np.ascontiguousarray(two.T), 1
    yield "a column of three", np.stack([x, np.zeros_like(x), x], axis=1)[:, 2], 0
    yield "reversed", x[::-1], 0
    yield "nine columns", np.broadcast_to(x[:, None], (len(x), 9)).copy(), 0
    if len(x) % 8 == 0:
        folded = x.reshape(8, -1)
        yield "two axes", folded, (0, 1)
        yield "two axes, transposed", np.asfortranarray(folded), (0, 1)
        yield "outer and inner of three", np.repeat(folded[:, None], 3, axis=1), (0, 2)


def within_bound(x, got):
    """Whether |error| <= (log2 n + 8) u sum|x|, and one rounding of the result."""
    total = math.fsum(x.astype("f8"))
    size = Fraction(math.fsum(np.abs(x.astype("f8"))))
    unit = Fraction(UNIT[x.dtype.name])
    limit = Fraction(math.log2(len(x)) + 8) * unit * size + unit * abs(Fraction(total))
    tiny = Fraction(float(np.finfo(x.dtype).smallest_subnormal))
    return all(abs(Fraction(float(g)) - Fraction(total)) <= limit + tiny for g in np.ravel(got))


def hostile(name, dtype, n=2**14):
    rng = np.random.default_rng(7)
    u = UNIT[dtype]
    if name == "one, then less than its unit":
        x = np.full(n, 0.999 * u)
        x[0] = 1
    elif name == "growing":
        x = np.exp2(np.linspace(-14, 3 if dtype == "float16" else 60, n))
    elif name == "alternating, huge":
        big = 6e4 if dtype == "float16" else float(np.finfo(dtype).max) * 2.0**-20
        x = np.where(np.arange(n) % 2, big, -big)
        x[n // 3] = x[n // 2] = 1.0
    elif name == "subnormals":
        x = rng.integers(-1000, 1000, n) * float(np.finfo(dtype).smallest_subnormal)
    elif name == "a tenth":
        x = np.full(n, 0.1)
    else:
        x = rng.standard_normal(n) * 100 + 1e4 if dtype != "float16" else rng.standard_normal(n)
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize(
    "name",
    [
        "one, then less than its unit",
        "growing",
        "alternating, huge",
        "subnormals",
        "a tenth",
        "normal",
    ],
)
def test_the_promised_bound_in_every_layout(name, dtype):
    x = hostile(name, dtype)
    for where, view, axis in placements(x):
        with np.errstate(over="ignore"):
            got = af.sum(view, axis=axis)
        if (
            np.isfinite(math.fsum(x.astype("f8")))
            and math.fsum(x.astype("f8")) < np.finfo(dtype).max
        ):
            got = got if where != "nine columns" else got[:9]
            assert within_bound(x, got), where
        else:
            assert np.isinf(got).all(), where


@pytest.mark.parametrize("dtype", UNIT)
def test_one_after_the_other_breaks_the_bound(dtype):
    x = hostile("one, then less than its unit", dtype)
    assert not within_bound(x, np.cumsum(x, dtype=dtype)[-1])


def test_sums_of_subnormals_are_exact():
    tiny = np.finfo("f8").smallest_subnormal
    x = np.random.default_rng(0).integers(-1000, 1000, 4096)
    for where, view, axis in placements(x * tiny):
        assert np.all(af.sum(view, axis=axis) == x.sum() * tiny), where


def test_a_two_column_array_of_ones():
    # In float32, adding one by one stops at 2**24.
    n = 2**24 + 2**12
    x = np.ones((n, 2), "float32")
    assert af.sum(x, axis=0).tolist() == [n, n]
    assert af.mean(x, axis=0).tolist() == [1.0, 1.0]
    assert af.norm(x, axis=0).tolist() == [np.float32(math.sqrt(n))] * 2


def test_ones_and_then_less_than_a_unit_in_float64():
    # Each addition alone would be lost: 1 + 0.999 * 2**-53 == 1.
    n = 2**20
    x = np.full(n, 0.999 * 2.0**-53)
    x[0] = 1.0
    for where, view, axis in (("row", x, 0), ("column", np.stack([x, x], 1), 0)):
        np.testing.assert_allclose(
            af.sum(view, axis=axis), math.fsum(x), rtol=2.0**-52, err_msg=where
        )
    assert np.cumsum(x)[-1] == 1.0


@pytest.mark.parametrize("axis", [0, 1])
def test_intermediate_overflow_of_float32_is_harmless(axis):
    row = np.array([3e38, 3e38, -3e38, -3e38], "float32")
    x = np.stack([row, row]) if axis else np.stack([row, row], axis=1)
    assert af.sum(x, axis=axis).tolist() == [0.0, 0.0]
    assert af.sum(x) == 0
    assert af.mean(np.full(5, 3e38, "float32")) == np.float32(3e38)
    assert af.sum(np.full(5, 3e38, "float32")) == np.inf


@pytest.mark.parametrize("dtype", [*UNIT, "complex64"])
def test_infinities_add_as_ieee_says(dtype):
    inf, nan = np.inf, np.nan
    for values, wanted in (
        ([inf, 1.0], inf), ([inf, -inf], nan), ([-inf, -inf], -inf), ([nan, inf], nan),
        ([1.0, -inf, 2.0], -inf), ([inf, 1.0, -inf], nan),
    ):  # fmt: skip
        x = np.array(values * 5, dtype)
        for where, view, axis in placements(x):
            got = np.real(np.ravel(af.sum(view, axis=axis)))
            assert np.array_equal(got, np.full(got.shape, wanted), equal_nan=True), (where, values)
            if where.startswith("two"):
                got = np.real(np.ravel(af.mean(view, axis=axis)))
                assert np.array_equal(got, np.full(got.shape, wanted), equal_nan=True), where


def test_overflow_of_float64_pairs_is_infinite():
    for sign in (1, -1):
        x = np.full(40, sign * 1.5e308)
        for where, view, axis in placements(x):
            assert np.all(af.sum(view, axis=axis) == sign * np.inf), where


def test_float16_neither_sticks_nor_overflows_on_the_way():
    assert af.sum(np.ones(70000, "float16")) == np.inf  # beyond 65504: as the dtype says
    assert af.mean(np.ones(70000, "float16")) == 1
    assert af.sum(np.ones((3000, 115), "float16"), axis=0).tolist() == [3000.0] * 115
    assert af.mean(np.array([6e4, 6e4], "float16")) == np.float16(6e4)
    assert af.sum(np.array([6e4, 6e4, -6e4], "float16")) == np.float16(6e4)
    assert af.var(np.array([6e4, -6e4], "float16")) == np.inf  # 3.6e9 is no float16
    assert af.std(np.array([6e4, -6e4], "float16")) == np.float16(6e4)


def test_variance_about_a_large_mean():
    assert af.var(1e8 + np.array([1.0, 2.0, 3.0])) == 2 / 3
    x = np.random.default_rng(1).standard_normal(1024)
    for shift in (1e4, 1e8, 1e12):
        shifted = x + shift
        values = [Fraction(v) for v in shifted.tolist()]
        mean = sum(values) / len(values)
        exact = float(sum((v - mean) ** 2 for v in values) / len(values))
        for where, view, axis in itertools.islice(placements(shifted), 4):
            # n u kappa at worst, and kappa is about the shift.
            np.testing.assert_allclose(
                af.var(view, axis=axis), np.full_like(af.var(view, axis=axis), exact),
                rtol=1e-12 + 4e-16 * shift, err_msg=f"{where} {shift}",
            )  # fmt: skip


def test_integers_wrap_and_means_of_them_do_not():
    top = np.array([2**63 - 1, 1])
    assert af.sum(top) == -(2**63)
    assert af.mean(top) == 2.0**62
    assert af.mean(np.full(3, 2**63 - 1)) == 2.0**63
    assert af.mean(np.full(9, 2**64 - 1, "uint64")) == 2.0**64
    assert af.sum(np.full(3, 2**64 - 1, "uint64")) == 2**64 - 3
    assert af.mean(np.full(1000, 127, "int8")) == 127
    assert af.sum(np.array([100, 100], "int8"), dtype="int8") == -56
    assert af.prod(np.arange(1, 22, dtype="int32")) == np.prod(np.arange(1, 22, dtype="int64"))
    assert af.sum(np.full(2**16, 2**31 - 1, "int32")) == 2**16 * (2**31 - 1)
    assert af.sum(np.full(300, 255, "uint8")).dtype == np.uint64
