# SPDX-License-Identifier: Apache-2.0
"""Refusals of fuse, bind, caches, groups and placement: code and full message, nothing changed."""

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build, lower
from axisfold.errors import (
    ExpressionError,
    ReducerError,
    ScheduleError,
    ShapeError,
    UnsupportedError,
)


class Rows:
    """C = B * 2, B = sum of the rows of T, T = A + 1."""

    def __init__(self):
        n, m = te.var("n"), te.var("m")
        self.A = te.placeholder((n, m), name="A")
        self.T = te.compute((n, m), lambda i, j: self.A[i, j] + 1, name="T")
        self.k = te.reduce_axis((0, m), "k")
        self.B = te.compute((n,), lambda i: te.sum(self.T[i, self.k], axis=self.k), name="B")
        self.C = te.compute((n,), lambda i: self.B[i] * 2, name="C")
        self.s = te.create_schedule(self.C.op)
        self.i, self.j = self.B.op.axis[0], self.T.op.axis[1]


@pytest.fixture
def p():
    return Rows()


def state(schedule):
    """Everything that a primitive could change."""
    # Lists and dicts change in place; everything else in a stage is replaced.
    found = [(s, {k: _copied(v) for k, v in vars(s).items()}) for s in schedule.stages]
    return found, str(schedule.trace), schedule.trace.to_json()


def _copied(value):
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return list(value) if isinstance(value, list) else value


def refused(schedule, code, action):
    before = state(schedule)
    with pytest.raises(ScheduleError) as caught:
        action()
    assert state(schedule) == before
    assert type(caught.value) is ScheduleError
    assert caught.value.code == code
    return str(caught.value).removesuffix(f" [axisfold-{code}]")


def tx(extent=None):
    return te.thread_axis(extent, "threadIdx.x")


def test_s114_split_of_a_bound_axis(p):
    p.s[p.B].bind(p.i, tx())
    assert refused(p.s, "S114", lambda: p.s[p.B].split(p.i, factor=4)) == (
        "split of axis 'i' of stage 'B': it is already bound to threadIdx.x. Split first, then "
        "vectorize or unroll one of the parts."
    )


def test_s124_data_axis_moved_inside_a_bound_reduce_axis(p):
    p.s[p.B].bind(p.k, tx())
    assert refused(p.s, "S124", lambda: p.s[p.B].reorder(p.k, p.i)) == (
        "reorder of stage 'B', which threads reduce: data axis 'i' lies inside reduce axis 'k'. "
        "Keep data axes outside of reduce axes."
    )


def test_s133_vectorize_of_a_bound_axis(p):
    _, inner = p.s[p.B].split(p.i, factor=8)
    p.s[p.B].bind(inner, tx())
    assert refused(p.s, "S133", lambda: p.s[p.B].vectorize(inner)) == (
        "vectorize of axis 'i.inner' of stage 'B': it is bound to threadIdx.x, so it is no loop. "
        "Choose one of the two."
    )


def test_s142_unroll_of_a_bound_axis(p):
    _, inner = p.s[p.B].split(p.i, factor=8)
    p.s[p.B].bind(inner, tx())
    assert refused(p.s, "S142", lambda: p.s[p.B].unroll(inner)) == (
        "unroll of axis 'i.inner' of stage 'B': it is bound to threadIdx.x, so it is no loop. "
        "Choose one of the two."
    )


def test_s179_parallel_of_a_bound_axis(p):
    p.s[p.B].bind(p.i, tx())
    assert refused(p.s, "S179", lambda: p.s[p.B].parallel(p.i)) == (
        "parallel of axis 'i' of stage 'B': it is bound to threadIdx.x, so it is no loop. Choose "
        "one of the two."
    )


def test_s153_its_consumer_is_attached_elsewhere(p):
    D = te.compute(p.C.shape, lambda i: p.C[i] + p.B[i], name="D")
    s = te.create_schedule(D.op)
    s[p.B].compute_at(s[D], D.op.axis[0])
    assert refused(s, "S153", lambda: s[p.T].compute_at(s[p.C], p.C.op.axis[0])) == (
        "compute_at of stage 'T' at 'C': its consumer 'B' is not computed inside 'C'. Attach 'B' "
        "there first."
    )


