# SPDX-License-Identifier: Apache-2.0
"""JAX's transformations on its default device: on a GPU the fold is a callback to the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import axisfold

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("name", ["sum", "mean", "var", "max", "prod"])
def test_jit_grad_and_vmap(name):
    x = jnp.asarray(np.random.default_rng(1).normal(1, 0.1, (33, 65)).astype("float32"))
    own, right = getattr(axisfold, name), getattr(jnp, name)

    def loss(f):
        return lambda x: jnp.sum(f(x, axis=1) ** 2)

    found = jax.jit(jax.value_and_grad(loss(own)))(x)
    assert found[1].devices() == x.devices()
    np.testing.assert_allclose(found[1], jax.grad(loss(right))(x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.vmap(own, 1)(x), right(x, axis=0), rtol=1e-4)
