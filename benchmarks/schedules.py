# SPDX-License-Identifier: Apache-2.0
"""What schedules are worth, and what they cost to compile: ``python benchmarks/schedules.py``.

Every comparison runs its rivals in turn, round by round, and reports medians, since other programs
may use the machine meanwhile.  Ratios are of two medians of the same rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from measure import interleaved, machine

from axisfold import te
from axisfold.build import Function, build, lower
from axisfold.config import config
from axisfold.schedule.schedule import Schedule
from axisfold.tensor.tensor import Tensor

LANES = 16


def row_sum_graph(n: object, m: object) -> tuple[Tensor, Tensor]:
    """Return the input and the result of the tutorial's row sum."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    return A, te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")


def tutorial_rfactor() -> tuple[Schedule, list[Tensor]]:
    """Return the tutorial's rfactor schedule of the row sum, with variable extents."""
    A, B = row_sum_graph(te.var("n"), te.var("m"))
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    s.rfactor(B, inner)
    return s, [A, B]


def scheduled_row_sum(n: int, m: int) -> tuple[Schedule, list[Tensor]]:
    """Return the row sum with four vectors of partial sums a row, rows in parallel."""
    A, B = row_sum_graph(n, m)
    s = te.create_schedule(B.op)
    _, lanes = s[B].split(B.op.reduce_axis[0], factor=4 * LANES)
    partial = s.rfactor(B, lanes)
    vectors, lane = s[partial].split(partial.op.axis[0], factor=LANES)
    rows, steps = partial.op.axis[1], partial.op.reduce_axis[0]
    s[partial].reorder(rows, steps, vectors, lane)
    s[partial].unroll(vectors)
    s[partial].vectorize(lane)
    row = s[B].op.axis[0]
    s[partial].compute_at(s[B], row)
    s[B].unroll(s[B].op.reduce_axis[0])
    s[B].parallel(row)
    return s, [A, B]


def convolution(n: int) -> tuple[Schedule, list[Tensor]]:
    """Return the tutorial's 3x3 convolution with its default schedule."""
    image = te.placeholder((n, n), name="Input")
    weights = te.placeholder((3, 3), name="Filter")
    di, dj = te.reduce_axis((0, 3), "di"), te.reduce_axis((0, 3), "dj")
    output = te.compute(
        (n - 2, n - 2),
        lambda i, j: te.sum(image[i + di, j + dj] * weights[di, dj], axis=[di, dj]),
        name="Output",
    )
    return te.create_schedule(output.op), [image, weights, output]


def scheduled_convolution(n: int) -> tuple[Schedule, list[Tensor]]:
    """Return the convolution by tiles whose sums stay in registers."""
    s, tensors = convolution(n)
    output = tensors[-1]
    i, j = output.op.axis
    di, dj = output.op.reduce_axis
    io, ii = s[output].split(i, factor=4)
    jo, ji = s[output].split(j, factor=LANES)
    s[output].reorder(io, jo, di, dj, ii, ji)
    for axis in (di, dj, ii):
        s[output].unroll(axis)
    s[output].vectorize(ji)
    s[output].parallel(io)
    return s, tensors


def fresh(make: Callable[[], tuple[Schedule, list[Tensor]]], run: Callable[..., object]) -> str:
    """Return the median times of ``run`` on a graph and schedule that are new each time."""
    wall, cpu = [], []
    for _ in range(15):
        schedule, args = make()
        start, work = time.perf_counter(), time.process_time()
        run(schedule, args)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - work)
    return f"{median(cpu) * 1e3:.2f} ms of CPU time, {median(wall) * 1e3:.2f} ms passed"


def compare(title: str, goal: float, rivals: dict[str, Callable[[], object]], rounds: int) -> None:
    """Print the medians of two rivals, and how many times faster the second is."""
    found = interleaved(rivals, rounds)
    (old, slow), (new, fast) = found.items()
    print(
        f"{title}: {old} {slow * 1e3:.2f} ms, {new} {fast * 1e3:.2f} ms, "
        f"{slow / fast:.2f}x (goal {goal}x)"
    )


def run_row_sum() -> None:
    """Compare the scheduled row sum with NumPy's."""
    n = m = 8192
    a = np.random.default_rng(0).random((n, m), "float32")
    b = np.empty(n, "float32")
    function: Function = build(*scheduled_row_sum(n, m))
    function(a, b)
    np.testing.assert_allclose(b, a.sum(axis=1, dtype="float64"), rtol=1e-6)
    rivals = {"numpy": lambda: a.sum(axis=1), "axisfold": lambda: function(a, b)}
    compare(f"row sum float32 ({n}, {m})", 1.5, rivals, 15)


def run_convolution() -> None:
    """Compare the scheduled convolution with the default schedule."""
    n = 4096
    random = np.random.default_rng(0)
    image, weights = random.random((n, n), "float32"), random.random((3, 3), "float32")
    default, tiled = build(*convolution(n)), build(*scheduled_convolution(n))
    slow, fast = np.empty((n - 2, n - 2), "float32"), np.empty((n - 2, n - 2), "float32")
    default(image, weights, slow)
    tiled(image, weights, fast)
    np.testing.assert_array_equal(slow, fast)  # the order of each sum is the same
    rivals = {
        "default": lambda: default(image, weights, slow),
        "scheduled": lambda: tiled(image, weights, fast),
    }
    compare(f"3x3 convolution float32 ({n}, {n})", 5, rivals, 9)


def main() -> None:
    """Print all figures."""
    print(machine())
    print(f"threads: {config.threads}; medians of interleaved rounds")
    build(*scheduled_row_sum(64, 128))  # loads the compiler
    lowering = fresh(tutorial_rfactor, lower)
    print(f"lowering the tutorial's rfactor schedule: {lowering} (goal 15 ms)")
    compiling = fresh(lambda: scheduled_row_sum(8192, 8192), build)
    print(f"compiling the scheduled row sum: {compiling} (goal 60 ms)")
    run_row_sum()
    run_convolution()


if __name__ == "__main__":
    main()
