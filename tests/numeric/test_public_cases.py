# SPDX-License-Identifier: Apache-2.0
"""Reductions that went wrong in public, in other libraries: the kind of each, not the row alone.

The test's parameter is the report, as ``repository#number``.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import axisfold as af

INF, NAN = np.inf, np.nan
FLOATS = ("float16", "float32", "float64")
RNG = np.random.default_rng(20)


def report(*reports):
    """Name a test by the reports that it is about."""
    return pytest.mark.parametrize("reports", [reports], ids=[" ".join(reports)])


def views(x):
    """A matrix in six layouts."""
    yield x
    yield np.asfortranarray(x)
    yield x[::-1, ::-1].copy()[::-1, ::-1]
    yield np.repeat(x, 2, axis=1)[:, ::2]
    yield np.repeat(x, 3, axis=0)[::3]
    yield np.stack([x, x])[1]


def strided(value, shape):
    """A huge array that is one element."""
    return np.broadcast_to(value, shape)


# --- A: accumulation of narrow floats -----------------------------------------------------------


@report("numpy#7930")
def test_mean_of_many_float16(reports):
    x = (RNG.standard_normal(100_000) + 1).astype("float16")
    assert af.mean(x) == np.float16(math.fsum(x.astype(float)) / len(x))
    assert af.mean(np.array([6e4, 6e4], "float16")) == 6e4


@report("numpy#15785", "numpy#22208")
@pytest.mark.parametrize("order", ["C", "F"])
def test_sum_of_float16_does_not_stick(reports, order):
    x = np.ones((3000, 115), "float16", order=order)
    assert (af.sum(x, axis=0) == 3000).all()
    assert (af.sum(x, axis=1) == 115).all()


@report("numpy#21941", "numpy#22448")
@pytest.mark.parametrize("axis", [0, 1, None])
def test_variance_of_float16_is_finite(reports, axis):
    x = RNG.standard_normal((1000, 10)).astype("float16")
    wide = x.astype("float64")
    np.testing.assert_allclose(af.var(x, axis=axis), wide.var(axis), rtol=2e-3)
    np.testing.assert_allclose(af.std(x, axis=axis), wide.std(axis), rtol=2e-3)


@report("pandas#20642")
def test_mean_of_a_long_float16_series(reports):
    x = np.sin(np.arange(1_000_000.0)).astype("float16")
    exact = math.fsum(x.astype(float)) / len(x)
    assert af.mean(x) == np.float16(exact)
    assert af.sum(x) == np.float16(exact * len(x))


@report("pytorch#74438", "Paddle#78225", "Paddle#78226")
@pytest.mark.slow
def test_float16_beyond_32_bit_counts(reports):
    half = strided(np.float16(1), (2**31 + 8,))
    assert af.mean(half) == 1
    signs = strided(np.array([[1], [-1]], "float16"), (2, 2**30))
    assert af.sum(signs) == 0
    assert af.mean(signs) == 0


@report("jax#17792")
def test_mean_of_small_float16(reports):
    x = np.full(2**20, 1e-5, "float16")
    assert af.mean(x) == x[0]


@report("jax#26365")
def test_the_dtype_asked_for_is_honoured(reports):
    x = np.zeros(8, "float64")
    for dtype in FLOATS:
        assert af.mean(x, dtype=dtype).dtype == dtype
        assert af.sum(x, dtype=dtype).dtype == dtype


@report("chainer#7681")
def test_average_of_float16_does_not_overflow(reports):
    assert af.mean(np.full(300, 500, "float16")) == 500


# --- B: accuracy and order ----------------------------------------------------------------------


@report("numpy#8869", "xarray#1346", "pandas#25307", "bottleneck#462")
@pytest.mark.parametrize("value", [1, 0.01, -1])
def test_long_float32_columns(reports, value):
    n = 2**24 + 100
    x = strided(np.float32(value), (n, 3))
    exact = np.float32(n * float(np.float32(value)))
    assert af.sum(x, axis=0).tolist() == [exact] * 3
    assert af.mean(x, axis=0).tolist() == [np.float32(value)] * 3
    assert af.std(x, axis=0).tolist() == [0.0] * 3


@report("numpy#11331")
@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 1), (1, 2), (0, 2), 3])
def test_mean_over_leading_axes(reports, axes):
    x = (RNG.random((64, 16, 16, 3)) * 255).astype("float32")
    np.testing.assert_allclose(af.mean(x, axis=axes), x.mean(axes, dtype="f8"), rtol=6e-8)


@report("numpy#13240", "numpy#15093")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_order_in_memory_hardly_shows(reports, dtype):
    x = RNG.random((2, 100_000)).astype(dtype)
    exact = [math.fsum(row.astype(float)) for row in x]
    for view in views(x):
        np.testing.assert_array_max_ulp(af.sum(view, axis=1), np.array(exact, dtype), 1)
        np.testing.assert_array_max_ulp(af.sum(view.T, axis=0), np.array(exact, dtype), 1)


@report("pytorch#65815", "pytorch#15602", "pytorch#20551")
def test_norm_of_ones(reports):
    assert af.norm(strided(np.float32(1), (10_000, 10_000))) == 10_000
    assert af.norm(np.ones(40_000, "float32")) == 200
    x = RNG.random((200, 50, 16)).astype("float32")
    exact = math.sqrt(math.fsum(x.ravel().astype(float) ** 2))
    assert af.norm(x) == np.float32(exact)


# --- C: variance --------------------------------------------------------------------------------


def exact_variance(values, ddof=0):
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    return float(sum((v - mean) ** 2 for v in exact) / (len(exact) - ddof))


@report("cudf#16444")
def test_variance_of_two_large_values(reports):
    from axisfold.api.catalog import variance

    x = np.array([1577836800e9, 1609372800e9])
    assert af.fold(x, variance(correction=1)) == exact_variance(x, 1) == 4.97259648e32


@report("scanpy#4122", "fast-array-utils#127", "cudf#7453")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_variance_far_from_zero(reports, dtype):
    x = (RNG.standard_normal((4, 300)) * 10 + 1e5).astype(dtype)
    exact = [exact_variance(row.tolist()) for row in x]
    for view in views(x):
        np.testing.assert_allclose(
            af.var(view, axis=1), exact, rtol=1e-6 if dtype == "float32" else 1e-10
        )
        np.testing.assert_allclose(
            af.var(view.T, axis=0), exact, rtol=1e-6 if dtype == "float32" else 1e-10
        )


@report("pytorch#29372")
def test_deviation_of_one_value(reports):
    from axisfold.api.catalog import deviation

    assert af.std(np.array([4.0])) == 0
    assert np.isnan(af.fold(np.array([4.0]), deviation(correction=1)))
    assert np.isnan(af.fold(np.array([4.0]), deviation(correction=2)))
    assert np.isnan(af.fold(np.array([4.0, 5.0]), deviation(correction=3)))


@report("pytorch#139035", "pytorch#138570")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mean_beside_deviation(reports, dtype):
    x = RNG.standard_normal((5, 1000)).astype(dtype)
    both = af.fold(x, ["std", "mean"], axis=1)
    np.testing.assert_array_equal(both.mean, af.mean(x, axis=1))
    np.testing.assert_allclose(both.std, af.std(x, axis=1))


@report("dask#4996")
def test_variance_over_no_axes(reports):
    x = RNG.random((10, 11, 12))
    np.testing.assert_array_equal(af.var(x, axis=()), np.zeros(x.shape))
    np.testing.assert_array_equal(af.sum(x, axis=()), x)


# --- D: min and max -----------------------------------------------------------------------------


@report(
    "pytorch#6996", "cutorch#289", "pytorch#1810", "pytorch#130295", "mindspore#391",
    "tinygrad#15521",
)  # fmt: skip
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_nan_wins_wherever_it_stands(reports, dtype):
    for place in range(0, 4 * 37, 7):
        x = np.ones((4, 37), dtype)
        x[place // 37, place % 37] = NAN
        for view in views(x):
            for axis in (0, 1):
                wanted = np.isnan(x).any(axis)
                assert (np.isnan(af.min(view, axis=axis)) == wanted).all()
                assert (np.isnan(af.max(view, axis=axis)) == wanted).all()
    assert np.isnan(af.max(np.full((3, 3), NAN, dtype), axis=0)).all()
    assert af.argmax(np.array([1, NAN, 3], dtype)) == 1
    assert np.isnan(af.max(np.array([INF, NAN], dtype)))


@report("cub#642", "cccl#1388", "cub#662", "cupy#8180")
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 2, 10, 100])
def test_all_infinite(reports, dtype, n):
    x = np.full(n, INF, dtype)
    assert af.min(x) == INF
    assert af.max(-x) == -INF
    assert af.argmin(x) == af.argmax(-x) == 0
    assert tuple(af.fold(x, ["argmin", "min"])) == (0, INF)
    assert (af.min(np.full((n, 3), INF, dtype), axis=0) == INF).all()


@report("jax#18573", "xla#7112", "tt-metal#12662", "chainer#6742")
@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int64"])
@pytest.mark.parametrize("shape", [(2, 16385, 1), (1, 2, 3, 4), (3, 1), (5, 67)])
def test_padding_never_shows(reports, dtype, shape):
    x = np.ones(shape, dtype)
    for axis in (-1, tuple(range(1, len(shape)))):
        assert (af.min(x, axis=axis) == 1).all()
        assert (af.max(-x, axis=axis) == -1).all()
        assert (af.prod(x, axis=axis) == 1).all()
    assert af.argmax(np.array([-2, -3, -1], dtype)) == 2


@report("pytorch#25016", "Paddle#73693", "numpy max of signed zeros")
@pytest.mark.parametrize("dtype", FLOATS)
def test_signed_zeros_do_not_depend_on_order(reports, dtype):
    for values in ([-0.0, 0.0], [0.0, -0.0], [-0.0] * 20 + [0.0], [0.0] + [-0.0] * 20):
        x = np.array(values, dtype)
        for view, axis in ((x, 0), (np.stack([x, x, x], 1), 0), (x[::-1], None)):
            assert not np.signbit(af.max(view, axis=axis)).any()
            assert np.signbit(af.min(view, axis=axis)).all()
            assert (af.argmax(view, axis=axis) == 0).all()
            assert (af.argmin(view, axis=axis) == 0).all()
    assert not np.signbit(af.sum(np.array([-0.0, -0.0], dtype)))


# --- E: arg-reductions --------------------------------------------------------------------------


@report("pytorch#22853")
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64", "complex128", "bool"])
@pytest.mark.parametrize("n", [1, 16, 33, 1000])
def test_ties_give_the_first(reports, dtype, n):
    x = np.ones((n, 5), dtype)
    for view in (x, np.asfortranarray(x), x[::-1]):
        assert (af.argmax(view, axis=0) == 0).all()
        assert (af.argmin(view, axis=1) == 0).all()
        assert af.argmax(view) == af.argmin(view) == 0


@report("pytorch#32863")
def test_argmax_of_a_slice(reports):
    x = np.zeros((40, 1, 11360), "uint8")
    x[23, 0, 11359] = 1
    assert af.argmax(x[:, 0, 11359]) == 23
    assert af.argmax(x, axis=0)[0, 11359] == 23


@report("jax#4640", "jax#3193", "jax#6762")
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_first_nan_wins(reports, dtype):
    assert af.argmax(np.array([0, 1, NAN], dtype)) == 2
    assert af.argmax(np.full(100, NAN, dtype)) == 0
    half = np.zeros(100, dtype)
    half[50:] = NAN
    assert af.argmax(half) == af.argmin(half) == 50
    assert af.argmax(half[::-1]) == af.argmin(half[::-1]) == 0


@report("cupy#8031", "cupy#8014")
@pytest.mark.slow
def test_argmax_beyond_32_bits(reports):
    x = strided(np.array([[0], [1]], "int8"), (2, 2**31 + 3))
    assert af.argmax(x) == 2**31 + 3


@report("cupynumeric#987")
def test_arg_of_the_identity_itself(reports):
    assert af.argmax(np.zeros(3, "uint32")) == 0
    assert af.argmin(np.full(3, np.finfo("f8").max)) == 0
    assert af.argmin(np.full(3, 2**63 - 1)) == 0
    assert af.argmax(np.full((3, 40), -(2**63)), axis=1).tolist() == [0, 0, 0]


@report("pytorch#193661", "pytorch#146643", "pytorch#178883")
def test_argmax_beside_others_of_a_transposed_input(reports):
    x = RNG.standard_normal((7, 6, 50)).transpose(2, 1, 0)
    names = ["mean", "var", "sum", "logsumexp", "max", "argmax", "min"]
    together = af.fold(x, names, axis=-1)
    np.testing.assert_array_equal(together.argmax, x.argmax(-1))
    for name, got in zip(names, together, strict=True):
        np.testing.assert_allclose(got, getattr(af, name)(x, axis=-1), rtol=1e-12, err_msg=name)


@report("dask#984", "dask#1024", "dask#3190", "tinygrad#3600")
def test_argmin_of_any_axis(reports):
    x = RNG.random((2, 3, 4))
    for axis in (0, 1, 2, None):
        np.testing.assert_array_equal(af.argmin(x, axis=axis), x.argmin(axis))
    assert af.argmax(np.arange(10)) == 9
    assert af.argmax(np.exp(np.array([4.0, 3.0, 2.0, 1.0]))) == 0


# --- F: logsumexp -------------------------------------------------------------------------------


@report(
    "tensorflow#11692", "matrixStats#84", "StatsFuns.jl#100", "sselogsumexp#2", "posterior#399",
    "torch-mojo-backend#319",
)  # fmt: skip
@pytest.mark.parametrize("dtype", FLOATS)
def test_logsumexp_of_minus_infinities(reports, dtype):
    assert af.logsumexp(np.array([-INF, -INF], dtype)) == -INF
    x = np.zeros((3, 37), dtype)
    x[1] = -INF
    for view in views(x):
        got = af.logsumexp(view, axis=1)
        assert got[1] == -INF
        np.testing.assert_allclose(got[[0, 2]], math.log(37), rtol=1e-3)
        np.testing.assert_allclose(af.logsumexp(view, axis=0), math.log(2), rtol=1e-3)


@report("pytorch#9825", "Paddle#79462", "semiring-einsum#13")
@pytest.mark.parametrize("dtype", FLOATS)
def test_logsumexp_of_nothing_and_of_infinities(reports, dtype):
    assert af.logsumexp(np.zeros(0, dtype)) == -INF
    assert af.logsumexp(np.zeros((2, 0), dtype), axis=1).tolist() == [-INF, -INF]
    for values, wanted in (
        ([INF, INF], INF),
        ([INF, -INF], INF),
        ([-INF, INF, 1], INF),
        ([INF, NAN], NAN),
    ):
        for n in (1, 9, 40):
            got = af.logsumexp(np.array(values * n, dtype))
            assert np.array_equal(got, np.array(wanted, dtype), equal_nan=True)


# --- G: truth values, integers, dtypes, norms ---------------------------------------------------


@report("pytorch#117215", "pytorch#192620", "pytorch#198081")
@pytest.mark.parametrize("value", [0.5, 256, NAN, INF, 1e-300, -0.0])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int16", "uint8"])
def test_truth_is_not_a_conversion(reports, value, dtype):
    with np.errstate(all="ignore"):
        if dtype in ("int16", "uint8") and not float(value).is_integer():
            value = 2
        x = np.full((4, 3), value).astype(dtype)
    for function, reference in ((af.all, np.all), (af.any, np.any)):
        got = function(x, axis=0)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, reference(x, axis=0))


@report("pytorch#127866")
def test_product_of_truth_values(reports):
    x = np.zeros((1, 1, 16, 16), bool)
    assert not af.prod(x, dtype=bool)
    assert af.prod(x, dtype=bool).dtype == bool
    assert af.prod(~x, dtype=bool)
    assert af.prod(~x).dtype == np.int64


@report("bottleneck#83")
def test_int32_sums_do_not_wrap(reports):
    assert af.sum(np.arange(5_000_000, dtype="int32")) == 12499997500000


@report("pytorch#193006", "pytorch#194326")
@pytest.mark.parametrize(
    ("values", "dtype", "norm"),
    [
        ([1e20, 1, 1], "float32", 1e20),
        ([1e-30, 1e-30], "float32", math.sqrt(2) * 1e-30),
        ([1e200, 1e200], "float64", math.sqrt(2) * 1e200),
        ([1e-200, 1e-200], "float64", math.sqrt(2) * 1e-200),
        ([3e-320, 4e-320], "float64", 5e-320),
        ([1e200, 1e-200, 0], "float64", 1e200),
        ([3e4, 4e4], "float16", 5e4),
        ([3e200 + 4e200j], "complex128", 5e200),
        ([1.7e308, 0], "float64", 1.7e308),
        ([0, 0], "float64", 0),
        ([INF, 1], "float64", INF),
        ([NAN, INF], "float64", NAN),
    ],
)
def test_norm_neither_overflows_nor_underflows(reports, values, dtype, norm):
    x = np.array(values, dtype)
    got = af.norm(x)
    assert got.dtype == np.real(x).dtype
    np.testing.assert_allclose(
        got, norm, rtol=1e-3 if dtype == "float16" else 1e-7 if dtype == "float32" else 1e-15
    )
    np.testing.assert_array_equal(af.norm(np.stack([x] * 3, 1), axis=0), [got] * 3)


@report("numba#3657")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_order_is_lexicographic(reports, dtype):
    x = np.array([1 + 1j, 1 + 2j, 0 + 9j], dtype)
    assert af.max(x) == 1 + 2j
    assert af.min(x) == 9j
    assert (af.argmax(x), af.argmin(x)) == (1, 2)
    x[0] = complex(0, NAN)
    assert np.isnan(af.max(x))
    assert af.argmax(x) == af.argmin(x) == 0
    # A NaN in one part, and an element that would be larger or smaller, after it or before.
    for values in (
        [complex(-1, NAN), 5],
        [complex(5, NAN), -7],
        [complex(NAN, 0), complex(9, NAN)],
    ):
        assert af.argmax(np.array(values, dtype)) == af.argmin(np.array(values, dtype)) == 0
        assert np.isnan(af.max(np.array(values[::-1], dtype)))


# --- H: strides, axes, empty --------------------------------------------------------------------


@report("bottleneck#381", "xarray#5424", "bottleneck#183")
def test_odd_strides(reports):
    x = np.zeros((1, 500, 2)).transpose(1, 2, 0)
    assert x.strides == (16, 8, 8000)
    for axis in (None, 0, 1, 2):
        assert (np.asarray(af.max(x, axis=axis)) == 0).all()
        assert (np.asarray(af.sum(x, axis=axis)) == 0).all()
    pair = np.array([[1.0, 1.0], [3.0, 3.0]])[..., None]
    np.testing.assert_array_equal(af.sum(pair, axis=1), [[2], [6]])
    np.testing.assert_array_equal(af.sum(np.asfortranarray(pair)[None], axis=0), pair)


@report("numpy#20921")
def test_strides_beyond_32_bits(reports):
    x = strided(np.uint8(1), (2, 2**31))[:, :: 2**30]
    assert af.max(x, axis=0).tolist() == [1, 1]
    far = np.lib.stride_tricks.as_strided(np.ones(1, "u1"), (1, 3), (2**40, 0))
    assert af.sum(far, axis=0).tolist() == [1, 1, 1]


@report("numpy#323")
def test_empty_axes(reports):
    x = np.zeros((0, 3))
    assert af.max(x, axis=1).shape == (0,)
    with pytest.raises(ValueError, match="A308"):
        af.max(x, axis=0)
    assert af.sum(x, axis=0).tolist() == [0, 0, 0]
    assert af.prod(x, axis=0).tolist() == [1, 1, 1]
    assert af.all(x, axis=0).tolist() == [True] * 3
    assert af.any(x, axis=0).tolist() == [False] * 3
    assert af.count_nonzero(x, axis=0).tolist() == [0, 0, 0]
    assert af.norm(x, axis=0).tolist() == [0, 0, 0]
    assert np.isnan(af.mean(x, axis=0)).all()
    assert np.isnan(af.var(x, axis=0)).all()


@report("Paddle#38476")
def test_negative_axes_that_cover_all(reports):
    x = RNG.random((3, 4))
    assert af.max(x, axis=(0, -1)) == x.max()
    with pytest.raises(ValueError, match="A302"):
        af.max(x, axis=(1, -1))


@report("cutorch#92", "pytorch#189401", "dask#8637")
@pytest.mark.parametrize("shape", [(2, 3, 4, 5, 6), (1, 2, 1, 3, 2, 2)])
def test_any_rank_and_any_axes(reports, shape):
    x = RNG.integers(-9, 9, shape)
    for view in (x, x.T.copy().T, np.broadcast_to(x[:1], shape), x[..., ::-1]):
        for axis in range(len(shape)):
            np.testing.assert_array_equal(af.sum(view, axis=axis), view.sum(axis))
        np.testing.assert_array_equal(af.sum(view, axis=(0, 2, 4)), view.sum((0, 2, 4)))
        np.testing.assert_array_equal(af.sum(view, axis=(1, 3)), view.sum((1, 3)))


@report("triton#3013")
@pytest.mark.parametrize("shape", [(16, 1), (1, 16), (1, 1)])
def test_axes_of_one_element(reports, shape):
    x = RNG.random(shape)
    for axis in (0, 1):
        np.testing.assert_array_equal(af.max(x, axis=axis), x.max(axis))
        np.testing.assert_allclose(af.sum(x, axis=axis), x.sum(axis), rtol=1e-15)


# --- I: more than 2**31 elements ----------------------------------------------------------------


@report("tensorflow#46621", "pytorch#182986", "cccl#9771", "cccl#4366")
@pytest.mark.slow
def test_more_elements_than_32_bits_count(reports):
    x = strided(np.int8(1), (2048, 2048, 1024))
    assert af.sum(x) == 2**32
    assert af.max(x) == 1
    assert af.count_nonzero(x) == 2**32
    for n in (2**31 - 1, 2**31 + 1024):
        assert af.sum(strided(np.float32(1), (1, n)), axis=1).tolist() == [np.float32(n)]


# --- J: races, fusion, seeds --------------------------------------------------------------------


@report("numba#3681", "numba#4170", "numba#1721", "numba#3246", "numba#3522")
def test_the_same_bits_every_time(reports):
    x = RNG.standard_normal(100_000)
    assert len({float(af.sum(x)) for _ in range(5)}) == 1
    assert af.sum(np.ones(100_000)) == 100_000
    assert (af.sum(np.ones((1000, 100)), axis=0) == 1000).all()


@report("numpy#27841", "numpy#27845")
@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_negative_strides(reports, dtype):
    x = np.arange(1, 61).reshape(3, 4, 5).astype(dtype)
    for flips in np.ndindex(2, 2, 2):
        view = x[tuple(slice(None, None, -1 if f else 1) for f in flips)]
        for name in ("sum", "min", "max", "argmin", "argmax"):
            for axis in (0, 1, 2, None):
                got = getattr(af, name)(view, axis=axis)
                np.testing.assert_array_equal(got, getattr(np, name)(view, axis=axis), err_msg=name)
