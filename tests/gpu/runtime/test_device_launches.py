# SPDX-License-Identifier: Apache-2.0
"""Launches, te scripts, faults and what calls cost, on a device.

``python -m pytest -m gpu -s tests/gpu/runtime`` shows the costs.
"""

import sys
import time

import cupy
import numpy as np
import pytest
import torch
from cuda_support.schedules import hand_written, python, random, row_sums, run

import axisfold.compat.tvm as tvm
from axisfold.build import build
from axisfold.errors import LaunchError
from axisfold.runtime.cuda import driver

pytestmark = pytest.mark.gpu


def test_shared_memory_beyond_48_kib():
    source = """
    extern "C" __global__ void wide(float *out, long long n) {
        extern __shared__ float s[];
        for (int i = threadIdx.x; i < 50000; i += blockDim.x) s[i] = i;
        __syncthreads();
        if (threadIdx.x < n) out[threadIdx.x] = s[49999 - threadIdx.x];
    }"""
    program, n = hand_written(source, "wide", blocks=1, shared=200_000)
    out = torch.zeros(128, device="cuda")
    run(program, n, out, 0)
    assert out.tolist() == [49999 - i for i in range(128)]


def test_clusters_are_launched():
    source = """
    extern "C" __global__ void __cluster_dims__(1, 4, 1) ranks(float *out, long long n) {
        unsigned rank, size;
        asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
        asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
        if (threadIdx.x == 0) out[blockIdx.y] = 10 * size + rank;
    }"""
    program, n = hand_written(source, "ranks", blocks=3, cluster=4)
    out = torch.zeros(12, device="cuda")
    run(program, n, out, 0)
    assert out.tolist() == [40, 41, 42, 43] * 3


def test_limits_are_checked_before_a_launch():
    source = 'extern "C" __global__ void big(float *out, long long n) {}'
    for sizes in ({"blocks": 65536}, {"threads": 2048}, {"shared": 1 << 20}, {"cluster": 16}):
        program, n = hand_written(source, "big", **({"blocks": 1} | sizes))
        with pytest.raises(LaunchError, match="X306"):
            run(program, n, torch.zeros(1, device="cuda"), 0)
    torch.cuda.synchronize()


def test_the_report_says_what_the_driver_says(rows):
    program = rows.declared.program
    functions = program.binary.functions(driver.device(0))
    kind = driver.api().CUfunction_attribute
    for symbol, info in rows.sass_info().items():

        def attribute(name, function=functions[symbol]):
            return driver.call("cuFuncGetAttribute", getattr(kind, name), function)

        assert info.registers == attribute("CU_FUNC_ATTRIBUTE_NUM_REGS")
        assert info.stack_bytes == attribute("CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES")
        assert attribute("CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK") >= 512


def test_te_scripts(rows):
    dev = tvm.cuda(0)
    assert dev.exist
    assert ("cuda", dev) in tvm.testing.enabled_targets()
    s, (A, B) = row_sums()
    f = tvm.build(s, [A, B], "cuda")
    x = random((1280, 1280))
    a, b = tvm.nd.array(x, dev), tvm.nd.array(np.zeros(1280, "f4"), dev)
    f(a, b)
    tvm.testing.assert_allclose(b.numpy(), x.sum(axis=1), rtol=1e-3, atol=1e-4)
    assert "__global__" in f.imported_modules[0].get_source()
    mean = f.time_evaluator(f.entry_name, dev, number=100, repeat=3)(a, b).mean
    assert 0 < mean < 1
    a[0, 0] = 5
    assert (a[0, 0], a.copyto(tvm.cpu()).numpy()[0, 0]) == (5, 5)
    assert cupy.asarray(a.data)[0, 0] == 5
    dev.sync()


def test_the_tutorial_runs_to_its_last_line():
    done = python("import runpy; runpy.run_path('examples/te/reduction_tutorial.py')")
    assert done.returncode == 0, done.stderr
    assert "__global__" in done.stdout
    assert "axisfold-" not in done.stdout


def test_a_fault_is_told_and_told_to_be_sticky():
    done = python("""
        import torch
        from cuda_support import schedules as t
        from axisfold.build import build
        rows = build(*t.row_sums(), "cuda")
        x, out = torch.zeros((4, 5), device="cuda"), torch.zeros(4, device="cuda")
        rows(x, out)
        source = 'extern "C" __global__ void bad(float *out, long long n) { out[1LL << 45] = n; }'
        program, n = t.hand_written(source, "bad", blocks=1)
        t.run(program, n, out, 0)
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            pass
        for _ in range(2):
            try:
                rows(x, out)
            except Exception as error:
                print(type(error).__name__, error, flush=True)
    """)
    assert done.stdout.count("DeviceError") == 2, done.stderr
    assert done.stdout.count("axisfold-X304") == 2
    assert "Restart the process" in done.stdout


def test_a_forked_child_is_told():
    done = python("""
        import os
        import torch
        from cuda_support import schedules as t
        from axisfold.build import build
        rows = build(*t.row_sums(), "cuda")
        x, out = torch.zeros((4, 5), device="cuda"), torch.zeros(4, device="cuda")
        rows(x, out)
        if os.fork() == 0:
            try:
                rows(x, out)
            except Exception as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
    """)
    assert "axisfold-X305" in done.stdout, done.stderr


def test_a_second_process_compiles_nothing(tmp_path):
    program = """
        import torch
        from cuda_support import schedules as t
        from axisfold.build import build
        from axisfold.runtime.cuda import compile
        made = []
        real = compile._compile
        compile._compile = lambda *args: made.append(1) or real(*args)
        rows = build(*t.row_sums(), "cuda")
        x, out = torch.ones((4, 5), device="cuda"), torch.zeros(4, device="cuda")
        rows(x, out)
        print(len(made), out.tolist())
    """
    outputs = [python(program, AXISFOLD_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert outputs[0].stdout == "1 [5.0, 5.0, 5.0, 5.0]\n", outputs[0].stderr
    assert outputs[1].stdout == "0 [5.0, 5.0, 5.0, 5.0]\n", outputs[1].stderr


def per_call(call, rounds=2000):
    best = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(rounds):
            call()
        best = min(best, (time.perf_counter() - start) / rounds)
        torch.cuda.synchronize()
    return best * 1e6


def test_costs_of_a_call(rows, total):
    x, out = torch.zeros((16, 16), device="cuda"), torch.zeros(16, device="cuda")
    flat, one = x.view(-1), torch.zeros((), device="cuda")
    a, b = cupy.zeros((16, 16), "f4"), cupy.zeros(16, "f4")
    start = time.perf_counter()
    build(*row_sums("float64"), "cuda", name="warm")
    seconds = time.perf_counter() - start
    costs = {
        "torch, no workspace": per_call(lambda: rows(x, out)),
        "torch, with workspace": per_call(lambda: total(flat, one)),
        "cupy, no workspace": per_call(lambda: rows(a, b)),
        "x.sum() of torch": per_call(x.sum),
        "torch.sum(x, 1, out=)": per_call(lambda: torch.sum(x, 1, out=out)),
    }
    lines = [f"lower + NVRTC, warm: {seconds * 1e3:.0f} ms"]
    lines += [f"{what}: {cost:.1f} us" for what, cost in costs.items()]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    assert costs["torch, no workspace"] < 20 * costs["x.sum() of torch"]