def test_s154_the_consumer_was_never_attached(p):
    # Accepted, since B may still be attached at C; refused where it was not.
    p.s[p.T].compute_at(p.s[p.C], p.C.op.axis[0])
    assert refused(p.s, "S154", lambda: lower(p.s, [p.A, p.C])) == (
        "stage 'T' is computed at axis 'i' of stage 'C', but stage 'B' reads it outside of that "
        "loop. Attach it further out."
    )
    p.s[p.B].compute_at(p.s[p.C], p.C.op.axis[0])
    lower(p.s, [p.A, p.C])


def test_s155_its_place_is_inlined():
    A = te.placeholder((4,), name="A")
    T = te.compute((4,), lambda i: A[i], name="T")
    U = te.compute((4,), lambda i: T[i], name="U")
    C = te.compute((4,), lambda i: U[i], name="C")
    s = te.create_schedule(C.op)
    s[U].compute_inline()
    assert refused(s, "S155", lambda: s[T].compute_at(s[U], U.op.axis[0])) == (
        "compute_at of stage 'T' at 'U': stage 'U' is inlined, so it has no loops. Call "
        "compute_root of 'U' first, or attach to its consumer."
    )


def test_s168_rfactor_of_a_mixed_axis(p):
    both = p.s[p.B].fuse(p.i, p.k)
    assert refused(p.s, "S168", lambda: p.s.rfactor(p.B, both)) == (
        "rfactor of stage 'B': axis 'i.k.fused' is fused with a data axis. Factor before fusing."
    )


def test_s171_no_neighbours(p):
    outer, inner = p.s[p.B].split(p.i, factor=4)
    assert refused(p.s, "S171", lambda: p.s[p.B].fuse(outer, p.k)) == (
        "fuse of stage 'B': axes ['i.outer', 'k'] are not neighbours in this order. Its leaves "
        "are ['i.outer', 'i.inner', 'k']; reorder them first."
    )
    assert refused(p.s, "S171", lambda: p.s[p.B].fuse(p.k, inner, outer)).startswith(
        "fuse of stage 'B': axes ['k', 'i.inner', 'i.outer'] are not neighbours in this order."
    )


def test_s172_bounds_that_read_the_other():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    axes = []

    def body(i):
        axes.append(te.reduce_axis((0, i + 1), "k"))
        return te.sum(A[i, axes[0]], axis=axes[0])

    B = te.compute((n,), body, name="B")
    s = te.create_schedule(B.op)
    assert refused(s, "S172", lambda: s[B].fuse(B.op.axis[0], axes[0])) == (
        "fuse of stage 'B': the bounds of axis 'k' read another of ['i', 'k']."
    )


def test_s173_annotated(p):
    p.s[p.B].parallel(p.i)
    assert refused(p.s, "S173", lambda: p.s[p.B].fuse(p.i, p.k)) == (
        "fuse of axis 'i' of stage 'B': it is already parallel. Fuse first."
    )


def test_s174_a_stage_is_computed_there(p):
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert refused(p.s, "S174", lambda: p.s[p.B].fuse(p.i, p.k)) == (
        "fuse of axis 'i' of stage 'B': stage 'T' is computed at it. Fuse first, then compute_at."
    )


def test_s175_mixed_axis_of_a_stage_that_threads_reduce(p):
    outer, inner = p.s[p.B].split(p.k, factor=4)
    p.s[p.B].bind(inner, tx())
    assert refused(p.s, "S175", lambda: p.s[p.B].fuse(p.i, outer)) == (
        "fuse of stage 'B': axes ['i', 'k.outer'] are data and reduce axes, and threads reduce "
        "the stage. Keep data axes outside of reduce axes."
    )


