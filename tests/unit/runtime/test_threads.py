# SPDX-License-Identifier: Apache-2.0
"""The thread pool: sizes, nesting, callers at once, fork, signals, shutdown, and memory."""

import ctypes
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build
from axisfold.config import Config, available_cpus, cgroup_quota, config
from axisfold.errors import ArgumentError, ResourceError
from axisfold.runtime.cpu import compile_llvm
from axisfold.runtime.threads import FORKED, Pool, check_status, pool, program

THREADS = (1, 2, 3, 8)


@pytest.fixture(autouse=True)
def _restored():
    before = config.threads
    yield
    config.threads = before
    pool().set_chunk_work()


def row_sum():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    return build(s, [A, B])


def wait_for_workers(count):
    """Workers that are not wanted leave when they wake up; give them time."""
    deadline = time.monotonic() + 20
    while pool().workers != count and time.monotonic() < deadline:
        time.sleep(0.001)
    return pool().workers


def run_python(code, timeout=60):
    """Run a program in a fresh process and return what it prints."""
    source = Path(__file__).parents[3] / "src"
    start = f"import sys; sys.path.insert(0, {str(source)!r})\n" + PROGRAM
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


PROGRAM = """
import os, signal, threading, time
import numpy as np
from axisfold import te
from axisfold.build import build
from axisfold.config import config
from axisfold.runtime.threads import pool
n, m = te.var("n"), te.var("m")
A = te.placeholder((n, m), name="A")
k = te.reduce_axis((0, m), "k")
B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
s[B].parallel(B.op.axis[0])
f = build(s, [A, B])
a = np.arange(64 * 999, dtype="float32").reshape(64, 999) % 17
b = np.zeros(64, "float32")
config.threads = 3
"""

# --- chunks, by hand -----------------------------------------------------------------------------

# Counts each round once; a chunk that starts at a multiple of 4 starts a loop of its own.
COUNTING = """
declare i32 @axisfold_parallel(ptr, ptr, i64, i64)
define internal i32 @"test.inner"(ptr %context, i64 %begin, i64 %end) nounwind {
  %counter = getelementptr i64, ptr %context, i64 1
  %length = sub i64 %end, %begin
  %old = atomicrmw add ptr %counter, i64 %length seq_cst
  ret i32 0
}
define i32 @"test.outer"(ptr %context, i64 %begin, i64 %end) nounwind {
  %length = sub i64 %end, %begin
  %old = atomicrmw add ptr %context, i64 %length seq_cst
  %rest = urem i64 %begin, 4
  %is.nested = icmp eq i64 %rest, 0
  br i1 %is.nested, label %nested, label %leave
nested:
  %status = call i32 @axisfold_parallel(ptr @"test.inner", ptr %context, i64 1000, i64 100)
  ret i32 %status
leave:
  ret i32 0
}
define i32 @"test.failing"(ptr %context, i64 %begin, i64 %end) nounwind {
  %is.bad = icmp sge i64 %begin, 500
  %status = select i1 %is.bad, i32 7, i32 0
  ret i32 %status
}
"""


@pytest.fixture(scope="module")
def chunks():
    pool()
    return compile_llvm(COUNTING, "test.outer")


def share(chunk, counters, rounds, effort, on=None):
    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, integer, integer)
    return kind((on or pool()).code.address)(chunk, ctypes.addressof(counters), rounds, effort)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("rounds", [0, 1, 2, 5, 511, 512, 513, 1021, 4096])
def test_each_round_runs_once(chunks, threads, rounds):
    config.threads = threads
    pool().set_chunk_work(1)
    counters = (ctypes.c_int64 * 2)()
    assert share(chunks.address, counters, rounds, 3) == 0
    assert counters[0] == rounds


@pytest.mark.parametrize("threads", THREADS)
def test_nested_loops_run(chunks, threads):
    config.threads = threads
    pool().set_chunk_work(1)
    counters = (ctypes.c_int64 * 2)()
    assert share(chunks.address, counters, 256, 1) == 0
    assert list(counters) == [256, 64 * 1000]


def test_negative_and_huge_loops(chunks):
    counters = (ctypes.c_int64 * 2)()
    assert share(chunks.address, counters, -3, 1000) == 0
    assert counters[0] == 0
    assert share(chunks.address, counters, 1 << 40, 1 << 40) == 0  # the product overflows
    assert counters[0] == 1 << 40


@pytest.mark.parametrize("threads", THREADS)
def test_the_error_of_a_chunk_is_the_loop_s(chunks, threads):
    config.threads = threads
    pool().set_chunk_work(1)
    counters = (ctypes.c_int64 * 2)()
    assert share(chunks.address_of("test.failing"), counters, 1000, 1) == 7


def test_small_loops_start_no_worker(chunks):
    config.threads = 1
    assert wait_for_workers(0) == 0
    config.threads = 4
    counters = (ctypes.c_int64 * 2)()
    assert share(chunks.address_of("test.failing"), counters, 1000, 1) == 0  # one chunk, from 0
    assert pool().workers == 0
    assert share(chunks.address, counters, 1000, 1000) == 0
    assert pool().workers == 3


