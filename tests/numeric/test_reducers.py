# SPDX-License-Identifier: Apache-2.0
"""Reducers that users write."""

import math

import numpy as np
import pytest
from numeric_support import make_array

import axisfold as af
from axisfold import te
from axisfold.plan import planner

MODULUS = 2**61 - 1


def total(field="s", **options):
    return af.Reducer(
        "total",
        {field: "acc"},
        0,
        lambda x: x,
        lambda a, b: {field: getattr(a, field) + getattr(b, field)},
        **options,
    )


@pytest.fixture
def compiles(monkeypatch):
    """The kernels planned during a test."""
    made = []
    real = planner.make_plan

    def counted(traced, layout, *rest):
        made.append(layout)
        return real(traced, layout, *rest)

    monkeypatch.setattr(planner, "make_plan", counted)
    monkeypatch.setattr(planner, "_plans", {})
    return made


def layouts(x):
    """The same array in six layouts."""
    order = range(x.ndim)[::-1]
    wide = np.repeat(x, 2, axis=-1)
    flipped = tuple(slice(None, None, -1) for _ in x.shape)
    yield "C", x
    yield "F", np.asfortranarray(x)
    yield "reversed", np.ascontiguousarray(x[flipped])[flipped]
    yield "stepped", wide[..., ::2]
    yield (
        "transposed",
        np.ascontiguousarray(x.transpose(1, *order[:-2], 0) if x.ndim > 2 else x.T).transpose(
            (x.ndim - 1, 0, *range(1, x.ndim - 1)) if x.ndim > 2 else (1, 0)
        ),
    )
    yield "mixed", np.ascontiguousarray(x[::-1].T).T[::-1]


def test_the_layouts_hold_the_same_values():
    for shape in ((3, 4), (2, 3, 4)):
        x = np.arange(math.prod(shape)).reshape(shape)
        found = dict(layouts(x))
        assert all((v == x).all() for v in found.values())
        assert len({v.strides for v in found.values()}) >= 5


def test_dot_product():
    dot = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    x, y = (
        make_array((7, 33), "float64", "C", "plain", 1),
        make_array((7, 33), "float64", "F", "plain", 2),
    )
    np.testing.assert_allclose(af.fold((x, y), dot, axis=1), (x * y).sum(1), rtol=1e-13)
    np.testing.assert_allclose(af.fold((x, y), dot, axis=0), (x * y).sum(0), rtol=1e-13)
    np.testing.assert_allclose(af.fold((x, y[:, :1]), dot), (x * y[:, :1]).sum(), rtol=1e-12)
    ints = np.arange(10, dtype="int32")
    assert af.fold((ints, ints[::-1]), dot) == int((ints * ints[::-1]).sum())


def test_inputs_of_different_dtypes_and_shapes():
    weighted = af.Reducer(
        "weighted", {"s": "acc", "w": "acc"}, {"s": 0, "w": 0},
        lambda x, w: {"s": te.cast("float64", x) * w, "w": w},
        lambda a, b: {"s": a.s + b.s, "w": a.w + b.w}, lambda a: a.s / a.w,
    )  # fmt: skip
    x = np.arange(12, dtype="int16").reshape(3, 4)
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    wanted = np.average(x, axis=1, weights=weights)
    for other in (
        weights,
        weights[None],
        np.broadcast_to(weights, (3, 4)),
        weights[::-1].copy()[::-1],
    ):
        np.testing.assert_allclose(af.fold((x, other), weighted, axis=1), wanted)


def test_covariance_of_two_inputs():
    fields = ("n", "mx", "my", "c")

    def merge(a, b):
        n = a.n + b.n
        share = te.select(n.equal(0.0), 0.0, b.n / n)
        dx, dy = b.mx - a.mx, b.my - a.my
        return n, a.mx + dx * share, a.my + dy * share, a.c + b.c + dx * dy * a.n * share

    covariance = af.Reducer(
        "cov", dict.fromkeys(fields, "float64"), dict.fromkeys(fields, 0),
        lambda x, y: (1.0, x, y, 0.0), merge, lambda a, count: a.c / (count - 1),
    )  # fmt: skip
    x = 1e6 + make_array((5, 40), "float64", "C", "plain", 1)
    y = 2e6 + make_array((5, 40), "float64", "C", "plain", 2)
    wanted = [np.cov(a, b)[0, 1] for a, b in zip(x, y, strict=True)]
    others = [v for _, v in layouts(y)]
    for (_, u), v in zip(layouts(x), [*others[1:], others[0]], strict=True):
        np.testing.assert_allclose(af.fold((u, v), covariance, axis=1), wanted, rtol=1e-8)


