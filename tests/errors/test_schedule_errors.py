# SPDX-License-Identifier: Apache-2.0
"""Illegal schedules, one a test: class, code and full message; the schedule stays as it was."""

import pytest

from axisfold import te
from axisfold.build import build, lower
from axisfold.dtypes import INT32
from axisfold.errors import ScheduleError
from axisfold.tensor.compute import make_compute
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.reducer import Reducer
from axisfold.tensor.trace import Member, trace


class Rows:
    """B = sum of the rows of T, T = A + 1, all of symbolic extents."""

    def __init__(self):
        n, m = te.var("n"), te.var("m")
        self.A = te.placeholder((n, m), name="A")
        self.T = te.compute((n, m), lambda i, j: self.A[i, j] + 1, name="T")
        self.k = te.reduce_axis((0, m), "k")
        self.B = te.compute((n,), lambda i: te.sum(self.T[i, self.k], axis=self.k), name="B")
        self.C = te.compute((n,), lambda i: self.B[i] * 2, name="C")
        self.s = te.create_schedule(self.C.op)
        self.i = self.B.op.axis[0]


def state(schedule):
    """Everything about a schedule that a primitive could change."""
    return [
        (
            stage,
            stage.op,
            list(stage.leaf_axes),
            list(stage.relations),
            dict(stage.loop_kinds),
            stage.attachment,
        )
        for stage in schedule.stages
    ], list(schedule.trace.steps)


def refused(schedule, code, action):
    before = state(schedule)
    with pytest.raises(ScheduleError) as caught:
        action()
    assert state(schedule) == before
    assert caught.value.code == code
    assert type(caught.value) is ScheduleError
    return str(caught.value).removesuffix(f" [axisfold-{code}]")


@pytest.fixture
def p():
    return Rows()


def test_s001_no_tensor(p):
    assert refused(p.s, "S001", lambda: p.s["B"]) == "s['B']: not a tensor or operation."


def test_s002_tensor_of_another_schedule(p):
    other = te.compute((3,), lambda i: i, name="other")
    assert refused(p.s, "S002", lambda: p.s[other]) == (
        "'other' is no stage of this schedule. Its stages are ['A', 'T', 'B', 'C']."
    )


def test_s003_a_placeholder_needs_no_schedule(p):
    assert refused(p.s, "S003", lambda: te.create_schedule(p.A.op)) == (
        "create_schedule needs computations, and 'A' is none. Pass B.op of a tensor made by "
        "te.compute."
    )


def test_s003_no_tensor(p):
    assert refused(p.s, "S003", lambda: te.create_schedule([3])) == (
        "create_schedule needs computations, and 3 is none. Pass B.op of a tensor made by "
        "te.compute."
    )


def test_s003_nothing(p):
    assert refused(p.s, "S003", lambda: te.create_schedule([])) == (
        "create_schedule needs at least one operation."
    )


def test_s101_no_axis(p):
    assert refused(p.s, "S101", lambda: p.s[p.B].split("k", factor=2)) == (
        "split: 'k' is not an axis."
    )


def test_s102_already_split(p):
    p.s[p.B].split(p.k, factor=2)
    assert refused(p.s, "S102", lambda: p.s[p.B].split(p.k, factor=2)) == (
        "split: axis 'k' of stage 'B' was already split into 'k.outer' and 'k.inner'. Use one of "
        "these."
    )


def test_s103_axis_from_before_rfactor(p):
    p.s.rfactor(p.B, p.k)
    assert refused(p.s, "S103", lambda: p.s[p.B].unroll(p.i)) == (
        "unroll: axis 'i' is not part of stage 'B'. Its leaves are ['ax0', 'k.v']; after rfactor "
        "re-read s[B].op.axis and s[B].op.reduce_axis."
    )


