# SPDX-License-Identifier: Apache-2.0
"""Programs that the tests of the CUDA runtime launch."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

from axisfold import te
from axisfold.dtypes import FLOAT32, INT64
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Var
from axisfold.ir.stmt import Kernel, Launch, Store
from axisfold.runtime.cuda import driver
from axisfold.runtime.cuda.hostplan import Entry
from axisfold.runtime.cuda.program import Program

SUPPORT = Path(__file__).parents[1]


def row_sums(dtype="float32"):
    """The tutorial's schedule: rfactor, and a fold over the threads of a warp."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(s[B].op.axis[0], factor=32)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.y"))
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B]


def full_sum(blocks=64, width=128):
    """One launch: blocks leave partial sums in a workspace, the last one adds them."""
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    part, _ = s[B].split(k, nparts=blocks)
    BF = s.rfactor(B, part)
    s[BF].bind(s[BF].op.axis[0], te.thread_axis("blockIdx.x"))
    tx = te.thread_axis("threadIdx.x")
    _, inner = s[BF].split(s[BF].op.reduce_axis[0], factor=width)
    s[BF].bind(inner, tx)
    outer, _ = s[B].split(s[B].op.reduce_axis[0], nparts=blocks)
    s[B].bind(outer, tx)
    s[B].last_block(s[BF])
    return s, [A, B]


def row_sums_on_cpu():
    """The same without threads."""
    A = te.placeholder((te.var("n"), te.var("m")), name="A")
    k = te.reduce_axis((0, A.shape[1]), "k")
    B = te.compute((A.shape[0],), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def random(shape, seed=0):
    """Normal float32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def close(result, x, axis=1):
    """Whether sums are as good as float32 allows."""
    scale = np.abs(x).sum(axis, dtype="f8") + 1e-30
    return np.all(np.abs(result - x.sum(axis, dtype="f8")) <= 1e-5 * scale)


def hand_written(source, name, *, blocks, threads=128, cluster=1, shared=0):
    """Return a program whose one kernel takes an array and its length."""
    n = Var("n", INT64)
    out = Buffer("out", FLOAT32, (n,))
    tags = ("blockIdx.y", "clusterCtaIdx.y", "threadIdx.x")
    extents = tuple(Const(extent, INT64) for extent in (blocks, cluster, threads))
    store = Store(out, Const(0, INT64), Const(0.0, FLOAT32))
    launch = Launch(name, tags, tuple(Var(t, INT64) for t in tags), extents, store, shared)
    kernel = Kernel(name, (out,), (out,), launch)
    entries = {launch: Entry(name, (out,), (n,))}
    return Program(kernel, source, driver.device(0).arch, entries), n


def run(program, n, out, stream):
    """Launch a hand-written program on a tensor."""
    bound = program.configure({n: out.numel()}, driver.device(0))
    bound.run([out.data_ptr()], stream)


def python(program, **environment):
    """Run a program in a process of its own, which finds these modules."""
    head = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
        timeout=300,
    )
