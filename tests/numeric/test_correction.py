"""Degrees of freedom of var and std, under both of their names."""

import warnings

import numpy as np
import pytest

import axisfold
from axisfold.errors import ArgumentError

X = np.random.default_rng(0).normal(size=(5, 7)) * np.array([1, 10, 100, 1, 1, 1, 1])


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("ddof", [0, 1, 2, 0.5, 5, 6])
@pytest.mark.parametrize("name", ["correction", "ddof"])
def test_variance_of_samples(axis, ddof, name):
    left = (X.size if axis is None else X.shape[axis]) - ddof
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        var = axisfold.var(X, axis=axis, **{name: ddof})
        std = axisfold.std(X, axis=axis, **{name: ddof})
    if left <= 0:
        assert np.isnan(var).all()
        assert np.isnan(std).all()
        return
    expected = np.var(X, axis=axis, ddof=ddof)
    np.testing.assert_allclose(var, expected, rtol=1e-12)
    np.testing.assert_allclose(std, np.sqrt(expected), rtol=1e-12)


def test_each_correction_is_a_signature_of_its_own():
    assert [axisfold.var([4.0, 6.0], ddof=d) for d in (0, 1, 0)] == [1.0, 2.0, 1.0]
    assert np.isnan(axisfold.std([4.0], ddof=1))


NO_NUMBER = (
    "var: {!r} is no finite number to take off the degrees of freedom. Use 0 for the variance of "
    "a population, 1 for that of a sample. [axisfold-A311]"
)
BOTH = (
    "var was given both correction=1 and ddof=1. They are two names of one number: give one. "
    "[axisfold-A311]"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ddof": 1, "correction": 1}, BOTH),
        ({"ddof": "one"}, NO_NUMBER.format("one")),
        ({"correction": float("inf")}, NO_NUMBER.format(float("inf"))),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ArgumentError) as caught:
        axisfold.var(X, **options)
    assert str(caught.value) == message