SUM_OF_INDICES = af.Reducer(
    "weigh", {"s": "int64"}, 0, lambda x, index: te.cast("int64", x) * (index + 1),
    lambda a, b: a.s + b.s,
)  # fmt: skip


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (2, 1), (-1, -3), ()])
def test_the_index_counts_folded_axes_in_c_order(axis):
    x = np.random.default_rng(0).integers(-9, 9, (3, 4, 5))
    reduced = (
        range(3)
        if axis is None
        else sorted(a % 3 for a in (axis if isinstance(axis, tuple) else (axis,)))
    )
    kept = [a for a in range(3) if a not in reduced]
    flat = x.transpose(*kept, *reduced).reshape(*[x.shape[a] for a in kept], -1)
    wanted = (flat * np.arange(1, flat.shape[-1] + 1)).sum(-1)
    for name, view in layouts(x):
        np.testing.assert_array_equal(
            af.fold(view, SUM_OF_INDICES, axis=axis), wanted, err_msg=name
        )


def test_the_index_with_broadcast_inputs():
    both = af.Reducer(
        "both", {"s": "int64"}, 0, lambda x, y, index: (x + y) * index, lambda a, b: a.s + b.s
    )
    x, y = np.arange(4), np.arange(3)[:, None]
    assert af.fold((x, y), both) == ((x + y).ravel() * np.arange(12)).sum()


# Non-commutative folds.  x -> a x + b, composed left to right, modulo a prime.
AFFINE = af.Reducer(
    "affine", {"a": "uint64", "b": "uint64"}, {"a": 1, "b": 0},
    lambda x: {"a": te.cast("uint64", x) % 97 + 1, "b": te.cast("uint64", x) * 3 + 2},
    lambda f, g: {"a": f.a * g.a % 10007, "b": (f.b * g.a + g.b) % 10007},
    facts=("ordered",),
)  # fmt: skip
# Digits written one after the other: value and the power of ten of its length, modulo 2**64.
CONCATENATE = af.Reducer(
    "concatenate", {"v": "uint64", "p": "uint64"}, {"v": 0, "p": 1},
    lambda x: {"v": x, "p": 10}, lambda a, b: {"v": a.v * b.p + b.v, "p": a.p * b.p},
    lambda a: a.v, facts=("ordered",),
)  # fmt: skip


def affine(values):
    a, b = 1, 0
    for x in values:
        slope, shift = x % 97 + 1, 3 * x + 2
        a, b = a * slope % 10007, (b * slope + shift) % 10007
    return a, b


def test_the_order_of_affine_maps_shows():
    assert affine([1, 2]) != affine([2, 1])


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_ordered_reducers_see_c_order(axis):
    x = np.random.default_rng(1).integers(0, 10, (3, 4, 7), dtype="uint64")
    reduced = range(3) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    kept = [a for a in range(3) if a not in reduced]
    flat = x.transpose(*kept, *reduced).reshape(*[x.shape[a] for a in kept], -1)
    for name, view in layouts(x):
        a, b = af.fold(view, AFFINE, axis=axis)
        digits = af.fold(view, CONCATENATE, axis=axis)
        for place in np.ndindex(flat.shape[:-1]):
            row = [int(v) for v in flat[place]]
            assert (int(a[place]), int(b[place])) == affine(row), name
            assert int(digits[place]) == int("".join(map(str, row))) % 2**64, name


@pytest.mark.parametrize("width", [1, 8, 63, 64, 65, 130, 1000])
def test_ordered_reducers_of_long_rows(width):
    x = np.random.default_rng(width).integers(0, 10, (2, width), dtype="uint64")
    for view, axis in ((x, 1), (x.T, 0), (np.asfortranarray(x), 1), (x[:, ::-1], 1)):
        rows = view if axis else view.T
        a, b = af.fold(view, AFFINE, axis=axis)
        assert list(zip(a.tolist(), b.tolist(), strict=True)) == [affine(map(int, r)) for r in rows]


def test_one_ordered_reducer_orders_the_whole_fold():
    x = np.random.default_rng(5).integers(0, 10, (4, 400), dtype="uint64")
    a, b, largest = af.fold(x.T, [AFFINE, "max"], axis=0)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == [affine(map(int, r)) for r in x]
    np.testing.assert_array_equal(largest, x.max(1))


# combine reads each field after the other was computed: it must see the old values.
FIBONACCI = af.Reducer(
    "swap", {"p": "int64", "q": "int64"}, {"p": 0, "q": 0},
    lambda x: {"p": x, "q": x * 2}, lambda a, b: {"p": a.q + b.q, "q": a.p + b.p},
    facts=("ordered",),
)  # fmt: skip


