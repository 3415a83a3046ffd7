# SPDX-License-Identifier: Apache-2.0
"""Operations that are one: exponentials that are multiplied and added, and counts of lanes."""

import numpy as np
import pytest
from te_support.kernels import buffer, kernel, lanewise, run

from axisfold.codegen.llvm import Machine, emit_kernel
from axisfold.dtypes import parse
from axisfold.ir import build
from axisfold.ir.expr import Binary, Call, Cast, Compare

LIFT = 2.0**64
FAR = [0.0, -0.0, -1.0, -0.3, -87.2, -95.0, -104.0, -1e30, -np.inf, np.nan]


def lanes_of(value, lanes):
    """Return a value for each lane."""
    return value if lanes == 1 else build.broadcast(value, lanes)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("exp_rounded", "float32"), ("exp_nonpositive", "float32"), ("exp_nonpositive", "float64"),
     ("exp_short", "float32")],
)  # fmt: skip
def test_sums_of_exponentials_round_once(name, dtype, lanes):
    power = np.concatenate([FAR, np.linspace(-86, 0, 54)]).astype(dtype)
    sums = np.linspace(0, 3, 64).astype(dtype) * dtype_of(dtype)(LIFT)
    x, total, z = (buffer(n, dtype, 64) for n in ("x", "total", "z"))

    def rule(a, b):
        made = Call(name, (b,), b.dtype)
        if name != "exp_short":
            made = Binary("mul", made, lanes_of(build.const(LIFT, parse(dtype)), lanes))
        return Binary("add", a, made)

    program = kernel([total, x, z], [z], lanewise([total, x], z, lanes, 64, rule))
    found = np.zeros(64, dtype)
    run(program, sums, power, found)
    exact = sums.astype("longdouble") + np.exp(power.astype("longdouble")) * LIFT
    units = np.abs(found - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert np.isnan(found[9])
    assert np.delete(units, 9).max() < {"exp_rounded": 4.5, "exp_short": 7}.get(name, 1.5)
    text = emit_kernel(program)
    (body,) = (part for part in text.split("\ndefine") if ".added." in part.split("(")[0])
    *_, last, result = (line for line in body.splitlines() if line.startswith("  "))
    assert "fmuladd" in last
    assert result.split()[-1] == last.split()[0]


def dtype_of(name):
    """Return the type of a NumPy scalar."""
    return np.dtype(name).type


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64"])
def test_lanes_are_counted_under_a_mask(dtype, lanes):
    counts = np.arange(64).astype(dtype)
    values = np.resize([0.0, 1.0, np.nan], 64).astype("float32")
    a, x, z = buffer("a", dtype, 64), buffer("x", "float32", 64), buffer("z", dtype, 64)

    def rule(count, value):
        zero = lanes_of(build.const(0.0, parse("float32")), lanes)
        return Binary("add", count, Cast(Compare("eq", value, zero), count.dtype))

    program = kernel([a, x, z], [z], lanewise([a, x], z, lanes, 64, rule))
    found = np.zeros(64, dtype)
    run(program, counts, values, found)
    np.testing.assert_array_equal(found, counts + (values == 0).astype(dtype))
    assert ("zext" in emit_kernel(program)) == (lanes == 1)


@pytest.mark.parametrize(("registers", "lanes"), [(16, 16), (32, 16), (16, 1)])
def test_constants_are_read_from_a_table_where_registers_are_few(registers, lanes):
    x, z = buffer("x", "float32", 64), buffer("z", "float32", 64)
    rule = lanewise([x], z, lanes, 64, lambda a: Call("exp_rounded", (a,), a.dtype))
    text = emit_kernel(kernel([x, z], [z], rule), Machine(64, registers))
    assert (".constants" in text) == (registers == 16 and lanes > 1)
