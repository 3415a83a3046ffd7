# SPDX-License-Identifier: Apache-2.0
"""Stages that readers use under a condition only are computed under it, where it is known."""

import numpy as np
import pytest
from te_support.interpreter import Interpreter, Memory
from te_support.kernels import buffer, index, kernel, loop

from axisfold.ir import build as ir
from axisfold.ir.expr import Compare, Load
from axisfold.ir.stmt import Allocate, For, If, Seq, Store
from axisfold.ir.verify import verify
from axisfold.ir.walk import post_order
from axisfold.passes.skip_stages import skip_stages

A = buffer("A", "int64", 8)
B = buffer("B", "int64", 8)
P = buffer("P", "int64", 1, scope="local")
Q = buffer("Q", "int64", 1, scope="local")
ZERO = index(0)


def summed(into, source):
    """``into[0] = Σ source(k) for k < 4``: a stage of its own."""
    turn = loop(
        4, lambda k: Store(into, ZERO, ir.binary("add", Load(into, ZERO), source(k))), name="k"
    )
    return [Store(into, ZERO, index(0)), turn]


def positive(at):
    return Compare("gt", Load(A, at), ZERO)


def chosen(condition, value, other=ZERO):
    return ir.select(condition, value, other)


def rounds(*reader, stage=None):
    """Eight rounds: the stage, then its readers."""

    def body(i):
        made = summed(P, lambda k: ir.binary("add", k, i)) if stage is None else stage(i)
        return Allocate(P, Seq((*made, *(r(i) for r in reader))))

    return kernel([A, B], [B], loop(8, body))


def guarded(program):
    """How many conditions stand in front of loops."""
    found = [n for n in post_order(program.body) if isinstance(n, If)]
    return sum(any(isinstance(m, For) for m in post_order(n.then)) for n in found)


def run(program):
    values = np.array([3, -1, 0, 5, -2, 7, 0, 1])
    out = np.full(8, -9)
    memory = {A: Memory(A, values.view("uint8")), B: Memory(B, out.view("uint8"))}
    Interpreter(memory=memory).run(program.body)
    return out


def same(program):
    skipped = skip_stages(program)
    verify(skipped)
    np.testing.assert_array_equal(run(skipped), run(program))
    return skipped


def test_a_stage_is_computed_where_it_is_used():
    skipped = same(rounds(lambda i: Store(B, i, chosen(positive(i), Load(P, ZERO)))))
    assert guarded(skipped) == 1
    want = [4 * i + 6 if a > 0 else 0 for i, a in enumerate([3, -1, 0, 5, -2, 7, 0, 1])]
    assert list(run(skipped)) == want


def test_the_other_side_of_a_choice_and_conditions_in_conditions():
    other = rounds(lambda i: Store(B, i, chosen(positive(i), index(5), Load(P, ZERO))))
    assert guarded(same(other)) == 1
    inner = rounds(
        lambda i: If(
            positive(i), Store(B, i, chosen(Compare("lt", i, index(5)), Load(P, ZERO), index(1)))
        )
    )
    assert guarded(same(inner)) == 2


def test_stages_of_stages_are_skipped_too():
    def stage(i):
        first = summed(Q, lambda k: ir.binary("mul", k, i))
        second = summed(P, lambda k: ir.binary("add", Load(Q, ZERO), k))
        reader = Store(B, i, chosen(positive(i), Load(P, ZERO)))
        return Allocate(Q, Seq((*first, Allocate(P, Seq((*second, reader))))))

    program = kernel([A, B], [B], loop(8, stage))
    assert guarded(same(program)) == 2


def test_readers_need_not_ask_for_the_same():
    fewer = rounds(
        lambda i: Store(B, i, chosen(positive(i), Load(P, ZERO))),
        lambda i: Store(
            B, ZERO, chosen(positive(i), chosen(Compare("lt", i, index(2)), Load(P, ZERO)))
        ),
    )
    assert guarded(same(fewer)) == 1


def test_a_stage_of_two_fields_is_skipped_as_one():
    def stage(i):
        both = [*summed(P, lambda k: k), *summed(Q, lambda k: ir.binary("mul", k, i))]
        value = ir.binary("add", Load(P, ZERO), Load(Q, ZERO))
        return Allocate(P, Allocate(Q, Seq((*both, Store(B, i, chosen(positive(i), value))))))

    assert guarded(same(kernel([A, B], [B], loop(8, stage)))) == 1


