# SPDX-License-Identifier: Apache-2.0
"""What the host does for a program: launches and their sizes, workspace, errors of the driver."""

import sys
import threading
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cuda.bindings.driver import CUresult
from cuda_support import install
from cuda_support.driver import Handle

from axisfold.dtypes import FLOAT32, INT64, parse
from axisfold.errors import ArgumentError, DeviceError, LaunchError, UnsupportedError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Var
from axisfold.ir.stmt import Allocate, If, Kernel, Launch, Let, Seq, Store
from axisfold.runtime.cuda import driver, workspace
from axisfold.runtime.cuda.hostplan import Entry, plan_host
from axisfold.runtime.cuda.launcher import Launch as Launched
from axisfold.runtime.cuda.launcher import Record, functions
from axisfold.runtime.cuda.program import Program

SOURCE = """
extern "C" __global__ void first(const float *x, float *part, unsigned *count, long long n) {}
extern "C" __global__ void second(float *part, float *y, int half) {}
"""
X, Y = 10 << 40, 11 << 40


class Parts:
    """A program of two launches with workspace, whose second grid is a value that the host has."""

    def __init__(self, *, threads=128, cluster=1, shared=0, zeroed=True):
        self.n, self.half = Var("n", INT64), Var("half", INT64)
        self.x, self.y = (Buffer(name, FLOAT32, (self.n,)) for name in "xy")
        self.part = Buffer("part", FLOAT32, (self.n,))
        self.count = Buffer("count", parse("uint32"), (self.n,))
        one = self.launch("first", self.n, threads, cluster, shared)
        two = self.launch("second", self.half, threads, 1, 0)
        body = Seq((one, If(self.n > 4, two)))
        body = Let(self.half, self.n // 2, body)
        body = Allocate(self.part, Allocate(self.count, body, zeroed=True) if zeroed else body)
        self.kernel = Kernel("parts", (self.x, self.y), (self.y,), body)
        self.entries = {
            one: Entry("first", (self.x, self.part, self.count), (self.n,)),
            two: Entry("second", (self.part, self.y), (self.half,)),
        }
        if not zeroed:
            self.entries[one] = Entry("first", (self.x, self.part), (self.n,))

    def launch(self, name, blocks, threads, cluster, shared):
        tags = ("blockIdx.y", "clusterCtaIdx.y", "threadIdx.x")
        extents = (blocks, Const(cluster, INT64), Const(threads, INT64))
        own = tuple(Var(tag, INT64) for tag in tags)
        store = Store(self.y, Const(0, INT64), Const(0.0, FLOAT32))
        return Launch(name, tags, own, extents, store, shared)

    def plan(self, n):
        return plan_host(self.kernel, self.entries, {self.n: n})

    def program(self, arch="sm_90"):
        return Program(self.kernel, SOURCE, arch, self.entries)

    def bound(self, n, device=0):
        return self.program().configure({self.n: n}, driver.device(device))


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch)
    made.parameters = {"first": 2, "second": 2}
    return made


def test_sizes_and_places():
    parts = Parts(cluster=2, shared=4096)
    plan = parts.plan(100)
    first, second = plan.launches
    assert (first.grid, first.block, first.cluster) == ((1, 200, 1), (128, 1, 1), (1, 2, 1))
    assert (second.grid, second.cluster) == ((1, 50, 1), (1, 1, 1))
    assert (first.shared_bytes, second.shared_bytes) == (4096, 0)
    assert (first.pointers, first.scalars) == ((0, 2, 3), (100,))
    assert (second.pointers, second.scalars) == ((2, 1), (50,))
    assert plan.offsets == [(False, 0), (True, 0)]
    assert (plan.scratch_bytes, plan.zeroed_bytes) == (512, 512)


def test_branches_and_empty_grids():
    assert [launch.entry.symbol for launch in Parts().plan(4).launches] == ["first"]
    assert Parts().plan(0).launches == []


def test_memory_serves_one_statement_after_another():
    n = Var("n", INT64)
    buffers = [Buffer(name, FLOAT32, (n,)) for name in "abc"]
    launch = Parts().launch("first", n, 1, 1, 0)
    inner = Seq(tuple(Allocate(buffer, launch) for buffer in buffers[1:]))
    kernel = Kernel("k", (), (), Allocate(buffers[0], inner))
    plan = plan_host(kernel, {launch: Entry("first", (), ())}, {n: 1000})
    assert plan.offsets == [(False, 0), (False, 4096), (False, 4096)]
    assert plan.scratch_bytes == 8192


