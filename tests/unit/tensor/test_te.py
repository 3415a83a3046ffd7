# SPDX-License-Identifier: Apache-2.0
"""te as users of tensor expressions know it."""

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build
from axisfold.ir import build as ir
from axisfold.ir.expr import Var


def run(output, *arrays):
    """Build a tensor with its placeholders as inputs and run it."""
    outputs = output if isinstance(output, tuple) else (output,)
    inputs, seen = [], list(outputs)
    while seen:
        op = seen.pop(0).op
        for tensor in op.input_tensors:
            if tensor.op.body:
                seen.append(tensor)
            elif tensor not in inputs:
                inputs.append(tensor)
    function = build(te.create_schedule([t.op for t in outputs]), [*inputs, *outputs])
    shape = tuple(int(e.value) for e in outputs[0].shape)
    found = [np.zeros(shape, t.dtype.to_numpy()) for t in outputs]
    function(*arrays, *found)
    return found[0] if len(found) == 1 else found


def test_axes_take_the_names_of_parameters():
    A = te.placeholder((2, 3, 4), name="A")
    T = te.compute((2, 3, 4), lambda i, *rest: A[(i, *rest)], name="T")
    assert [a.name for a in T.op.axis] == ["i", "rest0", "rest1"]
    U = te.compute((2, 3), lambda *x: A[x[0], x[1], 0], name="U", tag="mine")
    assert [a.name for a in U.op.axis] == ["x0", "x1"]
    assert U.op.tag == "mine"


def test_what_can_be_read():
    A = te.placeholder((2, te.var("n")), name="A")
    k = te.reduce_axis((0, A.shape[1]), "k")
    B = te.compute((2,), lambda i: te.sum(A[i, k], axis=k), name="B")
    assert (A.ndim, A.name, str(A.dtype), str(A.shape[1])) == (2, "A", "float32", "n")
    assert (B.op.num_outputs, B.value_index) == (1, 0)
    assert B.op.reduce_axis == (k,)
    assert B.op.input_tensors == (A,)
    assert [str(read) for read in B.op.reads] == ["A[i, k]"]
    assert B.op.reads is B.op.reads
    assert B.op.output(0) is B
    assert repr(B) == "Tensor(B, rank 1, float32)"
    assert repr(k) == "Axis(k, reduce)"


def test_indexing_spellings():
    A = te.placeholder((2, 3), name="A")
    assert A[1, 2] == A(1, 2) == A[1][2] == A[(1,)][2]
    assert te.placeholder((), name="Z")[()].indices == ()
    assert str(A[1, 2] * 2) == "(A[1, 2]*2f)"


def test_rank_0_and_a_bare_extent():
    assert te.placeholder(5).ndim == 1
    Z = te.placeholder((), "int32", name="Z")
    T = te.compute((), lambda: Z() + 1, name="T")
    assert run(T, np.array(4, "int32")) == 5


def test_sums_of_scalars_are_plain_combines():
    x, y = Var("x"), Var("y")
    assert te.sum(x, y) == x + y
    assert te.max(x, y) == ir.maximum(x, y)
    assert te.min(x, 3) == ir.minimum(x, 3)
    assert te.sum(x, y, x, y) == x + y + x + y


