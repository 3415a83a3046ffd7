# SPDX-License-Identifier: Apache-2.0
"""Folds of CUDA arrays: layouts, special values, streams, graphs, several libraries."""

import functools

import cupy
import numpy as np
import pytest
import torch
from fold_support import ROUNDS, agree, elements, expected

import axisfold

pytestmark = pytest.mark.gpu


def call(name, x, **options):
    return getattr(axisfold, name)(x, **options)


@pytest.mark.parametrize("name", ["sum", "max", "argmax", "mean", "norm"])
def test_bfloat16(name):
    x = torch.from_numpy(elements((67, 130), "float32", name)).cuda().bfloat16()
    wide = x.float().cpu().numpy()
    for axis in (0, 1):
        result = call(name, x, axis=axis)
        assert result.dtype == (torch.int64 if name == "argmax" else torch.bfloat16)
        want = torch.from_numpy(np.asarray(expected(name, wide, axis))).to(result.dtype)
        assert torch.allclose(result.cpu().double(), want.double(), rtol=2**-7, atol=0)


LAYOUTS = {
    "transposed": lambda b: b.transpose(2, 0, 1),
    "steps": lambda b: b[::2, ::3, ::2],
    "negative": lambda b: b[::-1, :, ::-1],
    "all negative": lambda b: b[::-1, ::-1, ::-1],
    "expanded": lambda b: cupy.broadcast_to(b[:1], b.shape) if isinstance(b, cupy.ndarray)
    else np.broadcast_to(b[:1], b.shape),
    "column": lambda b: b[:, 3:4, :],
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (0, 1), ()])
def test_layouts(layout, axis):
    base = elements((9, 14, 37), "float32", "sum")
    x, on_device = LAYOUTS[layout](base), LAYOUTS[layout](cupy.asarray(base))
    for name in ("sum", "argmin"):
        for keepdims in (False, True):
            result = call(name, on_device, axis=axis, keepdims=keepdims)
            want = call(name, x, axis=axis, keepdims=keepdims)
            assert result.shape == np.shape(want)
            agree(name, result.get(), want, x, axis)


def test_tensors_of_any_strides():
    base = torch.from_numpy(elements((8, 15, 33), "float32", "sum")).cuda()
    for x in (base.permute(2, 0, 1), base[::2, 1::3, ::2], base[:1].expand(7, 15, 33)):
        for axis in (0, 1, 2, (0, 2), None):
            for keepdims in (False, True):
                result = axisfold.mean(x, axis=axis, keepdims=keepdims)
                host = x.cpu().numpy()
                agree("mean", result.cpu().numpy(),
                      np.mean(host, axis, np.float64, keepdims=keepdims), host, axis)  # fmt: skip


def test_special_values():
    nan, inf = float("nan"), float("inf")
    for x in ([1, nan, 2, nan], [inf, 1, inf, -inf], [-0.0, 0.0, -0.0, 0.0], [nan] * 4):
        host = np.array([x] * 33, "f4")
        for name in ("min", "max", "argmin", "argmax", "sum", "logsumexp", "norm"):
            for axis in (0, 1, None):
                result = call(name, cupy.asarray(host), axis=axis).get()
                want = call(name, host, axis=axis)
                assert np.array_equal(result, want, equal_nan=True), (name, axis, x)
                assert np.array_equal(np.signbit(result), np.signbit(want))


def test_the_first_of_equal_elements_wins():
    x = np.zeros((40, 5000), "f4")
    x[:, 4999] = x[:, 77] = 3
    assert (axisfold.argmax(cupy.asarray(x), axis=1).get() == 77).all()
    assert int(axisfold.argmax(cupy.asarray(x.T), axis=None)) == 77 * 40


def test_no_elements():
    for shape, axis in [((0, 5), 0), ((5, 0), 1), ((0, 5), 1), ((5, 0), 0), ((0,), None)]:
        x = torch.empty(shape, device="cuda")
        for name in ("sum", "prod", "any", "count_nonzero"):
            result = call(name, x, axis=axis)
            want = call(name, x.cpu().numpy(), axis=axis)
            assert np.array_equal(result.cpu().numpy(), want)
    with pytest.raises(axisfold.errors.EmptyError, match="A308"):
        axisfold.max(torch.empty((0, 5), device="cuda"), axis=0)


