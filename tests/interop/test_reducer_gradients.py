# SPDX-License-Identifier: Apache-2.0
"""Gradients of Reducers: derived from lift, combine and finalize, or given by their author."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import axisfold
from axisfold import Reducer, te
from axisfold.api.gradients.differentiate import derivative, evaluate
from axisfold.api.gradients.torch_derivatives import TorchLibrary
from axisfold.ir.expr import Var

ADD = {"combine": lambda a, b: a.s + b.s}


def x64(*shape, seed=2):
    return torch.from_numpy(np.random.default_rng(seed).uniform(0.5, 2, shape))


RMS = Reducer(
    "rms", {"s": "compensated"}, 0, lambda x: x * x, **ADD,
    finalize=lambda a, count: te.sqrt(a.s / te.cast("float64", count)),
)  # fmt: skip
COSINE = Reducer(
    "cosine", dict.fromkeys(("xy", "xx", "yy"), "acc"), {"xy": 0, "xx": 0, "yy": 0},
    lift=lambda x, y: {"xy": x * y, "xx": x * x, "yy": y * y},
    combine=lambda a, b: {k: getattr(a, k) + getattr(b, k) for k in ("xy", "xx", "yy")},
    finalize=lambda a: a.xy / te.sqrt(a.xx * a.yy),
)  # fmt: skip
RANGE = Reducer(
    "range", {"lo": "input", "hi": "input"}, {"lo": math.inf, "hi": -math.inf},
    lift=lambda x: (x, x),
    combine=lambda a, b: (te.minimum(b.lo, a.lo), te.maximum(a.hi, b.hi)),
    finalize=lambda a: {"width": a.hi - a.lo, "middle": (a.hi + a.lo) * 0.5},
)  # fmt: skip
GEOMETRIC = Reducer(
    "geometric", {"p": "acc"}, 1, lambda x: x, lambda a, b: a.p * b.p,
    finalize=lambda a, count: te.power(a.p, 1.0 / te.cast("float64", count)),
)  # fmt: skip
RAMP = Reducer(
    "ramp", {"s": "acc"}, 0, lambda x, index: x * te.cast("float64", index), **ADD
)  # fmt: skip
PAIR = {
    "state": {"m": "acc", "s": "acc"},
    "identity": {"m": -math.inf, "s": 0},
    "lift": lambda x: {"m": x, "s": 1.0},
    "combine": lambda a, b: {
        "m": te.maximum(a.m, b.m),
        # A state of no elements adds nothing, where exp(-inf - -inf) is a NaN.
        "s": te.select(a.s.equal(0.0), 0.0, a.s * te.exp(a.m - te.maximum(a.m, b.m)))
        + te.select(b.s.equal(0.0), 0.0, b.s * te.exp(b.m - te.maximum(a.m, b.m))),
    },
    "finalize": lambda a: a.m + te.log(a.s),
}


@pytest.mark.parametrize(
    ("reducer", "inputs", "axis"),
    [
        (RMS, 1, (0, 2)),
        (COSINE, 2, 1),
        (RANGE, 1, (1, 2)),
        (GEOMETRIC, 1, 2),
        (RAMP, 1, (0, -1)),
    ],
)  # fmt: skip
def test_derived(reducer, inputs, axis):
    tensors = [x64(2, 3, 2, seed=n).requires_grad_() for n in range(inputs)]

    def f(*xs):
        found = axisfold.fold(xs, reducer, axis=axis)
        return tuple(found) if reducer is RANGE else found

    assert gradcheck(f, tensors)
    if reducer is COSINE:
        assert gradgradcheck(f, tensors)


def test_derived_gradients_of_broadcast_inputs():
    x, y = x64(3, 4).requires_grad_(), x64(4, seed=5).requires_grad_()
    assert gradcheck(lambda x, y: axisfold.fold((x, y), COSINE, axis=1), (x, y))


def test_derived_ties_share_evenly():
    x = torch.tensor([[1.0, 3.0, 3.0, 1.0, 1.0]], requires_grad=True)
    axisfold.fold(x, RANGE, axis=1).range_width.sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([[-1 / 3, 0.5, 0.5, -1 / 3, -1 / 3]]))


def test_derived_in_float32_and_compiled():
    x = x64(5, 4).float().requires_grad_()
    f = torch.compile(lambda x: axisfold.fold(x, RMS, axis=0), backend="aot_eager", fullgraph=True)
    (own,) = torch.autograd.grad(f(x).sum(), x)
    (right,) = torch.autograd.grad((x * x).mean(0).sqrt().sum(), x)
    assert own.dtype == torch.float32
    torch.testing.assert_close(own, right)


def test_derived_in_jax():
    x = jnp.asarray(x64(3, 4).numpy().astype("float32"))
    own = jax.jit(jax.grad(lambda x: axisfold.fold(x, RMS, axis=1).sum()))(x)
    right = jax.grad(lambda x: jnp.sqrt((x * x).mean(1)).sum())(x)
    np.testing.assert_allclose(own, right, rtol=1e-5)


def test_no_gradient_can_be_derived():
    x = x64(4).requires_grad_()
    result = axisfold.fold(x, Reducer("lse", **PAIR))
    with pytest.raises(axisfold.AxisfoldError) as caught:
        result.backward()
    assert str(caught.value) == (
        "reducer 'lse' has no gradient: combine makes field 's' of more than a sum, product, "
        "minimum or maximum of the two states', so that none can be derived. Give one: Reducer(…, "
        "gradient=lambda x, result, upstream: …), which returns the gradient by x. [axisfold-R130]"
    )


def test_a_given_gradient():
    lse = Reducer(
        "lse", **PAIR, gradient=lambda x, result, upstream, xp: upstream * xp.exp(x - result)
    )
    x = x64(3, 4).requires_grad_()
    assert gradcheck(lambda x: axisfold.fold(x, lse, axis=1), x)
    assert gradgradcheck(lambda x: axisfold.fold(x, lse, axis=0), x)
    array = jnp.asarray(x.detach().numpy().astype("float32"))
    own = jax.grad(lambda x: axisfold.fold(x, lse, axis=1).sum())(array)
    np.testing.assert_allclose(own, jax.nn.softmax(array, 1), rtol=1e-5)


def test_a_given_gradient_of_several_inputs_and_results():
    def gradient(x, y, result, upstream, axis, count):
        assert axis == (0,)
        assert count == 3
        assert result.dot.shape == (1, 4)
        return upstream.dot * y + upstream.rest, upstream.dot * x

    both = Reducer(
        "both", {"d": "acc", "s": "acc"}, {"d": 0, "s": 0},
        lift=lambda x, y: (x * y, x),
        combine=lambda a, b: (a.d + b.d, a.s + b.s),
        finalize=lambda a: {"dot": a.d, "rest": a.s},
        gradient=gradient,
    )  # fmt: skip
    x, y = x64(3, 4).requires_grad_(), x64(3, 4, seed=3).requires_grad_()
    assert gradcheck(lambda x, y: tuple(axisfold.fold((x, y), both, axis=0)), (x, y))


def test_a_given_gradient_returns_one_value_for_each_input():
    dot = Reducer(
        "dot", {"s": "acc"}, 0, lambda x, y: x * y, **ADD,
        gradient=lambda x, y, result, upstream: upstream * y,
    )  # fmt: skip
    x = x64(3).requires_grad_()
    with pytest.raises(axisfold.AxisfoldError, match=r"returned 1 values for 2 inputs.*R131"):
        axisfold.fold((x, x), dot).backward()


SLOPES = {
    "sqrt": te.sqrt, "exp": te.exp, "exp2": te.exp2, "expm1": te.expm1, "log": te.log,
    "log2": te.log2, "log10": te.log10, "log1p": te.log1p, "sin": te.sin, "cos": te.cos,
    "tan": te.tan, "tanh": te.tanh, "erf": te.erf, "rsqrt": te.rsqrt, "sigmoid": te.sigmoid,
    "abs": lambda x: te.abs(x - 1.2) * x,
    "power": lambda x: te.power(x, 2.5) + te.power(1.5, x) + te.power(x, x),
    "fmod": lambda x: te.fmod(x * 3.0, x + 0.3),
    "copysign": lambda x: te.copysign(x - 1.2, x - 1.0),
    "maximum": lambda x: te.maximum(x, 1.1) * te.minimum(x * x, 1.3),
    "select": lambda x: te.select(x > 1.2, x * x, 1.0 / x) / (x + 2.0),
    "steps": lambda x: te.floor(x) * x + te.cast("float64", te.cast("int64", x * 2.0)),
    "conditions": lambda x: te.select(te.any(x < 0.7, ~(x > 1.5)), x, x * 2.0 - te.round(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_symbolic_derivatives(name):
    variable = Var("x", axisfold.dtypes.FLOAT64)
    expr = SLOPES[name](variable)
    points = torch.linspace(0.55, 1.95, 15, dtype=torch.float64, requires_grad=True)
    library = TorchLibrary()
    exprs = [expr, derivative(expr, variable)]
    value, slope = evaluate(exprs, {variable: points}, library, points)
    (right,) = torch.autograd.grad(value.sum(), points)
    torch.testing.assert_close(slope.detach(), right)
