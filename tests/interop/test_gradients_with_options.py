# SPDX-License-Identifier: Apache-2.0
"""Gradients of reductions with masks, initial values, weights and orders, and of the nan-forms."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import axisfold
from axisfold import Reducer

MASK = torch.tensor([[True, True, False, True], [True, False, False, False], [True] * 4])
PRODUCT_OF_SUMS = Reducer(
    "product_of_sums", {"s": "acc", "p": "acc"}, {"s": 0, "p": 1}, lambda x: (x * x, x),
    lambda a, b: (a.s + b.s, a.p * b.p), lambda a: a.s * a.p,
)  # fmt: skip


def rand(*shape):
    values = np.random.default_rng(9).uniform(0.5, 1.5, shape)
    return torch.from_numpy(values).requires_grad_()


@pytest.mark.parametrize(
    ("name", "initial"),
    [
        ("mean", None),
        ("std", None),
        ("logsumexp", None),
        ("prod", 3.0),
        ("max", 1.0),
        ("nanvar", None),
    ],
)
def test_masks_and_initial_values(name, initial):
    options = {"where": MASK} if initial is None else {"where": MASK, "initial": initial}
    f = getattr(axisfold, name)
    x = rand(3, 4)
    rows = MASK.sum(1) > 1 if name in ("std", "nanvar") else slice(None)
    assert gradcheck(lambda t: f(t, axis=1, **options)[rows], x)


def test_a_mask_of_nothing_gives_no_nan():
    x = torch.ones(2, 3, requires_grad=True)
    where = torch.tensor([[False] * 3, [True, False, True]])
    (found,) = torch.autograd.grad(axisfold.mean(x, axis=1, where=where)[1], x)
    assert found.tolist() == [[0.0] * 3, [0.5, 0.0, 0.5]]


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, math.inf, -math.inf])
def test_orders_of_norms(order):
    assert gradcheck(lambda t: axisfold.norm(t - 0.98, order, axis=1), rand(2, 3))
    zeros = torch.zeros(2, 3, requires_grad=True)
    (found,) = torch.autograd.grad(axisfold.norm(zeros, order, axis=1).sum(), zeros)
    assert not found.any()


def test_averages():
    x, w = rand(3, 4), rand(4)
    assert gradcheck(lambda t, w: tuple(axisfold.average(t, 1, w, returned=True)), (x, w))
    assert gradcheck(lambda t: axisfold.average(t, axis=0), x)


@pytest.mark.parametrize("name", ["ptp", "minmax"])
def test_ranges(name):
    f = getattr(axisfold, name)
    x = rand(3, 4)
    assert gradcheck(lambda t: tuple(f(t, 1)) if name == "minmax" else f(t, 1), x)
    ties = torch.tensor([1.0, 3.0, 3.0, 1.0], requires_grad=True)
    result = f(ties)
    loss = result.max - result.min if name == "minmax" else result
    (found,) = torch.autograd.grad(loss, ties)
    assert found.tolist() == [-0.5, 0.5, 0.5, -0.5]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "std", "max"])
def test_nans_that_are_passed_over(name):
    x = torch.tensor([[2.0, math.nan, 3.0, 5.0], [math.nan] * 4], dtype=torch.float64)
    x.requires_grad_()
    (found,) = torch.autograd.grad(getattr(axisfold, f"nan{name}")(x, axis=1)[0], x)
    rest = x.detach()[0, [0, 2, 3]].clone().requires_grad_()
    (right,) = torch.autograd.grad(getattr(axisfold, name)(rest), rest)
    torch.testing.assert_close(found[0, [0, 2, 3]], right)
    assert not found[0, 1]
    assert not found[1].any()


def test_too_few_elements_have_no_gradient():
    x = rand(3, 4)
    result = axisfold.nansum(x, axis=1, min_count=2, where=MASK)
    (found,) = torch.autograd.grad(result.nansum(), x)
    assert torch.equal(found, (MASK & (MASK.sum(1) >= 2)[:, None]).double())


def test_a_mean_that_is_known():
    for f in (axisfold.var, axisfold.nanstd):
        about = lambda x, mean, f=f: f(x, axis=1, mean=mean, correction=1)  # noqa: E731
        assert gradcheck(about, (rand(3, 4), rand(3, 1)))


def test_reducers():
    x = rand(3, 4)

    def f(t):
        return axisfold.fold(t, PRODUCT_OF_SUMS, axis=1, initial=3.0, where=MASK)

    assert gradcheck(f, x)


@pytest.mark.slow
def test_compiled_and_batched():
    def f(x, mask, weights):
        r = axisfold.fold(x, ["sum", PRODUCT_OF_SUMS], axis=0, where=mask)
        average = axisfold.average(x, 1, weights, where=mask)
        spread = axisfold.var(x, 1, mean=average[:, None])
        return axisfold.sum(x, 1, where=mask, initial=2.0), spread, r.sum

    x, w = rand(3, 4), rand(4)
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, MASK, w), f(x, MASK, w))
    means = torch.vmap(lambda t, m: axisfold.mean(t, where=m), in_dims=(None, 0))(x[0], MASK)
    torch.testing.assert_close(means, (x[0] * MASK).sum(1) / MASK.sum(1))


def test_jax():
    x = jnp.asarray(rand(3, 4).detach().numpy().astype("float32"))
    mask = jnp.asarray(MASK.numpy())

    def loss(f):
        return jax.grad(lambda x: jnp.sum(f(x, axis=1, where=mask)))

    np.testing.assert_allclose(
        jax.jit(loss(axisfold.var))(x), loss(jnp.var)(x), rtol=1e-5, atol=1e-6
    )
    means = jax.vmap(lambda x, m: axisfold.mean(x, where=m), (None, 0))(x[0], mask)
    np.testing.assert_allclose(means, (x[0] * mask).sum(1) / mask.sum(1), rtol=1e-6)
    largest = jax.jit(lambda x: axisfold.max(x, axis=1, initial=1.25, where=mask))(x)
    np.testing.assert_array_equal(largest, jnp.max(x, 1, initial=1.25, where=mask))


def test_no_array_to_write_into():
    with pytest.raises(axisfold.AxisfoldError) as caught:
        axisfold.sum(rand(3), out=torch.zeros((), dtype=torch.float64))
    assert str(caught.value) == (
        "out= was given, but a gradient or a trace depends on the input: results that are written "
        "into an array have no part in either. Leave out= away, or call on x.detach(). "
        "[axisfold-A360]"
    )