def test_long_folds_shared_by_blocks():
    for shape, axis in [((1 << 21,), None), ((1 << 17, 8), 0), ((8, 1 << 17), 1), ((999_983,), 0)]:
        for name in ("sum", "argmax", "var", "logsumexp"):
            x = elements(shape, "float32", name)
            on_device = cupy.asarray(x)
            results = [call(name, on_device, axis=axis) for _ in range(ROUNDS)]
            agree(name, results[0].get(), expected(name, x, axis), x, axis)
            assert all((r == results[0]).all() for r in results[1:])


def test_several_reducers_and_inputs():
    x = elements((65, 257), "float32", "sum")
    result = axisfold.fold(torch.from_numpy(x).cuda(), ["mean", "max", "argmin"], axis=1)
    assert result._fields == ("mean", "max", "argmin")
    for name, got in result._asdict().items():
        agree(name, got.cpu().numpy(), expected(name, x, 1), x, 1)
    dot = axisfold.Reducer(
        "dot", state={"s": "acc"}, identity=0, lift=lambda x, y: x * y,
        combine=lambda a, b: a.s + b.s,
    )  # fmt: skip
    for x_like, y_like in ((65, 257), (65, 257)), ((65, 257), (257,)):
        a, b = elements(x_like, "float64", "sum"), elements(y_like, "float64", "sum")
        got = axisfold.fold((cupy.asarray(a), cupy.asarray(b)), dot, axis=1)
        assert np.allclose(got.get(), (a * b).sum(1), rtol=1e-12)


def test_an_ordered_reducer():
    last = axisfold.Reducer(
        "last", state={"n": "int64", "v": "input"}, identity={"n": 0, "v": 0},
        lift=lambda x: {"n": 1, "v": x},
        combine=lambda a, b: {"n": a.n + b.n, "v": axisfold.te.select(b.n > 0, b.v, a.v)},
        finalize=lambda a: a.v, facts=("ordered",),
    )  # fmt: skip
    for shape in [(5, 7), (40, 1025), (3, 70001)]:
        x = elements(shape, "float32", "sum")
        assert (axisfold.fold(cupy.asarray(x), last, axis=1).get() == x[:, -1]).all()
        assert (axisfold.fold(cupy.asarray(x), last, axis=0).get() == x[-1]).all()


class Foreign:
    """An array that says no more of itself than numba's do."""

    def __init__(self, array):
        self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__


def test_other_libraries_get_an_array_that_any_library_takes():
    x = elements((33, 70, 5), "float32", "sum")
    y = cupy.asarray(x)
    cupy.cuda.get_current_stream().synchronize()
    for view, axis in ((y, 0), (y.transpose(1, 2, 0), 2), (y.transpose(2, 0, 1)[::-1], 1)):
        result = axisfold.sum(Foreign(view), axis)
        want = view.get().sum(axis, "f8")
        for host in (result.read(), cupy.asarray(result).get()):
            agree("sum", host, want, view.get(), axis)
        if view.strides[0] > 0:
            agree("sum", torch.from_dlpack(result).cpu().numpy(), want, view.get(), axis)
        else:
            with pytest.raises(BufferError, match="negative"):
                torch.from_dlpack(result)
        assert axisfold.max(result).read() == result.read().max()


@functools.cache
def _large():
    return torch.ones(1 << 24, device="cuda")


def test_current_stream():
    x, side = _large(), torch.cuda.Stream()
    axisfold.sum(x)  # compiles
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(1_000_000_000)
        y = x * 2
        total = axisfold.sum(y)
        assert not side.query()  # nothing waited
    side.synchronize()
    assert total.item() == 2 * x.numel()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        total = axisfold.sum(cupy.ones(1 << 20, "f4"))
        stream.synchronize()
    assert float(total) == 1 << 20


def test_captured_graph():
    x = torch.ones((64, 100_000), device="cuda")
    axisfold.sum(x, axis=1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total = axisfold.sum(x, axis=1)
        whole = axisfold.sum(x)
    for value in (3.0, 5.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert (total == value * 100_000).all()
        assert whole.item() == value * 6_400_000


def test_refusals():
    x = torch.ones(8, device="cuda")
    with pytest.raises(axisfold.errors.ArgumentError, match="A209"):
        axisfold.fold((x, np.ones(8, "f4")), "sum")
    memory = cupy.zeros(64, "u1")
    odd = cupy.ndarray((4,), "f4", memory.data + 1)
    with pytest.raises(axisfold.errors.ArgumentError, match="A211"):
        axisfold.sum(odd)
