# SPDX-License-Identifier: Apache-2.0
"""Options of reductions on CUDA arrays, against the same call on the host."""

import cupy
import numpy as np
import pytest
import torch
from fold_support import elements

import axisfold

pytestmark = pytest.mark.gpu

SHAPES = [(33, 31), (5, 1025), (1000, 32), (2, 70001)]


@pytest.mark.parametrize("name", ["sum", "mean", "var", "any", "nansum", "nanmean", "nanvar"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_masks(name, axis):
    for shape in SHAPES:
        x = elements(shape, "float32", name)
        mask = np.random.default_rng(1).random(shape) < 0.7
        x[~mask] = np.nan
        function = getattr(axisfold, name)
        want = function(x, axis=axis, where=mask)
        for make in (cupy.asarray, lambda a: torch.from_numpy(a).cuda()):
            got = function(make(x), axis=axis, where=make(mask))
            got = got.get() if isinstance(got, cupy.ndarray) else got.cpu().numpy()
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_initial_values():
    x = elements((65, 257), "float32", "sum")
    for make in (cupy.asarray, lambda a: torch.from_numpy(a).cuda()):
        for name in ("sum", "max", "nanmin"):
            for value in (0.5, 100.0, -100.0):
                got = getattr(axisfold, name)(make(x), axis=1, initial=value)
                got = got.get() if isinstance(got, cupy.ndarray) else got.cpu().numpy()
                want = getattr(axisfold, name)(x, axis=1, initial=value)
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def test_out():
    x = elements((64, 130), "float32", "sum")
    t, c = torch.from_numpy(x).cuda(), cupy.asarray(x)
    for axis, n in ((0, 130), (1, 64)):
        want = axisfold.sum(x, axis=axis)
        for out in (torch.empty(n, device="cuda"), torch.empty(2 * n, device="cuda")[::2],
                    torch.empty(n, device="cuda", dtype=torch.float64)):  # fmt: skip
            assert axisfold.sum(t, axis=axis, out=out) is out
            np.testing.assert_allclose(out.cpu().numpy(), want, rtol=1e-5, atol=1e-5)
        for out in (cupy.empty(n, "f4"), cupy.empty(2 * n, "f4")[::-2], cupy.empty(n, "f8")):
            assert axisfold.sum(c, axis=axis, out=out) is out
            np.testing.assert_allclose(out.get(), want, rtol=1e-5, atol=1e-5)
    with pytest.raises(axisfold.errors.ArgumentError, match="A353"):
        axisfold.sum(t, axis=0, out=torch.empty(130))


def test_the_index_of_no_number_is_less_than_zero():
    x = cupy.asarray(np.array([[np.nan, np.nan], [np.nan, 1.0]], "f4"))
    assert axisfold.nanargmax(x, axis=1).get().tolist() == [-1, 1]