def test_tile_changes_nothing_when_its_second_part_is_refused(p):
    assert refused(p.s, "S112", lambda: p.s[p.T].tile(*p.T.op.axis, 4, 0)) == (
        "split of axis 'j': factor=0 is not a positive int32."
    )
    assert refused(p.s, "S102", lambda: p.s[p.T].tile(p.j, p.j, 4, 4)) == (
        "split: axis 'j' of stage 'T' was already split into 'j.outer' and 'j.inner'. Use one of "
        "these."
    )


@pytest.mark.parametrize(("tensor", "what"), [("C", "an output"), ("A", "a placeholder")])
@pytest.mark.parametrize(
    ("code", "primitive", "action"),
    [
        ("S181", "compute_inline", lambda s, t: s[t].compute_inline()),
        ("S191", "set_scope", lambda s, t: s[t].set_scope("shared")),
        ("S211", "storage_align", lambda s, t: s[t].storage_align(None, 2, 0)),
        ("S221", "double_buffer", lambda s, t: s[t].double_buffer()),
    ],
)
def test_only_what_lies_between(p, tensor, what, code, primitive, action):
    given = getattr(p, tensor)
    assert refused(p.s, code, lambda: action(p.s, given)) == (
        f"{primitive} of stage {tensor!r}: it is {what}. Only tensors between inputs and outputs "
        "can be changed like this."
    )


def test_s182_inlined_reduction(p):
    assert refused(p.s, "S182", p.s[p.B].compute_inline) == (
        "compute_inline of stage 'B': it is a reduction, which has no value that an expression "
        "could hold. Use compute_at."
    )


def test_s183_several_outputs():
    A = te.placeholder((4,), name="A")
    T, U = te.compute((4,), lambda i: (A[i], A[i] + 1), name="T")
    C = te.compute((4,), lambda i: T[i] * U[i], name="C")
    s = te.create_schedule(C.op)
    assert refused(s, "S183", s[T].compute_inline) == (
        "compute_inline of stage 'T': it has 2 outputs. Use compute_at."
    )


def test_s184_a_stage_is_computed_inside():
    A = te.placeholder((4,), name="A")
    T = te.compute((4,), lambda i: A[i], name="T")
    U = te.compute((4,), lambda i: T[i], name="U")
    C = te.compute((4,), lambda i: U[i], name="C")
    s = te.create_schedule(C.op)
    s[T].compute_at(s[U], U.op.axis[0])
    assert refused(s, "S184", s[U].compute_inline) == (
        "compute_inline of stage 'U': stage 'T' is computed at its axis 'i'. Call compute_inline "
        "before compute_at."
    )


def test_s185_bounds_read_an_inlined_stage():
    n = te.var("n")
    L = te.placeholder((n,), "int32", name="L")
    E = te.compute((n,), lambda i: L[i] + 1, name="E")
    A = te.placeholder((n, n), name="A")

    def body(i):
        k = te.reduce_axis((0, E[i]), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), body, name="B")
    s = te.create_schedule(B.op)
    s[E].compute_inline()
    assert refused(s, "S185", lambda: lower(s, [L, A, B])) == (
        "stage 'E' is inlined, but the bounds of axis 'k' of stage 'B' read it. Use compute_root "
        "for 'E'."
    )


def test_s192_unknown_scope(p):
    scopes = "Use one of global, cluster, shared, warp, local."
    assert refused(p.s, "S192", lambda: p.s[p.T].set_scope("l2")) == (
        f"set_scope of stage 'T': there is no scope 'l2'. {scopes}"
    )
    assert refused(p.s, "S192", lambda: p.s.cache_read(p.A, "l2", [p.T])) == (
        f"cache_read of tensor 'A': there is no scope 'l2'. {scopes}"
    )
    assert refused(p.s, "S192", lambda: p.s.cache_write(p.C, "l2")) == (
        f"cache_write of stage 'C': there is no scope 'l2'. {scopes}"
    )


def test_s201_predicate_of_a_placeholder(p):
    assert refused(p.s, "S201", lambda: p.s[p.A].set_store_predicate(p.i < 3)) == (
        "set_store_predicate of stage 'A': it is a placeholder."
    )


