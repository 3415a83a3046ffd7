# SPDX-License-Identifier: Apache-2.0
"""Exponentials and logarithms of machine code: error bounds, thresholds, equal bits in all lanes.

``-m slow`` computes all float32 there are, and a hundred thousand float64 of each function.
"""

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from fold_support.flags import IS_X86, needs_flags, underflows
from semantics_support import exact
from semantics_support.programs import loop
from semantics_support.table import MACHINE_ULPS, is_near

from axisfold.codegen.llvm import Machine, emit_kernel, symbol
from axisfold.dtypes import FLOAT32, FLOAT64, INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Call, Load, Ramp
from axisfold.ir.stmt import Kernel, Store
from axisfold.runtime.cpu import compile_llvm

ROOT = Path(__file__).resolve().parents[2]
BLOCK = 3 << 14  # a multiple of every number of lanes
# Machines differ in whether a product and a sum are rounded once; "" is the host.
OLD_X86 = '"target-cpu"="x86-64" "target-features"="+sse2,-fma"'
MACHINES = ["", OLD_X86] if IS_X86 else [""]
NONPOSITIVE = ["exp_nonpositive", "exp_rounded", "exp_short"]
LIFTED = NONPOSITIVE[:2]


def kernel(name, dtype, lanes, lift=0):
    """Return the kernel that applies a function to one block, and multiplies by 2**lift."""
    x, y = (Buffer(n, dtype, (build.const(BLOCK, INT64),)) for n in "xy")

    def body(i):
        at = i if lanes == 1 else Ramp(i * lanes, build.const(1, INT64), lanes)
        power = Call(name, (Load(x, at),), dtype.with_lanes(lanes))
        return Store(y, at, power * build.const(2.0**lift, power.dtype) if lift else power)

    return Kernel(name, (x, y), (y,), loop(BLOCK // lanes, body))


def compiled(name, dtype, lanes=8, machine="", *, fuses=True, lift=0):
    """Return a function of arrays of any length."""
    made = kernel(name, dtype, lanes, lift)
    text = emit_kernel(made, Machine(fuses=fuses)).replace("nounwind {", f"nounwind {machine} {{")
    code = compile_llvm(text, symbol(made)).function(2, 0)

    def call(values):
        count = -(-len(values) // BLOCK) * BLOCK
        x, y = np.resize(values, count), np.empty(count, dtype.stored)
        for start in range(0, count, BLOCK):
            ends = slice(start, start + BLOCK)
            assert code(x[ends].ctypes.data, y[ends].ctypes.data) == 0
        return y[: len(values)]

    return call


def defined(name, x):
    """Return the arguments that a function says something of."""
    if name == "exp_short":  # says nothing where its result is subnormal
        least = (np.finfo(x.dtype).minexp - 63) * np.log(2.0)
        x = x[~((x < least) & (x > 1.3 * least))]
    return x[~(x > 0)] if name in NONPOSITIVE else x


def check_float32(name, patterns, functions):
    """Compare functions of float32 with NumPy's in float64, which are right to 2**-28 of them."""
    x = defined(name, patterns.astype(np.uint32).view(np.float32))
    with np.errstate(all="ignore"):
        plain = name.removesuffix("_nonpositive").removesuffix("_rounded").removesuffix("_short")
        wanted = getattr(np, plain)(x.astype(np.float64))
        wanted *= 2.0**64 if name == "exp_short" else 1.0
        single = wanted.astype(np.float32)
        ulp = np.ldexp(1.0, np.maximum(np.frexp(wanted)[1] - 24, -149))
    for function in functions:
        found = function(x)
        with np.errstate(invalid="ignore"):
            error = np.abs(found - wanted) / ulp
        inside = np.isfinite(single) & np.isfinite(found)
        same = (found == single) | (np.isnan(found) & np.isnan(single))
        slack = exact.slack(name, np.where(np.isfinite(x), x, 0))
        right = np.where(inside, error <= MACHINE_ULPS[name] + slack, same)
        right &= np.isnan(wanted) | (np.signbit(found) == np.signbit(wanted))
        assert right.all(), (x[~right][:5], found[~right][:5], wanted[~right][:5])


def points64(rng):
    """Return float64 of all kinds: bits at random, thresholds, ends of reductions, near 0 and 1."""
    edges = [709.782712893384, 709.7827128933841, -708.3964185322641, -745.1332191019411, 1024.0,
             -1022.0, -1074.0, -1075.0, 2.0**-1022, 5e-324, 0.5**0.5, 2.0**0.5, 1.0, -1.0,
             -36.7368005696771, 22.0]  # fmt: skip
    halves = (np.arange(-1030, 1030, 40) + 0.5) * np.log(2)
    sampled = [
        rng.integers(0, 1 << 64, 300, np.uint64).view(np.float64), rng.normal(0, 1, 300),
        rng.uniform(-750, 720, 200), rng.uniform(-0.5, 0.5, 300), rng.uniform(0.5, 2, 300),
        rng.uniform(0.3, 0.5, 100), rng.choice([-1, 1], 200) * 10.0 ** rng.uniform(-320, 0, 200),
    ]  # fmt: skip
    near = [np.nextafter(e, e + side) for e in (*edges, *halves) for side in (-np.inf, np.inf)]
    return np.concatenate([edges, halves, near, *sampled])


@pytest.mark.parametrize("name", MACHINE_ULPS)
def test_float32(name):
    functions = [compiled(name, FLOAT32, machine=m) for m in MACHINES]
    check_float32(name, np.arange(0, 1 << 32, 16381), functions)


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINE_ULPS)
def test_every_float32(name):
    functions = [compiled(name, FLOAT32, machine=m) for m in MACHINES]
    for start in range(0, 1 << 32, BLOCK):
        check_float32(name, np.arange(start, min(start + BLOCK, 1 << 32)), functions)


def check_float64(name, x, functions):
    """Compare functions of float64 with exact arithmetic."""
    x = defined(name, x)
    wanted = [exact.function(name, v) for v in x.tolist()]
    for function in functions:
        for value, result, expected in zip(x, function(x).tolist(), wanted, strict=True):
            if isinstance(expected, Fraction):
                units = MACHINE_ULPS[name] + exact.slack(name, value)
                assert is_near(result, expected, "float64", units), (value, result)
            else:
                assert np.array_equal(result, expected, equal_nan=True), (value, result)


@pytest.mark.parametrize("name", MACHINE_ULPS)
def test_float64(name):
    functions = [compiled(name, FLOAT64, machine=m) for m in MACHINES]
    check_float64(name, points64(np.random.default_rng(64)), functions)


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINE_ULPS)
def test_many_float64(name):
    functions = [compiled(name, FLOAT64, machine=m) for m in MACHINES]
    for seed in range(60):
        check_float64(name, points64(np.random.default_rng(seed)), functions)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", MACHINE_ULPS)
def test_all_lanes_and_scalars_get_the_same_bits(name, dtype):
    rng = np.random.default_rng(dtype.bits)
    with np.errstate(over="ignore"):
        x = np.concatenate([rng.normal(0, 3, 5000), points64(rng)]).astype(dtype.stored)
    x = defined(name, x)
    bits = []
    for lanes in (1, 3, 16):
        found = compiled(name, dtype, lanes)(x)
        found[np.isnan(found)] = np.nan  # the sign of a NaN is open
        bits.append(found.tobytes())
    assert bits[1:] == bits[:-1]


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_the_exponential_of_a_rounded_number_is_right_where_products_are_rounded(dtype):
    with np.errstate(over="ignore"):
        x = defined("exp_rounded", points64(np.random.default_rng(5)).astype(dtype.stored))
    short, found = (
        compiled("exp_rounded", dtype, machine=MACHINES[-1], fuses=f)(x) for f in (True, False)
    )
    wanted = compiled("exp_nonpositive", dtype, machine=MACHINES[-1])(x)
    np.testing.assert_array_equal(found, wanted)
    assert not np.array_equal(short, wanted, equal_nan=True)


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_powers_of_two_are_exact(dtype):
    limits = np.finfo(dtype.stored)
    powers = np.arange(limits.minexp - limits.nmant, limits.maxexp).astype(dtype.stored)
    exact_powers = np.ldexp(np.ones_like(powers), powers.astype(int))
    assert np.array_equal(compiled("exp2", dtype)(powers), exact_powers)
    assert np.array_equal(compiled("log2", dtype)(exact_powers), powers)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", MACHINE_ULPS)
def test_no_library_is_called(name, lanes):
    declared = re.findall(
        r"^declare .*@([\w.]+)\(", emit_kernel(kernel(name, FLOAT32, lanes)), re.MULTILINE
    )
    assert {d.split(".")[1] for d in declared} <= {"fmuladd", "fabs", "copysign"}


def test_the_coefficients_are_what_is_computed():
    tool = ROOT / "tools" / "coefficients.py"
    assert subprocess.run([sys.executable, tool, "--check"], check=False).returncode == 0


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize(
    ("name", "dtype", "lift"),
    [
        ("exp_nonpositive", FLOAT32, 25),
        ("exp_nonpositive", FLOAT64, 64),
        ("exp_rounded", FLOAT32, 64),
    ],
)
def test_products_with_powers_of_two_have_all_digits(name, dtype, lift, lanes):
    """Also where the exponential alone would be subnormal or 0."""
    least = np.finfo(dtype.stored).minexp - lift
    x = np.linspace(np.log(2.0) * (least + 1), 0, 4999).astype(dtype.stored)
    units = MACHINE_ULPS[name]
    for machine in MACHINES:
        found = compiled(name, dtype, lanes, machine, lift=lift)(x)
        for value, result in zip(x.tolist(), found.tolist(), strict=True):
            wanted = Fraction(exact.function(name, value)) * 2**lift
            assert is_near(result, wanted, str(dtype), units + exact.slack(name, value))
    beyond = np.array([1.01 * np.log(2.0) * (least - 2), -1e30, -np.inf, np.nan], dtype.stored)
    found = compiled(name, dtype, lanes, lift=lift)(beyond)
    np.testing.assert_array_equal(found, [0, 0, 0, np.nan])


# By these some product would be infinite, or 0 where the plain one is not; one is no power of two.
@pytest.mark.parametrize(
    ("dtype", "lift"), [(FLOAT32, 24), (FLOAT32, 64.5), (FLOAT32, 127), (FLOAT64, 53)]
)
def test_other_products_are_two_operations(dtype, lift):
    text = emit_kernel(kernel("exp_rounded", dtype, 8, lift))
    assert "@axisfold.exp_rounded.v8" in text
    assert "@axisfold.exp_rounded.64.v8" in emit_kernel(kernel("exp_rounded", dtype, 8, 64))


@needs_flags
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", NONPOSITIVE)
def test_products_with_powers_of_two_do_not_underflow(name, dtype):
    """Each product that underflows takes a processor more than a hundred cycles."""
    function = compiled(name, dtype, lift=64 if name in LIFTED else 0)
    x = np.linspace(2.0 * np.log(np.finfo(dtype.stored).tiny), 0, 100_003).astype(dtype.stored)
    function(x)
    assert not underflows(lambda: function(x))


@needs_flags
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("name", LIFTED)
def test_what_is_rounded_to_zero_does_not_underflow(name, dtype):
    """Each product that underflows takes a processor more than a hundred cycles."""
    function = compiled(name, dtype)
    below = {FLOAT32: -104.0, FLOAT64: -745.25}[dtype]
    x = np.array([below, 10 * below, -1e30, -np.inf], dtype.stored)
    assert not function(x).any()
    assert not underflows(lambda: function(x))
    assert underflows(lambda: function(np.array([below + 5.0], dtype.stored)))  # subnormal
