# SPDX-License-Identifier: Apache-2.0
"""Gradients through PyTorch: every reduction, at the points where they are delicate too."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import axisfold
from axisfold.api.catalog import CATALOG
from axisfold.api.gradients.rules import GRADIENTS

# What PyTorch loads for the forward mode warns of itself.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

SMOOTH = ("sum", "prod", "mean", "var", "std", "min", "max", "logsumexp", "norm")
CALLS = (
    {"axis": None},
    {"axis": 1, "keepdims": True},
    {"axis": (-1, 0)},
    {"axis": ()},
)


def values(*shape, seed=0):
    """Distinct numbers, none of which is near zero or near another."""
    steps = np.random.default_rng(seed).permutation(math.prod(shape)) + 1.0
    signs = np.random.default_rng(seed + 1).choice([-1.0, 1.0], math.prod(shape))
    return torch.from_numpy((steps * signs / 7).reshape(shape))


def layouts(x):
    """The same numbers in other strides: transposed, every second of more, repeated."""
    padded = torch.zeros(*x.shape[:-1], 2 * x.shape[-1], dtype=x.dtype)
    padded[..., ::2] = x
    return [x, x.transpose(0, -1).contiguous().transpose(0, -1), padded[..., ::2]]


def gradient(f, x):
    x = x.clone().requires_grad_()
    (found,) = torch.autograd.grad(f(x).sum(), x)
    return found


def test_every_row_says_how_its_gradient_is_made():
    assert set(CATALOG) <= set(GRADIENTS)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_in_every_layout(name):
    """Each function with another layout and another call, in both modes."""
    f, number = getattr(axisfold, name), SMOOTH.index(name)
    call = CALLS[number % len(CALLS)]
    x = layouts(values(2, 3, 2))[number % 3].requires_grad_()
    assert gradcheck(lambda t: f(t, **call), x, check_forward_ad=True)
    x = layouts(values(2, 3))[(number + 1) % 3].requires_grad_()
    assert gradgradcheck(lambda t: f(t, axis=number % 2), x)


@pytest.mark.parametrize(("name", "options"), [("var", {"correction": 1}), ("std", {"ddof": 2.5})])
def test_gradients_with_a_correction(name, options):
    x = values(3, 4).requires_grad_()
    assert gradcheck(lambda t: getattr(axisfold, name)(t, axis=1, **options), x)


def test_no_degrees_of_freedom_give_a_nan():
    assert gradient(lambda t: axisfold.var(t, axis=1, correction=3), values(2, 3)).isnan().all()


@pytest.mark.parametrize("name", ["min", "max"])
def test_elements_that_tie_share_evenly(name):
    x = torch.tensor([[3.0, 1.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0], [-0.0, 0.0, 5.0, -5.0]])
    own = getattr(torch, f"a{name}")
    torch.testing.assert_close(
        gradient(lambda t: getattr(axisfold, name)(t, axis=1), x),
        gradient(lambda t: own(t, dim=1), x),
    )


def test_a_nan_that_wins_takes_the_gradient():
    x = torch.tensor([[1.0, math.nan, 3.0, math.nan]])
    found = gradient(lambda t: axisfold.max(t, axis=1), x)
    assert found.tolist() == [[0.0, 0.5, 0.0, 0.5]]


def test_zeros_in_a_product():
    rows = [[2, 0, 3], [0, 4, 0], [1e200, 1e200, 1e-300], [1e-200, 1e-200, 1]]
    x = torch.tensor(rows, dtype=torch.float64)
    found = gradient(lambda t: axisfold.prod(t, axis=1), x)
    assert found[:2].tolist() == [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]
    torch.testing.assert_close(found[2], x[2, [1, 0, 0]] * x[2, [2, 2, 1]])
    torch.testing.assert_close(found[3], x[3, [1, 0, 0]] * x[3, [2, 2, 1]], atol=0, rtol=1e-12)
    zeros = torch.tensor([[0.0, 0.0, 3.0]], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda t: axisfold.prod(t, axis=1), zeros)


def test_infinities_in_logsumexp():
    inf = math.inf
    x = torch.tensor([[-inf, -inf], [-inf, 1.0], [inf, 0.0], [inf, inf], [math.nan, 0.0]])
    found = gradient(lambda t: axisfold.logsumexp(t, axis=1), x)
    assert found[:4].tolist() == [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    assert found[4].isnan().all()
    x = x[:2].double().requires_grad_()
    (first,) = torch.autograd.grad(axisfold.logsumexp(x, axis=1).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), x)
    assert second.isfinite().all()


@pytest.mark.parametrize("name", ["std", "norm"])
def test_gradients_at_zero_are_zero(name):
    x = torch.zeros(2, 3)
    assert gradient(lambda t: getattr(axisfold, name)(t, axis=1), x).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("name", ["mean", "prod", "std", "norm"])
def test_complex_elements(name):
    x = torch.complex(values(2, 3), values(2, 3, seed=5)).requires_grad_()
    assert gradcheck(lambda t: getattr(axisfold, name)(t, axis=1), x, check_forward_ad=True)


def test_the_gradient_has_the_dtype_of_its_input():
    x = values(3, 4).float()
    wide = gradient(lambda t: axisfold.sum(t * t, dtype="float64"), x)
    assert wide.dtype == torch.float32
    torch.testing.assert_close(wide, 2 * x)


def test_several_results_of_one_read():
    def own(t):
        r = axisfold.fold(t, ["mean", "argmax", "max", "count_nonzero"], axis=1)
        assert not r.argmax.requires_grad
        assert not r.count_nonzero.requires_grad
        return r.mean * 3 + r.max

    x = values(3, 4)
    torch.testing.assert_close(gradient(own, x), gradient(lambda t: t.mean(1) * 3 + t.amax(1), x))
    assert gradient(lambda t: axisfold.fold(t, ["mean", "max"], axis=1).mean, x).eq(0.25).all()


def test_a_result_that_moves_in_steps_has_no_gradient():
    x = values(3, 4).requires_grad_()
    index = axisfold.argmax(x, axis=1)
    assert index.dtype == torch.int64
    assert not index.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        index.sum().backward()


def test_nothing_is_kept_that_no_rule_reads():
    x = values(3, 4).requires_grad_()
    assert not axisfold.mean(x * 2, axis=1).grad_fn.saved_tensors
    assert len(axisfold.var(x * 2, axis=1).grad_fn.saved_tensors) == 1


def test_tangents_of_some_inputs_and_results():
    """A mask and counts have none, nor have weights that nobody varies."""
    x, w, keep = values(3, 4), values(4).abs(), values(3, 4, seed=2) > 0

    def own(t):
        average = axisfold.average(t, axis=1, weights=w)
        several = axisfold.fold(t, ["sum", "count_nonzero"], axis=1, where=keep)
        return average, several.sum

    direction = values(3, 4, seed=9)
    found = torch.func.jvp(own, (x,), (direction,))[1]
    torch.testing.assert_close(found[0], (direction * w).sum(1) / w.sum())
    torch.testing.assert_close(found[1], (direction * keep).sum(1))


@pytest.mark.parametrize("name", ["var", "prod"])
def test_gradients_in_batches(name):
    x = values(2, 3).requires_grad_()
    y = getattr(axisfold, name)(x, axis=1)
    (found,) = torch.autograd.grad(y, x, torch.eye(2, dtype=y.dtype), is_grads_batched=True)
    own = torch.func.jacrev(lambda t: getattr(axisfold, name)(t, axis=1))(x.detach())
    torch.testing.assert_close(found, own)