def test_a_run(fake):
    bound = Parts(shared=100_000).bound(100)
    assert [c for c in fake.calls if c[0] == "set"] == [("set", "first", 100_000)]
    fake.calls.clear()
    bound.run([X, Y], 5)
    scratch, zeroed = fake.memory
    assert fake.calls == [
        ("alloc async", 512, 5),
        ("alloc async", 512, 5),
        ("memset", 512, 5),
        ("launch", "first", (1, 100, 1, 128, 1, 1, 100_000), 5, (X, scratch)),
        ("launch", "second", (1, 50, 1, 128, 1, 1, 0), 5, (scratch, Y)),
    ]
    fake.parameters["first"] = 4
    fake.calls.clear()
    bound.run([X, Y], 5)  # the second time there is nothing but launches
    assert fake.words() == ["launch", "launch"]
    assert fake.calls[0][-1] == (X, scratch, zeroed, 100)


def test_code_is_loaded_once_for_a_device(fake):
    program = Parts().program()
    for index in (0, 1, 0, 1):
        program.configure({program.kernel.params[0].shape[0]: 8}, driver.device(index))
    assert fake.calls == [("load", b"\x7fELF")] * 2


def test_workspace_of_a_stream_grows(fake):
    small, large = Parts().bound(8), Parts().bound(10_000)
    small.run([X, Y], 5)
    before = set(fake.memory)
    large.run([X, Y], 5)
    assert [c for c in fake.calls if c[0] == "free async"] == [("free async", 256, 5)] * 2
    after = set(fake.memory)
    assert not before & after
    small.run([X, Y], 5)
    assert set(fake.memory) == after


def test_streams_and_devices_have_workspaces_of_their_own(fake):
    parts = Parts()
    bound = parts.bound(100)
    for stream in (0, 1, 5, 6):
        bound.run([X, Y], stream)
    parts.bound(100, device=1).run([X, Y], 5)
    scratch = [c[-1][1] for c in fake.calls if c[:2] == ("launch", "first")]
    assert scratch[0] == scratch[1]  # two names of the default stream
    assert len(set(scratch)) == 4


def test_workspaces_of_many_streams_are_bounded(fake):
    bound = Parts().bound(100)
    for stream in range(3, 3 + workspace._MOST_AREAS + 5):
        bound.run([X, Y], stream)
    assert len(fake.memory) == 2 * workspace._MOST_AREAS
    assert fake.words().count("free") == 10


def test_devices_without_pools_allocate_plainly(monkeypatch):
    fake = install(monkeypatch, MEMORY_POOLS_SUPPORTED=0)
    Parts().bound(100).run([X, Y], 5)
    Parts().bound(1000).run([X, Y], 5)
    assert fake.words().count("alloc") == 4
    assert fake.words().count("free") == 2
    assert "alloc async" not in fake.words()


def test_a_graph_has_memory_of_its_own(fake):
    bound = Parts().bound(100)
    bound.run([X, Y], 5)
    eager = set(fake.memory)
    fake.calls.clear()
    fake.captured.add(5)
    bound.run([X, Y], 5)
    assert fake.calls[:4] == [
        ("alloc", 4096), ("memset", 4096, 99), ("synchronize", 99), ("retain", "graph 0"),
    ]  # fmt: skip
    assert fake.words()[4:] == ["alloc async", "launch", "launch", "free async"]
    assert fake.calls[4] == ("alloc async", 512, 5)
    assert fake.calls[5][-1][1] not in eager


def test_counters_of_a_graph_are_used_again_once_it_is_gone(fake):
    fake.parameters["first"] = 3
    bound, places = Parts().bound(100), []

    def capture(stream):
        fake.captured.add(stream)
        fake.calls.clear()
        bound.run([X, Y], stream)
        places.append(next(c for c in fake.calls if c[:2] == ("launch", "first"))[-1][2])
        return fake.words()

    assert "alloc" in capture(5)
    assert {"alloc", "retain"}.isdisjoint(capture(5))  # one after the other on the same stream
    assert "alloc" in capture(6)
    assert places[0] == places[1] != places[2]
    fake.graphs += 1
    assert "alloc" in capture(5)  # another graph, while the first is still there
    assert len(set(places)) == 3
    fake.end_graphs()
    words = capture(5)
    assert "alloc" not in words
    assert "retain" in words
    assert len(set(places)) == 3


