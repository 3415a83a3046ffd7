# SPDX-License-Identifier: Apache-2.0
"""JAX: under jit, vmap and grad, on the CPU through its foreign function interface."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import axisfold
from axisfold import Reducer
from axisfold.api.gradients import jax_ffi

REFERENCES = {
    "mean": jnp.mean,
    "prod": jnp.prod,
    "var": jnp.var,
    "max": jnp.max,
    "logsumexp": jax.scipy.special.logsumexp,
    "norm": lambda x, axis: jnp.sqrt(jnp.sum(x * x, axis)),
}


def rand(*shape, dtype="float32"):
    return jnp.asarray(np.random.default_rng(4).normal(size=shape).astype(dtype))


def close(found, right):
    np.testing.assert_allclose(found, right, rtol=2e-5, atol=1e-6)


def squared(f, axis):
    return lambda x: jnp.sum(f(x, axis=axis) ** 2)


@pytest.mark.parametrize("name", REFERENCES)
def test_jit_and_grad(name):
    x, axis = rand(3, 4, 5), [None, 1, (0, -1)][len(name) % 3]
    own, right = getattr(axisfold, name), REFERENCES[name]
    close(jax.jit(lambda x: own(x, axis=axis))(x), right(x, axis=axis))
    both = jax.value_and_grad(squared(own, axis))
    close(jax.jit(both)(x)[1], jax.grad(squared(right, axis))(x))


@pytest.mark.slow
def test_vmap():
    x = rand(3, 4, 5)
    own, right = axisfold.logsumexp, REFERENCES["logsumexp"]
    close(jax.vmap(own, 1)(x), right(x, axis=(0, 2)))
    per_sample = jax.vmap(jax.grad(squared(own, 0)), 2)
    close(per_sample(x), jax.vmap(jax.grad(squared(right, 0)), 2)(x))
    close(jax.vmap(jax.vmap(own), 1)(x), right(x, axis=2).T)


def test_vmap_of_several_inputs():
    dot = Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    x, y = rand(3, 4, 5), rand(5)
    f = jax.vmap(lambda x, y: axisfold.fold((x, y), dot, axis=-1), in_axes=(1, None))
    close(f(x, y), (x @ y).T)
    loss = jax.grad(lambda x, y: jnp.sum(f(x, y) ** 2), argnums=(0, 1))
    right = jax.grad(lambda x, y: jnp.sum((x @ y) ** 2), argnums=(0, 1))
    for a, b in zip(loss(x, y), right(x, y), strict=True):
        close(a, b)


def test_forward_mode():
    @jax.jit
    def tangents(x, t):
        def f(x):
            several = axisfold.fold(x, ["var", "argmax"], axis=1)
            return axisfold.softmax(x, axis=1), several.var

        return jax.jvp(f, (x,), (t,))[1]

    x, t = (np.array(rand(*shape), "f8") for shape in ((3, 4), (4, 3)))
    t, centred = t.T, x - x.mean(1, keepdims=True)
    share = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    softmax, var = tangents(jnp.asarray(x), jnp.asarray(t))
    close(softmax, share * (t - (share * t).sum(1, keepdims=True)))
    close(var, 2 * (centred * t).mean(1))


def test_second_derivatives():
    x = rand(6)
    unit = x / np.linalg.norm(x)
    right = (np.eye(6) - np.outer(unit, unit)) / np.linalg.norm(x)
    for outer, inner in ((jax.jacrev, jax.jacrev), (jax.jacfwd, jax.jacfwd)):
        close(jax.jit(outer(inner(axisfold.norm)))(x), right)


def test_what_is_left_out_has_no_gradient_whatever_the_loss():
    x = rand(2, 3).at[0, 0].set(jnp.nan)
    loss = jax.grad(lambda x: jnp.sum(axisfold.nansum(x, axis=1, min_count=3) ** 2))
    found = jax.jit(loss)(x)
    close(found[0], jnp.zeros(3))  # the result is a NaN, as two elements are too few
    close(found[1], 2 * x[1].sum() * jnp.ones(3))


def test_named_tuples_and_indices():
    @jax.jit
    def f(x):
        return axisfold.fold(x, ["min", "argmax", "mean"], axis=0)

    x = rand(3, 4)
    found = f(x)
    assert found.argmax.dtype == jnp.int32  # JAX without its 64-bit mode
    close(found.argmax, jnp.argmax(x, 0))
    gradient = jax.grad(lambda x: jnp.sum(f(x).min))(x)
    close(gradient, x == x.min(0))


@pytest.mark.slow
def test_complex_gradients_follow_jax():
    x = (rand(2, 3) + 1j * rand(3, 3)[:2]).astype("complex64")
    own = jax.grad(lambda x: jnp.abs(axisfold.prod(x)))(x)
    close(own, jax.grad(lambda x: jnp.abs(jnp.prod(x)))(x))
    own = jax.grad(axisfold.norm)(x)
    close(own, jax.grad(lambda x: jnp.sqrt(jnp.sum(jnp.abs(x) ** 2)))(x))


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "bool"])
def test_dtypes_under_jit(dtype):
    x = (rand(6, 5) * 3).astype(dtype)
    found = jax.jit(lambda x: axisfold.max(x, axis=0))(x)
    assert found.dtype == x.dtype
    assert (found == x.max(0)).all()


def test_64_bits():
    with jax.enable_x64(True):
        x = rand(3, 4, dtype="float64")
        found = jax.jit(lambda x: axisfold.fold(x, ["sum", "argmin"], axis=1))(x)
        assert found.sum.dtype == jnp.float64
        assert found.argmin.dtype == jnp.int64
        np.testing.assert_allclose(found.sum, np.asarray(x).sum(1), rtol=1e-14)


def test_arrays_without_elements():
    f = jax.jit(lambda x: axisfold.sum(x, axis=0))
    assert f(jnp.zeros((0, 3))).tolist() == [0.0] * 3
    assert f(jnp.zeros((3, 0))).shape == (0,)


def test_wrong_calls_are_refused_while_tracing():
    with pytest.raises(axisfold.AxisfoldError, match="A308"):
        jax.jit(lambda x: axisfold.max(x, axis=0))(jnp.zeros((0, 3)))
    with pytest.raises(IndexError, match="A301"):
        jax.jit(lambda x: axisfold.max(x, axis=2))(jnp.zeros((2, 3)))


def test_the_callback_does_the_same(monkeypatch):
    assert jax_ffi.is_registered()
    monkeypatch.setattr(jax_ffi, "_registered", [False])
    x = rand(7, 3)
    close(jax.jit(lambda x: axisfold.var(x, axis=0))(x), jnp.var(x, 0))
    close(jax.vmap(axisfold.var)(x), jnp.var(x, 1))


def test_an_error_of_the_handler_is_jaxs():
    x = rand(7, 3)
    call = jax.ffi.ffi_call(jax_ffi.TARGET, [jax.ShapeDtypeStruct((3,), x.dtype)])
    with pytest.raises(jax.errors.JaxRuntimeError, match="JSONDecodeError"):
        jax.jit(lambda x: call(x, request="no request"))(x)[0].block_until_ready()
