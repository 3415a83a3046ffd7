# SPDX-License-Identifier: Apache-2.0
"""Loops that the compiler of threads writes out, and those that it must not."""

import pytest
from te_support.kernels import buffer, index, kernel

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Call, Load, Var
from axisfold.ir.stmt import For, Store
from axisfold.ir.walk import post_order
from axisfold.passes.leave_unrolled import LONG_BODY, leave_unrolled
from axisfold.passes.unroll_loops import MAX_STORES


def nest(kind, extent, terms, stop=None):
    """Return a kernel with a loop whose body sums so many elements."""
    i, n = Var("i", INT64), Var("n", INT64, is_size=True)
    A, B = buffer("A", "float64", 9000), buffer("B", "float64", 9000)
    value = Load(A, i)
    for k in range(1, terms):
        value = value + Load(A, i + k)
    rounds = n if extent is None else index(extent)
    return kernel([A, B], [B], For(i, index(0), rounds, kind, Store(B, i, value), stop))


@pytest.mark.parametrize(
    ("kind", "extent", "terms", "left"),
    [
        ("serial", 8, 2, "serial"),
        ("serial", 8, LONG_BODY, "rolled"),
        ("serial", None, LONG_BODY, "serial"),
        ("unrolled", 8, 2, "unrolled"),
        ("unrolled", 8, LONG_BODY, "unrolled"),
        ("unrolled", MAX_STORES + 1, 1, "serial"),
        ("unrolled", None, 1, "serial"),
        ("rolled", 8, 1, "rolled"),
    ],
)
def test_kinds(kind, extent, terms, left):
    program = nest(kind, extent, terms)
    result = leave_unrolled(program)
    assert result.body.kind == left
    assert (result is program) == (left == kind)


def test_a_loop_with_a_stop_condition_is_not_written_out():
    stop = build.const(0, INT64).equal(0)
    assert leave_unrolled(nest("unrolled", 4, 1, stop)).body.kind == "serial"


@pytest.mark.parametrize("called", [lambda x: build.call("exp", x) + x / (x + 1.0), lambda x: x])
def test_functions_and_quotients_are_long(called):
    i, x = Var("i", INT64), buffer("A", "float64", 9)
    body = Store(x, i, called(Load(x, i)))
    program = kernel([x], [x], For(i, index(0), index(8), "serial", body))
    is_long = any(isinstance(n, Call) for n in post_order(body))
    assert leave_unrolled(program).body.kind == ("rolled" if is_long else "serial")
