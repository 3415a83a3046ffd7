# SPDX-License-Identifier: Apache-2.0
"""How long the simulator takes: ``python benchmarks/sim.py``.

Programs are hand-written loop IR; each result is checked against NumPy.  With every element goes
the search for races, uninitialised reads and accesses out of bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from measure import machine

from axisfold import sim
from axisfold.dtypes import BOOL, FLOAT32, UINT32
from axisfold.ir import build, threads
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Var
from axisfold.ir.stmt import (
    Allocate,
    Barrier,
    Fence,
    For,
    If,
    Kernel,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)

BLOCK, X, Y = Var("blockIdx.x"), Var("threadIdx.x"), Var("threadIdx.y")
ZERO, ONE = build.const(0), build.const(1)


def memory(name: str, size: int, scope: str) -> Buffer:
    """Return float32 memory of constant size."""
    return Buffer(name, FLOAT32, (build.const(size),), scope=scope)  # type: ignore[arg-type]


def allocated(buffers: list[Buffer], body: Stmt) -> Stmt:
    """Return a body with its memory."""
    for buffer in buffers:
        body = Allocate(buffer, body)
    return body


def add(target: Buffer, place: Expr, value: Expr) -> Stmt:
    """Return ``target[place] += value``."""
    return Store(target, place, Load(target, place) + value)


def shared_tree(s: Buffer, size: int) -> list[Stmt]:
    """Return an interleaved tree over ``size`` elements of shared memory."""
    steps: list[Stmt] = [Barrier()]
    stride = size // 2
    while stride:
        take = add(s, X, Load(s, X + stride))
        steps += [If(stride > X, take), Barrier()]
        stride //= 2
    return steps


def cross_thread(rows: int = 32, columns: int = 16) -> Kernel:
    """Return the tutorial's kernel: 16 threads share a row and combine by shuffles."""
    n, m, k = Var("n"), Var("m"), Var("k")
    a, b = Buffer("A", FLOAT32, (n, m)), Buffer("B", FLOAT32, (n,))
    total, other = memory("total", 1, "local"), memory("other", 1, "local")
    row = BLOCK * rows + Y
    element = Load(a, row * m + k * columns + X)
    inside = build.all_of([row < n, k * columns + X < m])
    body: list[Stmt] = [
        Store(total, ZERO, build.const(0.0, FLOAT32)),
        For(k, ZERO, build.ceildiv(m, columns), "serial", If(inside, add(total, ZERO, element))),
    ]
    for offset in (8, 4, 2, 1):
        body.append(Shuffle(other, Load(total, ZERO), "down", build.const(offset), columns))
        body.append(add(total, ZERO, Load(other, ZERO)))
    body.append(If(build.all_of([X.equal(0), row < n]), Store(b, row, Load(total, ZERO))))
    indices = {
        "blockIdx.x": (BLOCK, build.ceildiv(n, rows)),
        "threadIdx.x": (X, columns),
        "threadIdx.y": (Y, rows),
    }
    launch = threads.launch("cross_thread", indices, allocated([total, other], build.seq(*body)))
    return Kernel("cross_thread", (a, b), (b,), launch)


def block_reduce(block: int = 256) -> Kernel:
    """Return a sum of one element a thread: a tree in shared memory for each block."""
    x, sums = Buffer("x", FLOAT32, (Var("n"),)), Buffer("sums", FLOAT32, (Var("blocks"),))
    s = memory("s", block, "shared")
    place = BLOCK * block + X
    element = build.if_then_else(place < x.shape[0], Load(x, place), build.const(0.0, FLOAT32))
    result = If(X.equal(0), Store(sums, BLOCK, Load(s, ZERO)))
    body = allocated([s], build.seq(Store(s, X, element), *shared_tree(s, block), result))
    indices = {"blockIdx.x": (BLOCK, sums.shape[0]), "threadIdx.x": (X, block)}
    launch = threads.launch("block_reduce", indices, body)
    return Kernel("block_reduce", (x, sums), (sums,), launch)


def last_block(block: int = 256, blocks: int = 128) -> Kernel:
    """Return a sum in one launch: the last block to take a ticket adds the sums of all."""
    x, out = Buffer("x", FLOAT32, (Var("n"),)), Buffer("out", FLOAT32, (ONE,))
    s, total = memory("s", block, "shared"), memory("total", 1, "local")
    partial = memory("partial", blocks, "global")
    counter = Buffer("counter", UINT32, (ONE,))
    is_last = Buffer("is_last", BOOL, (ONE,), scope="shared")
    k = Var("k")
    place = (k * blocks + BLOCK) * block + X
    step = If(place < x.shape[0], add(total, ZERO, Load(x, place)))
    again = build.if_then_else(blocks > X, Load(partial, X), build.const(0.0, FLOAT32))
    fold = [
        Store(s, X, again),
        *shared_tree(s, block),
        If(X.equal(0), Store(out, ZERO, Load(s, ZERO))),
    ]
    body = [
        Store(total, ZERO, build.const(0.0, FLOAT32)),
        For(k, ZERO, build.ceildiv(x.shape[0], block * blocks), "serial", step),
        Store(s, X, Load(total, ZERO)),
        *shared_tree(s, block),
        If(X.equal(0), Store(partial, BLOCK, Load(s, ZERO))),
        Fence(),
        Barrier(),
        If(X.equal(0), Ticket(is_last, counter, ZERO, build.const(blocks))),
        Barrier(),
        If(Load(is_last, ZERO), build.seq(*fold)),
    ]
    indices = {"blockIdx.x": (BLOCK, blocks), "threadIdx.x": (X, block)}
    launch = threads.launch("last_block", indices, allocated([total, s, is_last], build.seq(*body)))
    workspace = Allocate(partial, Allocate(counter, launch, zeroed=True))
    return Kernel("last_block", (x, out), (out,), workspace)


def timed(name: str, run: Callable[[], None]) -> None:
    """Print the time of one run."""
    start = time.perf_counter()
    run()
    print(f"{name:48} {time.perf_counter() - start:7.2f} s")


def main() -> None:
    """Print all figures."""
    print(machine())
    rng = np.random.default_rng(0)
    a = rng.random((1024, 1024), np.float32)
    b = np.empty(1024, np.float32)
    kernel = cross_thread()
    timed("cross-thread rows, (1024, 1024) float32", lambda: sim.run(kernel, [a, b]))
    np.testing.assert_allclose(b, a.sum(axis=1, dtype=np.float64), rtol=1e-5)

    x = rng.random(1 << 20, np.float32)
    sums = np.empty(x.size // 256, np.float32)
    tree = block_reduce()
    timed("block reduce, 2^20 float32, 4096 blocks", lambda: sim.run(tree, [x, sums]))
    np.testing.assert_allclose(sums, x.reshape(-1, 256).sum(axis=1, dtype=np.float64), rtol=1e-5)

    total = np.empty(1, np.float32)
    grid = last_block()
    timed("one launch with a last block, 2^20 float32", lambda: sim.run(grid, [x, total]))
    np.testing.assert_allclose(total, x.sum(dtype=np.float64), rtol=1e-5)


if __name__ == "__main__":
    main()
