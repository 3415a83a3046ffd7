# SPDX-License-Identifier: Apache-2.0
"""Device programs written by hand: what schedules seldom or never make."""

import numpy as np

from axisfold.dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Cast,
    Compare,
    IfThenElse,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Seq, Store
from axisfold.ir.walk import substitute
from c_support.compiler import Argument, Call


def number(value):
    return build.const(value, INT64)


def ramp(base, stride=1, lanes=8):
    return Ramp(base if isinstance(base, Var) else number(base), number(stride), lanes)


def array(name, dtype, *shape):
    extents = tuple(number(e) if isinstance(e, int) else e for e in shape)
    return Buffer(name, dtype, extents, facts=Facts(align=dtype.itemsize))


def loop(var, extent, body, stop=None):
    return For(var, number(0), number(extent), "serial", body, stop)


def call(name, inputs, outputs, body, *arrays, scalars=()):
    kernel = Kernel(name, (*inputs, *outputs), tuple(outputs), body)
    places = list(range(len(inputs), len(arrays)))
    return Call(kernel, [Argument.of(np.asarray(a)) for a in arrays], list(scalars), places)


def lanes_that_read_each_other():
    """Every lane is read before any is written."""
    B = array("B", INT64, 8)
    body = Store(B, ramp(0), Binary("add", Load(B, ramp(7, -1)), Load(B, ramp(0))))
    return call("reversed", (), (B,), body, np.arange(8) ** 2)


def lanes_in_one_place():
    """The last lane wins."""
    A, B = array("A", INT64, 8), array("B", INT64, 2)
    body = Store(B, Broadcast(number(1), 8), Load(A, ramp(0)))
    return call("crowded", (A,), (B,), body, np.arange(8), np.zeros(2, "int64"))


def masked_gather_and_scatter():
    """A named vector, a mask from data, an index from data, and a store that spares lanes."""
    A, places = array("A", FLOAT32, 9), array("places", INT64, 8)
    B = array("B", FLOAT32, 16)
    at = Var("at", INT64.with_lanes(8))
    inside = Compare("ge", at, Broadcast(number(0), 8))
    value = Binary("mul", Load(A, at, inside), Broadcast(build.const(2.0, FLOAT32), 8))
    body = Let(at, Load(places, ramp(0)), Store(B, ramp(15, -2), value, inside))
    index = np.array([8, -1, 3, -(2**40), 0, 2, 2**40 * -1, 7])
    return call(
        "gathered", (A, places), (B,), body, np.arange(9, dtype="float32"), index,
        np.full(16, 5, "float32"),
    )  # fmt: skip


def partial_private_memory():
    """Lanes of private memory that a mask leaves out are read and dropped."""
    A, B = array("A", FLOAT64, 8), array("B", FLOAT64, 8)
    T = Buffer("T", FLOAT64, (number(8),), scope="local", facts=Facts(align=64))
    some = Compare("lt", ramp(0), Broadcast(number(5), 8))
    body = Allocate(
        T, Seq((
            Store(T, ramp(0), Load(A, ramp(0), some), some),
            Store(B, ramp(0), Select(Not(some), Load(B, ramp(0)), Load(T, ramp(0)))),
        )),
    )  # fmt: skip
    return call("partly", (A,), (B,), body, np.arange(8.0), np.full(8, -1.0))


def branch_with_statements():
    """A value used twice gets a name, in the branch that may read it and nowhere else."""
    A, B = array("A", INT64, 5), array("B", INT64, 5)
    i = Var("i", INT64)
    following = Load(A, Binary("add", i, number(1)))
    sum_of_squares = Binary("add", Binary("mul", following, following), following)
    value = IfThenElse(Compare("lt", i, number(4)), sum_of_squares, number(-1))
    body = loop(i, 5, Store(B, i, Binary("sub", value, value)))
    j = Var("j", INT64)
    both = Seq((body, loop(j, 5, Store(B, j, substitute(value, {i: j})))))
    return call("branches", (A,), (B,), both, np.arange(5) + 2**62, np.zeros(5, "int64"))


