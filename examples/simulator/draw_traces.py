# SPDX-License-Identifier: Apache-2.0
"""Write the trees of CUDA tutorials in loop IR, run them in the simulator, draw what happens.

``python examples/simulator/draw_traces.py [folder]`` writes ``docs/img/simulator/*.svg``.  The
pictures are made from runs: what they show is what the programs do.
"""

import sys
from pathlib import Path

import numpy as np

from axisfold import sim
from axisfold.dtypes import INT32
from axisfold.ir import build, threads
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Var
from axisfold.ir.stmt import Allocate, Barrier, For, If, Kernel, Shuffle, Stmt, Store

OUTPUT = Path(__file__).resolve().parents[2] / "docs" / "img" / "simulator"

THREAD, BLOCK = Var("threadIdx.x"), Var("blockIdx.x")
ZERO = build.const(0)


def vector(name: str) -> Buffer:
    """Return an argument of one axis and any extent."""
    return Buffer(name, INT32, (Var(f"{name}.n"),))


def shared(name: str, size: int) -> Buffer:
    """Return memory of a block."""
    return Buffer(name, INT32, (build.const(size),), scope="shared")


def local(name: str) -> Buffer:
    """Return a register."""
    return Buffer(name, INT32, (build.const(1),), scope="local")


def program(name: str, params: list[Buffer], block: int, body: Stmt) -> Kernel:
    """Return a kernel of as many blocks as the last parameter has elements."""
    indices = {"blockIdx.x": (BLOCK, params[-1].shape[0]), "threadIdx.x": (THREAD, block)}
    return Kernel(name, tuple(params), tuple(params), threads.launch(name, indices, body))


def rounds(block: int, step: Expr, takes_part: Expr, combine: Stmt, i: Var) -> Stmt:
    """Return the loop over the levels of a tree, with a barrier after each."""
    levels = build.const(block.bit_length() - 1)
    return For(i, ZERO, levels, "serial", build.seq(If(takes_part, combine), Barrier()))


def halving(memory: Buffer, start: Expr, block: int) -> Stmt:
    """Combine element i with element i + stride, stride halving, in any memory."""
    i = Var("level")
    stride = build.binary("shr", build.const(block // 2), i)
    here, there = start + THREAD, start + THREAD + stride
    combine = Store(memory, here, Load(memory, here) + Load(memory, there))
    return rounds(block, stride, stride > THREAD, combine, i)


def doubling(memory: Buffer, block: int, *, packed: bool) -> Stmt:
    """Combine neighbours, stride doubling; ``packed``: by the first threads of the block."""
    i = Var("level")
    stride = build.binary("shl", build.const(1), i)
    place = THREAD * (2 * stride) if packed else THREAD
    takes_part = place < block if packed else (THREAD % (2 * stride)).equal(0)
    combine = Store(memory, place, Load(memory, place) + Load(memory, place + stride))
    return rounds(block, stride, takes_part, combine, i)


def global_tree(block: int = 8) -> Kernel:
    """Return the tree that works in place in global memory."""
    x, sums = vector("x"), vector("sums")
    first = BLOCK * block
    write = If(THREAD.equal(0), Store(sums, BLOCK, Load(x, first)))
    return program("global_tree", [x, sums], block, build.seq(halving(x, first, block), write))


def shared_tree(name: str, block: int, tree: str) -> Kernel:
    """Return a tree in shared memory: ``interleaved``, ``adjacent`` or ``packed``."""
    x, sums, s = vector("x"), vector("sums"), shared("s", block)
    steps = {
        "interleaved": lambda: halving(s, ZERO, block),
        "adjacent": lambda: doubling(s, block, packed=False),
        "packed": lambda: doubling(s, block, packed=True),
    }
    body = build.seq(
        Store(s, THREAD, Load(x, BLOCK * block + THREAD)),
        Barrier(),
        steps[tree](),
        If(THREAD.equal(0), Store(sums, BLOCK, Load(s, ZERO))),
    )
    return program(name, [x, sums], block, Allocate(s, body))


def warp_shuffle(block: int = 128) -> Kernel:
    """Return shuffles within each warp, then of the sums of the warps."""
    x, sums, total, other = vector("x"), vector("sums"), local("total"), local("other")
    warps = block // 32
    s = shared("warps", warps)

    def shuffles(width: int) -> list[Stmt]:
        steps: list[Stmt] = []
        while width > 1:
            width //= 2
            steps.append(Shuffle(other, Load(total, ZERO), "down", build.const(width)))
            steps.append(Store(total, ZERO, Load(total, ZERO) + Load(other, ZERO)))
        return steps

    again = build.if_then_else(warps > THREAD, Load(s, THREAD), 0)
    body = build.seq(
        Store(total, ZERO, Load(x, BLOCK * block + THREAD)),
        *shuffles(32),
        If((THREAD % 32).equal(0), Store(s, THREAD // 32, Load(total, ZERO))),
        Barrier(),
        If(THREAD < 32, build.seq(Store(total, ZERO, again), *shuffles(warps))),
        If(THREAD.equal(0), Store(sums, BLOCK, Load(total, ZERO))),
    )
    for buffer in (other, total, s):
        body = Allocate(buffer, body)
    return program("warp_shuffle", [x, sums], block, body)


def programs() -> dict[str, Kernel]:
    """Return all programs by the stem of their picture."""
    return {
        "global_tree": global_tree(),
        "shared_interleaved": shared_tree("shared_interleaved", 8, "interleaved"),
        "shared_adjacent": shared_tree("shared_adjacent", 8, "adjacent"),
        "warp_shuffle": warp_shuffle(),
        "bank_conflicts": shared_tree("bank_conflicts", 256, "packed"),
    }


def trace(kernel: Kernel) -> sim.Trace:
    """Run a program on one block, and check that it sums."""
    launch = kernel.body
    block = build.as_int(launch.extents[-1])  # type: ignore[union-attr]
    x = np.arange(block, dtype=np.int32)
    expected, sums = x.sum(), np.zeros(1, np.int32)
    found = sim.trace(kernel, [x, sums])
    if sums[0] != expected:
        raise ValueError(f"{kernel.name}: {sums[0]} is not {expected}")
    return found


def main() -> None:
    """Write all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    folder.mkdir(parents=True, exist_ok=True)
    for stem, kernel in programs().items():
        (folder / f"{stem}.svg").write_text(trace(kernel).svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
