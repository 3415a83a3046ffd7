# SPDX-License-Identifier: Apache-2.0
"""topi: results against NumPy, with the default schedule and with topi's."""

import numpy as np
import pytest

import axisfold.compat.tvm as tvm
from axisfold.compat.tvm import te, topi
from axisfold.errors import AxisError, EmptyError

SHAPES = {
    1: [(1,), (7,), (300,)],
    2: [(1, 1), (3, 5), (17, 33), (5, 130), (130, 5), (0, 4)],
    3: [(2, 3, 70), (1, 130, 3), (4, 1, 9)],
}
HOMES = {"default": None, "scheduled": topi.generic.schedule_reduce}


def compiled(make, rank, dtype="float32", schedule=None):
    A = te.placeholder([te.var(f"n{i}") for i in range(rank)], dtype, name="A")
    result = make(A)
    s = te.create_schedule(result.op) if schedule is None else schedule([result])
    return tvm.build(s, [A, result], "llvm"), str(result.dtype)


def run(function, x, shape):
    built, dtype = function
    out = tvm.nd.array(np.full(shape, 1, dtype))
    built(tvm.nd.array(x), out)
    return out.numpy()


def check(name, x, axis, keepdims, function):
    wanted = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
    got = run(function, x, wanted.shape)
    np.testing.assert_array_equal(got, wanted.astype(got.dtype))


@pytest.mark.parametrize("schedule", HOMES)
@pytest.mark.parametrize(
    ("name", "rank", "axis", "keepdims", "dtype"),
    [
        ("sum", 1, None, False, "float32"), ("sum", 2, 1, False, "float64"),
        ("sum", 2, 0, True, "int32"), ("sum", 2, (0, -1), False, "int64"),
        ("sum", 3, -2, True, "float32"),
        ("max", 2, 1, True, "float32"), ("min", 2, 0, False, "int32"),
        ("max", 3, (0, 2), False, "uint8"),
        ("prod", 2, -1, False, "float64"), ("argmax", 2, 1, False, "float32"),
        ("argmin", 2, 0, True, "int32"), ("argmax", 3, None, False, "float64"),
        ("all", 2, 1, False, "bool"), ("any", 2, 0, False, "int32"),
    ],
)  # fmt: skip
def test_reductions(name, rank, axis, keepdims, dtype, schedule):
    function = compiled(
        lambda A: getattr(topi, name)(A, axis, keepdims), rank, dtype, HOMES[schedule]
    )
    for number, shape in enumerate(SHAPES[rank]):
        if 0 in shape and name in ("max", "min", "argmax", "argmin"):
            continue
        x = np.random.default_rng(number).integers(0 if dtype[0] in "bu" else -3, 4, shape)
        check(name, x.astype(dtype), axis, keepdims, function)


