"""Sums inside other reductions hold their bound too: norm, logsumexp and var in every layout."""

import math

import numpy as np
import pytest

import axisfold

N = 1 << 20
U = 2.0**-53
LAYOUTS = {
    "row": lambda x: (np.stack([x] * 2), 1),
    "column": lambda x: (np.stack([x] * 2, 1), 0),
    "strided": lambda x: (np.stack([x] * 3, 1)[:, ::2], 0),
    "full": lambda x: (x, None),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_large_element_does_not_swallow_small_squares(layout):
    x = np.full(N, 2.0**-27)
    x[0] = 1  # each other square is half a unit in the last place of the sum
    exact = math.sqrt(1 + (N - 1) * 2.0**-54)
    array, axis = LAYOUTS[layout](x)
    found = np.asarray(axisfold.norm(array, axis=axis))
    assert np.abs(found / exact - 1).max() <= 2 * U


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_large_element_does_not_swallow_small_exponentials(layout):
    x = np.full(N, -37.0)
    x[0] = 0
    exact = math.log1p((N - 1) * math.exp(-37))
    array, axis = LAYOUTS[layout](x)
    found = np.asarray(axisfold.logsumexp(array, axis=axis))
    # Runs of at most 512 elements are summed plainly; one after the other the small ones, each
    # below half a unit in the last place of 1, would all be lost.
    assert np.abs(found - exact).max() <= (math.log2(N) + 8) * U
    assert exact > 1e5 * U


@pytest.mark.parametrize("layout", LAYOUTS)
def test_variance_beside_a_large_mean(layout):
    x = np.random.default_rng(0).normal(size=N) + 1e3
    mean = math.fsum(x) / N
    exact = math.fsum((x - mean) ** 2) / N
    array, axis = LAYOUTS[layout](x)
    found = np.asarray(axisfold.var(array, axis=axis))
    assert np.abs(found / exact - 1).max() <= (math.log2(N) + 8) * 10 * U


def test_complex_norms_are_compensated_too():
    x = np.full(N, 2.0**-27 + 0j)
    x[0] = 1j
    assert abs(axisfold.norm(x) / math.sqrt(1 + (N - 1) * 2.0**-54) - 1) <= 2 * U