@pytest.mark.parametrize("given", [True, 1.0])
def test_s202_no_condition(p, given):
    assert refused(p.s, "S202", lambda: p.s[p.B].set_store_predicate(given)) == (
        f"set_store_predicate of stage 'B': {given!r} is no condition. Build one, such as "
        "tx.var.equal(0) or axis < 8."
    )


def test_s212_no_data_axis(p):
    assert refused(p.s, "S212", lambda: p.s[p.B].storage_align(p.k, 32, 1)) == (
        "storage_align of stage 'B': Axis(k, reduce) is no data axis of its operation. Use one of "
        "s[B].op.axis, before splitting."
    )


@pytest.mark.parametrize(("factor", "offset"), [(0, 0), (4, 4), (4, -1), (4.0, 1), (True, 0)])
def test_s213_bad_factor(p, factor, offset):
    assert refused(p.s, "S213", lambda: p.s[p.T].storage_align(p.j, factor, offset)) == (
        f"storage_align of stage 'T': factor={factor!r} and offset={offset!r} are not integers "
        "with 0 <= offset < factor."
    )


def test_s231_unknown_pragma(p):
    assert refused(p.s, "S231", lambda: p.s[p.B].pragma(p.i, "fetch")) == (
        "pragma of axis 'i' of stage 'B': unknown kind 'fetch'. Known are unroll, vectorize, "
        "reduce_style, any_place, auto_unroll_max_step, prefetch, repeat_edge, resident, "
        "shift_inwards, stream, unroll_explicit."
    )


def test_s234_groups_of_more_indices_than_there_may_be():
    n = te.size_var("n", least=8)
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i], name="B")
    s = te.create_schedule(B.op)
    s[B].pragma(B.op.axis[0], "shift_inwards", 8)
    assert refused(s, "S234", lambda: s[B].pragma(B.op.axis[0], "shift_inwards", 16)) == (
        "pragma shift_inwards of axis 'i' of stage 'B': its extent n may be less than 16. Say that "
        "it is not: te.size_var(…, least=16)."
    )


def columns_by_groups(result, state):
    """Sums of columns by groups of so many, in a stage that is an output where there are none."""
    n, m = te.size_var("n", least=8), te.var("m")
    A = te.placeholder((m, n), "float64", name="A")
    k = te.reduce_axis((0, m), "k")
    P = te.compute((n,), lambda i: te.sum(A[k, i], axis=k), name="P")
    B = te.compute((n,), lambda i: P[i] + 1, name="B") if result is not None else P
    s = te.create_schedule(B.op)
    if result:
        s[B].pragma(B.op.axis[0], "shift_inwards", result)
    s[P].pragma(P.op.axis[0], "shift_inwards", state)
    return s, [A, B]


def test_s235_an_output_folds_what_groups_share_twice():
    with pytest.raises(ScheduleError) as caught:
        lower(*columns_by_groups(None, 8))
    assert str(caught.value) == (
        "pragma shift_inwards of stage 'P': it is an output and folds in its own memory, so that "
        "what two groups share would be folded twice. Fold in a stage of its own, as cache_write "
        "makes, and read it. [axisfold-S235]"
    )


@pytest.mark.parametrize("other", [0, 4])
def test_s236_a_tile_is_read_by_other_groups(other):
    with pytest.raises(ScheduleError) as caught:
        lower(*columns_by_groups(other, 8))
    assert str(caught.value) == (
        "pragma shift_inwards of stage 'P': stage 'B' reads it by other groups than 8 neighbours "
        "along axis 0. Give that axis of 'B' the same pragma. [axisfold-S236]"
    )


@pytest.mark.parametrize("value", [None, -1, 1.5, True])
def test_s232_bad_value(p, value):
    assert refused(p.s, "S232", lambda: p.s[p.B].pragma(p.i, "unroll_explicit", value)) == (
        f"pragma unroll_explicit of axis 'i' of stage 'B': {value!r} is not an integer >= 0."
    )


