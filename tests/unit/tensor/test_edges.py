"""Indices outside a tensor are refused when the computation is made."""

import pytest

import axisfold
from axisfold import te
from axisfold.errors import ArgumentError, ExpressionError, ReducerError, ScheduleError

N = te.size_var("n")
A = te.placeholder((4, 8), name="A")
B = te.placeholder((N, N), name="B")


@pytest.mark.parametrize(
    ("make", "reached", "axis", "extent"),
    [
        (lambda: te.compute((4, 4), lambda i, j: A[i, 10**9]), 10**9, 1, 8),
        (lambda: te.compute((4, 4), lambda i, j: A[i - 10**8, j]), -(10**8), 0, 4),
        (lambda: te.compute((4, 4), lambda i, j: A[i, j * 2 + 2]), 8, 1, 8),
        (lambda: te.compute((8, 4), lambda i, j: A[i, j]), 7, 0, 4),
        (lambda: te.compute((4,), lambda i: A[3 - i, i - 1]), -1, 1, 8),
        (lambda: te.compute((4,), lambda i: te.select(i < 3, A[i + 1, 0], 0.0)), 4, 0, 4),
        (lambda: te.compute((N, N), lambda i, j: B[i, j - 1]), -1, 1, "n"),
    ],
)
def test_outside(make, reached, axis, extent):
    with pytest.raises(ExpressionError) as caught:
        make()
    tensor = "B" if extent == "n" else "A"
    assert str(caught.value) == (
        f"compute 'compute' reads index {reached} of axis {axis} of tensor {tensor!r}, whose "
        f"extent is {extent}. Change the index or the shape, or guard it: te.if_then_else(…) "
        "does not evaluate what it does not choose. [axisfold-E225]"
    )


def test_a_folded_index_counts():
    k = te.reduce_axis((0, 9), "k")
    with pytest.raises(ExpressionError, match="reads index 8 of axis 1"):
        te.compute((4,), lambda i: te.sum(A[i, k], axis=k))


def test_what_a_condition_guards_is_legal():
    k = te.reduce_axis((0, 9), "k")
    te.compute((4,), lambda i: te.sum(A[i, k], axis=k, where=k < 8))
    te.compute((4, 8), lambda i, j: te.if_then_else(j > 0, A[i, j - 1], 0.0))
    te.compute((4, 8), lambda i, j: te.Select(j > 0, A[i, j - 1], 0.0))
    te.compute((4, 0), lambda i, j: A[i, j + 100])
    te.compute((N, N), lambda i, j: B[i, j + 1])


def test_select_guards_a_read_at_run_time():
    import numpy as np

    x = te.placeholder((N,), name="X")
    y = te.compute((N,), lambda i: te.Select(i > 0, x[te.maximum(i, 1) - 1], 0.0), name="Y")
    function = axisfold.build(te.create_schedule(y.op), [x, y])
    out = np.empty(5, np.float32)
    function(np.arange(5, dtype=np.float32), out)
    assert out.tolist() == [0, 0, 1, 2, 3]


def test_powers_and_magnitudes():
    x = te.placeholder((3,), "int32", name="X")
    y = te.compute((3,), lambda i: abs(x[i] ** 3) + +(x[i] ** 2), name="Y")
    assert y.dtype.name == "int32"
    import numpy as np

    out = np.empty(3, np.int32)
    axisfold.build(te.create_schedule(y.op), [x, y])(np.array([-2, 0, 3], np.int32), out)
    assert out.tolist() == [12, 0, 36]
    assert (te.const(2.0) ** 0.5).dtype.is_float


K = te.reduce_axis((0, 8), "k")
S = te.compute((4,), lambda i: te.sum(A[i, K], axis=K), name="S")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: te.compute((3,), 3), ExpressionError, "compute 'compute' needs a function from"),
        (
            lambda s: te.compute((3,), max),
            ExpressionError,
            "compute 'compute' needs a function from",
        ),
        (lambda s: te.comm_reducer(3, 4), ReducerError, "the combiner of 'reduce' is no function"),
        (lambda s: te.const("a"), ExpressionError, "const: str 'a' is no number."),
        (lambda s: s.rfactor(S, K, "x"), ScheduleError, "rfactor of stage 'S': factor_axis='x' is"),
        (lambda s: s.cache_write([], "local"), ScheduleError, "cache_write was given no tensor."),
        (lambda s: axisfold.build(s, A), ArgumentError, "args is a Tensor, not a list of tensors."),
        (lambda s: axisfold.build(s, [A, S], name=3), ArgumentError, "3 cannot name a function."),
    ],
)
def test_wrong_kinds_of_arguments(call, error, message):
    with pytest.raises(error) as caught:
        call(te.create_schedule(S.op))
    assert str(caught.value).startswith(message)


def test_a_state_of_too_many_components():
    names = [f"f{n}" for n in range(129)]
    big = axisfold.Reducer(
        "big",
        state=dict.fromkeys(names, "acc"),
        identity=dict.fromkeys(names, 0),
        lift=lambda x: dict.fromkeys(names, x),
        combine=lambda a, b: {n: getattr(a, n) + getattr(b, n) for n in names},
    )
    with pytest.raises(ReducerError) as caught:
        axisfold.fold([1.0, 2.0], big)
    assert str(caught.value) == (
        "the state of big has 129 components; at most 128 can be folded at once. Fold in several "
        "calls, each with a part of the state. [axisfold-R114]"
    )


def test_nested_unrolled_loops_are_written_out_up_to_a_limit():
    x = te.placeholder((256, 256), name="X")
    y = te.compute((256, 256), lambda i, j: x[i, j] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    s[y].unroll(y.op.axis[0])
    s[y].unroll(y.op.axis[1])
    text = axisfold.build(s, [x, y], target="c").source()
    assert 256 <= text.count("Y[") <= 4096
