# SPDX-License-Identifier: Apache-2.0
"""What users of TVM's te met, and what happens here: one test for each.

Numbers are those of apache/tvm issues and pull requests.  Programs for GPUs are judged by their
text, as compiling them needs a CUDA target.
"""

import math

import numpy as np
import pytest

import axisfold.compat.tvm as tvm
from axisfold import build, lower
from axisfold.compat.tvm import te, topi
from axisfold.config import config
from axisfold.errors import EmptyError, ExpressionError, ReducerError, ScheduleError

NAN, INF = math.nan, math.inf


def row_sum(n=None, m=None, dtype="float32", **options):
    n = te.var("n") if n is None else n
    m = te.var("m") if m is None else m
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    where = options.pop("where", None)
    if where is not None:
        options["where"] = where(k)
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, **options), name="B")
    return te.create_schedule(B.op), A, B


def refusal(call, error=ScheduleError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def reduced(name, x, axis=None, **options):
    """Run a reduction of topi with its schedule."""
    A = te.placeholder(x.shape, x.dtype.name, name="A")
    result = getattr(topi, name)(A, axis, **options)
    f = tvm.build(topi.generic.schedule_reduce(result), [A, result])
    out = np.ones([int(e.value) for e in result.shape], result.dtype)
    f(x, out)
    return out


def integers(shape, dtype="float32"):
    return np.random.default_rng(0).integers(-9, 10, shape).astype(dtype)


def lines(text):
    return [line.strip() for line in text.splitlines()]


# --- wrong answers and writes out of bounds ---------------------------------------------------


@pytest.mark.parametrize("n", [1, 31, 33, 45])
def test_8566_rows_past_the_end_are_not_stored(n):
    s, A, B = row_sum()
    s[B].split(B.op.axis[0], factor=32)
    memory = np.full(64, 7, "float32")
    x = integers((n, 5))
    build(s, [A, B])(x, memory[:n])
    assert (memory[:n] == x.sum(axis=1)).all()
    assert (memory[n:] == 7).all()


def test_7420_a_parallel_reduce_axis_is_refused():
    s, _, B = row_sum()
    assert refusal(lambda: s[B].parallel(B.op.reduce_axis[0])) == (
        "parallel of axis 'k' of stage 'B': it is a reduce axis, whose rounds update the same "
        "element. Make it a data axis first: s.rfactor(B, k). [axisfold-S176]"
    )


def test_670_a_vectorized_reduce_axis_is_refused_with_the_remedy():
    s, _, B = row_sum()
    assert "s.rfactor(B, k)" in refusal(lambda: s[B].vectorize(B.op.reduce_axis[0]))


def test_3407_start_of_a_reordered_bound_loop_is_bound_too():
    s, A, B = row_sum()
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    s[B].reorder(outer, B.op.reduce_axis[0], inner)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    text = str(lower(s, [A, B]))
    assert ".init" not in text
    assert "for (i" not in text
    start = lines(text).index("B_2[(((blockIdx.x*32) + threadIdx.x)*stride)] = 0f32")
    assert lines(text)[start - 1].startswith("if @tir.likely((((blockIdx.x*32) + threadIdx.x) < n)")


def test_12976_cross_thread_reduction_of_a_tail_folds_the_identity():
    # Also §5b.4 of the notes: all parts of a split axis bound, 37 elements for 40 threads.
    s, A, B = row_sum(4, 37)
    outer, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(outer, te.thread_axis("threadIdx.y"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    text = str(lower(s, [A, B]))
    guard = "(((threadIdx.y*8) + threadIdx.x) < 37)"
    assert f"@tir.if_then_else({guard}, (float32*)A_2[" in text
    assert "if ((threadIdx.y == 0) && (threadIdx.x == 0)) {" in text


def test_5193_serial_and_bound_reduce_axes_mix():
    s, A, B = row_sum()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    text = str(lower(s, [A, B]))
    assert text.index("normal_reduce_temp0[0] = 0f32") < text.index("tvm_thread_allreduce")


def test_where_on_the_bound_axis_guards_the_update_and_not_the_store():
    s, A, B = row_sum(where=lambda k: (k % 2).equal(1))
    _, inner = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    text = lines(str(lower(s, [A, B])))
    assert "if (floormod(threadIdx.x, 2) == 1) {" in text
    store = next(i for i, line in enumerate(text) if line.startswith("B_2["))
    assert text[store - 1] == "if (threadIdx.x == 0) {"


def test_where_on_data_axes_leaves_the_identity():
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    k = te.reduce_axis((0, 4), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, where=(i % 2).equal(0)), name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=2)
    out = np.full(5, 7, "float32")
    build(s, [A, B])(np.ones((5, 4), "float32"), out)
    assert out.tolist() == [4, 0, 4, 0, 4]


def test_components_of_a_tuple_do_not_see_each_other_half_updated():
    product = te.comm_reducer(
        lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]),
        lambda t, u: (te.const(1, t), te.const(0, u)),
        "product",
    )
    n = te.var("n")
    R, J = (te.placeholder((n,), "float64", name=name) for name in "RJ")
    k = te.reduce_axis((0, n), "k")
    P = te.compute((1,), lambda i: product((R[k], J[k]), axis=k), name="P")
    z = np.exp(1j * np.arange(1, 8)) * 1.1
    for factor in (None, 3):
        s = te.create_schedule(P[0].op)
        if factor:
            _, inner = s[P[0]].split(P[0].op.reduce_axis[0], factor=factor)
            s.rfactor(P, inner)
        out = np.zeros((2, 1))
        build(s, [R, J, *P])(z.real.copy(), z.imag.copy(), out[0], out[1])
        np.testing.assert_allclose(out[0, 0] + 1j * out[1, 0], z.prod(), rtol=1e-12)


