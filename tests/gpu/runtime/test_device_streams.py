# SPDX-License-Identifier: Apache-2.0
"""Streams, captured graphs and threads, on a device."""

import gc
import threading
import time

import cupy
import numpy as np
import pytest
import torch
from cuda_support.schedules import close, full_sum, random

from axisfold.build import build
from axisfold.runtime.cuda import graphs

pytestmark = pytest.mark.gpu


def test_work_goes_to_the_current_stream_and_nothing_waits(rows, total):
    x, out = torch.zeros((500, 300), device="cuda"), torch.zeros(500, device="cuda")
    flat, one = x.view(-1), torch.zeros((), device="cuda")
    rows(x, out)
    total(flat, one)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    total_on(stream, total, flat, one)  # its workspace is there from now on
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(2_000_000_000)
        x.fill_(1)
        start = time.perf_counter()
        rows(x, out)
        total(flat, one)
        seconds = time.perf_counter() - start
        assert not stream.query()  # nobody has waited for the stream
    assert seconds < 0.5
    assert torch.cuda.default_stream().query()
    stream.synchronize()
    assert out.eq(300).all().item()
    assert one.item() == 500 * 300


def total_on(stream, total, flat, one):
    with torch.cuda.stream(stream):
        total(flat, one)


def test_streams_of_cupy_and_given_ones(rows):
    x, out = cupy.zeros((50, 30), "f4"), cupy.zeros(50, "f4")
    rows(x, out)
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x.fill(2)
        rows(x, out)
    stream.synchronize()
    assert (out == 60).all()
    side = torch.cuda.Stream()
    for given in (side, side.cuda_stream, stream, stream.ptr):
        cupy.cuda.Device().synchronize()
        out.fill(0)
        cupy.cuda.Device().synchronize()
        rows(x, out, stream=given)
        cupy.cuda.Device().synchronize()
        assert (out == 60).all()


def test_the_last_block_again_and_again(total):
    rng = np.random.default_rng(1)
    for n in (1, 31, 32, 33, 1000, 1023, 1025, 65537, 1_000_003):
        x = rng.standard_normal(n).astype("f4")
        first = None
        for _ in range(3):
            out = torch.full((), float("nan"), device="cuda")
            total(torch.from_numpy(x).cuda(), out)
            assert close(out.item(), x, 0)
            first = out.item() if first is None else first
            assert out.item() == first  # the same bits


def test_a_captured_graph_replays_beside_eager_calls(total):
    x, out = torch.zeros(100_000, device="cuda"), torch.zeros((), device="cuda")
    y, other = torch.ones(70_000, device="cuda"), torch.zeros((), device="cuda")
    total(x, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total(x, out)
        total(y, other)
    gc.collect()
    replays, eager = torch.cuda.Stream(), torch.cuda.Stream()
    results, mine = [], torch.zeros(20, device="cuda")
    torch.cuda.synchronize()
    for round_ in range(20):
        with torch.cuda.stream(replays):
            x.fill_(round_)
            graph.replay()
            results.append((out.clone(), other.clone()))
        with torch.cuda.stream(eager):
            total(y, mine[round_])
    torch.cuda.synchronize()
    assert [(a.item(), b.item()) for a, b in results] == [(1e5 * r, 7e4) for r in range(20)]
    assert mine.eq(7e4).all().item()


def test_counters_are_used_again_once_a_graph_is_gone(total):
    x, out = torch.ones(100_000, device="cuda"), torch.zeros((), device="cuda")
    total(x, out)

    def capture():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(3):
                total(x, out)
        out.fill_(-1)
        graph.replay()
        assert out.item() == 100_000
        return graph

    first = capture()
    others = [capture() for _ in range(3)]
    used = [c for c in graphs._all[0] if not c.is_free.value]
    assert len(used) >= 4
    del others
    gc.collect()
    torch.cuda.synchronize()
    deadline = time.monotonic() + 20  # a thread of the driver says so
    while sum(c.is_free.value for c in used) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    count = len(graphs._all[0])
    again = [capture() for _ in range(3)]
    assert len(graphs._all[0]) == count
    for graph in (first, *again):
        out.fill_(-1)
        graph.replay()
        assert out.item() == 100_000


def test_the_first_call_may_be_captured():
    total = build(*full_sum(blocks=32), "cuda", name="first_in_a_graph")
    x, out = torch.ones(5000, device="cuda"), torch.zeros((), device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total(x, out)
    for _ in range(3):
        out.fill_(-1)
        graph.replay()
        assert out.item() == 5000


@pytest.mark.parametrize("non_blocking", [True, False])
def test_graphs_of_cupy(total, non_blocking):
    x, out = cupy.ones(5000, "f4"), cupy.zeros((), "f4")
    total(x, out)
    stream = cupy.cuda.Stream(non_blocking=non_blocking)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        total(x, out)
        graph = stream.end_capture()
    other = cupy.cuda.Stream(non_blocking=True)
    for value in (1, 2, 3):
        x.fill(value)
        cupy.cuda.Device().synchronize()
        graph.launch(other)
        other.synchronize()
        assert float(out) == 5000 * value


def test_threads(rows, total):
    failures = []

    def work(seed):
        x = random((300 + seed, 200), seed)
        stream = torch.cuda.Stream() if seed % 2 else torch.cuda.default_stream()
        with torch.cuda.stream(stream):
            array = torch.from_numpy(x).cuda()
            for _ in range(50):
                out = torch.full((300 + seed,), float("nan"), device="cuda")
                one = torch.full((), float("nan"), device="cuda")
                rows(array, out)
                total(array.view(-1), one)
                if not (close(out.cpu().numpy(), x) and close(one.item(), x, None)):
                    failures.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_a_thread_without_a_context(rows):
    x, out = cupy.ones((5, 7), "f4"), cupy.zeros(5, "f4")

    def work():
        rows(x, out, stream=0)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert out.tolist() == [7] * 5