@pytest.mark.parametrize("as_tuple", [False, True])
def test_fields_that_change_places_are_not_clobbered(as_tuple):
    combine = FIBONACCI.combine
    if as_tuple:

        def combine(a, b):
            return (a.q + b.q, a.p + b.p)

    reducer = af.Reducer(
        "swap", FIBONACCI.state, {"p": 0, "q": 0}, FIBONACCI.lift, combine, facts=("ordered",)
    )
    # Not associative: only the plain order, one element after the other, has this result.
    x = np.arange(1, 8)
    p, q = 0, 0
    for v in x.tolist():
        p, q = q + v * 2, p + v
    assert tuple(map(int, af.fold(x, reducer))) == (p, q)


def test_rotating_fields_in_vectors():
    turn = af.Reducer(
        "turn", {"x": "int64", "y": "int64", "n": "int64"}, {"x": 0, "y": 0, "n": 0},
        lambda v: {"x": v, "y": v * 3, "n": 1},
        # In Gaussian integers: (x + iy) summed; the product below swaps and must read old fields.
        lambda a, b: {"x": a.x + b.x, "y": a.y + b.y, "n": a.n + b.n},
        lambda a: {"y": a.x, "x": a.y, "n": a.n},
    )  # fmt: skip
    v = np.arange(200).reshape(2, 100)
    result = af.fold(v, turn, axis=1)
    assert result._fields == ("turn_y", "turn_x", "turn_n")
    np.testing.assert_array_equal(result.turn_y, v.sum(1))
    np.testing.assert_array_equal(result.turn_x, 3 * v.sum(1))
    np.testing.assert_array_equal(result.turn_n, [100, 100])


GAUSSIAN_PRODUCT = af.Reducer(
    "gaussian", {"x": "int64", "y": "int64"}, {"x": 1, "y": 0}, lambda v: {"x": v, "y": 1},
    lambda a, b: {"x": a.x * b.x - a.y * b.y, "y": a.x * b.y + a.y * b.x},
)  # fmt: skip


@pytest.mark.parametrize("width", [1, 7, 40, 130])
def test_products_whose_fields_read_each_other(width):
    v = np.random.default_rng(width).integers(-3, 3, (3, width))
    for view, axis in ((v, 1), (v.T, 0), (np.asfortranarray(v), 1)):
        x, y = af.fold(view, GAUSSIAN_PRODUCT, axis=axis)
        for row, got in zip(v.tolist(), zip(x.tolist(), y.tolist(), strict=True), strict=True):
            re, im = 1, 0
            for value in row:
                re, im = re * value - im, re + im * value
            wrapped = tuple((p + 2**63) % 2**64 - 2**63 for p in (re, im))
            assert got == wrapped


def test_complex_states_of_a_user():
    power = af.Reducer(
        "power", {"s": "acc", "p": "float64"}, {"s": 0, "p": 0},
        lambda z: {"s": z, "p": te.real(z) * te.real(z) + te.imag(z) * te.imag(z)},
        lambda a, b: {"s": a.s + b.s, "p": a.p + b.p},
        lambda a, count: {"mean": a.s / count, "power": a.p},
    )  # fmt: skip
    z = make_array((4, 9), "complex64", "F", "plain", 3)
    mean, energy = af.fold(z, power, axis=1)
    assert (mean.dtype, energy.dtype) == ("complex64", "float32")
    np.testing.assert_allclose(mean, z.astype("c16").mean(1), rtol=1e-6)
    np.testing.assert_allclose(energy, (np.abs(z.astype("c16")) ** 2).sum(1), rtol=1e-6)
    product = af.Reducer("product", {"p": "acc"}, 1 + 0j, lambda z: z, lambda a, b: a.p * b.p)
    np.testing.assert_allclose(af.fold(z, product, axis=0), z.astype("c16").prod(0), rtol=1e-5)


def test_complex_results_and_pairs_of_floats_do_not_share_a_kernel():
    # Both have the same expressions, but the parts of a complex element lie two apart.
    from axisfold.tensor.values import Complex

    def make(finalize):
        return af.Reducer(
            "two", {"a": "acc", "b": "acc"}, {"a": 0, "b": 0}, lambda x: (x, x * 2.0),
            lambda a, b: (a.a + b.a, a.b + b.b), finalize,
        )  # fmt: skip

    x = make_array((5, 11), "float64", "C", "plain", 4)
    one = af.fold(x, make(lambda a: Complex(a.a, a.b)), axis=1)
    np.testing.assert_allclose(one, x.sum(1) * (1 + 2j))
    first, second = af.fold(x, make(None), axis=1)
    np.testing.assert_allclose(first, x.sum(1))
    np.testing.assert_allclose(second, 2 * x.sum(1))


