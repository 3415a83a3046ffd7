# SPDX-License-Identifier: Apache-2.0
"""Arrays of JAX on the host: arrays of JAX out, in the dtypes that it has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import axisfold
from axisfold.api import launches
from axisfold.errors import ArgumentError, AxisfoldError, DTypeError

X = jnp.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), ()])
def test_shapes(axis):
    for keepdims in (False, True):
        for _ in range(2):
            result = axisfold.sum(X, axis=axis, keepdims=keepdims)
            want = jnp.sum(X, axis=axis, keepdims=keepdims)
            assert isinstance(result, jax.Array)
            assert (result.shape, result.dtype) == (want.shape, want.dtype)
            assert np.array_equal(result, want)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int32", "bfloat16", "complex64"],
)
def test_results_are_half_as_wide_without_x64(dtype):
    x = jnp.asarray(np.arange(6) % 2, dtype)
    for name in ("sum", "argmax", "mean"):
        result = getattr(axisfold, name)(x)
        if dtype == "bfloat16":
            want = getattr(axisfold, name)(np.asarray(x, "f4"))
        else:
            want = getattr(axisfold, name)(np.asarray(x))
        narrow = {"i8": "i4", "u8": "u4", "f8": "f4", "c16": "c8"}
        own = "bfloat16" if dtype == "bfloat16" and name != "argmax" else want.dtype
        own = narrow.get(np.dtype(own).str[1:], own)
        assert result.dtype == own
        assert result.item() == want


def test_wide_results_with_x64():
    with jax.enable_x64(True):
        assert axisfold.sum(jnp.arange(5)).dtype == "int64"
        assert axisfold.sum(X, dtype="float64").dtype == "float64"
        assert axisfold.sum(jnp.ones(3, "complex128")).dtype == "complex128"
    assert axisfold.sum(jnp.arange(5)).dtype == "int32"
    with pytest.raises(DTypeError) as caught:
        axisfold.sum(X, dtype="float64")
    assert str(caught.value) == (
        "the result is of float64, which JAX does not have unless jax_enable_x64 is set. Ask for "
        "another with dtype=, or convert the input first. [axisfold-D302]"
    )


def test_memory_is_handed_over_both_ways(monkeypatch):
    views, memory = [], []
    real = launches.bind_host
    monkeypatch.setattr(
        launches, "bind_host", lambda vs, *rest: views.extend(vs) or real(vs, *rest)
    )
    x = jnp.ones((5, 1000, 3))
    put = jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda r, s: memory.append(r) or put(r, s))
    result = axisfold.sum(x, axis=0)
    assert [v.address for v in views] == [x.unsafe_buffer_pointer()]
    assert [m.ctypes.data for m in memory] == [result.unsafe_buffer_pointer()]


def test_results_are_where_the_input_is_committed():
    (place,) = jax.devices("cpu")
    assert not axisfold.sum(X, axis=0).committed
    result = axisfold.sum(jax.device_put(X, place), axis=0)
    assert (result.committed, result.devices()) == (True, {place})


def test_several_results_and_inputs():
    result = axisfold.fold(X, ["min", "argmax"], axis=1)
    assert all(isinstance(r, jax.Array) for r in result)
    assert result.argmax.tolist() == [3, 3, 3]
    dot = axisfold.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    assert axisfold.fold((X, jnp.ones(4)), dot, axis=1).tolist() == [6.0, 22.0, 38.0]
    with pytest.raises(ArgumentError, match=r"arrays of jax and numpy, .*axisfold-A217"):
        axisfold.fold((X, np.ones(4, "f4")), dot, axis=1)


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [
        (lambda: axisfold.sum(jax.random.key(0)), "A202",
         "x is a PRNGKeyArray of JAX without plain memory on one device"),
        (lambda: axisfold.sum(jnp.ones(3, "int4")), "D101", "x has elements of int4: axisfold"),
        (lambda: axisfold.sum(_deleted()), "A202", "x is a ArrayImpl of JAX without plain memory"),
    ],
)  # fmt: skip
def test_refused(call, code, text):
    with pytest.raises(AxisfoldError) as caught:
        call()
    assert caught.value.code == code
    assert str(caught.value).startswith(text)


def _deleted():
    x = jnp.ones(3)
    x.delete()
    return x