def test_20_8816_first_of_equal_values_in_any_order():
    x = np.zeros((3, 300), "float32")
    x[:, [5, 8, 100, 299]] = 1
    assert reduced("argmax", x, 1).tolist() == [5, 5, 5]
    assert reduced("argmin", -x, 1).tolist() == [5, 5, 5]
    assert reduced("argmax", x, 1, select_last_index=True).tolist() == [299, 299, 299]
    assert reduced("argmax", x.T.copy(), 0).tolist() == [5, 5, 5]


@pytest.mark.parametrize("place", [0, 1, 150, 299])
def test_19518_19572_19755_nan_wins_max_and_min_at_any_place(place):
    x = np.tile(np.arange(300, dtype="float32"), (2, 1))
    x[1, place] = NAN
    for name in ("max", "min"):
        np.testing.assert_array_equal(reduced(name, x, 1), getattr(np, name)(x, axis=1))


def test_19558_19540_16044_the_first_nan_wins_argmax_and_argmin():
    x = np.array([[1, NAN, 3, NAN, 0], [2, 3, 4, 4, 2]], "float32")
    assert reduced("argmax", x, 1).tolist() == [1, 2]
    assert reduced("argmin", x, 1).tolist() == [1, 0]


def test_infinite_rows_are_not_clipped_to_the_largest_float():
    x = np.array([[-INF, -INF, -INF], [INF, INF, INF]], "float32")
    assert reduced("max", x, 1).tolist() == [-INF, INF]
    assert reduced("min", x, 1).tolist() == [-INF, INF]
    assert reduced("argmax", x, 1).tolist() == [0, 0]
    assert reduced("argmin", x, 1).tolist() == [0, 0]


def test_an_empty_axis_has_no_largest_element():
    A = te.placeholder((3, 0), name="A")
    assert "axis 1 has no elements" in refusal(lambda: topi.max(A, axis=1), EmptyError)
    assert "axis 1 has no elements" in refusal(lambda: topi.argmax(A, axis=1), EmptyError)


def test_2580_sizes_and_offsets_past_32_bits():
    s, A, B = row_sum(65536, 65536)
    s.rfactor(B, B.op.reduce_axis[0])
    assert "[4294967296i64]" in str(lower(s, [A, B]))
    assert "i32 " not in "".join(
        line for line in build(s, [A, B]).source().splitlines() if " mul " in line
    )
    # 3 GiB of address space, of which a page is touched.
    n, m = te.var("n"), te.var("m")
    C = te.placeholder((n, m), "int8", name="C")
    k = te.reduce_axis((m - 2, m), "k")
    D = te.compute((1,), lambda i: te.sum(C[n - 1 + i, k], axis=k), name="D")
    memory, out = np.zeros((3, 1 << 30), "int8"), np.zeros(1, "int8")
    memory[2, -2:] = 5
    build(te.create_schedule(D.op), [C, D])(memory, out)
    assert out[0] == 10


