# SPDX-License-Identifier: Apache-2.0
"""Patterns on CUDA arrays, and reducers as einops' callables there."""

import cupy
import einops
import numpy as np
import pytest
import torch

import axisfold as af

pytestmark = pytest.mark.gpu

X = np.random.default_rng(0).random((6, 33, 8, 70), dtype=np.float32)
ENERGY = af.Reducer("energy", {"s": "acc"}, 0, lambda x: x * x, lambda a, b: a.s + b.s)
DOT = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)


@pytest.mark.parametrize("make", [cupy.asarray, lambda x: torch.from_numpy(x).cuda()])
@pytest.mark.parametrize("pattern", ["b h w c -> c b", "b h (w v) c -> (v b) h 1", "... c -> c"])
def test_patterns(make, pattern):
    sizes = {"v": 2} if "v" in pattern else {}
    result = af.fold(make(X), ["mean", "max"], pattern, **sizes)
    assert isinstance(result.mean, type(make(X)))
    for name in ("mean", "max"):
        got = getattr(result, name)
        host = got.get() if isinstance(got, cupy.ndarray) else got.cpu().numpy()
        wanted = einops.reduce(X, pattern, name, **sizes)
        assert host.shape == wanted.shape
        np.testing.assert_allclose(host, wanted, rtol=1e-5)


def test_several_inputs():
    weights = np.arange(33, dtype=np.float32)
    got = af.fold((cupy.asarray(X), cupy.asarray(weights)), DOT, "b h w c, h -> c b")
    np.testing.assert_allclose(got.get(), np.einsum("bhwc,h->cb", X, weights), rtol=1e-4)


def test_einops_takes_reducers():
    got = einops.reduce(torch.from_numpy(X).cuda(), "b h w c -> c b", ENERGY)
    assert got.is_cuda
    wanted = einops.reduce(X.astype(np.float64) ** 2, "b h w c -> c b", "sum")
    np.testing.assert_allclose(got.cpu(), wanted, rtol=1e-6)