def test_s241_no_thread_axis(p):
    assert refused(p.s, "S241", lambda: p.s[p.B].bind(p.i, "threadIdx.x")) == (
        "bind of axis 'i' of stage 'B': 'threadIdx.x' is no thread axis. Make one with "
        'te.thread_axis("threadIdx.x").'
    )


def test_s242_taken(p):
    p.s[p.B].bind(p.i, tx())
    assert refused(p.s, "S242", lambda: p.s[p.B].bind(p.i, te.thread_axis("threadIdx.y"))) == (
        "bind of axis 'i' of stage 'B': it is threadIdx.x already."
    )
    p.s[p.C].parallel(p.C.op.axis[0])
    assert refused(p.s, "S242", lambda: p.s[p.C].bind(p.C.op.axis[0], tx())) == (
        "bind of axis 'i' of stage 'C': it is parallel already."
    )


def test_s243_two_axes_of_one_tag(p):
    p.s[p.T].bind(p.j, tx())
    assert refused(p.s, "S243", lambda: p.s[p.T].bind(p.T.op.axis[0], tx())) == (
        "bind of axis 'i' of stage 'T': threadIdx.x is bound to axis 'j'. Fuse the two axes, or "
        "use another tag."
    )


def test_s244_another_extent(p):
    _, inner = p.s[p.B].split(p.i, factor=8)
    assert refused(p.s, "S244", lambda: p.s[p.B].bind(inner, tx((0, 16)))) == (
        "bind of axis 'i.inner' of stage 'B': threadIdx.x was declared with extent 16, the axis "
        "has 8."
    )


def one_row(reducer, **more):
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((4,), lambda i: reducer(A[i, k], axis=k, **more), name="B")
    return te.create_schedule(B.op), B, k


def test_s245_start_that_each_thread_would_count():
    s, B, k = one_row(te.sum, init=3)
    assert refused(s, "S245", lambda: s[B].bind(k, tx())) == (
        "bind of axis 'k' of stage 'B': the reduction has init=, which each thread would count. "
        "Fold the start in a stage of its own, or factor the axis first."
    )


def test_s246_ordered_reducer():
    last = te.comm_reducer(lambda a, b: b, lambda t: te.const(0, t), facts=["ordered"])
    s, B, k = one_row(last)
    _, inner = s[B].split(k, factor=2)
    assert refused(s, "S246", lambda: s[B].bind(inner, tx())) == (
        "bind of axis 'k.inner' of stage 'B': its reducer is ordered, and reduce axis 'k.outer' "
        "outside of it is not bound, so that a thread would fold elements that are no neighbours. "
        "Bind the outermost part of the axis, as split by nparts= makes it."
    )


def test_s247_data_axis_inside():
    s, B, k = one_row(te.sum)
    s[B].reorder(k, B.op.axis[0])
    assert refused(s, "S247", lambda: s[B].bind(k, tx())) == (
        "bind of axis 'k' of stage 'B': data axis 'i' lies inside reduce axis 'k'. Reorder the "
        "data axes outwards first."
    )


def test_s247_data_axis_inside_an_unbound_reduce_axis():
    s, B, k = one_row(te.sum)
    outer, inner = s[B].split(k, factor=4)
    s[B].reorder(outer, B.op.axis[0])
    assert refused(s, "S247", lambda: s[B].bind(inner, tx())) == (
        "bind of axis 'k.inner' of stage 'B': data axis 'i' lies inside reduce axis 'k.outer'. "
        "Reorder the data axes outwards first."
    )


def test_s247_mixed_axis():
    s, B, k = one_row(te.sum)
    outer, inner = s[B].split(k, factor=4)
    s[B].fuse(B.op.axis[0], outer)
    assert refused(s, "S247", lambda: s[B].bind(inner, tx())) == (
        "bind of axis 'k.inner' of stage 'B': data axis 'i.k.outer.fused' is fused with a reduce "
        "axis. Reorder the data axes outwards first."
    )