def test_437_one_reduce_axis_in_two_reductions():
    A = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((1,), lambda i: te.max(A[k], axis=k), name="B")
    C = te.compute((1,), lambda i: te.sum(A[k] - B[i], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    x = integers(8)
    out = np.zeros(1, "float32")
    build(s, [A, C])(x, out)
    assert out[0] == (x - x.max()).sum()


# --- programs that were refused or crashed ----------------------------------------------------


def test_776_two_sums_in_a_tuple_name_the_remedy():
    A = te.placeholder((8,), name="A")
    k = te.reduce_axis((0, 8), "k")
    message = refusal(
        lambda: te.compute(
            (1,), lambda i: (te.sum(A[k], axis=k), te.sum(A[k] * 2.0, axis=k)), name="T"
        ),
        ReducerError,
    )
    assert "Make one te.comm_reducer over tuples, or one stage for each." in message


def test_506_508_7692_an_inlined_stage_before_a_tuple_reduction_with_where():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    T = te.compute((n, m), lambda i, j: A[i, j] * -1.0, name="T")
    largest = te.comm_reducer(
        lambda x, y: (
            te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])
        ),
        lambda t, u: (te.const(-1, t), te.const(-INF, u)),
    )  # fmt: skip
    k = te.reduce_axis((0, m), "k")
    index, value = te.compute(
        (n,), lambda i: largest((k.var, T[i, k]), axis=k, where=k > 0), name="L"
    )
    s = te.create_schedule(index.op)
    s[T].compute_inline()
    s[index].split(index.op.reduce_axis[0], factor=4)
    x = integers((5, 9))
    found, best = np.zeros(5, "int32"), np.zeros(5, "float32")
    build(s, [A, index, value])(x, found, best)
    assert (found == x[:, 1:].argmin(axis=1) + 1).all()
    assert (best == -x[:, 1:].min(axis=1)).all()


def test_902_inlining_a_reduction_is_refused_by_name():
    _, _, B = row_sum()
    C = te.compute(B.shape, lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    assert refusal(s[B].compute_inline).startswith("compute_inline of stage 'B': it is a reduction")


def test_inlining_an_output_is_refused_and_does_not_end_the_process():
    _, _, B = row_sum()
    T = te.compute(B.shape, lambda i: B[i] * 2.0, name="T")
    s = te.create_schedule(T.op)
    assert "it is an output" in refusal(s[T].compute_inline)


@pytest.mark.parametrize("factor", [0, -2])
def test_a_split_factor_that_is_not_positive_is_refused(factor):
    s, _, B = row_sum()
    assert f"factor={factor} is not" in refusal(lambda: s[B].split(B.op.axis[0], factor=factor))


def test_19676_2436_14856_11643_axes_of_reductions():
    x = integers((2, 3))
    assert reduced("sum", np.array(3, "float32")) == 3
    assert reduced("argmax", np.array(3, "float32")) == 0
    assert reduced("sum", np.array(3, "float32"), axis=-1) == 3
    assert reduced("sum", x) == x.sum()
    assert (reduced("max", x, axis=()) == x).all()


def test_4929_2207_3827_bounds_that_read_data_axes_and_tensors():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    L = te.placeholder((n,), "int32", name="L")

    def above(i):
        k = te.reduce_axis((i, n), "k")
        return te.sum(A[i, k], axis=k)

    def ragged(i):
        k = te.reduce_axis((0, L[i]), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), above, name="B")
    C = te.compute((n,), ragged, name="C")
    f = build(te.create_schedule([B.op, C.op]), [A, L, B, C])
    x, lengths = integers((6, 6)), np.array([0, 6, 1, 3, 2, 5], "int32")
    b, c = np.zeros((2, 6), "float32")
    f(x, lengths, b, c)
    assert (b == np.triu(x).sum(axis=1)).all()
    assert c.tolist() == [x[i, :length].sum() for i, length in enumerate(lengths)]


