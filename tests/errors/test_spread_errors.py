# SPDX-License-Identifier: Apache-2.0
"""What reducers with spread, and softmax, refuse: class, code and the whole message."""

import numpy as np
import pytest

import axisfold as af
from axisfold.errors import ArgumentError, DTypeError, KeywordError, ReducerError

X = np.arange(12.0).reshape(3, 4)


def refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert str(caught.value) == message


def make(spread, lift=lambda x: x):
    return af.Reducer("r", {"s": "acc"}, 0, lift, lambda a, b: a.s + b.s, spread=spread)


@pytest.mark.parametrize("spread", [lambda x: x, lambda x, a, b: x, lambda x, index: x])
def test_spread_with_other_parameters(spread):
    refused(
        lambda: make(spread), ReducerError,
        "spread of reducer 'r' must take an element of each input (x) and what finalize returned. "
        "Write lambda x, r: … [axisfold-R116]",
    )  # fmt: skip


def test_spread_of_two_inputs():
    refused(
        lambda: make(lambda x, r: x, lambda x, y: x * y), ReducerError,
        "spread of reducer 'r' must take an element of each input (x, y) and what finalize "
        "returned. Write lambda x, y, r: … [axisfold-R116]",
    )  # fmt: skip


def test_results_of_both_shapes():
    refused(
        lambda: af.fold(X, ["sum", "softmax"]), ReducerError,
        "softmax has a result of the input's shape and sum has not, so that one fold cannot return "
        "both. Fold twice. [axisfold-R117]",
    )  # fmt: skip


def test_spread_without_a_result():
    refused(
        lambda: af.fold(X, make(lambda x, r: None)), ReducerError,
        "spread of reducer 'r' returned None, which is no result. Return a value such as a.s, or a "
        "dict with a name for each result. [axisfold-R113]",
    )  # fmt: skip


@pytest.mark.parametrize("given", ["none", 0, None])
def test_an_unknown_rule_for_rows_of_minus_infinity(given):
    refused(
        lambda: af.softmax(X, empty=given), ArgumentError,
        f"softmax: empty={given!r} is no rule for a row of -inf. Use 'nan' or 'zero'. "
        "[axisfold-A312]",
    )  # fmt: skip


def test_softmax_of_complex_elements_and_with_keepdims():
    refused(
        lambda: af.log_softmax(X * 1j), DTypeError,
        "log_softmax of complex128 is not defined. Fold real numbers, such as abs(x). "
        "[axisfold-D301]",
    )  # fmt: skip
    refused(
        lambda: af.softmax(X, keepdims=True), KeywordError,
        "softmax has no argument 'keepdims'. It takes x, axis, dtype, *, out, where, empty. "
        "[axisfold-A340]",
    )  # fmt: skip