@pytest.mark.parametrize(
    "readers",
    [
        # Used without a condition, beside one with it, or in the condition.
        [lambda i: Store(B, i, Load(P, ZERO))],
        [
            lambda i: Store(B, i, chosen(positive(i), Load(P, ZERO))),
            lambda i: Store(B, ZERO, Load(P, ZERO)),
        ],
        [lambda i: Store(B, i, chosen(Compare("gt", Load(P, ZERO), ZERO), i))],
        # Under two conditions.
        [
            lambda i: Store(B, i, chosen(positive(i), Load(P, ZERO))),
            lambda i: Store(B, ZERO, chosen(positive(ZERO), Load(P, ZERO))),
        ],
        # The condition is another one in each round of the reader.
        [lambda i: loop(8, lambda j: Store(B, j, chosen(positive(j), Load(P, ZERO))), name="j")],
        # It is written between the stage and its reader, or in an earlier round of the reader.
        [
            lambda i: Store(B, i, ir.binary("sub", i, index(4))),
            lambda i: Store(B, i, chosen(Compare("gt", Load(B, i), ZERO), Load(P, ZERO))),
        ],
        [
            lambda i: loop(
                2,
                lambda j: Store(B, i, chosen(Compare("lt", Load(B, i), ZERO), Load(P, ZERO), j)),
                name="j",
            )
        ],
        # Nobody reads it.
        [lambda i: Store(B, i, i)],
    ],
)
def test_a_stage_stays_where_its_use_is_not_known_before(readers):
    program = rounds(*readers)
    assert skip_stages(program) is program


def test_a_stage_that_writes_something_else_stays():
    def stage(i):
        return [*summed(P, lambda k: k), Store(B, ZERO, i), *summed(P, lambda k: i)]

    program = rounds(lambda i: Store(B, i, chosen(positive(i), Load(P, ZERO))), stage=stage)
    assert skip_stages(program) is program


def test_an_array_that_is_evaluated_without_being_used_stays_written():
    R = buffer("R", "int64", 2, scope="local")

    def stage(i):
        fill = loop(2, lambda k: Store(R, k, ir.binary("add", k, i)), name="k")
        return Allocate(R, Seq((fill, Store(B, i, chosen(positive(i), Load(R, index(1)))))))

    program = kernel([A, B], [B], loop(8, stage))
    assert skip_stages(program) is program


def test_the_guard_of_a_tail_is_no_such_condition():
    def inside(i, stmt):
        return If(ir.likely(Compare("lt", i, index(5))), stmt)

    def stage(i):
        return [inside(i, Seq(tuple(summed(P, lambda k: k))))]

    program = rounds(lambda i: inside(i, Store(B, i, Load(P, ZERO))), stage=stage)
    assert skip_stages(program) is program
    asked = rounds(
        lambda i: inside(i, Store(B, i, chosen(positive(i), Load(P, ZERO)))), stage=stage
    )
    assert guarded(same(asked)) == 2  # the choice's condition, and the guard in it


def test_what_takes_no_loop_is_not_worth_a_branch():
    program = rounds(
        lambda i: Store(B, i, chosen(positive(i), Load(P, ZERO))),
        stage=lambda i: [Store(P, ZERO, i)],
    )
    assert skip_stages(program) is program


def turns_under(condition, *, otherwise=None):
    """A reader that runs twice, under a condition that its rounds ask."""

    def reader(i):
        def turn(j):
            return If(condition(i), Store(B, i, ir.binary("add", Load(P, ZERO), j)), otherwise)

        return loop(2, turn, name="j")

    return reader


def test_readers_that_do_nothing_else_come_under_the_same_condition():
    skipped = same(rounds(turns_under(positive)))
    (one,) = (n for n in post_order(skipped.body) if isinstance(n, If))
    assert sum(isinstance(n, For) for n in post_order(one.then)) == 2


def test_readers_that_do_more_keep_their_own_condition():
    skipped = same(rounds(turns_under(positive, otherwise=Store(B, ZERO, index(4)))))
    assert sum(isinstance(n, If) for n in post_order(skipped.body)) == 2
