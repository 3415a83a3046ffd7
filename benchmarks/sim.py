# SPDX-License-Identifier: Apache-2.0
"""How long the simulator takes: ``python benchmarks/sim.py``.

Each result is checked against NumPy.  With every element goes the search for races, uninitialised
reads and accesses out of bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import hand_schedules
import numpy as np
from measure import machine

from axisfold import te
from axisfold.build import build


def tutorial(rows: int = 32, columns: int = 16) -> hand_schedules.Scheduled:
    """Return the tutorial's kernel: 16 threads share a row, 32 rows a block."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=columns)
    BF = s.rfactor(B, inner)
    block, row = s[B].split(s[B].op.axis[0], factor=rows)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(row, te.thread_axis("threadIdx.y"))
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B]


def block_reduce(style: str, threads: int = 256) -> hand_schedules.Scheduled:
    """Return sums of ``threads`` elements each, a thread for every element."""
    blocks = te.var("blocks")
    A = te.placeholder((blocks, threads), name="A")
    k = te.reduce_axis((0, threads), "k")
    B = te.compute((blocks,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    s[B].pragma(k, "reduce_style", style)
    return s, [A, B]


def timed(name: str, run: Callable[[], None]) -> None:
    """Print the time of one run."""
    start = time.perf_counter()
    run()
    print(f"{name:56} {time.perf_counter() - start:7.2f} s")


def simulated(name: str, scheduled: hand_schedules.Scheduled, x: Any, expected: Any) -> None:
    """Time one run of a schedule and check its result."""
    function = build(*scheduled, "sim")
    out = np.full(expected.shape, 77, np.float32)
    timed(name, lambda: function(x, out))
    np.testing.assert_allclose(out, expected, rtol=1e-4)


def main() -> None:
    """Print all figures."""
    print(machine())
    rng = np.random.default_rng(0)
    a = rng.random((1024, 1024), np.float32)
    simulated("the tutorial's kernel, (1024, 1024)", tutorial(), a, a.sum(1))
    x = rng.random((4096, 256), np.float32)
    for style in ("two-level", "interleaved", "adjacent"):
        simulated(f"block reduce of 2^20 elements, {style}", block_reduce(style), x, x.sum(1))
    scheduled = hand_schedules.full_sum(1 << 20, blocks=128, unroll=4)
    simulated("sum of 2^20 elements in one launch", scheduled, x.ravel(), x.sum())


if __name__ == "__main__":
    main()