def test_s248_another_number_of_threads_for_each_row():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    axes = []

    def body(i):
        axes.append(te.reduce_axis((0, i + 1), "k"))
        return te.sum(A[i, axes[0]], axis=axes[0])

    B = te.compute((n,), body, name="B")
    s = te.create_schedule(B.op)
    assert refused(s, "S248", lambda: s[B].bind(axes[0], tx())) == (
        "bind of axis 'k' of stage 'B': its extent depends on another axis, and threads are "
        "started once. Split it by a constant and bind the inner part."
    )
    _, inner = s[B].split(axes[0], factor=4)
    s[B].bind(inner, tx())


def test_s251_readers(p):
    assert refused(p.s, "S251", lambda: p.s.cache_read(p.A, "local", [])) == (
        "cache_read of tensor 'A': no reader was given."
    )
    assert refused(p.s, "S251", lambda: p.s.cache_read(p.A, "local", [p.T, p.C])) == (
        "cache_read of tensor 'A': stage 'C' does not read it. It reads ['B']."
    )


def test_s261_cache_write_of_a_placeholder(p):
    assert refused(p.s, "S261", lambda: p.s.cache_write(p.A, "local")) == (
        "cache_write of stage 'A': it is a placeholder."
    )


def test_s262_not_all_outputs():
    A = te.placeholder((4,), name="A")
    T, U = te.compute((4,), lambda i: (A[i], A[i] + 1), name="T")
    s = te.create_schedule(T.op)
    assert refused(s, "S262", lambda: s.cache_write(T, "local")) == (
        "cache_write of stage 'T': ['T.v0'] are not all of its 2 outputs."
    )
    assert len(s.cache_write([T, U], "local")) == 2


def test_s263_reduce_axes_in_the_way(p):
    p.s[p.B].split(p.k, factor=4)
    assert refused(p.s, "S263", lambda: p.s.cache_write(p.B, "local")) == (
        "cache_write of stage 'B': reduce axis 'k' was split or fused, and only data axes can be "
        "laid out anew. Call cache_write first and split the reduce axes of the new stage."
    )


def test_s263_reduce_axes_outside(p):
    p.s[p.B].reorder(p.k, p.i)
    assert refused(p.s, "S263", lambda: p.s.cache_write(p.B, "local")) == (
        "cache_write of stage 'B': reduce axes lie outside data axes, and only data axes can be "
        "laid out anew."
    )


def test_s264_a_stage_is_computed_inside(p):
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert refused(p.s, "S264", lambda: p.s.cache_write(p.B, "local")) == (
        "cache_write of stage 'B': stage 'T' is computed at its axis 'i'. Call cache_write before "
        "compute_at."
    )


def test_s265_annotated(p):
    p.s[p.B].parallel(p.i)
    assert refused(p.s, "S265", lambda: p.s.cache_write(p.B, "local")) == (
        "cache_write of stage 'B': axis 'i' is annotated already. Call cache_write first."
    )


def test_s271_no_way(p):
    assert refused(p.s, "S271", lambda: p.s.create_group(p.T, p.B)) == (
        "create_group: no way leads from ['B'] to 'T'."
    )


def test_x103_threads_that_a_cpu_does_not_have(p):
    p.s[p.B].bind(p.i, te.thread_axis("blockIdx.x"))
    for target in ("llvm", "c"):
        with pytest.raises(UnsupportedError) as caught:
            build(p.s, [p.A, p.C], target=target)
        assert str(caught.value) == (
            f"axis 'i' of stage 'B' is bound to blockIdx.x, and target {target!r} has no such "
            "threads. Use parallel() in place of bind(), or read the program with lower(). "
            "[axisfold-X103]"
        )


def test_e251_unknown_tag():
    with pytest.raises(ExpressionError) as caught:
        te.thread_axis("threadIdx")
    assert str(caught.value) == (
        "thread_axis: there is no tag 'threadIdx'. Use one of blockIdx.x, blockIdx.y, "
        "blockIdx.z, clusterCtaIdx.x, clusterCtaIdx.y, clusterCtaIdx.z, threadIdx.x, threadIdx.y, "
        "threadIdx.z. [axisfold-E251]"
    )


