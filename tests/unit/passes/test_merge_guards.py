# SPDX-License-Identifier: Apache-2.0
"""Guards that are asked once, and those that must be asked again."""

import pytest
from te_support.kernels import buffer, index, kernel

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Load, Var
from axisfold.ir.stmt import For, If, Seq, Store
from axisfold.passes.merge_guards import merge_guards

ROW, N = Var("row", INT64), Var("n", INT64, is_size=True)
A = buffer("A", "int64", 99)
GUARD, OTHER = build.likely(ROW < N), build.likely(ROW < N + 1)


def put(place):
    return Store(A, index(place), index(1))


def merged(*statements):
    program = kernel([A], [A], *statements)
    return merge_guards(program), program


def test_neighbours_of_one_guard_are_one_branch():
    result, _ = merged(If(GUARD, put(0)), If(GUARD, put(1)), If(OTHER, put(2)), If(GUARD, put(3)))
    assert [s.condition for s in result.body.body] == [GUARD, OTHER, GUARD]
    assert result.body.body[0].then == Seq((put(0), put(1)))


@pytest.mark.parametrize(
    ("inner", "left"),
    [(GUARD, None), (build.bare(GUARD), None), (build.all_of([GUARD, OTHER]), OTHER)],
)
def test_what_a_branch_around_has_asked_is_not_asked_again(inner, left):
    k = Var("k", INT64)
    result, _ = merged(If(GUARD, For(k, index(0), N, "serial", If(inner, put(0)))))
    assert result.body.then.body == (put(0) if left is None else If(left, put(0)))


def test_the_other_side_of_a_branch_knows_nothing():
    result, program = merged(If(GUARD, put(0), If(GUARD, put(1))))
    assert result is program


def test_conditions_that_read_memory_are_asked_again():
    reads = Load(A, ROW) < N
    result, program = merged(If(reads, Seq((put(0), If(reads, put(1))))), If(reads, put(2)))
    assert result is program


def test_branches_of_two_sides_stay_apart():
    result, program = merged(If(GUARD, put(0), put(1)), If(GUARD, put(2)))
    assert result is program
