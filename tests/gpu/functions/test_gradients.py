# SPDX-License-Identifier: Apache-2.0
"""Gradients of CUDA tensors: folds on the current stream, and a backward of PyTorch's operators."""

import pytest
import torch
from torch.autograd import gradcheck

import axisfold
from axisfold import Reducer

pytestmark = pytest.mark.gpu

REFERENCES = {
    "sum": torch.sum,
    "prod": lambda t, axis: t.prod(axis),
    "mean": torch.mean,
    "var": lambda t, axis: t.var(axis, correction=0),
    "std": lambda t, axis: t.std(axis, correction=0),
    "min": torch.amin,
    "max": torch.amax,
    "logsumexp": torch.logsumexp,
    "norm": lambda t, axis: t.norm(dim=axis),
}
SQUARES = Reducer("squares", {"s": "acc"}, 0, lambda x: x * x, lambda a, b: a.s + b.s)


def rand(*shape, dtype=torch.float64):
    generator = torch.Generator("cuda").manual_seed(6)
    return torch.randn(*shape, dtype=dtype, device="cuda", generator=generator)


def gradient(f, x):
    x = x.detach().requires_grad_()
    (found,) = torch.autograd.grad((f(x) ** 2).sum(), x)
    return found


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REFERENCES)
def test_gradients(name, axis):
    own, right = getattr(axisfold, name), REFERENCES[name]
    x = rand(5, 3).requires_grad_()
    assert gradcheck(lambda t: own(t, axis=axis), x, nondet_tol=1e-12)
    wide = rand(67, 1025, dtype=torch.float32) * 0.01 + 1
    torch.testing.assert_close(
        gradient(lambda t: own(t.T, axis=axis), wide),
        gradient(lambda t: right(t.T, axis), wide),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    x = rand(33, 65, dtype=torch.float32).to(dtype)
    own = gradient(lambda t: axisfold.logsumexp(t, axis=1), x)
    assert own.dtype == dtype
    right = gradient(lambda t: torch.logsumexp(t.float(), 1), x)
    torch.testing.assert_close(own, right.to(dtype), rtol=0.02, atol=0.02)


def test_compile_vmap_and_streams():
    def f(x):
        r = axisfold.fold(x, ["var", SQUARES], axis=1)
        return r[0] + r[1]

    x = rand(17, 33)
    right = gradient(lambda t: t.var(1, correction=0) + (t * t).sum(1), x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
        own = gradient(compiled, x)
        per_row = torch.vmap(torch.func.grad(axisfold.norm))(x)
    stream.synchronize()
    torch.testing.assert_close(own, right)
    torch.testing.assert_close(per_row, x / x.norm(dim=1, keepdim=True))


def test_opcheck():
    from torch.fx.experimental.proxy_tensor import make_fx

    x = rand(6, 7)
    nodes = make_fx(lambda t: axisfold.var(t, axis=0))(x).graph.nodes
    (node,) = (n for n in nodes if n.target is torch.ops.axisfold.fold.default)
    arguments = ([x.clone().requires_grad_()], *node.args[1:])
    found = torch.library.opcheck(node.target, arguments)
    assert set(found.values()) == {"SUCCESS"}