def test_s103_axis_object_of_two_reductions():
    A = te.placeholder((te.var("n"),), name="A")
    k = te.reduce_axis((0, A.shape[0]), "k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    X = te.compute((), lambda: te.max(A[k], axis=k), name="X")
    s = te.create_schedule([S.op, X.op])
    assert refused(s, "S103", lambda: s[X].split(k, nparts=8)) == (
        "split: axis 'k' belongs to stage 'S' and not to 'X'. Use s[X].op.axis and "
        "s[X].op.reduce_axis."
    )
    s[X].split(s[X].op.reduce_axis[0], nparts=8)


def test_s111_both(p):
    assert refused(p.s, "S111", lambda: p.s[p.B].split(p.k, factor=2, nparts=2)) == (
        "split of axis 'k' needs either factor= or nparts=, but both were given."
    )


def test_s111_neither(p):
    assert refused(p.s, "S111", lambda: p.s[p.B].split(p.k)) == (
        "split of axis 'k' needs either factor= or nparts=, but neither was given."
    )


@pytest.mark.parametrize("factor", [0, -2, 1.5, 16.0, True, "4", 2**31])
def test_s112_bad_factor(p, factor):
    assert refused(p.s, "S112", lambda: p.s[p.B].split(p.k, factor=factor)) == (
        f"split of axis 'k': factor={factor!r} is not a positive int32."
    )


def test_s112_bad_parts(p):
    assert refused(p.s, "S112", lambda: p.s[p.B].split(p.k, nparts=0)) == (
        "split of axis 'k': nparts=0 is not a positive int32."
    )


def test_s113_a_stage_is_computed_there(p):
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert refused(p.s, "S113", lambda: p.s[p.B].split(p.i, factor=2)) == (
        "split of axis 'i' of stage 'B': stage 'T' is computed at it. Split first, then "
        "compute_at one of the parts."
    )


def test_s114_already_unrolled(p):
    _, inner = p.s[p.B].split(p.k, factor=8)
    p.s[p.B].unroll(inner)
    assert refused(p.s, "S114", lambda: p.s[p.B].split(inner, factor=2)) == (
        "split of axis 'k.inner' of stage 'B': it is already unrolled. Split first, then vectorize "
        "or unroll one of the parts."
    )


def test_s121_named_twice(p):
    assert refused(p.s, "S121", lambda: p.s[p.B].reorder(p.k, p.i, p.k)) == (
        "reorder of stage 'B' names an axis twice: ['k', 'i', 'k']."
    )


def triangle():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    found = {}

    def body(i):
        found["k"] = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, found["k"]], axis=found["k"])

    B = te.compute((n,), body, name="B")
    return te.create_schedule(B.op), A, B, found["k"]


def test_s122_bounds_that_would_read_an_inner_axis():
    s, _, B, k = triangle()
    assert refused(s, "S122", lambda: s[B].reorder(k, B.op.axis[0])) == (
        "reorder of stage 'B': the bounds of axis 'k' read axis 'i', which would lie inside it."
    )


def test_s122_bounds_that_would_read_a_part_of_an_axis():
    s, _, B, k = triangle()
    _, inner = s[B].split(B.op.axis[0], factor=4)
    outer, _ = s[B].split(k, factor=4)
    assert refused(s, "S122", lambda: s[B].reorder(outer, inner)) == (
        "reorder of stage 'B': the bounds of axis 'k.outer' read axis 'i.inner', which would lie "
        "inside it."
    )


def ordered():
    last = Reducer("last", {"v": "input"}, 0, lambda x: x, lambda a, b: b.v, facts=("ordered",))
    combiner = trace([Member(last)], [INT32]).combiner
    A = te.placeholder((4, 6), "int32", name="A")
    k1, k2 = te.reduce_axis((0, 4), "k1"), te.reduce_axis((0, 6), "k2")
    B = make_compute("B", (), make_reduce(combiner, [A[k1, k2]], [k1, k2])).output(0)
    return te.create_schedule(B.op), B, k1, k2


def test_s123_order_of_an_ordered_reducer():
    s, B, k1, k2 = ordered()
    assert refused(s, "S123", lambda: s[B].reorder(k2, k1)) == (
        "reorder of stage 'B': its reducer is ordered, so the reduce axes ['k1', 'k2'] keep their "
        "order."
    )


def test_s131_vectorized_reduce_axis(p):
    _, inner = p.s[p.B].split(p.k, factor=8)
    assert refused(p.s, "S131", lambda: p.s[p.B].vectorize(inner)) == (
        "vectorize of axis 'k.inner' of stage 'B': it is a reduce axis, whose rounds update the "
        "same element. Make it a data axis first: s.rfactor(B, k.inner)."
    )


def test_s132_vectorized_variable_extent(p):
    assert refused(p.s, "S132", lambda: p.s[p.B].vectorize(p.i)) == (
        "vectorize of axis 'i' of stage 'B': its extent is not a constant of at most 256. Split "
        "it by the number of lanes and vectorize the inner part."
    )


def test_s141_unrolled_variable_extent(p):
    assert refused(p.s, "S141", lambda: p.s[p.B].unroll(p.k)) == (
        "unroll of axis 'k' of stage 'B': its extent is not a constant of at most 1024. Split it "
        "and unroll the inner part."
    )


def test_s150_no_stage(p):
    assert refused(p.s, "S150", lambda: p.s[p.T].compute_at(p.B, p.i)) == (
        "compute_at of stage 'T': Tensor(B, rank 1, float32) is not a stage. Write "
        "s[A].compute_at(s[B], axis)."
    )


