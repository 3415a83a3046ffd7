# SPDX-License-Identifier: Apache-2.0
"""Small te programs with exact integer answers computed in plain Python.

Each problem is a function from two extents, numbers or variables, to a Problem.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from axisfold import te

INT64_MAX = 2**63 - 1


@dataclass
class Problem:
    """Tensors in calling order, and what the outputs hold for given inputs and extents."""

    args: list[Any]
    outputs: list[Any]
    input_shapes: list[tuple[Any, ...]]
    answer: Callable[..., list[np.ndarray]]
    dtype: str = "int64"


def wrapped(value, dtype="int64"):
    bits = np.dtype(dtype).itemsize * 8
    value &= (1 << bits) - 1
    is_negative = np.dtype(dtype).kind == "i" and value >> (bits - 1)
    return value - (1 << bits) if is_negative else value


def fold(values, combine, start, dtype="int64"):
    for value in values:
        start = wrapped(combine(start, int(value)), dtype)
    return start


def rows(n, m):
    """Sum of each row."""
    A = te.placeholder((n, m), "int64", name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return Problem([A, B], [B], [("n", "m")], lambda a: [a.sum(axis=1)])


def columns(n, m):
    """Largest value of each column, whose identity is the least int16."""
    A = te.placeholder((n, m), "int16", name="A")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((m,), lambda j: te.max(A[k, j], axis=k), name="B")

    def answer(a):
        return [a.max(axis=0, initial=np.iinfo("int16").min)]

    return Problem([A, B], [B], [("n", "m")], answer, "int16")


def everything(n, m):
    """Product of all elements, of rank 0, wrapping."""
    A = te.placeholder((n, m), "uint32", name="A")
    k = te.reduce_axis((0, n), "k")
    j = te.reduce_axis((0, m), "j")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, t), name="product")
    B = te.compute((), lambda: product(A[k, j] + 1, axis=[k, j]), name="B")

    def answer(a):
        values = (a.astype("uint64") + 1).ravel()
        return [np.array(fold(values, lambda x, y: x * y, 1, "uint32"), "uint32")]

    return Problem([A, B], [B], [("n", "m")], answer, "uint32")


def argmax(n, m):
    """Value and first index of the largest element of each row."""
    A = te.placeholder((n, m), "int64", name="A")
    k = te.reduce_axis((0, m), "k")

    def better(lhs, rhs):
        tie = te.all(lhs[1].equal(rhs[1]), lhs[0] < rhs[0])
        wins = te.any(lhs[1] > rhs[1], tie)
        return te.Select(wins, lhs[0], rhs[0]), te.Select(wins, lhs[1], rhs[1])

    def identity(t0, t1):
        return te.const(2**31 - 1, t0), te.min_value(t1)

    reducer = te.comm_reducer(better, identity, name="argmax")
    at, best = te.compute((n,), lambda i: reducer((k.var, A[i, k]), axis=k), name="B")

    def answer(a):
        if not a.shape[1]:
            return [np.full(len(a), 2**31 - 1, "int32"), np.full(len(a), -INT64_MAX - 1)]
        return [a.argmax(axis=1).astype("int32"), a.max(axis=1)]

    return Problem([A, at, best], [at, best], [("n", "m")], answer)


def complex_product(n, m):
    """Product of complex integers: each component needs both components of both sides."""
    R = te.placeholder((n, m), "int64", name="R")
    J = te.placeholder((n, m), "int64", name="J")
    k = te.reduce_axis((0, m), "k")

    def times(a, b):
        return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]

    reducer = te.comm_reducer(times, lambda t0, t1: (te.const(1, t0), te.const(0, t1)))
    re, im = te.compute((n,), lambda i: reducer((R[i, k], J[i, k]), axis=k), name="B")

    def answer(r, j):
        found = []
        for row_r, row_j in zip(r, j, strict=True):
            x, y = 1, 0
            for p, q in zip(row_r.tolist(), row_j.tolist(), strict=True):
                x, y = wrapped(x * p - y * q), wrapped(x * q + y * p)
            found.append((x, y))
        result = np.array(found, "int64").reshape(len(r), 2)
        return [result[:, 0], result[:, 1]]

    return Problem([R, J, re, im], [re, im], [("n", "m"), ("n", "m")], answer)


def masked(n, m):
    """Sum where a condition on the data and on both indices holds."""
    A = te.placeholder((n, m), "int64", name="A")
    k = te.reduce_axis((0, m), "k")

    def body(i):
        where = te.any(te.floormod(A[i, k], 3).equal(0), k < i)
        return te.sum(A[i, k], axis=k, where=where)

    B = te.compute((n,), body, name="B")

    def answer(a):
        i, k = np.indices(a.shape)
        return [np.where((a % 3 == 0) | (k < i), a, 0).sum(axis=1)]

    return Problem([A, B], [B], [("n", "m")], answer)


def started(n, m):
    """Sum that starts from a tensor; the start counts once, however it is factored."""
    A = te.placeholder((n, m), "int64", name="A")
    S = te.placeholder((n,), "int64", name="S")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, init=S[i]), name="B")
    return Problem([A, S, B], [B], [("n", "m"), ("n",)], lambda a, s: [a.sum(axis=1) + s])


def lower_triangle(n, m):
    """Sum up to the diagonal: the upper bound reads a data axis."""
    A = te.placeholder((n, n), "int64", name="A")

    def body(i):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), body, name="B")
    return Problem([A, B], [B], [("n", "n")], lambda a: [np.tril(a).sum(axis=1)])


def upper_triangle(n, m):
    """Sum from the diagonal on: the lower bound reads a data axis."""
    A = te.placeholder((n, n), "int64", name="A")

    def body(i):
        k = te.reduce_axis((i, n), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), body, name="B")
    return Problem([A, B], [B], [("n", "n")], lambda a: [np.triu(a).sum(axis=1)])


def pipeline(n, m):
    """A producer, a reduction of two axes that starts at 1, and a consumer that shifts it."""
    A = te.placeholder((n, m), "int64", name="A")
    T = te.compute((n, m), lambda i, j: A[i, j] * 2 + i - j, name="T")
    # A constant range may not end before it begins.
    k = te.reduce_axis((1, max(m, 1) if isinstance(m, int) else m), "k")
    B = te.compute((n,), lambda i: te.sum(T[i, k] - T[i, k - 1] * 3, axis=k), name="B")
    C = te.compute((n,), lambda i: B[i] + B[n - 1 - i], name="C")

    def answer(a):
        i, j = np.indices(a.shape)
        t = a * 2 + i - j
        b = (t[:, 1:] - t[:, :-1] * 3).sum(axis=1)
        return [b + b[::-1]]

    return Problem([A, C], [C], [("n", "m")], answer)


def window(n, m):
    """Two reduce axes over a window of a two-output producer."""
    A = te.placeholder((n + 2, m), "int64", name="A")
    T, U = te.compute((n + 2, m), lambda i, j: (A[i, j] + 1, A[i, j] * j), name="T")
    d = te.reduce_axis((0, 3), "d")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(T[i + d, k] * U[i, k], axis=[d, k]), name="B")

    def answer(a):
        t, u = a + 1, a * np.arange(a.shape[1])
        b = [(t[i : i + 3] * u[i]).sum() for i in range(len(a) - 2)]
        return [np.array(b, "int64").reshape(-1)]

    # Bound from the shape of B, whose extent is the variable itself.
    return Problem([A, B], [B], [("n+2", "m")], answer)


PROBLEMS = (
    rows, columns, everything, argmax, complex_product, masked, started, lower_triangle,
    upper_triangle, pipeline, window,
)  # fmt: skip


def random_inputs(problem, sizes, rng):
    """Return arrays for the problem's inputs; ``sizes`` gives the extents by name."""
    info = np.iinfo(problem.dtype)
    low, high = max(info.min, -50), min(info.max, 50)
    arrays = []
    for shape in problem.input_shapes:
        extents = [sizes[e] if e in sizes else sizes["n"] + 2 for e in shape]
        arrays.append(rng.integers(low, high, size=extents).astype(problem.dtype))
    return arrays
