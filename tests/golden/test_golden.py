# SPDX-License-Identifier: Apache-2.0
"""The text of whole programs; rewrite the files with --update-golden."""

import pytest

from axisfold import te
from axisfold.build import build, lower
from axisfold.codegen.llvm import emit_kernel
from axisfold.passes.pipelines import device


def rows(n=None, m=None):
    n, m = n or te.var("n"), m or te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def default():
    return rows()


def two_splits():
    s, (A, B) = rows()
    s[B].split(B.op.reduce_axis[0], factor=16)
    s[B].split(B.op.axis[0], factor=32)
    return s, [A, B]


def rfactor():
    s, (A, B) = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    s.rfactor(B, inner)
    return s, [A, B]


def rfactor_last():
    s, (A, B) = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    s.rfactor(B, inner, factor_axis=1)
    return s, [A, B]


def compute_at():
    s, (A, B) = rfactor()
    s[s.stages[1].op].compute_at(s[B], s[B].op.axis[0])
    return s, [A, B]


def convolution():
    n = te.var("n")
    Input = te.placeholder((n, n), name="Input")
    Filter = te.placeholder((3, 3), name="Filter")
    di = te.reduce_axis((0, 3), name="di")
    dj = te.reduce_axis((0, 3), name="dj")
    Output = te.compute(
        (n - 2, n - 2),
        lambda i, j: te.sum(Input[i + di, j + dj] * Filter[di, dj], axis=[di, dj]),
        name="Output",
    )
    return te.create_schedule(Output.op), [Input, Filter, Output]


def product():
    n, m = te.var("n"), te.var("m")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, dtype=t), name="product")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: product(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def argmax():
    def fcombine(x, y):
        lhs = te.Select(x[1] >= y[1], x[0], y[0])
        rhs = te.Select(x[1] >= y[1], x[1], y[1])
        return lhs, rhs

    def fidentity(t0, t1):
        return te.const(-1, t0), te.min_value(t1)

    argmax = te.comm_reducer(fcombine, fidentity, name="argmax")
    m, n = te.var("m"), te.var("n")
    idx = te.placeholder((m, n), name="idx", dtype="int32")
    val = te.placeholder((m, n), name="val", dtype="int32")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    return te.create_schedule(T0.op), [idx, val, T0, T1]


def lower_triangle():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")

    def body(i):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), body, name="B")
    return te.create_schedule(B.op), [A, B]


def upper_triangle():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")

    def body(i):
        k = te.reduce_axis((i, n), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), body, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.reduce_axis[0], factor=4)
    return s, [A, B]


def from_one():
    n = te.var("n")
    A = te.placeholder((n,), "int64", name="A")
    k = te.reduce_axis((1, n), "k")
    B = te.compute((1,), lambda i: te.max(A[k] - A[k - 1], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def rank_0():
    m = te.var("m")
    A = te.placeholder((m,), "float64", name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    return te.create_schedule(B.op), [A, B]


def masked_and_started():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    S = te.placeholder((n,), "int32", name="S")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, where=A[i, k] > 0, init=S[i]), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s.rfactor(B, inner)
    return s, [A, S, B]


def two_outputs():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    double, square = te.compute((n,), lambda i: (A[i] * 2, A[i] * A[i]), name="T")
    B = te.compute((n,), lambda i: double[i] + square[i], name="B")
    return te.create_schedule(B.op), [A, B]


def vectorized():
    s, (A, B) = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    _, lane = s[B].split(inner, factor=8)
    first = s.rfactor(B, lane)
    s[first].compute_at(s[B], s[B].op.axis[0])
    s[first].reorder(*s[first].op.reduce_axis, *s[first].op.axis)
    s[first].unroll(s[first].op.reduce_axis[1])
    s[first].vectorize(s[first].op.axis[0])
    return s, [A, B]


SCHEDULES = (
    default, two_splits, rfactor, rfactor_last, compute_at, convolution, product, argmax,
    lower_triangle, upper_triangle, from_one, rank_0, masked_and_started, two_outputs, vectorized,
)  # fmt: skip


@pytest.mark.parametrize("schedule_of", SCHEDULES, ids=lambda f: f.__name__)
def test_loop_ir(schedule_of, golden):
    golden(f"ir/{schedule_of.__name__}.txt", str(lower(*schedule_of())))


@pytest.mark.parametrize("schedule_of", [two_splits, vectorized], ids=lambda f: f.__name__)
def test_device_program(schedule_of, golden):
    golden(f"device/{schedule_of.__name__}.txt", str(device(lower(*schedule_of()))))


@pytest.mark.parametrize("schedule_of", [default, argmax, vectorized], ids=lambda f: f.__name__)
def test_llvm(schedule_of, golden):
    from llvmlite import binding

    text = emit_kernel(device(lower(*schedule_of())))
    golden(f"llvm/{schedule_of.__name__}.ll", text)
    binding.parse_assembly(text).verify()


@pytest.mark.parametrize("schedule_of", SCHEDULES, ids=lambda f: f.__name__)
def test_every_golden_program_compiles(schedule_of):
    build(*schedule_of())


def test_an_expression_that_is_not_lowered(golden):
    s, (_, B) = rfactor()
    golden("te/body.txt", f"{s[B].op.body}\n")


def test_a_schedule_as_python(golden):
    s, (A, B) = vectorized()
    golden("te/trace.txt", s.trace.as_python({A.op: "A", B.op: "B"}) + "\n")
