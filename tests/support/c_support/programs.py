# SPDX-License-Identifier: Apache-2.0
"""te programs and schedules that between them use every statement of a device program."""

import numpy as np

from axisfold import te
from axisfold.codegen.signature import scalar_parameters
from axisfold.passes.pipelines import device, legible
from axisfold.runtime.binding import bind_layout, check_arrays, evaluate
from c_support.compiler import Argument, Call

SIZES = ((0, 0), (1, 1), (5, 0), (7, 13), (16, 16), (17, 33), (31, 67))


def placeholder(n, m, dtype="float32"):
    return te.placeholder((n, m), dtype, name="A"), te.reduce_axis((0, m), "k")


def row_sum(n, m):
    A, k = placeholder(n, m)
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def row_sum_split(n, m):
    s, (A, B) = row_sum(n, m)
    s[B].split(B.op.reduce_axis[0], factor=16)
    s[B].split(B.op.axis[0], factor=32)
    return s, [A, B]


def row_sum_rfactor(n, m):
    s, (A, B) = row_sum(n, m)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    s.rfactor(B, ki)
    return s, [A, B]


def row_sum_vectorized(n, m):
    A, k = placeholder(n, m)
    B = te.compute((n,), lambda i: te.sum(A[i, k].astype("float64"), axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    _, kii = s[B].split(ki, factor=8)
    BF = s.rfactor(B, kii)
    s[BF].compute_at(s[B], s[B].op.axis[0])
    s[BF].reorder(*s[BF].op.reduce_axis, s[BF].op.axis[0])
    s[BF].vectorize(s[BF].op.axis[0])
    s[BF].unroll(s[BF].op.reduce_axis[1])
    s[B].unroll(s[B].op.reduce_axis[0])
    return s, [A, B]


def columns_vectorized(n, m):
    A = te.placeholder((n, m), "int16", name="A")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((m,), lambda j: te.max(A[k, j], axis=k), name="B")
    s = te.create_schedule(B.op)
    jo, ji = s[B].split(B.op.axis[0], factor=8)
    s[B].reorder(jo, k, ji)
    s[B].vectorize(ji)
    s[B].parallel(jo)
    return s, [A, B]


def convolution(n, m):
    Input = te.placeholder((n + 2, m + 2), name="Input")
    Filter = te.placeholder((3, 3), name="Filter")
    di, dj = te.reduce_axis((0, 3), "di"), te.reduce_axis((0, 3), "dj")
    Output = te.compute(
        (n, m),
        lambda i, j: te.sum(Input[i + di, j + dj] * Filter[di, dj], axis=[di, dj]),
        name="Output",
    )
    s = te.create_schedule(Output.op)
    jo, ji = s[Output].split(Output.op.axis[1], factor=8)
    s[Output].reorder(jo, di, dj, ji)
    s[Output].unroll(dj)
    s[Output].vectorize(ji)
    return s, [Input, Filter, Output]


def product(n, m):
    A, k = placeholder(n, m, "int32")
    times = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, t), name="product")
    B = te.compute((n,), lambda i: times(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def argmax(n, m):
    A, k = placeholder(n, m)

    def better(lhs, rhs):
        tie = te.all(lhs[1].equal(rhs[1]), lhs[0] < rhs[0])
        wins = te.any(lhs[1] > rhs[1], tie)
        return te.Select(wins, lhs[0], rhs[0]), te.Select(wins, lhs[1], rhs[1])

    reducer = te.comm_reducer(
        better, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax"
    )
    at, best = te.compute((n,), lambda i: reducer((k.var, A[i, k]), axis=k), name="B")
    return te.create_schedule(at.op), [A, at, best]


def argmax_vectorized(n, m):
    s, (A, at, best) = argmax(n, m)
    _, ki = s[at].split(at.op.reduce_axis[0], factor=4)
    partial = s.rfactor(at, ki)[0]
    s[partial].compute_at(s[at], s[at].op.axis[0])
    s[partial].reorder(s[partial].op.reduce_axis[0], s[partial].op.axis[0])
    s[partial].vectorize(s[partial].op.axis[0])
    return s, [A, at, best]


def welford(n, m):
    A, k = placeholder(n, m)

    def merge(a, b):
        count = a[0] + b[0]
        part = te.if_then_else(count > 0, b[0].astype("float64") / count.astype("float64"), 0.0)
        delta = b[1] - a[1]
        square = a[2] + b[2] + delta * delta * a[0].astype("float64") * part
        return count, a[1] + delta * part, square

    reducer = te.comm_reducer(merge, lambda *t: tuple(te.const(0, d) for d in t), name="welford")
    count, mean, square = te.compute(
        (n,),
        lambda i: reducer(
            (te.const(1, "int64"), A[i, k].astype("float64"), te.const(0.0, "float64")), axis=k
        ),
        name="W",
    )
    s = te.create_schedule(count.op)
    _, ki = s[count].split(count.op.reduce_axis[0], factor=4)
    partial = s.rfactor(count, ki)[0]
    s[partial].compute_at(s[count], s[count].op.axis[0])
    return s, [A, count, mean, square]


def half_precision(n, m):
    A, k = placeholder(n, m, "float16")
    T = te.compute((n, m), lambda i, j: A[i, j] * te.const(0.1, "float16") + A[i, j], name="T")
    B = te.compute((n,), lambda i: te.max(T[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def distances(n, m):
    """Heap memory, a condition on data, booleans, and functions of the C library."""
    A, k = placeholder(n, m, "float64")
    T = te.compute(
        (n, m), lambda i, j: te.exp(A[i, j] * -0.01) - te.sqrt(te.abs(A[i, j])), name="T"
    )
    B = te.compute((n,), lambda i: te.sum(T[i, k], axis=k, where=A[i, k] > 0), name="B")
    C = te.compute((n,), lambda i: te.all(B[i] < 0, i > 2), name="C")
    return te.create_schedule([B.op, C.op]), [A, B, C]


def guarded_window(n, m):
    """Reads that a choice guards, also in vectors whose lanes choose differently."""
    A = te.placeholder((n, m), "int64", name="A")
    d = te.reduce_axis((-2, 5), "d")

    def read(i, j):
        inside = te.all(j + d >= 0, j + d < m)
        return te.if_then_else(inside, A[i, j + d], 0)

    B = te.compute((n, m), lambda i, j: te.sum(read(i, j) * d, axis=d), name="B")
    s = te.create_schedule(B.op)
    jo, ji = s[B].split(B.op.axis[1], factor=4)
    s[B].reorder(jo, d, ji)
    s[B].vectorize(ji)
    return s, [A, B]


def parallel_with_memory(n, m):
    """Each round of a parallel loop has an array on the heap, which in C the rounds share."""
    A, k = placeholder(n, m, "int32")
    T = te.compute((n, m), lambda i, j: A[i, j] * (i + j), name="T")
    B = te.compute((n,), lambda i: te.sum(T[i, m - 1 - k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    s[T].compute_at(s[B], B.op.axis[0])
    return s, [A, B]


def stopped(n, m):
    """Parts of a row that end once one of them has found what it looks for."""
    A, k = placeholder(n, m, "int32")
    either = te.comm_reducer(
        lambda x, y: x | y,
        lambda t: te.const(False, "bool"),
        absorbing=lambda t: te.const(True, "bool"),
    )
    B = te.compute((n,), lambda i: either(A[i, k] > 55, axis=k), name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(k, factor=8)
    BF = s.rfactor(B, outer, factor_axis=-1)
    s[BF].parallel(s[BF].fuse(*s[BF].op.axis))
    s[BF].stop(s[BF].op.reduce_axis[0], s[B])
    return s, [A, B]


PROGRAMS = (
    row_sum, row_sum_split, row_sum_rfactor, row_sum_vectorized, columns_vectorized, convolution,
    product, argmax, argmax_vectorized, welford, half_precision, distances, guarded_window,
    parallel_with_memory, stopped,
)  # fmt: skip
# What differs by the C library's version of a function, and not by the code around it.
INEXACT = {"distances"}


def kernel_of(program, name=None, any_layout=False):
    """Return the loop nest and the device program of a te program."""
    schedule, args = program(te.var("n"), te.var("m"))
    name = name or f"{program.__name__}{'_anyhow' if any_layout else ''}"
    kernel = legible(schedule, args, name, any_layout=any_layout)
    return kernel, device(kernel)


def arrays_for(kernel, sizes, rng):
    """Return arrays for a kernel's parameters."""
    values = {"n": sizes[0], "m": sizes[1]}
    known = {v: values[v.name] for v in scalar_parameters(kernel) if v.name in values}
    found = []
    for buffer in kernel.params:
        shape = [evaluate(e, known) for e in buffer.shape]
        dtype = buffer.dtype.to_numpy()
        data = rng.integers(-60, 60, shape) if dtype.kind in "iu" else rng.normal(0, 20, shape)
        found.append(np.asarray(data).astype(dtype))
    return found


def calls_of(program, any_layout):
    """Return calls of a program for all sizes: in C order, or misaligned and backwards."""
    kernel, lowered = kernel_of(program, any_layout=any_layout)
    rng = np.random.default_rng(7)
    found = []
    for sizes in SIZES:
        arrays = arrays_for(kernel, sizes, rng)
        if any_layout:
            arrays = [np.flip(a) for a in arrays]
        values = bind_layout(kernel, arrays, check_arrays(kernel, arrays))
        scalars = [values[v] for v in scalar_parameters(kernel)]
        arguments = [Argument.of(a, shift=1 if any_layout else 0) for a in arrays]
        outputs = [p for p, b in enumerate(kernel.params) if b in kernel.outputs]
        found.append(Call(lowered, arguments, scalars, outputs))
    return found
