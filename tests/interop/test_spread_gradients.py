# SPDX-License-Identifier: Apache-2.0
"""Gradients of results of the input's shape, through PyTorch and JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.fx.experimental.proxy_tensor import make_fx

import axisfold
from axisfold import Reducer
from axisfold.api.catalog import SPREADS
from axisfold.api.gradients.rules import GRADIENTS


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def centred(**options):
    """Return a reducer of the elements less their mean."""
    return Reducer(
        "centred", {"s": "acc"}, 0, lambda x: x, lambda a, b: a.s + b.s,
        finalize=lambda a, count: a.s / count, spread=lambda x, mean: x - mean, **options,
    )  # fmt: skip


def squares(f, **call):
    """Return a loss whose gradient by each result differs."""
    return lambda x: (f(x, **call) ** 2).sum()


def test_every_row_says_how_its_gradient_is_made():
    assert set(SPREADS) <= set(GRADIENTS)


@pytest.mark.parametrize("name", SPREADS)
def test_gradients(name):
    f, axis = getattr(axisfold, name), None if name == "softmax" else (0, -1)
    x = rand(2, 3, 2).transpose(0, 1).requires_grad_()
    assert gradcheck(lambda t: f(t, axis=axis), x)
    assert gradgradcheck(lambda t: f(t, axis=axis), x)


@pytest.mark.parametrize("name", SPREADS)
def test_gradients_of_what_where_leaves(name):
    x, upstream = rand(3, 5), rand(3, 5)
    mask = x > -0.5
    mask[1] = False
    f = getattr(axisfold, name)
    y = f(x.requires_grad_(), axis=1, where=mask)
    (found,) = torch.autograd.grad(y, x, upstream)
    rows = torch.tensor([0, 2])
    left = x.detach()[rows].masked_fill(~mask[rows], -torch.inf).requires_grad_()
    right = torch.zeros_like(x)
    right[rows] = torch.autograd.grad(
        getattr(torch, name)(left, 1), left, upstream[rows].where(mask[rows], 0)
    )[0]
    torch.testing.assert_close(found, right)


@pytest.mark.slow
def test_half_precision():
    x, upstream = rand(4, 9).bfloat16().requires_grad_(), rand(4, 9).bfloat16()
    y = axisfold.log_softmax(x, 1)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    (found,) = torch.autograd.grad(y, x, upstream)
    assert found.dtype == x.dtype
    (right,) = torch.autograd.grad(torch.log_softmax(x.double(), 1), x, upstream.double())
    torch.testing.assert_close(found, right, rtol=0.02, atol=0.02)


def test_rows_of_negative_infinity_that_are_zero_have_no_gradient():
    x = torch.tensor([[-torch.inf, -torch.inf], [-torch.inf, 1.0]], requires_grad=True)
    y = axisfold.softmax(x, 1, empty="zero")
    assert y.tolist() == [[0.0, 0.0], [0.0, 1.0]]
    (found,) = torch.autograd.grad(y[:, 1].sum(), x)
    assert found.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.slow
def test_both_in_one_fold():
    x = rand(3, 4).requires_grad_()
    assert gradcheck(lambda t: tuple(axisfold.fold(t, ["softmax", "log_softmax"], axis=0)), x)


def test_vmap():
    x, vmap, grad = rand(3, 4, 5), torch.func.vmap, torch.func.grad
    found = vmap(grad(squares(axisfold.softmax, axis=0)), 1)(x)
    torch.testing.assert_close(found, vmap(grad(squares(torch.softmax, dim=0)), 1)(x))


def test_compile():
    x, f = rand(3, 4).requires_grad_(), squares(axisfold.log_softmax, axis=0)
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    (found,) = torch.autograd.grad(compiled(x), x)
    (right,) = torch.autograd.grad(squares(torch.log_softmax, dim=0)(x), x)
    torch.testing.assert_close(found, right)


def test_opcheck():
    x = rand(3, 4)
    graph = make_fx(lambda t: axisfold.log_softmax(t, 0))(x).graph
    (node,) = (n for n in graph.nodes if n.target is torch.ops.axisfold.fold.default)
    found = torch.library.opcheck(node.target, ([x.requires_grad_()], *node.args[1:]))
    assert set(found.values()) == {"SUCCESS"}


def test_jax():
    x = jnp.asarray(np.random.default_rng(4).normal(size=(3, 4, 5)).astype("float32"))
    f, own = squares(axisfold.softmax, axis=-1), squares(jax.nn.softmax, axis=-1)
    found = jax.jit(jax.vmap(jax.grad(f), 1))(x)
    np.testing.assert_allclose(found, jax.vmap(jax.grad(own), 1)(x), rtol=2e-5, atol=1e-6)


def test_a_reducer_with_a_spread_needs_its_own_gradient():
    x = rand(3, 4).requires_grad_()
    y = axisfold.fold(x, centred(), axis=1)
    torch.testing.assert_close(y, x - x.mean(1, keepdim=True))
    with pytest.raises(axisfold.AxisfoldError, match=r"has no gradient: its spread.*R130"):
        y.sum().backward()

    def gradient(x, result, upstream, xp, axis, count):
        assert result.shape == x.shape
        return upstream - xp.sum(upstream, axis, keepdims=True) / count

    given = centred(gradient=gradient)
    assert gradcheck(lambda t: axisfold.fold(t, given, axis=1), x)
    with pytest.raises(axisfold.AxisfoldError, match=r"takes no where.*R130"):
        axisfold.fold(x, given, axis=1, where=x > 0).sum().backward()


def test_elements_that_are_not_folded_have_results_and_gradients():
    def gradient(x, result, upstream, xp, axis, count, where):
        return upstream - where * xp.sum(upstream, axis, keepdims=True) / count

    x, mask = rand(3, 4).requires_grad_(), torch.tensor([True, False, True, True])
    given = centred(gradient=gradient)
    assert gradcheck(lambda t: axisfold.fold(t, given, axis=1, where=mask), x)
