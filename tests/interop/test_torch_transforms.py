# SPDX-License-Identifier: Apache-2.0
"""The operator under torch.compile, torch.func, make_fx and PyTorch's own checks of operators."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import axisfold
from axisfold import Reducer

SQUARES = Reducer("squares", {"s": "acc"}, 0, lambda x: x * x, lambda a, b: a.s + b.s)


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


def fold_op_call(f, *inputs):
    """Return the operator and the arguments with which a function calls it."""
    graph = make_fx(f)(*inputs).graph
    (node,) = (n for n in graph.nodes if n.target is torch.ops.axisfold.fold.default)
    return node.target, node.args[1:]


def several(t):
    return tuple(axisfold.fold(t, ["var", "argmax", SQUARES], axis=(0, 2), keepdims=True))


# PyTorch 2.14 warns of what its own check does with tensors that are no leaves.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("strided", [False, True])
def test_opcheck(strided):
    x = rand(3, 4, 5)
    x = (x.transpose(0, 2) if strided else x).requires_grad_()
    f = several if strided else lambda t: axisfold.logsumexp(t, axis=-1)
    op, rest = fold_op_call(f, x.detach())
    x = x.detach().requires_grad_()
    found = torch.library.opcheck(op, ([x], *rest))
    assert set(found.values()) == {"SUCCESS"}


def compiled_and_plain(f, *inputs, backend="aot_eager"):
    """Return results and gradients of a function, compiled and not."""
    found = []
    for g in (torch.compile(f, backend=backend, fullgraph=True, dynamic=True), f):
        tensors = [x.clone().requires_grad_() for x in inputs]
        results = g(*tensors)
        loss = sum((r * (n + 2)).sum() for n, r in enumerate(results) if r.requires_grad)
        found.append((*results, *torch.autograd.grad(loss, tensors)))
    return found


def test_compile():
    def f(x):
        a = axisfold.std(x * 2, (0, -1), ddof=1)
        b = axisfold.fold(x, ["min", SQUARES], axis=-1)
        return a, b.min, b[1], axisfold.argmax(x, axis=1)

    compiled, plain = compiled_and_plain(f, rand(3, 4, 5))
    torch.testing.assert_close(compiled, plain)


def test_compile_returns_named_tuples():
    f = torch.compile(
        lambda x: axisfold.fold(x, ["min", "max"], axis=0), backend="eager", fullgraph=True
    )
    x = rand(3, 4)
    assert torch.equal(f(x).max, x.amax(0))
    assert type(f(x)) is type(axisfold.fold(x.clone().requires_grad_(), ["min", "max"], axis=0))


def test_vmap():
    x = rand(3, 4, 5)
    for f in (
        lambda t: axisfold.logsumexp(t, axis=-1),
        lambda t: axisfold.var(t, axis=0, keepdims=True),
        axisfold.max,
    ):
        looped = torch.stack([f(x[:, n].clone().requires_grad_()) for n in range(4)])
        torch.testing.assert_close(torch.vmap(f, in_dims=1)(x), looped.detach())
    nested = torch.vmap(torch.vmap(axisfold.sum, in_dims=1))(x)
    torch.testing.assert_close(nested, x.sum(1))


def test_vmap_of_several_inputs():
    dot = Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    x, y = rand(3, 4, 5), rand(5)
    f = torch.vmap(lambda x, y: axisfold.fold((x, y), dot, axis=-1), in_dims=(1, None))
    torch.testing.assert_close(f(x, y), (x @ y).T)
    g = torch.vmap(lambda x, y: axisfold.fold((x, y), dot, axis=-1), in_dims=(None, 0))
    torch.testing.assert_close(g(x, rand(2, 5)), torch.einsum("abc,dc->dab", x, rand(2, 5)))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_gradients_of_each_sample(is_compiled):
    x = rand(3, 4, 5)
    f = torch.vmap(torch.func.grad(axisfold.norm))
    f = torch.compile(f, backend="aot_eager", fullgraph=True) if is_compiled else f
    torch.testing.assert_close(f(x), x / x.norm(dim=(1, 2), keepdim=True))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_jacobians():
    jacfwd, jacrev = torch.func.jacfwd, torch.func.jacrev
    x = rand(3, 4)

    def right(t):
        return t.norm(dim=1)

    def own(t):
        return axisfold.norm(t, axis=1)

    for mode in (jacfwd, jacrev):
        torch.testing.assert_close(mode(own)(x), mode(right)(x))
    second = torch.func.hessian(right)(x)
    for outer, inner in ((jacfwd, jacrev), (jacrev, jacfwd), (jacrev, jacrev)):
        torch.testing.assert_close(outer(inner(own))(x), second)
    with pytest.raises(axisfold.AxisfoldError, match="A361"):
        jacfwd(jacfwd(axisfold.sum))(x)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_forward_mode_of_a_result_of_the_elements_shape():
    x, t = rand(3, 4), rand(4, 3).T
    own = torch.func.jvp(lambda x: axisfold.log_softmax(x, axis=0), (x,), (t,))
    torch.testing.assert_close(own, torch.func.jvp(lambda x: x.log_softmax(0), (x,), (t,)))


def test_a_trace_names_the_reduction():
    graph = make_fx(lambda t: axisfold.var(t, axis=0), tracing_mode="symbolic")(rand(3, 4))
    assert "axisfold.fold" in graph.code
    assert '"name": "var"' in graph.code
    torch.testing.assert_close(graph(rand(6, 4)), rand(6, 4).var(0, correction=0))
