# SPDX-License-Identifier: Apache-2.0
"""Two devices in one process: arrays, streams, workspace, modules, graphs and threads of each."""

import threading

import cupy
import numpy as np
import pytest
import torch
from cuda_support.schedules import close, full_sum, random, row_sums

import axisfold
from axisfold.api.launches import forget, launches
from axisfold.build import build
from axisfold.errors import ArgumentError

pytestmark = pytest.mark.gpu

FOLDS = [("sum", None), ("sum", 0), ("argmax", 1), ("var", 1), ("logsumexp", 0), ("softmax", 1)]


@pytest.fixture(autouse=True)
def _first_is_current():
    torch.cuda.set_device(0)
    cupy.cuda.Device(0).use()
    yield
    assert torch.cuda.current_device() == 0
    assert cupy.cuda.runtime.getDevice() == 0


@pytest.mark.parametrize(("name", "axis"), FOLDS)
@pytest.mark.parametrize("where", [0, 1])
def test_tensors_on_either_while_the_first_is_current(name, axis, where):
    host = random((300, 257), 3)
    x = torch.from_numpy(host).to(f"cuda:{where}")
    function = getattr(axisfold, name)
    want = function(torch.from_numpy(host).double(), axis=axis)
    for _ in range(3):  # planned, then known
        result = function(x, axis=axis)
        assert result.get_device() == where
        assert torch.allclose(result.cpu().double(), want.double(), rtol=1e-5)
    with torch.cuda.device(1 - where):
        result = function(x, axis=axis)
    assert result.get_device() == where
    assert torch.allclose(result.cpu().double(), want.double(), rtol=1e-5)


@pytest.mark.parametrize(("name", "axis"), FOLDS)
def test_arrays_of_cupy_on_the_second(name, axis):
    host = random((300, 257), 4)
    with cupy.cuda.Device(1):
        x = cupy.asarray(host)
    function = getattr(axisfold, name)
    for _ in range(3):
        result = function(x, axis=axis)
        assert result.device.id == 1
        with cupy.cuda.Device(1):
            assert np.allclose(result.get(), function(host.astype("f8"), axis=axis), rtol=1e-5)


def test_one_function_has_a_module_on_each():
    rows, total = build(*row_sums(), "cuda"), build(*full_sum(), "cuda")
    x = random((70, 900), 5)
    for where in (1, 0, 1):
        array = torch.from_numpy(x).to(f"cuda:{where}")
        out, one = array.new_full((70,), float("nan")), array.new_full((), float("nan"))
        rows(array, out)
        total(array.view(-1), one)
        assert close(out.cpu().numpy(), x)
        assert close(one.item(), x, None)
    assert set(rows.declared.program.binary._loaded) == {0, 1}


def test_a_signature_of_each_device():
    forget()
    for where in (0, 1):
        axisfold.sum(torch.ones((40, 50), device=f"cuda:{where}"), axis=1)
    assert {launch.bound.device.index for launch in launches.values()} == {0, 1}


def test_streams_of_each_device_are_used_and_not_waited_for():
    arrays = [torch.zeros(1 << 20, device=f"cuda:{where}") for where in (0, 1)]
    for x in arrays:  # compiles, and allocates
        with torch.cuda.stream(torch.cuda.Stream(x.device)):
            axisfold.sum(x)
    streams = [torch.cuda.Stream(x.device) for x in arrays]
    for x, stream in zip(arrays, streams, strict=True):
        stream.wait_stream(torch.cuda.current_stream(x.device))
        with torch.cuda.stream(stream):
            axisfold.sum(x)  # its workspace is there from now on
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    found = []
    for value, x, stream in zip((2, 3), arrays, streams, strict=True):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(1_000_000_000)
            x.fill_(value)
            found.append(axisfold.sum(x))
            assert not stream.query()
    for stream in streams:
        stream.synchronize()
    assert [one.item() for one in found] == [2 << 20, 3 << 20]


def test_a_captured_graph_on_the_second():
    x = torch.ones((64, 100_000), device="cuda:1")
    axisfold.sum(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(1):
        with torch.cuda.graph(graph):
            total = axisfold.sum(x)
        for value in (3.0, 5.0):
            x.fill_(value)
            graph.replay()
            assert total.item() == value * 6_400_000


def test_threads_on_two_devices():
    failures = []
    meet = threading.Barrier(4)

    def work(seed):
        where = seed % 2
        host = random((200 + seed, 1000), seed)
        x = torch.from_numpy(host).to(f"cuda:{where}")
        meet.wait()
        for _ in range(100):
            rows, total = axisfold.sum(x, axis=1), axisfold.sum(x)
            if rows.get_device() != where or total.get_device() != where:
                failures.append((seed, "device"))
            if not close(rows.cpu().numpy(), host) or not close(total.item(), host, None):
                failures.append((seed, "values"))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []


def test_inputs_of_both_are_refused():
    x, y = (torch.ones(8, device=f"cuda:{where}") for where in (0, 1))
    with pytest.raises(ArgumentError, match="A209"):
        axisfold.fold((x, y), "sum")


def test_tuning_on_the_second():
    x = torch.ones(1 << 22, device="cuda:1")
    assert axisfold.tune(x, "sum", progress_bar=False).trials
    assert axisfold.sum(x).item() == 1 << 22