def early_exit():
    """A loop ends before the round for which its stop holds."""
    A, B = array("A", BOOL, 6), array("B", INT64, 1)
    i = Var("i", INT64)
    count = Store(B, number(0), Binary("add", Load(B, number(0)), number(1)))
    body = loop(i, 6, count, stop=Load(A, i))
    return call("exits", (A,), (B,), body, np.array([0, 0, 0, 1, 0, 0], bool), np.zeros(1, "int64"))


def half_vectors():
    """float16 in vectors, with constants that are no numbers."""
    A, B = array("A", FLOAT16, 8), array("B", FLOAT16, 8)
    nothing = Broadcast(build.const(float("nan"), FLOAT16), 8)
    endless = Broadcast(build.const(float("-inf"), FLOAT16), 8)
    x = Load(A, ramp(0))
    value = Select(Compare("gt", x, Broadcast(build.const(0.0, FLOAT16), 8)), endless, nothing)
    body = Store(B, ramp(0), Binary("max", Binary("mul", x, x), value))
    return call(
        "halves", (A,), (B,), body, np.arange(-4, 4).astype("float16"), np.zeros(8, "float16")
    )


def awkward_names():
    """Words of C, names of functions used, names that differ in illegal letters only."""
    n = Var("n", INT64)
    A, B = array("double", FLOAT64, n), array("_B", FLOAT64, n)
    i, t1, t2 = Var("for", INT64), Var("fabs", FLOAT64), Var("a.b", FLOAT64)
    t3, unused = Var("a:b", FLOAT64), Var("unused", FLOAT64)
    inner = Store(B, i, Binary("add", t1, Binary("add", t2, t3)))
    inner = Let(unused, t1, Let(t3, Binary("mul", t2, t2), inner))
    inner = Let(t1, build.call("abs", Load(A, i)), Let(t2, Binary("mul", t1, t1), inner))
    body = For(i, number(0), n, "serial", inner)
    return call("main", (A,), (B,), body, -np.arange(4.0), np.zeros(4), scalars=[4])


def literals_alone():
    """Operations on literals are of the dtype's width, not of int."""
    B = array("B", INT64, 4)
    big = number(2**30)
    endless = Binary("div", build.const(1.0, FLOAT64), build.const(-0.0, FLOAT64))
    body = Seq((
        Store(B, number(0), Binary("mul", big, number(2**31))),
        Store(B, number(1), Binary("add", number(-(2**63)), number(-1))),
        Store(B, number(2), Cast(endless, INT64)),
        If(Compare("lt", big, number(2**62)), Store(B, number(3), number(2**62 + 1))),
    ))  # fmt: skip
    return call("literals", (), (B,), body, np.zeros(4, "int64"))


def offsets_that_wrap():
    """A hash as an index: the product wraps before the remainder is taken."""
    A, B = array("A", INT64, 7), array("B", INT64, 5)
    i = Var("i", INT64)
    product = Binary("mul", Binary("mul", Binary("add", i, number(3)), number(2**61)), number(5))
    at = Binary("floormod", Binary("add", product, i), number(7))
    body = loop(i, 5, Store(B, i, Load(A, at)))
    return call("hashed", (A,), (B,), body, np.arange(7), np.zeros(5, "int64"))


ALL = (
    lanes_that_read_each_other, lanes_in_one_place, masked_gather_and_scatter,
    partial_private_memory, branch_with_statements, early_exit, half_vectors, awkward_names,
    literals_alone, offsets_that_wrap,
)  # fmt: skip


def greedy():
    """Two arrays on the heap, of n * n and of n elements."""
    n, i = Var("n", INT64, is_size=True), Var("i", INT64)
    B = array("B", FLOAT64, n)
    first, second = Buffer("T", FLOAT64, (n,)), Buffer("T", FLOAT64, (n, n))
    fill = [Store(b, i, Cast(i, FLOAT64)) for b in (first, second)]
    result = Store(B, i, Binary("add", Load(first, i), Load(second, i)))
    body = Allocate(first, Allocate(second, For(i, number(0), n, "serial", Seq((*fill, result)))))
    return Kernel("greedy", (B,), (B,), body)
