# SPDX-License-Identifier: Apache-2.0
"""Multipliers take additions where adders have more to do, and nothing but the time changes."""

import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, loop

from axisfold.build import Compiled
from axisfold.codegen.llvm import Machine, emit_kernel
from axisfold.dtypes import FLOAT64
from axisfold.ir import build
from axisfold.ir.expr import Binary, Broadcast, Call, Cast, Load, Ramp
from axisfold.ir.stmt import Allocate, For, Store
from axisfold.ir.walk import rewrite
from axisfold.runtime import cpu

ZEN = Machine(32, 16, has_adders=True)
LANES, ROUNDS = 4, 9
WIDE = FLOAT64.with_lanes(LANES)
ONE = Broadcast(build.const(1.0, FLOAT64), LANES)


def lanes(n, count):
    return Ramp(index(n * count), index(1), count)


def element(A, i, n, states):
    place = Binary("add", Binary("mul", i, index(states * LANES)), index(n * LANES))
    return Load(A, Ramp(place, index(1), LANES))


def widened(A, i, n, states):
    return Cast(element(A, i, n, states), WIDE)


def folded(step, states, width=LANES):
    """Return a kernel that folds A into states by lanes: ``step`` gets state, A, round, number."""
    A, B = buffer("A", "float32", ROUNDS * states * width), buffer("B", "float64", states * width)
    P = buffer("P", "float64", states * width, scope="local")
    zero = Broadcast(build.const(-0.0, FLOAT64), width)
    places = [lanes(n, width) for n in range(states)]

    def round_of(i):
        parts = [step(Load(P, p), A, i, n, states) for n, p in enumerate(places)]
        return build.seq(*(Store(P, p, part) for p, part in zip(places, parts, strict=True)))

    body = build.seq(
        *(Store(P, p, zero) for p in places),
        loop(ROUNDS, round_of),
        *(Store(B, p, Load(P, p)) for p in places),
    )
    return kernel([A, B], [B], Allocate(P, body))


def plain(state, *place):
    return Binary("add", state, widened(*place))


def twice(state, *place):
    return plain(plain(state, *place), *place)


def apart(state, *place):
    """Two differences that the next round does not wait for."""
    x = widened(*place)
    return Binary("add", state, Binary("sub", Binary("sub", x, Binary("mul", x, x)), x))


def cubes(state, *place):
    x = widened(*place)
    return Binary("add", state, Binary("mul", x, Binary("mul", x, Binary("sub", x, ONE))))


def powers(state, *place):
    x = widened(*place)
    return Binary("add", state, Binary("mul", x, Binary("mul", x, Binary("mul", x, x))))


def called(state, *place):
    return Binary("add", state, Call("exp", (widened(*place),), WIDE))


def counts(program, machine=ZEN):
    """Return how many additions and how many fused products the loop has."""
    text = emit_kernel(program, machine)
    rounds = next(part for part in text.split("br label %loop") if "%held" in part)
    return len(re.findall("= f(?:add|sub) <", rounds)), rounds.count("@llvm.fma.")


@pytest.mark.parametrize(
    ("step", "states", "wanted"),
    [
        pytest.param(plain, 8, (0, 8), id="as many conversions"),
        pytest.param(plain, 2, (2, 0), id="the next round waits"),
        pytest.param(twice, 8, (8, 8), id="the next round waits for both"),
        pytest.param(apart, 2, (3, 3), id="those first that it does not wait for"),
        pytest.param(cubes, 8, (12, 4), id="fewer products"),
        pytest.param(powers, 8, (8, 0), id="more products"),
        pytest.param(plain, 10, (0, 10), id="just enough registers"),
        pytest.param(plain, 11, (11, 0), id="too few registers"),
        pytest.param(called, 8, (8, 0), id="functions, which multiply most"),
    ],
)
def test_both_ports_have_as_much_to_do(step, states, wanted):
    program = folded(step, states)
    assert counts(program) == wanted
    assert counts(program, Machine(32, 16)) == (sum(wanted), 0)


def test_rests_stay_as_they_are():
    def rule(node):
        is_loop = isinstance(node, For) and node.kind == "serial"
        return replace(node, kind="rolled") if is_loop else node

    program = folded(plain, 8)
    assert counts(replace(program, body=rewrite(program.body, rule))) == (8, 0)


def test_wide_vectors_are_several_registers():
    """A product of eight float32 takes one register, to widen and to add it takes two each."""
    wide = FLOAT64.with_lanes(8)

    def step(state, A, i, n, states):
        place = Binary("add", Binary("mul", i, index(states * 8)), index(n * 8))
        x = Load(A, Ramp(place, index(1), 8))
        return Binary("add", state, Cast(Binary("mul", x, x), wide))

    assert counts(folded(step, 4, 8), ZEN) == (1, 3)
    assert counts(folded(step, 4, 8), Machine(64, 32, has_adders=True)) == (
        4,
        0,
    )  # the next round would wait
    assert counts(folded(step, 6, 8), ZEN) == (6, 0)  # 12 registers are taken


@pytest.mark.parametrize("step", [plain, twice, apart])
def test_results_have_the_same_bits(monkeypatch, step):
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(ROUNDS * 8 * LANES) * 10.0 ** rng.integers(-30, 30)).astype("float32")
    x[::7] = rng.choice(np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38]), x[::7].size)
    x.reshape(ROUNDS, 8, LANES)[:, 3] = -0.0
    module, found = import_module("axisfold.build"), []
    for machine in (ZEN, Machine(32, 16)):
        monkeypatch.setattr(module, "host_machine", lambda machine=machine: machine)
        out = np.full(8 * LANES, 7.0)
        program = Compiled(folded(step, 8))
        assert ("@llvm.fma." in program.source()) == machine.has_adders
        program.run([x.ctypes.data, out.ctypes.data], [])
        found.append(out)
    np.testing.assert_array_equal(found[0], found[1])
    numbers = ~np.isnan(found[0])
    np.testing.assert_array_equal(np.signbit(found[0][numbers]), np.signbit(found[1][numbers]))


@pytest.mark.parametrize(
    ("name", "features", "machine"),
    [
        ("znver3", "+avx2,+fma", Machine(32, 16, has_adders=True)),
        ("znver4", "+avx2,+avx512f,+fma", Machine(64, 32, has_adders=True)),
        ("znver3", "+avx2", Machine(32, 16, fuses=False)),
        ("skylake-avx512", "+avx2,+avx512f,+fma", Machine(64, 32)),
        ("nocona", "", Machine(16, 16, fuses=False)),
    ],
)
def test_what_a_machine_has(monkeypatch, name, features, machine):
    monkeypatch.setattr(cpu, "_host", lambda: (name, features))
    assert cpu.host_machine() == machine
