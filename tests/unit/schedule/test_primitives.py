# SPDX-License-Identifier: Apache-2.0
"""What each primitive does to a stage; whole programs are in tests/golden and tests/property."""

import pytest

from axisfold import te
from axisfold.build import lower
from axisfold.tensor.reducer import Reducer


def rows(n=None, m=None):
    n, m = n or te.var("n"), m or te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B


def names(stage):
    return [axis.name for axis in stage.leaf_axes]


def extents(stage):
    return [str(axis.extent) for axis in stage.leaf_axes]


def test_split_by_factor_and_by_parts():
    s, _, B = rows()
    outer, inner = s[B].split(B.op.axis[0], factor=8)
    s[B].split(B.op.reduce_axis[0], nparts=4)
    assert (outer.name, inner.name) == ("i.outer", "i.inner")
    assert names(s[B]) == ["i.outer", "i.inner", "k.outer", "k.inner"]
    assert extents(s[B]) == ["floordiv((n + 7), 8)", "8", "4", "floordiv((m + 3), 4)"]
    assert [axis.kind for axis in s[B].leaf_axes] == ["data", "data", "reduce", "reduce"]


def test_a_known_extent_tightens_a_split():
    s, _, B = rows(5, 3)
    s[B].split(B.op.axis[0], factor=8)
    s[B].split(B.op.reduce_axis[0], nparts=4)
    assert extents(s[B]) == ["1", "5", "3", "1"]


@pytest.mark.parametrize(
    ("extent", "how", "is_guarded"),
    [
        (16, {"factor": 4}, False),
        (16, {"factor": 5}, True),
        (16, {"nparts": 4}, False),
        (16, {"nparts": 5}, True),  # 5 loops of 4 rounds, and 4 divides 16
        (33, {"nparts": 16}, True),
        (3, {"nparts": 7}, False),
    ],
)
def test_only_a_split_that_makes_too_many_rounds_is_guarded(extent, how, is_guarded):
    s, A, B = rows(2, extent)
    s[B].split(B.op.reduce_axis[0], **how)
    assert ("likely" in str(lower(s, [A, B]))) == is_guarded


def test_a_symbolic_factor():
    n, f = te.var("n"), te.size_var("f")
    A = te.placeholder((n,), "int64", name="A")
    F = te.placeholder((f,), "int64", name="F")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.reduce_axis[0], factor=f)
    assert "for (k.outer: int32, 0, floordiv(((n + f) - 1), f))" in str(lower(s, [A, F, B]))


def test_reorder_permutes_named_slots_only():
    s, _, B = rows()
    io, ii = s[B].split(B.op.axis[0], factor=8)
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=4)
    s[B].reorder(ki, io)
    assert names(s[B]) == ["k.inner", "i.inner", "k.outer", "i.outer"]
    s[B].reorder()
    s[B].reorder(ii)
    assert s[B].leaf_axes == [ki, ii, ko, io]


