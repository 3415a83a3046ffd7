# SPDX-License-Identifier: Apache-2.0
"""Loops hold places of private memory in registers, and leave in memory what belongs there."""

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, loop, run

from axisfold.codegen.llvm import emit_kernel
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Binary, Call, Load, Ramp, Select, Var
from axisfold.ir.stmt import Allocate, If, Let, Store

SIZE, ROUNDS, LANES = 24, 5, 4


def vector(place):
    return Ramp(place if not isinstance(place, int) else index(place), index(1), LANES)


def in_private_memory(make):
    """Return a kernel that copies A to private memory, runs a loop there, and copies it back."""
    A, P = buffer("A", "int64", SIZE), buffer("P", "int64", SIZE, scope="local")
    body = build.seq(
        loop(SIZE, lambda i: Store(P, i, Load(A, i)), "before"),
        make(P),
        loop(SIZE, lambda i: Store(A, i, Load(P, i)), "behind"),
    )
    return kernel([A], [A], Allocate(P, body))


def ran(program):
    found = np.arange(SIZE) * 3
    run(program, found)
    return found


def more(P, place, by):
    return Store(P, place, Binary("add", Load(P, place), by))


def test_states_that_are_folded_into_are_not_in_memory():
    one = build.const(1, INT64)
    program = in_private_memory(
        lambda P: loop(ROUNDS, lambda i: build.seq(*(more(P, index(n), one) for n in (0, 1, 7))))
    )
    wanted = np.arange(SIZE) * 3
    wanted[[0, 1, 7]] += ROUNDS
    np.testing.assert_array_equal(ran(program), wanted)
    (rounds,) = [
        b for b in emit_kernel(program).split("br label %loop") if "%held" in b and "add i64" in b
    ]
    assert "store" not in rounds
    assert "load" not in rounds


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("rounds", [0, ROUNDS])
def test_what_a_loop_writes_is_not_written_before_it(rounds, is_read):
    """Unless it is read between the two, other than as a value that is known."""
    one, at = build.const(1, INT64), index(4)

    def make(P):
        again = [Store(P, vector(12), Load(P, vector(2)))] if is_read else []
        body = loop(rounds, lambda i: more(P, at, one), "inner")
        return build.seq(Store(P, at, index(50)), *again, body)

    program = in_private_memory(make)
    wanted = np.arange(SIZE) * 3
    wanted[4] = 50
    if is_read:
        wanted[12:16] = wanted[2:6]
    wanted[4] += rounds
    np.testing.assert_array_equal(ran(program), wanted)
    assert ("store i64 50" in emit_kernel(program)) == is_read


@pytest.mark.parametrize("rounds", [0, 1, ROUNDS])
def test_loops_around_know_where_the_states_are(rounds):
    """The place varies with the loop outside, and is the same in the loop that holds it."""

    def make(P):
        def outer(o):
            place = vector(Binary("mul", o, index(LANES)))
            return loop(rounds, lambda i: more(P, place, vector(i)), "inner")

        return loop(3, outer, "outer")

    wanted = np.arange(SIZE) * 3
    for n in range(rounds):
        wanted[:12] += np.tile(n + np.arange(LANES), 3)
    np.testing.assert_array_equal(ran(in_private_memory(make)), wanted)


def variants():
    two = build.const(2, INT64)
    own = Var("own", INT64)
    return {
        "a place that varies": lambda P, i: build.seq(more(P, index(3), two), more(P, i, two)),
        "a place that is read from memory": lambda P, i: build.seq(
            Store(P, index(0), index(0)), more(P, Load(P, index(0)), two)
        ),
        "places that overlap": lambda P, i: build.seq(
            Store(P, vector(2), Load(P, vector(0))), more(P, index(3), two)
        ),
        "a name of the round's": lambda P, i: Let(
            own, Binary("floordiv", i, index(2)), more(P, own, two)
        ),
        "a branch": lambda P, i: build.seq(
            more(P, index(1), two),
            If(build.compare("gt", i, index(1)), more(P, index(1), Load(P, index(2)))),
        ),
        "lanes that lie apart": lambda P, i: build.seq(
            more(P, index(4), two), Store(P, Ramp(index(0), index(2), LANES), vector(i))
        ),
        "lanes under a mask": lambda P, i: Store(
            P,
            vector(4),
            Select(
                build.compare("lt", vector(0), build.broadcast(i, LANES)),
                Binary("add", Load(P, vector(4)), build.broadcast(two, LANES)),
                Load(P, vector(4)),
            ),
            build.compare("ge", vector(0), build.broadcast(index(1), LANES)),
        ),
    }


def act(name, memory, n):
    """Do what a round does to a list of numbers."""
    if name == "a place that varies":
        memory[3] += 2
        memory[n] += 2
    elif name == "a place that is read from memory":
        memory[0] = 0
        memory[0] += 2
    elif name == "places that overlap":
        memory[2:6] = memory[0:4]
        memory[3] += 2
    elif name == "a name of the round's":
        memory[n // 2] += 2
    elif name == "a branch":
        memory[1] += 2
        memory[1] += memory[2] if n > 1 else 0
    elif name == "lanes that lie apart":
        memory[4] += 2
        memory[0:8:2] = [n + lane for lane in range(LANES)]
    else:
        for lane in range(1, LANES):
            memory[4 + lane] += 2 if lane < n else 0


@pytest.mark.parametrize("name", variants())
def test_other_accesses_of_the_same_memory(name):
    program = in_private_memory(lambda P: loop(ROUNDS, lambda i: variants()[name](P, i)))
    wanted = (np.arange(SIZE) * 3).tolist()
    for n in range(ROUNDS):
        act(name, wanted, n)
    np.testing.assert_array_equal(ran(program), wanted)


@pytest.mark.parametrize("name", ["exp", "exp_nonpositive", "log1p"])
def test_many_calls_side_by_side_have_their_constants_without_a_table(name):
    size, lanes = 16 * 8 * 3, 8
    A, B = buffer("A", "float32", size), buffer("B", "float32", size)

    def calls(count):
        def body(i):
            first = Binary("mul", i, index(count * lanes))
            places = [
                Ramp(Binary("add", first, index(n * lanes)), index(1), lanes) for n in range(count)
            ]
            loads = [Load(A, place) for place in places]
            called = [Call(name, (value,), value.dtype) for value in loads]
            return build.seq(*(Store(B, p, c) for p, c in zip(places, called, strict=True)))

        return kernel([A, B], [B], loop(size // (count * lanes), body))

    few, many = emit_kernel(calls(2)), emit_kernel(calls(16))
    assert ("constants" in few, "constants" in many) == (True, False)
    x = -np.random.default_rng(0).random(size, dtype="float32")
    found = [np.zeros_like(x) for _ in range(2)]
    for count, out in zip((2, 16), found, strict=True):
        run(calls(count), x, out)
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all()