def test_complex_and_real_inputs_do_not_share_a_kernel():
    # Three real components each, and the same expression of the first and the third.
    def make(lift):
        return af.Reducer("three", {"s": "float64"}, 0, lift, lambda a, b: a.s + b.s)

    z = make_array((30,), "complex128", "C", "plain", 4)
    x = make_array((30,), "float64", "C", "plain", 5)
    first = af.fold((z, x), make(lambda z, x: te.real(z) + x * 2.0))
    np.testing.assert_allclose(first, (z.real + 2 * x).sum())
    second = af.fold((x, z), make(lambda x, z: x + te.imag(z) * 2.0))
    np.testing.assert_allclose(second, (x + 2 * z.imag).sum())


def test_names_of_results():
    x = np.arange(6.0).reshape(2, 3)
    result = af.fold(x, ["sum", "sum", "mean"], axis=1)
    assert result._fields == ("sum", "sum_2", "mean")
    assert type(result).__name__ == "FoldResult"
    alone = af.fold(x, ["sum"], axis=1)
    assert alone._fields == ("sum",)
    assert isinstance(af.fold(x, "sum", axis=1), np.ndarray)
    odd = af.Reducer("1st value", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s)
    assert af.fold(x, [odd, odd])._fields == ("result", "result_2")


@pytest.mark.parametrize(("dtype", "axis"), [("float64", 0), ("int32", 1), ("complex64", None)])
def test_several_reducers_in_one_fold_and_each_alone(dtype, axis):
    names = ["mean", "min", "argmax", "var", "count_nonzero", "sum", "any"]
    x = make_array((6, 37), dtype, "C", "ties", 3)
    together = af.fold(x, [*names, total()], axis=axis)
    for name, got in zip(names, together, strict=False):
        alone = getattr(af, name)(x, axis=axis)
        assert got.dtype == alone.dtype
        if name in ("mean", "var"):
            np.testing.assert_allclose(got, alone, rtol=1e-6, atol=1e-12)
        else:
            np.testing.assert_array_equal(got, alone)
    np.testing.assert_allclose(together[-1], x.sum(axis), rtol=1e-5, atol=1e-6)


def test_absorb_given_and_absent_agree():
    def make(absorb):
        return af.Reducer(
            "moments", {"n": "int64", "s": "acc", "q": "acc"}, {"n": 0, "s": 0, "q": 0},
            lambda x: {"n": 1, "s": x, "q": x * x},
            lambda a, b: {k: getattr(a, k) + getattr(b, k) for k in ("n", "s", "q")},
            absorb=absorb,
        )  # fmt: skip

    given = make(lambda a, x: {"n": a.n + 1, "s": a.s + x, "q": a.q + x * x})
    x = np.random.default_rng(0).integers(-50, 50, (5, 77))
    for _, view in layouts(x):
        for axis in (0, 1, None):
            for one, other in zip(
                af.fold(view, given, axis=axis), af.fold(view, make(None), axis=axis), strict=True
            ):
                np.testing.assert_array_equal(one, other)


def test_absorb_takes_the_index():
    last = af.Reducer(
        "latest", {"i": "int64", "v": "input"}, {"i": -1, "v": 0},
        lambda x, index: {"i": index, "v": x},
        lambda a, b: {"i": te.maximum(a.i, b.i), "v": te.select(b.i > a.i, b.v, a.v)},
        lambda a: a.v,
        absorb=lambda a, x, index: (te.maximum(a.i, index), te.select(index > a.i, x, a.v)),
    )  # fmt: skip
    x = np.random.default_rng(0).integers(-50, 50, (5, 77))
    for name, view in layouts(x):
        np.testing.assert_array_equal(af.fold(view, last, axis=1), x[:, -1], err_msg=name)
        np.testing.assert_array_equal(af.fold(view, last, axis=0), x[-1], err_msg=name)


def test_identity_functions_get_the_dtype_of_the_field():
    seen = []

    def least(dtype):
        seen.append(str(dtype))
        return af.lowest(dtype)

    top = af.Reducer("top", {"v": "input"}, least, lambda x: x, lambda a, b: te.maximum(a.v, b.v))
    assert af.fold(np.array([-5, -7], "int8"), top) == -5
    assert af.fold(np.array([-5.0, -7.0], "float16"), top) == -5
    assert af.fold(np.zeros((3, 0), "uint16"), top, axis=1).tolist() == [0, 0, 0]
    assert seen == ["int8", "float32", "uint16"]