def test_pytorch_allocates_for_its_graphs(fake, monkeypatch):
    made = []

    def empty(size, dtype, device):
        made.append((size, dtype, device))
        return SimpleNamespace(data_ptr=lambda: 1 << 45)

    monkeypatch.setitem(
        sys.modules,
        "torch",
        SimpleNamespace(
            empty=empty, uint8="uint8", device=lambda *where: where,
            cuda=SimpleNamespace(
                is_initialized=lambda: True,
                is_current_stream_capturing=lambda: True,
                device=lambda index: nullcontext(),
            ),
            _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda index: 5),
        ),
    )  # fmt: skip
    bound = Parts().bound(100)
    fake.calls.clear()
    fake.captured.update({5, 6})
    bound.run([X, Y], 5)
    assert made == [(512, "uint8", ("cuda", 0))]
    assert fake.words()[-3:] == ["retain", "launch", "launch"]
    assert fake.calls[-2][-1] == (X, 1 << 45)
    bound.run([X, Y], 6)  # captured, but not by PyTorch
    assert len(made) == 1
    assert "alloc async" in fake.words()


LIMITS = [
    ({"threads": 2048}, 8, "needs 2048 threads in a block, but device 0 (sm_90) has at most 1024."),
    ({"shared": 300_000}, 8, "needs 300000 bytes of shared memory in a block, but device 0"),
    ({"cluster": 16}, 8, "needs 16 blocks in a cluster, but device 0 (sm_90) has at most 8."),
    ({}, 65536, "needs 65536 blocks along y, but device 0 (sm_90) has at most 65535."),
]


@pytest.mark.parametrize(("sizes", "n", "text"), LIMITS)
def test_limits(fake, sizes, n, text):
    with pytest.raises(LaunchError) as caught:
        Parts(**sizes).bound(n)
    assert str(caught.value).startswith(f"kernel 'first' {text}")
    assert caught.value.code == "X306"
    assert "launch" not in fake.words()


def test_clusters_need_an_architecture_that_has_them(monkeypatch):
    install(monkeypatch, COMPUTE_CAPABILITY_MAJOR=8)
    with pytest.raises(LaunchError, match=r"2 blocks in a cluster, but device 0 \(sm_80\)"):
        Parts(cluster=2).bound(8)


def test_registers_limit_threads(fake, monkeypatch):
    monkeypatch.setattr(type(fake), "cuFuncGetAttribute", lambda *_: (0, 64))
    with pytest.raises(LaunchError, match=r"blocks of 128 threads, but its registers suffice"):
        Parts().bound(8)


@pytest.mark.parametrize(
    ("arch", "minor", "fits"),
    [
        ("sm_90", 0, True),
        ("sm_90", 3, True),
        ("sm_90a", 0, True),
        ("sm_90a", 3, False),
        ("sm_80", 0, False),
        ("sm_120", 0, False),
    ],
)
def test_architectures(monkeypatch, arch, minor, fits):
    install(monkeypatch, COMPUTE_CAPABILITY_MINOR=minor)
    parts = Parts()
    program, values = parts.program(arch), {parts.n: 8}
    if fits:
        assert program.configure(values, driver.device(0)).launches
    else:
        text = f"kernel 'parts' was built for {arch}, and device 0 is sm_9{minor}. Build it for"
        with pytest.raises(UnsupportedError, match=text):
            program.configure(values, driver.device(0))


FAULTS = [
    (CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "X304", "and the CUDA context of this process is lost"),
    (CUresult.CUDA_ERROR_LAUNCH_FAILED, "X304", "Restart the process; compute-sanitizer names"),
    (CUresult.CUDA_ERROR_OUT_OF_MEMORY, "X203", "the device has no memory left"),
    (
        CUresult.CUDA_ERROR_INVALID_VALUE,
        "X303",
        "launching first returned CUDA_ERROR_INVALID_VALUE (words of the driver). [axisfold-X303]",
    ),
]