@pytest.mark.parametrize("schedule", HOMES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_last_index_of_ties(name, schedule):
    function = compiled(
        lambda A: getattr(topi, name)(A, 1, select_last_index=True), 2, "int32", HOMES[schedule]
    )
    x = np.random.default_rng(0).integers(0, 3, (9, 200)).astype("int32")
    flipped = getattr(np, name)(x[:, ::-1], axis=1)
    assert (run(function, x, 9) == 199 - flipped).all()


def test_axes_as_te_counts_them():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    assert (run(compiled(lambda A: topi.sum(A, (0, 0)), 2), x, 3) == x.sum(axis=0)).all()
    assert (run(compiled(lambda A: topi.sum(A, (0, -2)), 2), x, 3) == x.sum(axis=0)).all()
    assert (run(compiled(lambda A: topi.sum(A, ()), 2), x, (2, 3)) == x).all()
    A = te.placeholder((2, 3), name="A")
    with pytest.raises(AxisError, match=r"sum: axis 2 is none of a tensor with 2 axes"):
        topi.sum(A, axis=2)
    with pytest.raises(AxisError, match="max: axis 'x' is none"):
        topi.max(A, axis="x")


def test_names_of_stages_and_axes():
    A = te.placeholder((4, 5), name="A")
    total = topi.sum(A, axis=1)
    assert (total.op.name, total.op.tag) == ("A_red", "comm_reduce")
    assert [a.name for a in (*total.op.axis, *total.op.reduce_axis)] == ["ax0", "k1"]
    largest = topi.argmax(A, axis=1)
    assert largest.op.name == "A_red"
    assert largest.op.input_tensors[0].op.name == "A_red_temp"
    assert topi.nn.softmax(A).op.name == "T_softmax_norm"


def test_dtype_of_the_result_is_that_of_the_input():
    x = np.ones((2, 300), "int8")
    assert (run(compiled(lambda A: topi.sum(A, 1), 2, "int8"), x, 2) == 44).all()
    ones = np.ones((2, 4000), "float16")
    for schedule in HOMES.values():
        function = compiled(lambda A: topi.sum(A, 1), 2, "float16", schedule)
        assert (run(function, ones, 2) == 4000).all()
    truth = compiled(lambda A: topi.sum(A, 1), 2, "bool")
    assert run(truth, np.array([[True, True], [False, False]]), 2).tolist() == [True, False]


def test_an_axis_without_elements_is_refused_where_it_is_known():
    A = te.placeholder((2, 0), name="A")
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(EmptyError, match=f"{name} of A: axis 1 has no elements"):
            getattr(topi, name)(A, axis=1)
    # Where it is not, the result is the identity: -inf, and the index -1.
    x = np.empty((2, 0), "float32")
    assert (run(compiled(lambda A: topi.max(A, 1), 2), x, 2) == -np.inf).all()
    assert (run(compiled(lambda A: topi.argmax(A, 1), 2), x, 2) == -1).all()


def softmax(x, axis, log):
    wide = x.astype("float64")
    with np.errstate(divide="ignore"):
        shifted = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
        total = np.exp(shifted).sum(axis=axis, keepdims=True)
        return shifted - np.log(total) if log else np.exp(shifted) / total


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    ("rank", "axis", "dtype"),
    [(1, 0, "float32"), (2, -1, "float32"), (2, 0, "float32"), (3, 1, "float64"),
     (3, 0, "float32"), (2, 1, "float16")],
)  # fmt: skip
def test_softmax(name, rank, axis, dtype):
    make = getattr(topi.nn, name)
    function = compiled(lambda A: make(A, axis), rank, dtype, topi.generic.schedule_softmax)
    tolerance = {"float16": 1e-3, "float32": 5e-6, "float64": 1e-13}[dtype]
    for shape in [*SHAPES[rank], (70,) * rank]:
        x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        got = run(function, x, shape)
        wanted = softmax(x, axis, name == "log_softmax")
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_softmax_of_a_sum_is_scheduled_as_a_whole():
    A = te.placeholder((6, 40, 50), name="A")
    B = te.compute((6, 40, 50), lambda i, j, k: A[i, j, k] * 2.0, name="B")
    result = topi.nn.softmax(topi.sum(B, axis=2))
    s = topi.x86.schedule_softmax(result)
    f = tvm.build(s, [A, result])
    x = np.random.default_rng(0).standard_normal((6, 40, 50)).astype("float32")
    out = tvm.nd.empty((6, 40))
    f(tvm.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), softmax(x.sum(axis=2) * 2, 1, False), rtol=1e-4)


def test_injective_schedule_of_two_outputs():
    A = te.placeholder((5, 70), name="A")
    B = te.compute((5, 70), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((5, 70), lambda i, j: B[i, j] * 3.0, name="C")
    f = tvm.build(topi.generic.schedule_injective([B, C]), [A, B, C])
    x = np.random.default_rng(0).standard_normal((5, 70)).astype("float32")
    b, c = np.empty_like(x), np.empty_like(x)
    f(x, b, c)
    assert (b == x + 1).all()
    assert (c == (x + np.float32(1)) * np.float32(3)).all()


def test_reduction_feeding_elementwise_stages():
    A = te.placeholder((8, 300), name="A")
    total = topi.sum(A, axis=1, keepdims=True)
    mean = te.compute((8, 1), lambda i, j: total[i, j] / 300.0, name="mean")
    result = te.compute((8, 300), lambda i, j: A[i, j] - mean[i, 0], name="result")
    f = tvm.build(topi.generic.schedule_reduce(result), [A, result])
    x = np.random.default_rng(0).standard_normal((8, 300)).astype("float32")
    out = np.empty_like(x)
    f(x, out)
    np.testing.assert_allclose(out, x - x.mean(axis=1, keepdims=True), atol=1e-5)