def test_an_axis_used_by_two_computes_is_cloned():
    A = te.placeholder((4, 5), "int64", name="A")
    k = te.reduce_axis((0, 5), "k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((4,), lambda i: te.max(A[i, k] + B[i], axis=k), name="C")
    assert B.op.reduce_axis[0] is k
    assert C.op.reduce_axis[0] is not k
    assert C.op.reduce_axis[0].name == "k"
    a = np.arange(20).reshape(4, 5)
    np.testing.assert_array_equal(run(C, a), (a + a.sum(1, keepdims=True)).max(1))


def test_axes_that_depend_on_each_other_are_cloned_together():
    A = te.placeholder((4, 4), "int64", name="A")
    j = te.reduce_axis((0, 4), "j")
    k = te.reduce_axis((0, j + 1), "k")
    _ = te.compute((), lambda: te.sum(A[j, k], axis=[j, k]), name="B")
    C = te.compute((), lambda: te.sum(A[j, k] * 2, axis=[j, k]), name="C")
    a = np.arange(16).reshape(4, 4)
    assert run(C, a) == np.tril(a).sum() * 2


def test_where_masks_the_update_and_never_the_start():
    A = te.placeholder((3, 4), "int64", name="A")
    k = te.reduce_axis((0, 4), "k")
    B = te.compute((3,), lambda i: te.sum(A[i, k], axis=k, where=A[i, k] > 5, init=100), name="B")
    a = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(run(B, a), np.where(a > 5, a, 0).sum(1) + 100)


def test_where_takes_a_number_as_a_truth_value():
    A, M = te.placeholder((4,), "int64", name="A"), te.placeholder((4,), "float32", name="M")
    k = te.reduce_axis((0, 4), "k")
    B = te.compute((), lambda: te.sum(A[k], axis=k, where=M[k]), name="B")
    mask = np.array([0, 2, -0.0, np.nan], "float32")
    assert run(B, np.arange(4), mask) == 1 + 3


def test_the_identity_sets_the_accumulator():
    A = te.placeholder((300,), "int8", name="A")
    k = te.reduce_axis((0, 300), "k")
    narrow = te.compute((), lambda: te.sum(A[k], axis=k), name="narrow")
    wide_sum = te.comm_reducer(lambda x, y: x + y, lambda t: te.const(0, "int64"))
    wide = te.compute((), lambda: wide_sum(A[k], axis=k), name="wide")
    ones = np.ones(300, "int8")
    assert run(narrow, ones) == 44
    assert run(wide, ones) == 300
    assert str(wide.dtype) == "int64"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64"])
def test_extremes_of_nothing_are_identities(dtype):
    A = te.placeholder((0,), dtype, name="A")
    k = te.reduce_axis((0, 0), "k")
    high = te.compute((), lambda: te.min(A[k], axis=k), name="high")
    low = te.compute((), lambda: te.max(A[k], axis=k), name="low")
    nothing = np.zeros(0, dtype)
    kind = np.dtype(dtype).kind
    if kind == "f":
        wanted = (np.inf, -np.inf)
    else:
        wanted = (True, False) if kind == "b" else (np.iinfo(dtype).max, np.iinfo(dtype).min)
    assert (run(high, nothing)[()], run(low, nothing)[()]) == wanted


def test_a_nan_wins_and_minus_zero_is_below_zero():
    A = te.placeholder((3,), "float32", name="A")
    k = te.reduce_axis((0, 3), "k")
    B = te.compute((), lambda: te.max(A[k], axis=k), name="B")
    assert np.isnan(run(B, np.array([1, np.nan, 2], "float32")))
    assert not np.signbit(run(B, np.array([-0.0, 0.0, -0.0], "float32")))


def test_several_outputs_without_a_reduction():
    A = te.placeholder((5,), "int64", name="A")
    T = te.compute((5,), lambda i: (A[i] + 1, A[i].equal(2), A[i] * 0.5), name="T")
    assert [t.name for t in T] == ["T.v0", "T.v1", "T.v2"]
    more, is_two, half = run(T, np.arange(5))
    np.testing.assert_array_equal(more, np.arange(5) + 1)
    np.testing.assert_array_equal(is_two, np.arange(5) == 2)
    np.testing.assert_array_equal(half, np.arange(5, dtype="float32") / 2)


def test_floor_division_of_floats():
    A = te.placeholder((4,), "float64", name="A")
    T = te.compute((4,), lambda i: (A[i] // 2.5, A[i] % 2.5), name="T")
    a = np.array([7.0, -7.0, 2.5, 0.1])
    quotient, rest = run(T, a)
    np.testing.assert_array_equal(quotient, np.floor(a / 2.5))
    np.testing.assert_array_equal(rest, a - np.floor(a / 2.5) * 2.5)


def test_bounds_that_are_loaded():
    # Rows of different lengths, as in a compressed sparse matrix.
    start = te.placeholder((5,), "int32", name="start")
    values = te.placeholder((te.var("count"),), "int64", name="values")

    def body(i):
        k = te.reduce_axis((start[i], start[i + 1]), "k")
        return te.sum(values[k], axis=k)

    B = te.compute((4,), body, name="B")
    function = build(te.create_schedule(B.op), [start, values, B])
    ends, data, found = np.array([0, 2, 2, 5, 6], "int32"), np.arange(6) + 1, np.zeros(4, "int64")
    function(ends, data, found)
    np.testing.assert_array_equal(found, [3, 0, 12, 6])


def test_a_gather():
    P, A = te.placeholder((4,), "int32", name="P"), te.placeholder((9,), "int64", name="A")
    T = te.compute((4,), lambda i: A[P[i]], name="T")
    places = np.array([8, 0, 3, 3], "int32")
    np.testing.assert_array_equal(run(T, places, np.arange(9) * 5), places * 5)


def test_a_choice_guards_a_load():
    A = te.placeholder((4,), "int64", name="A")
    T = te.compute((6,), lambda i: te.if_then_else(te.all(i > 0, i < 5), A[i - 1], -1), name="T")
    np.testing.assert_array_equal(run(T, np.arange(4) + 7), [-1, 7, 8, 9, 10, -1])


def test_scalar_maths():
    A = te.placeholder((3,), "float64", name="A")
    T = te.compute(
        (3,),
        lambda i: (
            te.exp(A[i]), te.log(A[i]), te.sqrt(A[i]), te.rsqrt(A[i]), te.tanh(A[i]),
            te.sigmoid(A[i]), te.power(A[i], 3), te.round(A[i]), te.abs(-A[i]), te.fmod(A[i], 2),
        ),
        name="T",
    )  # fmt: skip
    a = np.array([0.5, 2.5, 7.25])
    wanted = [
        np.exp(a), np.log(a), np.sqrt(a), 1 / np.sqrt(a), np.tanh(a), 1 / (1 + np.exp(-a)), a**3,
        np.rint(a), a, np.fmod(a, 2),
    ]  # fmt: skip
    for found, expected in zip(run(T, a), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_constants_of_numpy():
    assert te.const(np.float32(0.1), "float64").value == float(np.float32(0.1))
    assert te.const(np.int8(3)) == ir.const(3, "int32")
    assert te.placeholder((np.int64(3), np.uint8(4)), np.float16).shape[1] == ir.const(4)


def test_limits():
    assert te.max_value("int8") == ir.const(127, "int8")
    assert te.min_value("float32").value == float(np.finfo("float32").min)
    assert te.min_value("bool") == ir.FALSE