@pytest.mark.parametrize(("status", "code", "text"), FAULTS)
def test_errors_of_the_driver(fake, status, code, text):
    bound = Parts(zeroed=False).bound(8)
    fake.failures["cuLaunchKernel"] = status
    with pytest.raises((DeviceError, MemoryError)) as caught:
        bound.run([X, Y], 0)
    assert caught.value.code == code
    assert text in str(caught.value)
    del fake.failures["cuLaunchKernel"]
    bound.run([X, Y], 0)  # the lock of the workspace is free again


def test_no_memory_for_the_workspace(fake):
    bound = Parts().bound(8)
    fake.failures["cuMemAllocAsync"] = CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(MemoryError, match="cuMemAllocAsync: the device has no memory left"):
        bound.run([X, Y], 0)
    assert "launch" not in fake.words()


def test_there_is_no_such_device(fake):
    for index in (-1, 2):
        with pytest.raises(ArgumentError, match=rf"no CUDA device {index}: this process sees 2\."):
            driver.device(index)


def test_the_device_of_the_caller_stays_current(fake):
    fake.cuCtxPushCurrent(101)
    Parts().bound(8).run([X, Y], 0)
    assert fake.calls[-1][0] == "launch"
    assert fake.cuCtxGetCurrent() == (0, 101)


def test_launches_of_threads_do_not_mix(fake):
    fake.parameters["first"] = 4
    bounds = [Parts().bound(n) for n in (100, 200)]

    def work(which):
        for _ in range(200):
            bounds[which].run([X + which, Y + which], 5 + which)

    workers = [threading.Thread(target=work, args=(which,)) for which in (0, 1, 0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    firsts = [c for c in fake.calls if c[:2] == ("launch", "first")]
    assert {(stream, values[0], values[3]) for *_, stream, values in firsts} == {
        (5, X, 100),
        (6, X + 1, 200),
    }
    for stream in (5, 6):  # both launches of a call follow each other on their stream
        names = [c[1] for c in fake.calls if c[0] == "launch" and c[3] == stream]
        assert names == ["first", "second"] * 400


def test_a_forked_child_is_told(fake, monkeypatch):
    monkeypatch.setattr(driver, "_is_forked", True)
    with pytest.raises(DeviceError, match="this process was forked after CUDA had been used"):
        driver.api()


def test_values_are_of_64_bits(fake):
    parts = Parts()
    entries = dict(parts.entries)
    (first,) = [launch for launch in entries if launch.name == "first"]
    entries[first] = replace(entries[first], buffers=(parts.x,), scalars=(parts.n, parts.half))
    program = Program(parts.kernel, SOURCE, "sm_90", entries)
    fake.parameters = {"first": 3}
    bound = program.configure({parts.n: 3}, driver.device(0))
    bound.run([np.iinfo("i8").max, Y], 0)
    assert fake.calls[-1][-1] == (2**63 - 1, 3, 1)


def test_scalars_and_addresses_pass_as_they_are(fake):
    fake.parameters["many"] = 40
    device, most = driver.device(0), 2**64 - 1
    scalars = tuple(range(-10, 10))
    launch = Launched("many", int(Handle("many")), (1, 2, 3, 4, 5, 6, 7), tuple(range(20)), scalars)
    record = Record(device, (launch, launch))
    addresses = [most - n for n in range(20)]
    assert functions().launch(record.address, 9, *addresses) == 0
    assert (
        fake.calls
        == [("launch", "many", launch.sizes, 9, (*[-1 - n for n in range(20)], *scalars))] * 2
    )


def test_the_failed_launch_is_named(fake):
    bound = Parts().bound(8)
    bound.run([X, Y], 0)
    fake.parameters = {}
    status = CUresult.CUDA_ERROR_INVALID_HANDLE
    fake.failures["cuCtxPushCurrent"] = status
    for code, text in ((1 << 32 | status, "launching second"), (2 << 32 | status, "cuCtxPush")):
        with pytest.raises(DeviceError, match=text):
            bound.fail(code)
    record, launch = bound.record.address, functions().launch
    assert launch(record, 0, X, Y, X, Y) == 2 << 32 | status
    assert fake.words().count("launch") == 2