def test_resize():
    f, a = row_sum(), np.ones((256, 1024), "float32")
    for threads in (1, 4, 2, 8, 1, 3):
        config.threads = threads
        b = np.zeros(256, "float32")
        f(a, b)
        assert (b == 1024).all()
        assert wait_for_workers(threads - 1) == threads - 1


def test_resize_while_loops_run():
    f, a = row_sum(), np.ones((256, 1024), "float32")
    is_over = threading.Event()

    def resize():
        while not is_over.is_set():
            for threads in (2, 1, 5, 3):
                config.threads = threads

    other = threading.Thread(target=resize)
    other.start()
    try:
        for _ in range(200):
            b = np.zeros(256, "float32")
            f(a, b)
            assert (b == 1024).all()
    finally:
        is_over.set()
        other.join()


def test_callers_at_once():
    config.threads = 3
    f, a = row_sum(), np.arange(128 * 1024, dtype="float32").reshape(128, 1024) % 7
    expected = np.zeros(128, "float32")
    f(a, expected)
    wrong = []

    def work():
        for _ in range(30):
            b = np.zeros(128, "float32")
            f(a, b)
            if not np.array_equal(b, expected):
                wrong.append(b)

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=60)
    assert not wrong
    assert not any(caller.is_alive() for caller in callers)


def test_systems_without_threads_run_loops_on_the_caller(chunks):
    serial = Pool(compile_llvm(program("nt"), "axisfold_parallel", effort="none"))
    serial.resize(8)
    serial.reset()
    serial.set_chunk_work(1)
    counters = (ctypes.c_int64 * 2)()
    assert share(chunks.address, counters, 1000, 1000, serial) == 0
    assert share(chunks.address, counters, 0, 1000, serial) == 0
    assert (counters[0], serial.workers) == (1000, 0)
    assert share(chunks.address_of("test.failing"), counters, 1000, 1000, serial) == 0


# --- memory --------------------------------------------------------------------------------------


def hungry():
    """Return a kernel that holds 32 MiB around a parallel loop whose rounds hold more."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    E = te.placeholder((n,), name="E")
    held = te.compute((n, 1 << 17), lambda i, j: E[i] + 1, name="held")
    small = te.compute((n, 1 << 17), lambda i, j: A[i, 0] + held[i, j], name="small")
    T = te.compute((n, m), lambda i, j: A[i, j] * small[i, 0], name="T")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(T[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[T].compute_at(s[B], B.op.axis[0])
    s[small].compute_at(s[B], B.op.axis[0])
    s[B].parallel(B.op.axis[0])
    return build(s, [A, E, B])


def address_space():
    return int(Path("/proc/self/statm").read_text().split()[0]) * 4096


@pytest.mark.parametrize("threads", [1, 3])
def test_memory_that_a_round_does_not_get_is_reported_and_all_of_it_freed(threads):
    config.threads = threads
    f = hungry()
    e, b = np.ones(64, "float32"), np.zeros(64, "float32")
    f(np.ones((64, 3), "float32"), e, b)
    assert (b == 9).all()
    huge = np.broadcast_to(np.ones((64, 1), "float32"), (64, 1 << 44))
    before = None
    for _ in range(12):
        with pytest.raises(ResourceError) as caught:
            f(huge, e, b)
        before = before or address_space()
    assert str(caught.value) == (
        "kernel 'default_function' could not allocate an intermediate tensor. Attach its stage "
        "with compute_at, so that only a part of it is held. [axisfold-X201]"
    )
    assert address_space() - before < 100 << 20
    f(np.ones((64, 3), "float32"), e, b)
    assert (b == 9).all()


def test_rounds_do_not_see_each_other_s_local_memory():
    A = te.placeholder((te.var("n"), 16), "int32", name="A")
    n = A.shape[0]
    T = te.compute((n, 16), lambda i, j: A[i, j] * 3, name="T")
    k = te.reduce_axis((0, 16), "k")
    B = te.compute((n,), lambda i: te.sum(T[i, k] * T[i, 15 - k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[T].compute_at(s[B], B.op.axis[0])
    s[T].vectorize(T.op.axis[1])
    s[B].parallel(B.op.axis[0])
    f = build(s, [A, B])
    pool().set_chunk_work(1)
    a = np.random.default_rng(0).integers(-50, 50, (1021, 16), "int32")
    expected = (9 * a * a[:, ::-1]).sum(axis=1, dtype="int32")
    for threads in THREADS:
        config.threads = threads
        b = np.zeros(1021, "int32")
        f(a, b)
        np.testing.assert_array_equal(b, expected)


# --- processes -----------------------------------------------------------------------------------


def test_a_fork_starts_its_own_workers():
    code = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of fork beside threads
pool().set_chunk_work(1)
f(a, b)
print(pool().workers, flush=True)
child = os.fork()
if child == 0:
    c = np.zeros(64, "float32")
    before = pool().workers
    f(a, c)
    print(before, pool().workers, np.array_equal(b, c), flush=True)
    grandchild = os.fork()
    if grandchild == 0:
        d = np.zeros(64, "float32")
        f(a, d)
        print(pool().workers, np.array_equal(b, d), flush=True)
        os._exit(0)
    os._exit(os.waitpid(grandchild, 0)[1])
print(os.waitpid(child, 0)[1], flush=True)
c = np.zeros(64, "float32")
f(a, c)
print(pool().workers, np.array_equal(b, c))
"""
    assert run_python(code) == ["2", "0", "2", "True", "2", "True", "0", "2", "True"]


