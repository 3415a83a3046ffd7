# SPDX-License-Identifier: Apache-2.0
"""Patterns, and reducers as einops' callables, on tensors and arrays of other libraries."""

import einops
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import axisfold as af

X = np.arange(120.0, dtype=np.float32).reshape(2, 3, 4, 5)
ENERGY = af.Reducer("energy", {"s": "acc"}, 0, lambda x: x * x, lambda a, b: a.s + b.s)
DOT = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
PATTERNS = ["b h w c -> c", "b (h 1) (w v) c -> (v b) h 1", "... c -> c (...)", "... -> "]


@pytest.mark.parametrize("make", [torch.from_numpy, jnp.asarray], ids=["torch", "jax"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_results_are_of_the_inputs_library(make, pattern):
    sizes = {"v": 2} if "v" in pattern else {}
    result = af.fold(make(X), ["mean", "max"], pattern, **sizes)
    for name in ("mean", "max"):
        got, wanted = getattr(result, name), einops.reduce(X, pattern, name, **sizes)
        assert isinstance(got, type(make(X)))
        assert got.shape == wanted.shape
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)


@pytest.mark.parametrize("make", [torch.from_numpy, jnp.asarray], ids=["torch", "jax"])
def test_several_inputs(make):
    weights = np.arange(3, dtype=np.float32)
    got = af.fold((make(X), make(weights)), DOT, "b h w c, h -> c b")
    assert isinstance(got, type(make(X)))
    np.testing.assert_allclose(np.asarray(got), np.einsum("bhwc,h->cb", X, weights), rtol=1e-6)


def test_views_of_tensors_share_memory():
    x = torch.from_numpy(X).permute(3, 0, 2, 1)[::2]
    views, _ = af.api.patterns.apply_pattern("a b (c d) e -> d a", (x,), {"d": 2})
    assert views[0].shape == (3, 2, 2, 2, 3)
    assert views[0].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("pattern", ["b h w c -> c b", "... c -> c", "b (h 1) w c -> (w b) h 1"])
def test_einops_takes_reducers_on_tensors(pattern):
    got = einops.reduce(torch.from_numpy(X), pattern, ENERGY)
    assert isinstance(got, torch.Tensor)
    np.testing.assert_allclose(got, einops.reduce(X**2, pattern, "sum"), rtol=1e-6)
    average = einops.reduce(torch.from_numpy(X), pattern, af.mean)
    assert isinstance(average, torch.Tensor)
    np.testing.assert_allclose(average, einops.reduce(X, pattern, "mean"), rtol=1e-6)


def test_derivatives_go_through_patterns():
    x = torch.from_numpy(X).double().requires_grad_()
    result = af.fold(x, "logsumexp", "b h (w v) c -> c (b v)", v=2)
    wanted = torch.logsumexp(x.reshape(2, 3, 2, 2, 5), (1, 2)).permute(2, 0, 1).reshape(5, 4)
    scale = torch.arange(20.0).reshape(5, 4)
    (got,) = torch.autograd.grad((result * scale).sum(), x)
    np.testing.assert_allclose(got, torch.autograd.grad((wanted * scale).sum(), x)[0], rtol=1e-12)


def test_transformations_of_jax_go_through_patterns():
    def total(x):
        return (af.fold(x, "mean", "b h w c -> c b") ** 2).sum()

    x = jnp.asarray(X)
    wanted = jax.grad(lambda x: (x.mean((1, 2)) ** 2).sum())(x)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(x), wanted, rtol=1e-5)