@pytest.mark.parametrize(("slot", "place"), [(0, 0), (1, 1), (2, 2), (-1, 2), (-2, 1), (-3, 0)])
def test_the_factored_axis_goes_where_factor_axis_says(slot, place):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n, m), lambda i, j: te.sum(A[i, j, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(k, factor=4)
    first = s.rfactor(B, inner, factor_axis=slot)
    assert [a.name for a in first.op.axis].index("k.inner") == place
    assert [str(e) for e in first.shape][place] == "4"


def test_rfactor_makes_a_stage_before_and_keeps_the_name():
    s, _, B = rows()
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    s[B].split(B.op.axis[0], factor=4)
    first = s.rfactor(B, ki)
    assert [stage.name for stage in s.stages] == ["A", "B.rf", "B"]
    assert first.name == "B.rf"
    assert names(s[first]) == ["k.inner", "i", "k.outer"]
    assert names(s[B]) == ["ax0", "k.inner.v"]
    assert s[B].op is not B.op
    assert s[B] is s[s[B].op] is s[B.op]
    assert not s[B].relations


def test_rfactor_folds_untouched_axes_first():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m, m), name="A")
    k1, k2 = te.reduce_axis((0, n), "k1"), te.reduce_axis((0, m), "k2")
    B = te.compute((m,), lambda i: te.sum(A[k1, k2, i], axis=[k1, k2]), name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(k1, factor=4)
    first = s.rfactor(B, outer, factor_axis=1)
    assert [a.name for a in first.op.axis] == ["i", "k1.outer"]
    assert [a.name for a in first.op.reduce_axis] == ["k2", "k1.inner"]


def test_rfactor_of_the_only_axis_folds_one_element_each():
    s, A, B = rows()
    first = s.rfactor(B, B.op.reduce_axis[0])
    assert names(s[first]) == ["k", "i", "k.one"]
    text = str(lower(s, [A, B]))
    assert "k.one" not in text  # a loop of one round vanishes


def started(reducer, dtype, *, init=None):
    """Return what the partial states of a fold start from, and the states that they make."""
    A = te.placeholder((64, 24), dtype, name="A")
    k = te.reduce_axis((0, 24), "k")
    B = te.compute((64,), lambda i: reducer(A[i, k], axis=k, init=init), name="B")
    s = te.create_schedule(B.op)
    _, lane = s[B].split(k, factor=4)
    first = s.rfactor(B, lane, factor_axis=-1, negative_zero=True)
    again = s.rfactor(B, s[B].op.reduce_axis[0], negative_zero=True)
    return [str(s[t].reduction.combiner.identity[0]) for t in (first, again, B)]


def test_partial_sums_of_floats_may_start_from_negative_zero():
    assert started(te.sum, "float32") == ["-0f", "-0f", "0f"]
    assert started(te.sum, "float32", init=te.const(3.0, "float32")) == ["-0f", "-0f", "0f"]
    for other, dtype in ((te.sum, "int32"), (te.max, "float32")):
        assert len(set(started(other, dtype))) == 1
    twice = te.comm_reducer(lambda a, b: a + b + b, lambda t: te.const(0, t))
    assert started(twice, "float32") == ["0f", "0f", "0f"]


def test_a_sum_that_other_parts_of_its_state_depend_on_starts_from_the_identity():
    A = te.placeholder((64, 24), "float32", name="A")
    k = te.reduce_axis((0, 24), "k")
    both = te.comm_reducer(
        lambda a, b: (a[0] + b[0], a[1] + b[1], te.max(a[2], b[1])),
        lambda *t: tuple(te.const(0, each) for each in t),
    )
    T = te.compute((64,), lambda i: both((A[i, k], A[i, k], A[i, k]), axis=k), name="T")
    s = te.create_schedule(T[0].op)
    first = s.rfactor(T, k, negative_zero=True)
    assert [str(e) for e in s[first[0]].reduction.combiner.identity] == ["-0f", "0f", "0f"]


def test_rfactor_of_a_tuple_and_again():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")
    both = te.comm_reducer(
        lambda a, b: (a[0] + b[0], te.max(a[1], b[1])),
        lambda t0, t1: (te.const(0, t0), te.min_value(t1)),
    )
    T = te.compute((n,), lambda i: both((A[i, k], A[i, k]), axis=k), name="T")
    s = te.create_schedule(T[0].op)
    _, ki = s[T[0]].split(k, factor=8)
    first = s.rfactor(T, ki)
    assert [t.name for t in first] == ["T.rf.v0", "T.rf.v1"]
    second = s.rfactor(first, s[first[0]].op.reduce_axis[0])
    assert second[1].name == "T.rf.rf.v1"


def test_an_ordered_reduction_keeps_its_order_through_rfactor():
    from axisfold.tensor.compute import make_compute
    from axisfold.tensor.reduce import make_reduce
    from axisfold.tensor.trace import Member, trace

    last = Reducer("last", {"v": "input"}, 0, lambda x: x, lambda a, b: b.v, facts=("ordered",))
    from axisfold.dtypes import INT32

    combiner = trace([Member(last)], [INT32]).combiner
    A = te.placeholder((4, 6), "int32", name="A")
    k1, k2 = te.reduce_axis((0, 4), "k1"), te.reduce_axis((0, 6), "k2")
    body = make_reduce(combiner, [A[k1, k2]], [k1, k2])
    B = make_compute("B", (), body).output(0)
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(k1, factor=2)
    first = s.rfactor(B, outer)
    assert [a.name for a in first.op.reduce_axis] == ["k1.inner", "k2"]


def test_stages_are_found_by_tensor_operation_and_origin():
    s, A, B = rows()
    assert s[A] is s[A.op]
    assert s[B].is_output
    assert not s[A].is_output
    assert repr(s[B]) == "Stage(B, leaves ['i', 'k'])"
