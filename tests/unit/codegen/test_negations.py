# SPDX-License-Identifier: Apache-2.0
"""Negations of tests of floats are one instruction, and right for NaN and zeros."""

import numpy as np
import pytest
from te_support.kernels import buffer, kernel, lanewise, run

from axisfold.codegen.llvm import emit_kernel
from axisfold.dtypes import BOOL, FLOAT32
from axisfold.ir import build
from axisfold.ir.expr import Binary, Call, Compare, Not

VALUES = [np.nan, -np.inf, -1.5, -0.0, 0.0, 1.5, np.inf, 2.0]
OPS = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
       "eq": np.equal, "ne": np.not_equal}  # fmt: skip


def check(dtype, lanes, count, rule, wanted):
    """Run a rule of two arrays with all pairs of values; return its text."""
    a, b = (g.reshape(-1).astype(dtype) for g in np.meshgrid(VALUES, VALUES))
    x, y, z = (buffer(n, d, len(a)) for n, d in (("x", dtype), ("y", dtype), ("z", "bool")))
    operands = [x, y][:count]
    program = kernel([*operands, z], [z], lanewise(operands, z, lanes, len(a), rule))
    found = np.zeros(len(a), bool)
    run(program, *(a, b)[:count], found)
    np.testing.assert_array_equal(found, wanted(*(a, b)[:count]))
    return emit_kernel(program)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("op", OPS)
def test_not_a_comparison(op, dtype, lanes):
    text = check(dtype, lanes, 2, lambda a, b: Not(Compare(op, a, b)), lambda a, b: ~OPS[op](a, b))
    assert "xor" not in text


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_not_isnan(dtype, lanes):
    def rule(a):
        return Not(Call("isnan", (a,), BOOL.with_lanes(lanes)))

    text = check(dtype, lanes, 1, rule, lambda a: ~np.isnan(a))
    assert ("xor" in text) == (dtype == "float16")  # halves are widened for it first


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("value", [-np.inf, 0.0, np.nan])
def test_a_constant_is_known_to_be_a_number(value, lanes):
    """A state that begins with a constant asks of it what it asks of all others."""
    x, z = buffer("x", "float32", 8), buffer("z", "bool", 8)

    def rule(a):
        one = build.const(value, FLOAT32)
        one = one if lanes == 1 else build.broadcast(one, lanes)
        is_nan = Call("isnan", (one,), BOOL.with_lanes(lanes))
        isnan = Call("isnan", (a,), BOOL.with_lanes(lanes))
        return Binary("or", Binary("and", isnan, Not(is_nan)), Binary("and", Not(isnan), is_nan))

    program = kernel([x, z], [z], lanewise([x], z, lanes, 8, rule))
    found, given = np.zeros(8, bool), np.array(VALUES, "float32")
    run(program, given, found)
    np.testing.assert_array_equal(found, np.isnan(given) != np.isnan(value))
    text = emit_kernel(program)
    assert ("and" in text) == np.isnan(value)
    assert text.count("fcmp") == (4 if np.isnan(value) else 2)
