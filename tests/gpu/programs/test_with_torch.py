# SPDX-License-Identifier: Apache-2.0
"""Sizes beyond 2^31, equal bits, graphs, streams and threads: every form."""

import gc
import threading

import cupy
import numpy as np
import pytest
import torch
from gpu_support.forms import FORMS

from axisfold.build import build

pytestmark = pytest.mark.gpu

LONG = 20_011
SHARED = ("narrow", "full", "grid")  # blocks that meet in a workspace


@pytest.fixture(scope="module", params=FORMS)
def form(request):
    make, answer, shape_of = FORMS[request.param]
    return build(*make("float32"), "cuda"), answer, shape_of(LONG)


def outputs_for(function, wanted):
    kinds = [getattr(torch, str(b.dtype)) for b in function.ir.outputs]
    return [
        torch.full(np.shape(w), 77, dtype=kind, device="cuda")
        for w, kind in zip(wanted, kinds, strict=True)
    ]


def whole(shape, seed):
    """Return small integers, whose sums are exact in any order."""
    a = np.random.default_rng(seed).integers(-4, 5, shape)
    return a, torch.from_numpy(a.astype("f4")).cuda()


def same(found, wanted):
    return all(np.array_equal(o.cpu().numpy(), w) for o, w in zip(found, wanted, strict=True))


@pytest.mark.parametrize("dtype", ["int8", "bool"])
def test_a_sum_of_more_than_2_to_the_31_elements(dtype):
    total = build(*FORMS["full"][0](dtype), "cuda")
    count = 2**31 + 12_345
    x = torch.zeros(count, dtype=getattr(torch, dtype), device="cuda")
    x[-100:] = 1
    x[2**31 - 50 : 2**31 + 50] = 1
    out = torch.full((), 77, dtype=torch.int32, device="cuda")
    total(x, out)
    assert out.item() == 200


@pytest.mark.parametrize("name", ["cluster", "grid"])
def test_rows_beyond_the_index_2_to_the_31(name):
    function = build(*FORMS[name][0]("int8"), "cuda")
    rows, length = 3, 2**30 + 7
    x = torch.zeros((rows, length), dtype=torch.int8, device="cuda")
    x[:, :5] = 3
    x[:, -5:] = torch.arange(1, rows + 1, device="cuda", dtype=torch.int8)[:, None]
    out = torch.full((rows,), 77, dtype=torch.int32, device="cuda")
    function(x, out)
    assert out.tolist() == [20, 25, 30]


def test_many_rows_beyond_the_index_2_to_the_31():
    function = build(*FORMS["many rows"][0]("int8"), "cuda")
    x = torch.zeros((2**27, 17), dtype=torch.int8, device="cuda")
    x[-3:] = 1
    out = torch.full((2**27,), 77, dtype=torch.int32, device="cuda")
    function(x, out)
    assert out[-4:].tolist() == [0, 17, 17, 17]
    assert out.sum().item() == 51


def test_columns_beyond_the_index_2_to_the_31():
    function = build(*FORMS["columns"][0]("int8"), "cuda")
    x = torch.zeros((70_000, 32_768), dtype=torch.int8, device="cuda")
    x[-3:] = 1
    out = torch.full((32_768,), 77, dtype=torch.int32, device="cuda")
    function(x, out)
    assert out.eq(3).all().item()


def test_equal_bits_from_run_to_run(form):
    function, answer, shape = form
    x = torch.randn(shape, device="cuda", generator=torch.Generator("cuda").manual_seed(5))
    first = None
    for _ in range(20):
        found = outputs_for(function, answer(np.zeros(shape)))
        function(x, *found)
        bits = [o.cpu().numpy().tobytes() for o in found]
        first = first or bits
        assert bits == first


def test_a_graph_is_replayed_on_another_stream(form):
    function, answer, shape = form
    a, x = whole(shape, 0)
    found = outputs_for(function, answer(a))
    function(x, *found)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(x, *found)
    gc.collect()
    other = torch.cuda.Stream()
    for seed in range(3):
        a, fresh = whole(shape, seed)
        torch.cuda.synchronize()
        with torch.cuda.stream(other):
            x.copy_(fresh)
            for out in found:
                out.fill_(77)
            graph.replay()
        other.synchronize()
        assert same(found, answer(a))


def test_a_graph_of_cupy(form):
    function, answer, shape = form
    a, x = whole(shape, 1)
    x, found = cupy.asarray(x), [cupy.asarray(o) for o in outputs_for(function, answer(a))]
    function(x, *found)
    stream, other = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        function(x, *found)
        graph = stream.end_capture()
    for out in found:
        out.fill(77)
    cupy.cuda.Device().synchronize()
    graph.launch(other)
    other.synchronize()
    assert all(np.array_equal(o.get(), w) for o, w in zip(found, answer(a), strict=True))


@pytest.mark.parametrize("name", SHARED)
def test_streams_side_by_side_do_not_share_a_workspace(name):
    make, answer, shape_of = FORMS[name]
    function = build(*make("float32"), "cuda")
    streams = [torch.cuda.Stream() for _ in range(4)]
    inputs = [whole(shape_of(LONG * 20), seed) for seed in range(4)]
    torch.cuda.synchronize()
    wanted = [answer(a) for a, _ in inputs]
    pending = []
    for _ in range(25):
        for stream, (_, x), expected in zip(streams, inputs, wanted, strict=True):
            with torch.cuda.stream(stream):
                found = outputs_for(function, expected)
                function(x, *found)
                pending.append((found, expected))
    torch.cuda.synchronize()
    assert all(same(found, expected) for found, expected in pending)


def test_several_threads(form):
    function, answer, shape = form
    wrong = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            a, x = whole(shape, seed)
            wanted = answer(a)
            for _ in range(20):
                found = outputs_for(function, wanted)
                function(x, *found)
                if not same(found, wanted):
                    wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
