# SPDX-License-Identifier: Apache-2.0
"""Where a loop reads from at places that move evenly, pointers of its own do."""

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, loop, run

from axisfold.codegen.llvm import emit_kernel
from axisfold.codegen.llvm.induction import MOST
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Binary, Load, Var
from axisfold.ir.stmt import Allocate, For, Let, Store

SIZE, ROUNDS = 64, 5


def folded(*places, kind="serial", begin=0):
    """Return a kernel that adds up elements of A: those at some places of each round."""
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", 1)
    i = Var("i", INT64)
    total = Load(B, index(0))
    for place in places:
        total = Binary("add", total, Load(A, place(i)))
    rounds = For(i, index(begin), index(ROUNDS), kind, Store(B, index(0), total))
    return kernel([A, B], [B], rounds)


def added(program):
    found = np.zeros(1, np.int64)
    run(program, np.arange(SIZE) ** 2, found)
    return found[0]


@pytest.mark.parametrize("begin", [0, 3])
@pytest.mark.parametrize(
    "place",
    [lambda i: i, lambda i: i * 4 + 2, lambda i: 2 + (i + 1) * 3, lambda i: 50 - (i * 5 - i)],
)
def test_places_that_move_evenly_have_a_pointer(place, begin):
    program = folded(place, begin=begin)
    assert added(program) == sum(place(i) ** 2 for i in range(begin, begin + ROUNDS))
    text = emit_kernel(program)
    assert text.count(" = phi ptr ") == 1
    assert "getelementptr i64, ptr %A, i64 %i" not in text


def test_neighbours_share_a_pointer_and_rows_do_not():
    assert emit_kernel(folded(lambda i: i * 4, lambda i: i * 4 + 3)).count(" = phi ptr ") == 1
    program = folded(lambda i: i * 4, lambda i: i * 3)
    assert emit_kernel(program).count(" = phi ptr ") == 2
    assert added(program) == sum((i * 4) ** 2 + (i * 3) ** 2 for i in range(ROUNDS))


@pytest.mark.parametrize(
    "place", [lambda i: i * i, lambda i: i // 2, lambda i: Binary("min", i, index(3))]
)
def test_places_that_move_in_other_ways_have_none(place):
    program = folded(place)
    assert " = phi ptr " not in emit_kernel(program)
    assert added(program) > 0


def test_places_on_the_stack_have_none():
    A, B = buffer("A", "int64", ROUNDS), buffer("B", "int64", 1)
    P = buffer("P", "int64", ROUNDS, scope="local")
    copied = loop(ROUNDS, lambda i: Store(P, i, Load(A, i)), "j")
    added = loop(ROUNDS, lambda i: Store(B, index(0), Load(B, index(0)) + Load(P, i) * Load(A, i)))
    program = kernel([A, B], [B], Allocate(P, build.seq(copied, added)))
    assert emit_kernel(program).count(" = phi ptr ") == 2  # of A, in each loop
    found = np.zeros(1, np.int64)
    run(program, np.arange(ROUNDS) + 1, found)
    assert found[0] == sum((i + 1) ** 2 for i in range(ROUNDS))


def test_places_that_other_elements_tell_have_none():
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    program = kernel(
        [A, B], [B], loop(ROUNDS, lambda i: Store(B, i, Load(A, Load(A, i * 2) + i)), "i")
    )
    assert emit_kernel(program).count(" = phi ptr ") == 1
    given, found = np.arange(SIZE) // 2, np.zeros(SIZE, np.int64)
    run(program, given, found)
    assert found[:ROUNDS].tolist() == [given[given[2 * i] + i] for i in range(ROUNDS)]


def test_places_that_memory_tells_are_looked_up_in_each_round():
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", 1)
    step = loop(ROUNDS, lambda i: Store(B, index(0), Load(A, i * 2 + Load(B, index(0)))))
    given, found, wanted = np.arange(SIZE) ** 2 % 7, np.ones(1, np.int64), 1
    run(kernel([A, B], [B], step), given, found)
    for i in range(ROUNDS):
        wanted = given[2 * i + wanted]
    assert found[0] == wanted


def test_places_that_a_name_of_the_round_tells_have_none():
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    far = Var("far", INT64)
    program = kernel(
        [A, B],
        [B],
        loop(ROUNDS, lambda i: Let(far, i // 2, Store(B, i, Load(A, i * 2 + far))), "i"),
    )
    assert " = phi ptr " not in emit_kernel(program)
    given, found = np.arange(SIZE) ** 2, np.zeros(SIZE, np.int64)
    run(program, given, found)
    assert found[:ROUNDS].tolist() == [given[2 * i + i // 2] for i in range(ROUNDS)]


def test_rests_and_what_is_written_have_none():
    assert " = phi ptr " not in emit_kernel(folded(lambda i: i, kind="rolled"))
    A = buffer("A", "int64", SIZE)
    program = kernel([A], [A], loop(ROUNDS, lambda i: Store(A, i * 2, Load(A, i) + 1), "i"))
    assert " = phi ptr " not in emit_kernel(program)
    found = np.arange(SIZE)
    run(program, found)
    wanted = np.arange(SIZE)
    for i in range(ROUNDS):
        wanted[i * 2] = wanted[i] + 1
    np.testing.assert_array_equal(found, wanted)


def test_registers_are_left_for_states():
    places = [lambda i, n=n: i * (n + 1) for n in range(MOST + 1)]
    assert emit_kernel(folded(*places[:-1])).count(" = phi ptr ") == MOST
    program = folded(*places)
    assert " = phi ptr " not in emit_kernel(program)
    assert added(program) == sum((i * (n + 1)) ** 2 for i in range(ROUNDS) for n in range(MOST + 1))
