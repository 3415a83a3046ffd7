# SPDX-License-Identifier: Apache-2.0
"""Patterns: what they mean, held to einops and to einsum; a Reducer as einops' callable."""

import einops
import numpy as np
import pytest

import axisfold as af
from axisfold.api.patterns import apply_pattern

X = np.arange(120.0).reshape(2, 3, 4, 5)
DOT = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
SUM_OF_INDICES = af.Reducer(
    "weigh", {"s": "int64"}, 0, lambda x, index: x * index, lambda a, b: a.s + b.s
)


def random_pattern(rng):
    """Return a pattern that einops reads too, the shape of its input, and extents to give."""
    names = list("abcdefg")[: rng.integers(1, 6)]
    sizes = {name: int(rng.integers(1, 4)) for name in names}
    sides, shape, given = [], [], {}
    for name in names:  # the input: some neighbours in one group
        if sides and rng.random() < 0.3 and isinstance(sides[-1], list):
            sides[-1].append(name)
            shape[-1] *= sizes[name]
            given[name] = sizes[name]
        else:
            sides.append([name])
            shape.append(sizes[name])
    rest = int(rng.integers(0, 3)) if rng.random() < 0.3 else None
    if rest is not None:
        place = int(rng.integers(0, len(sides) + 1))
        sides.insert(place, "...")
        shape[place:place] = [2] * rest
    if rng.random() < 0.3:
        sides.insert(0, "1")
        shape.insert(0, 1)
    kept = [name for name in names if rng.random() < 0.6]
    if rest is not None and rng.random() < 0.7:
        kept.append("...")
    kept = [str(name) for name in rng.permutation(kept)]
    output = []
    for name in kept:
        if output and rng.random() < 0.3:
            output[-1].append(name)
        else:
            output.append([name])
    output += [["1"]] * int(rng.integers(0, 2))
    rng.shuffle(output)
    output = ["..." if axis == ["..."] and rng.random() < 0.5 else axis for axis in output]
    return f"{written(sides)} -> {written(output)}", shape, given


def written(side):
    axes = [axis if isinstance(axis, str) else " ".join(axis) for axis in side]
    is_one = [
        axis != "..." and (" " in text or axis == ["..."])
        for axis, text in zip(side, axes, strict=True)
    ]
    return " ".join(f"({t})" if one else t for one, t in zip(is_one, axes, strict=True))


@pytest.mark.parametrize("seed", range(60))
def test_random_patterns_mean_what_they_mean_to_einops(seed):
    rng = np.random.default_rng(seed)
    pattern, shape, sizes = random_pattern(rng)
    x = rng.integers(-50, 50, shape)
    order = rng.permutation(x.ndim)
    x = x.transpose(order).copy().transpose(np.argsort(order))  # any strides
    wanted = einops.reduce(x, pattern, "sum", **sizes)
    got = af.fold(x, "sum", pattern, **sizes)
    assert np.shape(got) == wanted.shape, pattern
    np.testing.assert_array_equal(got, wanted, err_msg=pattern)


@pytest.mark.parametrize(
    ("pattern", "einsum", "shapes"),
    [
        ("a b, b -> a", "ab,b->a", [(3, 4), (4,)]),
        ("b, a b -> a", "b,ab->a", [(4,), (3, 4)]),
        ("i k, k j -> j i", "ik,kj->ji", [(3, 4), (4, 5)]),
        ("i k, j k -> ", "ik,jk->", [(3, 4), (5, 4)]),
        ("... k, k ... -> ...", "...k,k...->...", [(2, 3, 4), (4, 2, 3)]),
        ("... k, k ... -> ...", "...k,k...->...", [(2, 1, 4), (4, 3)]),
        ("a ..., ... b -> b ... a", "a...,...b->b...a", [(2, 3), (1, 3, 5)]),
    ],
)
def test_several_inputs_are_aligned_by_name(pattern, einsum, shapes):
    x, y = (np.random.default_rng(n).integers(-9, 9, s) for n, s in enumerate(shapes))
    np.testing.assert_array_equal(af.fold((x, y), DOT, pattern), np.einsum(einsum, x, y))


def test_several_inputs_with_groups():
    x, y = np.arange(24).reshape(6, 4), np.arange(3)
    got = af.fold((x, y), DOT, "(a b) c, a -> (c b)", b=2)
    wanted = np.einsum("abc,a->cb", x.reshape(3, 2, 4), y).reshape(-1)
    np.testing.assert_array_equal(got, wanted)