def test_a_reducer_made_again_is_not_compiled_again(compiles):
    x = make_array((5, 17), "float32", "C", "plain", 1)
    results = {float(af.fold(x, total("again"), axis=None)) for _ in range(5)}
    assert len(results) == 1
    assert len(compiles) == 1
    for size in (1, 3, 100, 1000):  # the class of the layout is the same
        af.fold(np.ones((size, 17), "float32"), total("other_name"))
    assert len(compiles) == 1
    af.fold(np.ones((3, 17), "float64"), total("again"))
    assert len(compiles) == 2


def test_a_reducer_that_differs_in_a_constant_is_another_one():
    def scaled(factor):
        return af.Reducer("scaled", {"s": "acc"}, 0, lambda x: x * factor, lambda a, b: a.s + b.s)

    x = np.arange(10.0)
    assert [float(af.fold(x, scaled(f))) for f in (1.0, 2.0, -0.5, 1.0)] == [
        45.0,
        90.0,
        -22.5,
        45.0,
    ]


def test_a_reducer_that_differs_in_facts_is_another_one():
    x = np.random.default_rng(1).integers(0, 10, (3, 50), dtype="uint64")
    unordered = af.Reducer("sum", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s)
    ordered = af.Reducer(
        "sum", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s, facts=("ordered",)
    )
    for reducer in (unordered, ordered, unordered):
        np.testing.assert_array_equal(af.fold(x.T, reducer, axis=0), x.sum(1))


@pytest.mark.parametrize(
    ("state", "dtype", "result"),
    [
        ("acc", "int8", "int64"),
        ("acc", "uint8", "uint64"),
        ("acc", "bool", "int64"),
        ("acc", "float16", "float16"),
        ("acc", "float32", "float32"),
        ("acc", "complex64", "complex64"),
        ("compensated", "float64", "float64"),
        ("input", "int8", "int8"),
        ("input", "float16", "float16"),
        ("float64", "int8", "float64"),
        ("float32", "float64", "float64"),
        ("int32", "int8", "int32"),
    ],
)
def test_result_dtypes(state, dtype, result):
    reducer = af.Reducer("s", {"s": state}, 0, lambda x: x, lambda a, b: a.s + b.s)
    x = np.ones((3, 4), dtype)
    got = af.fold(x, reducer, axis=1)
    assert got.dtype == result
    np.testing.assert_array_equal(got, [4, 4, 4])


def test_the_dtype_asked_for_of_a_reducer():
    got = af.fold(np.ones(5, "float32"), total(), dtype="int16")
    assert (got.dtype, got) == ("int16", 5)


def test_finalize_without_elements_and_with_the_count():
    reducer = total(finalize=lambda a, count: {"sum": a.s, "count": count})
    x = np.ones((4, 0, 3))
    result = af.fold(x, reducer, axis=1)
    np.testing.assert_array_equal(result.total_count, np.zeros((4, 3)))
    np.testing.assert_array_equal(result.total_sum, np.zeros((4, 3)))
    assert result.total_count.dtype == np.int64
    assert af.fold(np.ones((2, 3)), reducer, axis=()).total_count.tolist() == [[1] * 3] * 2


def test_wide_states():
    # 20 fields: far more than there are registers.
    fields = [f"f{n}" for n in range(20)]
    powers = af.Reducer(
        "wide", dict.fromkeys(fields, "int64"), dict.fromkeys(fields, 0),
        lambda x: tuple(x * n for n in range(20)),
        lambda a, b: {f: getattr(a, f) + getattr(b, f) for f in fields},
    )  # fmt: skip
    x = np.arange(100).reshape(2, 50)
    for axis in (0, 1):
        for n, got in enumerate(af.fold(x, powers, axis=axis)):
            np.testing.assert_array_equal(got, n * x.sum(axis))


def test_what_a_reducer_raises_comes_out_unchanged():
    class Oops(Exception):
        pass

    def fail(*_):
        raise Oops("here")

    x = np.ones(3)
    parts = {"lift": lambda x: x, "combine": lambda a, b: a.s + b.s, "finalize": lambda a: a.s}
    for name in parts:
        broken = {
            **parts,
            name: {
                "lift": lambda x: fail(),
                "combine": lambda a, b: fail(),
                "finalize": lambda a: fail(),
            }[name],
        }
        reducer = af.Reducer("broken", {"s": "acc"}, 0, **broken)
        for _ in range(2):  # nothing half-made stays behind
            with pytest.raises(Oops, match="here"):
                af.fold(x, reducer)
    assert af.fold(x, total()) == 3