def test_a_fork_while_another_thread_runs_a_loop():
    code = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
def work():
    c = np.zeros(64, "float32")
    while not over.is_set():
        f(a, c)
over = threading.Event()
pool().set_chunk_work(1)
f(a, b)  # NumPy imports parts of itself at a first call, and Python's import lock is not for forks
other = threading.Thread(target=work)
other.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        f(a, b)
        os._exit(0 if np.array_equal(b, a.sum(axis=1)) else 1)
    print(os.waitpid(child, 0)[1])
over.set()
other.join()
"""
    assert run_python(code) == ["0"] * 10


def test_the_process_ends_while_workers_wait_and_a_daemon_runs_loops():
    code = """
def work():
    big, c = np.ones((512, 4096), "float32"), np.zeros(512, "float32")
    while True:
        f(big, c)
pool().set_chunk_work(1)
f(a, b)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.05)
print("end")
"""
    assert run_python(code) == ["end"]


def test_a_signal_handler_that_raises_ends_the_loop():
    code = """
class Mine(Exception): pass
def handler(*_): raise Mine("handled")
signal.signal(signal.SIGALRM, handler)
n, m = te.var("n"), te.var("m")
slow = np.broadcast_to(np.ones((1, 1), "float32"), (1 << 14, 1 << 30))
c = np.zeros(1 << 14, "float32")
for threads in (1, 2):
    config.threads = threads
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        f(slow[:, :1 << 20], c)  # many times the 50 ms between looks, chunk by chunk
    except Mine as error:
        print(error)
f(a, b)
print(np.array_equal(b, a.sum(axis=1)))
"""
    assert run_python(code) == ["handled", "handled", "True"]


def test_a_fork_inside_a_loop_is_reported():
    with pytest.raises(ResourceError) as caught:
        check_status(FORKED, "kernel")
    assert str(caught.value) == (
        "a signal handler forked this process while kernel 'kernel' ran in it; the child has no "
        "result. Call the kernel again in the child. [axisfold-X202]"
    )


# --- how many threads ----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 1025, 2.0, True, None, "x"])
def test_a_bad_number_of_threads_is_refused(value):
    before = config.threads
    with pytest.raises(ArgumentError) as caught:
        config.threads = value
    assert str(caught.value) == (
        f"config.threads is {value!r}, not a number of threads from 1 to 1024. 1 runs everything "
        "on the calling thread; unset, all CPUs that this process may use take part. "
        "[axisfold-A401]"
    )
    assert config.threads == before


def test_environment(monkeypatch):
    monkeypatch.setenv("AXISFOLD_NUM_THREADS", " 5 ")
    assert Config().threads == 5
    monkeypatch.setenv("AXISFOLD_NUM_THREADS", "")
    assert Config().threads == available_cpus()
    monkeypatch.setenv("AXISFOLD_NUM_THREADS", "many")
    with pytest.raises(ArgumentError, match="AXISFOLD_NUM_THREADS is 'many', not a number"):
        _ = Config().threads


def test_affinity_counts(monkeypatch):
    module = sys.modules["axisfold.config"]  # axisfold.config names the object in it
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    monkeypatch.setattr(module, "cgroup_quota", lambda: None)
    assert available_cpus() == 3
    monkeypatch.setattr(module, "cgroup_quota", lambda: 2.5)
    assert available_cpus() == 2
    monkeypatch.setattr(module, "cgroup_quota", lambda: 0.4)
    assert available_cpus() == 1


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b", {"a/b/cpu.max": "400000 100000", "cpu.max": "800000 100000"}, 4),
        ("0::/host/path", {"cpu.max": "200000 100000"}, 2),  # a container sees its own root
        ("0::/", {}, None),
        (
            "3:cpu,cpuacct:/a\n2:memory:/m",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "250000", "cpu,cpuacct/a/cpu.cfs_period_us": "1e5"},
            2.5,
        ),
        (
            "3:cpu:/a",
            {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"},
            None,
        ),
    ],
)
def test_quota_of_control_groups(tmp_path, groups, files, expected):
    own = tmp_path / "cgroup"
    own.write_text(groups)
    for name, text in files.items():
        path = tmp_path / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert cgroup_quota(tmp_path / "fs", own) == expected