def test_any_reducer_and_several():
    np.testing.assert_allclose(af.fold(X, "mean", "b h w c -> c b"), X.mean((1, 2)).T)
    both = af.fold(X, ["min", DOT_WITH_ITSELF], "b h w c -> (c b) 1")
    assert both._fields == ("min", "square")
    np.testing.assert_array_equal(both.min, X.min((1, 2)).T.reshape(10, 1))
    np.testing.assert_array_equal(both.square, (X**2).sum((1, 2)).T.reshape(10, 1))
    assert af.fold(X, "argmax", "b h w c -> b").tolist() == [59, 59]
    assert af.fold(X.astype("float32"), "sum", "b ... -> b", dtype="float64").dtype == "float64"


DOT_WITH_ITSELF = af.Reducer("square", {"s": "acc"}, 0, lambda x: x * x, lambda a, b: a.s + b.s)


def test_the_index_counts_in_the_order_in_which_names_first_appear():
    x = np.arange(12).reshape(3, 4)
    assert af.fold(x, SUM_OF_INDICES, "h w -> ") == (x.ravel() * np.arange(12)).sum()
    assert af.fold(x.T, SUM_OF_INDICES, "w h -> ") == (x.T.ravel() * np.arange(12)).sum()


def test_inputs_of_any_kind():
    assert af.fold([[1, 2], [3, 4]], "sum", "a b -> b").tolist() == [4, 6]
    assert af.fold(3.0, "sum", " -> 1").tolist() == [3.0]
    assert af.fold(np.ones((2, 0)), "sum", "a b -> b a").shape == (0, 2)
    assert af.fold(np.ones((6, 0)), "sum", "(a b) c -> a", a=3).tolist() == [0, 0, 0]
    result = af.fold(np.ones((2, 3)), "sum", "a b ->")
    assert (type(result), result) == (np.float64, 6)


def test_no_copy_is_made_of_an_input():
    x = np.arange(5040.0).reshape(14, 360)[::-2, ::-3]
    views, recipe = apply_pattern("a (b c) 1, (b c) -> c b", (x[..., None], x[0]), {"c": 4})
    assert [view.shape for view in views] == [(7, 30, 4), (1, 30, 4)]
    assert all(np.shares_memory(view, x) for view in views)
    assert (recipe.axes, recipe.order) == ((0,), (1, 0))


# --- einops' callable ---------------------------------------------------------------------------

ENERGY = af.Reducer("energy", {"s": "acc"}, 0, lambda x: x * x, lambda a, b: a.s + b.s)


def test_a_reducer_is_a_callable_that_can_be_hashed():
    twin = af.Reducer("energy", {"s": "acc"}, 0, ENERGY.lift, ENERGY.combine)
    assert len({ENERGY, twin, ENERGY}) == 2  # by identity: functions cannot be compared
    assert ENERGY(X, (1, 2)).tolist() == (X**2).sum((1, 2)).tolist()
    assert ENERGY(X) == (X**2).sum()
    assert ENERGY(X, "a ... -> a").tolist() == (X**2).sum((1, 2, 3)).tolist()
    assert ENERGY(X, axis=0, keepdims=True).shape == (1, 3, 4, 5)


@pytest.mark.parametrize("pattern", ["b h w c -> c", "b (h 1) w c -> (w b) h 1", "... -> "])
def test_einops_takes_a_reducer_as_it_is(pattern):
    np.testing.assert_array_equal(
        einops.reduce(X, pattern, ENERGY), einops.reduce(X**2, pattern, "sum")
    )  # fmt: skip


def test_einops_takes_the_functions():
    for name in ("mean", "var", "logsumexp", "argmax"):
        wanted = getattr(af, name)(X, (1, 3))
        np.testing.assert_array_equal(einops.reduce(X, "b h w c -> b w", getattr(af, name)), wanted)


def test_masks_are_viewed_as_the_first_input_is():
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, 4, 5))
    where = x > 0
    got = af.fold(x, "sum", "b h (w v) c -> c (b v)", v=2, where=where)
    wanted = einops.reduce(np.where(where, x, 0), "b h (w v) c -> c (b v)", "sum", v=2)
    np.testing.assert_array_equal(got, wanted)
    y = np.arange(5)
    np.testing.assert_array_equal(
        af.fold((x, y), DOT, "a b c d, d -> c a", where=where),
        np.einsum("abcd,d->ca", np.where(where, x, 0), y),
    )


def test_results_are_written_through_views_of_out():
    x = np.arange(120.0).reshape(2, 3, 4, 5)
    wanted = einops.reduce(x, "b h (w v) c -> c (b v) 1", "sum", v=2)
    memory = np.full((5, 8, 1), np.nan)
    out = memory[:, ::2]
    assert af.fold(x, "sum", "b h (w v) c -> c (b v) 1", v=2, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    assert np.isnan(memory[:, 1::2]).all()
    largest = np.empty((5, 2))
    result = af.fold(x, ["min", "max"], "b h w c -> c b", out=(None, largest))
    np.testing.assert_array_equal(largest, x.max((1, 2)).T)
    np.testing.assert_array_equal(result.min, x.min((1, 2)).T)