def test_14991_10969_int64_extents():
    n, m = te.var("n", "int64"), te.var("m", "int64")
    s, A, B = row_sum(n, m)
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    _, lane = s[B].split(B.op.reduce_axis[0], factor=16)
    F = s.rfactor(B, lane)
    s[F].parallel(s[F].op.axis[1])
    x, out = integers((35, 41)), np.zeros(35, "float32")
    build(s, [A, B])(x, out)
    assert (out == x.sum(axis=1)).all()
    s, A, B = row_sum(n, m)
    outer, inner = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    assert "threadIdx.x" in str(lower(s, [A, B]))


def test_7131_a_reduction_with_a_diamond_of_readers():
    A = te.placeholder((6, 300), name="A")
    total = topi.sum(A, axis=1)
    left = te.compute((6,), lambda i: total[i] * 2.0, name="left")
    right = te.compute((6,), lambda i: total[i] + 1.0, name="right")
    result = te.compute((6,), lambda i: left[i] - right[i], name="result")
    s = topi.generic.schedule_reduce(result)
    assert str(lower(s, [A, result])).count("A_red[") > 0
    assert sum(stage.name == "A_red" for stage in s.stages) == 1
    x, out = integers((6, 300)), np.zeros(6, "float32")
    tvm.build(s, [A, result])(x, out)
    assert (out == x.sum(axis=1) - 1).all()


def test_2338_11803_softmax_over_the_first_axis():
    A = te.placeholder((9, 4), "float64", name="A")
    result = topi.nn.softmax(A, axis=0)
    x, out = integers((9, 4), "float64"), np.zeros((9, 4))
    build(topi.cuda.schedule_softmax(result), [A, result], "sim")(x, out)
    wanted = np.exp(x) / np.exp(x).sum(axis=0)
    np.testing.assert_allclose(out, wanted, rtol=1e-13)


def test_4158_cpu_reductions_are_parallel_and_do_not_depend_on_threads():
    A = te.placeholder((300, 500), name="A")
    x = np.random.default_rng(0).standard_normal((300, 500)).astype("float32")
    before = config.threads
    try:
        for axis in (1, None):
            result = topi.sum(A, axis)
            s = topi.generic.schedule_reduce(result)
            assert '"parallel"' in str(lower(s, [A, result]))
            f = tvm.build(s, [A, result])
            found = []
            for config.threads in (1, 2, 3):
                out = np.zeros([int(e.value) for e in result.shape], "float32")
                f(x, out)
                found.append(out.tobytes())
            assert len(set(found)) == 1
    finally:
        config.threads = before


def test_19517_19984_any_rank_and_any_axis():
    x = integers((2, 3, 4, 5))
    for axis in (0, 1, 2, 3, (0, 2), (1, 3)):
        assert (reduced("sum", x, axis) == x.sum(axis=axis)).all()


def test_6138_init_is_applied_once_also_after_rfactor():
    s, A, B = row_sum(init=100.0)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=4)
    s.rfactor(B, inner)
    x, out = integers((3, 10)), np.zeros(3, "float32")
    build(s, [A, B])(x, out)
    assert (out == 100 + x.sum(axis=1)).all()


def test_forum_4062_axes_that_rfactor_replaced():
    s, _, B = row_sum()
    old = B.op.axis[0]
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    s.rfactor(B, inner)
    assert "after rfactor re-read s[B].op.axis and s[B].op.reduce_axis" in refusal(
        lambda: s[B].split(old, factor=4)
    )


def test_fewer_parameters_than_axes_are_refused():
    A = te.placeholder((3, 4), name="A")
    message = refusal(lambda: te.compute((3, 4), lambda i: A[i, 0]), ExpressionError)
    assert "has rank 2, but its function takes 1 axes" in message


def test_a_declared_thread_extent_that_differs_is_refused():
    s, _, B = row_sum(64, 4)
    _, inner = s[B].split(B.op.axis[0], factor=32)
    thread = te.thread_axis((0, 16), "threadIdx.x")
    assert "declared with extent 16, the axis has 32" in refusal(lambda: s[B].bind(inner, thread))