@pytest.mark.parametrize("dom", [(1, 4), 2.5, (0, 1, 2)])
def test_e252_no_extent(dom):
    with pytest.raises(ExpressionError) as caught:
        te.thread_axis(dom, "threadIdx.x")
    assert str(caught.value) == (
        f"thread_axis threadIdx.x: {dom!r} is no range (0, extent). [axisfold-E252]"
    )


@pytest.mark.parametrize("align", [3, -4, 2.0])
def test_e215_align(align):
    with pytest.raises(ExpressionError) as caught:
        te.placeholder((4,), name="A", align=align)
    assert str(caught.value) == (
        f"placeholder A: align={align!r} is no power of two. Give the alignment in bytes, such as "
        "64. [axisfold-E215]"
    )


@pytest.mark.parametrize("divisible", [{2: 4}, {0: 0}, (1, 2, 3), {"0": 1}, (1, 2.0)])
def test_e216_divisible(divisible):
    with pytest.raises(ExpressionError) as caught:
        te.placeholder((te.var("n"), te.var("m")), name="A", divisible=divisible)
    assert str(caught.value) == (
        f"placeholder A: divisible={divisible!r} is no divisor for each of its 2 axes. Give a "
        "dict such as {1: 16}, or a tuple such as (1, 16). [axisfold-E216]"
    )


def test_e216_constant_extent():
    with pytest.raises(ExpressionError) as caught:
        te.placeholder((6,), name="A", divisible=(4,))
    assert str(caught.value) == (
        "placeholder A: its extent 6 along axis 0 is no multiple of 4. [axisfold-E216]"
    )


def test_e217_compact_with_strides():
    with pytest.raises(ExpressionError) as caught:
        te.placeholder((6,), name="A", compact=True, strides=(1,))
    assert str(caught.value) == (
        "placeholder A is compact, so its strides follow from its shape. [axisfold-E217]"
    )


def test_a207_extent_that_is_no_multiple():
    n = te.var("n")
    A = te.placeholder((n,), name="A", divisible={0: 4})
    B = te.compute((n,), lambda i: A[i], name="B")
    f = build(te.create_schedule(B.op), [A, B])
    with pytest.raises(ShapeError) as caught:
        f(np.zeros(6, "float32"), np.zeros(6, "float32"))
    assert str(caught.value) == (
        "argument 0 (A) has extent 6 along axis 0, which is no multiple of 4. Pad the array, or "
        "leave divisible= away. [axisfold-A207]"
    )


def test_a206_extent_that_is_too_small():
    n = te.size_var("n", least=8)
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i], name="B")
    f = build(te.create_schedule(B.op), [A, B])
    with pytest.raises(ShapeError) as caught:
        f(np.zeros(7, "float32"), np.zeros(7, "float32"))
    assert str(caught.value) == (
        "argument 0 (A) has extent 7 along axis 0, but the kernel was built for 8 and more. Leave "
        "least= away. [axisfold-A206]"
    )


def test_r205_one_component_alone():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    pair = te.comm_reducer(
        lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s, t: (te.const(0, s), te.const(0, t))
    )
    with pytest.raises(ReducerError) as caught:
        te.compute((4,), lambda i: pair((A[i, k], A[i, k]), axis=k)[1], name="B")
    assert str(caught.value) == (
        "compute 'B' returns components [1] of a reduction whose state has 2. Return the whole "
        "tuple, and use the tensor of the component. [axisfold-R205]"
    )


def test_r103_unknown_facts():
    with pytest.raises(ReducerError) as caught:
        te.comm_reducer(lambda a, b: a, lambda t: te.const(0, t), "first", ["sorted"])
    assert caught.value.code == "R103"


def test_r123_absorb_of_another_length():
    A = te.placeholder((4,), name="A")
    k = te.reduce_axis((0, 4), "k")
    with pytest.raises(ReducerError) as caught:
        te.sum(A[k], axis=k, absorb=lambda x: (x, x))
    assert str(caught.value) == (
        "the absorb of 'sum' returns 2 values for a state of 1. [axisfold-R123]"
    )