def test_s151_output(p):
    assert refused(p.s, "S151", lambda: p.s[p.C].compute_at(p.s[p.B], p.i)) == (
        "compute_at of stage 'C': it is an output."
    )


def test_s151_placeholder(p):
    assert refused(p.s, "S151", lambda: p.s[p.A].compute_at(p.s[p.B], p.i)) == (
        "compute_at of stage 'A': it is a placeholder."
    )


def test_s152_itself(p):
    assert refused(p.s, "S152", lambda: p.s[p.B].compute_at(p.s[p.B], p.i)) == (
        "compute_at of stage 'B': stage 'B' is itself or lies inside it."
    )


def test_s152_cycle(p):
    p.s[p.T].compute_at(p.s[p.B], p.i)
    at = p.T.op.axis[0]
    assert refused(p.s, "S152", lambda: p.s[p.B].compute_at(p.s[p.T], at)) == (
        "compute_at of stage 'B': stage 'T' is itself or lies inside it."
    )


def test_s153_consumer_elsewhere(p):
    s = te.create_schedule([p.B.op, p.C.op])  # B is an output, so it stays where it is
    at = p.C.op.axis[0]
    assert refused(s, "S153", lambda: s[p.T].compute_at(s[p.C], at)) == (
        "compute_at of stage 'T' at 'C': its consumer 'B' is not computed inside 'C'. Attach 'B' "
        "there first."
    )


def test_s154_consumer_outside_the_loop(p):
    outer, inner = p.s[p.C].split(p.C.op.axis[0], factor=4)
    p.s[p.B].compute_at(p.s[p.C], outer)
    p.s[p.T].compute_at(p.s[p.C], inner)
    assert refused(p.s, "S154", lambda: lower(p.s, [p.A, p.C])) == (
        "stage 'T' is computed at axis 'i.inner' of stage 'C', but stage 'B' reads it outside of "
        "that loop. Attach it further out."
    )


def test_s154_a_start_is_read_before_the_reduce_loops():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    S = te.compute((n,), lambda i: A[i, 0], name="S")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, init=S[i]), name="B")
    s = te.create_schedule(B.op)
    s[S].compute_at(s[B], k)
    assert refused(s, "S154", lambda: build(s, [A, B])) == (
        "stage 'S' is computed at axis 'k' of stage 'B', but stage 'B' reads it outside of that "
        "loop. Attach it further out."
    )


def test_s161_no_reduction(p):
    assert refused(p.s, "S161", lambda: p.s.rfactor(p.T, p.T.op.axis[0])) == (
        "rfactor of stage 'T': it is no reduction."
    )


def test_s162_data_axis(p):
    assert refused(p.s, "S162", lambda: p.s.rfactor(p.B, p.i)) == (
        "rfactor of stage 'B': axis 'i' is a data axis. Only a reduce axis can be factored."
    )


def test_s163_extent_of_its_own_for_each_row():
    s, _, B, k = triangle()
    assert refused(s, "S163", lambda: s.rfactor(B, k)) == (
        "rfactor of stage 'B': the extent of axis 'k' depends on another axis, so the partial "
        "results would not be rectangular. Split it by a constant and factor the inner part."
    )


@pytest.mark.parametrize("slot", [2, -3])
def test_s164_factor_axis_out_of_range(p, slot):
    assert refused(p.s, "S164", lambda: p.s.rfactor(p.B, p.k, factor_axis=slot)) == (
        f"rfactor of stage 'B': factor_axis={slot} is not in [-2, 1]."
    )


def test_s165_inner_axis_of_an_ordered_reducer():
    s, B, _, k2 = ordered()
    assert refused(s, "S165", lambda: s.rfactor(B, k2)) == (
        "rfactor of stage 'B': its reducer is ordered, so only the outermost reduce axis 'k1' can "
        "be factored."
    )


def test_s166_a_stage_is_computed_inside(p):
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert refused(p.s, "S166", lambda: p.s.rfactor(p.B, p.k)) == (
        "rfactor of stage 'B': stage 'T' is computed at its axis 'i'. Call rfactor before "
        "compute_at."
    )


def test_s167_other_bounds_read_the_split_axis():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    k1 = te.reduce_axis((0, n), "k1")
    k2 = te.reduce_axis((0, k1 + 1), "k2")
    B = te.compute((), lambda: te.sum(A[k1, k2], axis=[k1, k2]), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(k1, factor=4)
    assert refused(s, "S167", lambda: s.rfactor(B, inner)) == (
        "rfactor of stage 'B': the bounds of axis 'k2' read axis 'k1', of which 'k1.inner' is a "
        "part. Factor 'k1' as a whole, without splitting it."
    )
