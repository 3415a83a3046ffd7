# SPDX-License-Identifier: Apache-2.0
"""Malformed tensor expressions and te reducers, one a test: class, code and full message."""

import pytest

from axisfold import te
from axisfold.errors import DTypeError, ExpressionError, ReducerError


def refused(kind, code, action):
    with pytest.raises(kind) as caught:
        action()
    assert type(caught.value) is kind
    assert caught.value.code == code
    return str(caught.value).removesuffix(f" [axisfold-{code}]")


@pytest.fixture
def A():
    return te.placeholder((te.var("n"), te.var("m")), name="A")


@pytest.fixture
def k():
    return te.reduce_axis((0, 8), "k")


def test_d101_dtype():
    assert refused(DTypeError, "D101", lambda: te.placeholder((2,), object)) == (
        "dtype object is not supported: axisfold reduces numbers and truth values only. Convert "
        "to one of bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, "
        "bfloat16, float32, float64, complex64, complex128, or use NumPy for this array."
    )


def test_e204_wrong_number_of_indices(A):
    assert refused(ExpressionError, "E204", lambda: A[1, 2, 3]) == (
        "tensor A has 2 axes, but 3 indices were given. Give 2 indices."
    )


def test_e204_too_few_indices(A):
    assert refused(ExpressionError, "E204", lambda: te.compute((3,), lambda i: A[i])) == (
        "tensor A has 2 axes, but 1 indices were given. Give 2 indices."
    )


def test_e205_index_that_is_no_integer(A):
    assert refused(ExpressionError, "E205", lambda: A[1, 2.0]) == (
        "index 1 of tensor A has dtype float32. Indices are integers."
    )


@pytest.mark.parametrize(
    ("shape", "shown"),
    [((-1,), "-1"), ((2.5,), "2.5"), ((True,), "True"), ((2**70,), None)],
)
def test_e206_extent(shape, shown):
    if shown is None:
        message = refused(ExpressionError, "E104", lambda: te.placeholder(shape))
        assert message.startswith(f"int {2**70} cannot stand in an expression.")
        return
    assert refused(ExpressionError, "E206", lambda: te.placeholder(shape)) == (
        f"extent {shown} of a shape is no int32 or int64 >= 0."
    )


def test_e206_extent_of_another_dtype(A):
    assert refused(ExpressionError, "E206", lambda: te.compute((A[0, 0],), lambda i: i)) == (
        "extent A[0, 0] of dtype float32 of a shape is no int32 or int64 >= 0."
    )


def test_e207_strides():
    assert refused(ExpressionError, "E207", lambda: te.placeholder((2, 3), strides=(1,))) == (
        "placeholder placeholder has 2 axes but 1 strides."
    )


def test_e208_complex():
    assert refused(ExpressionError, "E208", lambda: te.placeholder((2,), "complex64", "Z")) == (
        "placeholder Z is complex, and loop IR knows real numbers only. Use two placeholders, or "
        "axisfold.fold, which does it for you."
    )


@pytest.mark.parametrize("make", [te.var, te.size_var])
def test_e209_variable(make):
    assert refused(ExpressionError, "E209", lambda: make("x", "float32")) == (
        "variable 'x' of dtype float32 is neither int32 nor int64. Variables are extents; pass "
        "other values in a placeholder of shape ()."
    )


@pytest.mark.parametrize("least", [-1, 2.0, True])
def test_e226_least_extent(least):
    assert refused(ExpressionError, "E226", lambda: te.size_var("x", least=least)) == (
        f"variable 'x': least={least!r} is no integer >= 0. Give the smallest extent that arrays "
        "have, such as 64."
    )


@pytest.mark.parametrize(("function", "count"), [(lambda i: i, 1), (lambda i, j, k: i, 3)])
def test_e211_wrong_number_of_axes(function, count):
    assert refused(ExpressionError, "E211", lambda: te.compute((2, 3), function, "C")) == (
        f"compute 'C' has rank 2, but its function takes {count} axes. Give it 2 parameters, or "
        "*indices."
    )


@pytest.mark.parametrize("function", [lambda i, j=0: i, lambda i, *, j: i, lambda i, **j: i])
def test_e212_parameters(function):
    assert refused(ExpressionError, "E212", lambda: te.compute((2, 3), function, "C")) == (
        "parameter 'j' of compute 'C' has a default or is keyword-only. Every parameter is an axis."
    )


def test_e213_axis_of_no_loop(A, k):
    assert refused(ExpressionError, "E213", lambda: te.compute((2,), lambda i: A[i, k], "C")) == (
        "axis 'k' is used in compute 'C' but belongs to no loop of it. Fold over it, as in "
        "te.sum(…, axis=k), or index with an axis of this stage."
    )


def test_e214_nothing():
    assert refused(ExpressionError, "E214", lambda: te.compute((2,), lambda i: None, "C")) == (
        "the function of compute 'C' returned None. Return an expression of its parameters."
    )
    assert refused(ExpressionError, "E214", lambda: te.compute((2,), lambda i: (), "C")) == (
        "the function of compute 'C' returned no expression."
    )


def test_e221_no_reduce_axis(A):
    def body(i):
        return te.sum(A[i, i], axis=i)

    assert refused(ExpressionError, "E221", lambda: te.compute((2,), body, "C")) == (
        "Axis(i, data) is not a reduce axis. Make it with te.reduce_axis."
    )


def test_e222_axis_twice(A, k):
    assert refused(ExpressionError, "E222", lambda: te.sum(A[0, k], axis=[k, k])) == (
        "a reduce axis is named twice."
    )


def test_e223_no_axis(A):
    assert refused(ExpressionError, "E223", lambda: te.sum(A[0, 0], axis=[])) == (
        "a reduction folds over at least one axis. Name it: axis=k."
    )


def test_e224_bounds_that_read_an_inner_axis(A, k):
    inner = te.reduce_axis((0, k), "j")

    def body(i):
        return te.sum(A[k, inner], axis=[inner, k])

    assert refused(ExpressionError, "E224", lambda: te.compute((2,), body, "C")) == (
        "the bounds of reduce axis 'j' of compute 'C' read an axis that is not outside of it. Name "
        "the axes in the order of their loops: axis=[outer, inner]."
    )


@pytest.mark.parametrize("dom", [8, (0,), (0, 1, 2), "ab"])
def test_e241_range(dom):
    assert refused(ExpressionError, "E241", lambda: te.reduce_axis(dom)) == (
        f"reduce_axis needs a half-open range (low, high), not {dom!r}. "
        "Write te.reduce_axis((0, n))."
    )


@pytest.mark.parametrize("end", [1.0, True])
def test_e242_range_end(end):
    assert refused(ExpressionError, "E242", lambda: te.reduce_axis((0, end))) == (
        f"the range end {end!r} is neither int32 nor int64."
    )


def test_e243_range_backwards():
    assert refused(ExpressionError, "E243", lambda: te.reduce_axis((3, 2))) == (
        "the range (3, 2) ends before it begins."
    )


def test_e101_axis_compared(k):
    assert refused(ExpressionError, "E101", lambda: k == 0) == (
        "`==` compares the structure of expressions, and 0 is none. "
        "Write expr.equal(0) to build a comparison."
    )


def test_r121_combiner():
    assert refused(
        ReducerError, "R121", lambda: te.comm_reducer(lambda x: x, lambda t: 0, "r")
    ) == ("the combiner of 'r' must take two parameters. Write lambda x, y: …")


def test_r122_number_of_identities(A, k):
    r = te.comm_reducer(lambda x, y: x, lambda *t: (0,), "r")
    assert refused(ReducerError, "R122", lambda: r((A[0, k], A[0, k]), axis=k)) == (
        "reducer 'r' folds 2 values but has 1 identities."
    )


def test_r123_number_of_results(A, k):
    r = te.comm_reducer(lambda x, y: (x[0],), lambda a, b: (te.const(0, a), te.const(0, b)), "r")
    assert refused(ReducerError, "R123", lambda: r((A[0, k], A[0, k]), axis=k)) == (
        "the combiner of 'r' returns 1 values for a state of 2."
    )


def test_r124_identity_that_varies(A, k):
    r = te.comm_reducer(lambda x, y: x + y, lambda t: A[0, 0], "r")
    assert refused(ReducerError, "R124", lambda: r(A[0, k], axis=k)) == (
        "an identity of reducer 'r' is no constant."
    )


def test_r125_identity_that_does_not_fit(k):
    U = te.placeholder((8,), "uint8", "U")
    r = te.comm_reducer(lambda x, y: x + y, lambda t: -1, "r")
    assert refused(ReducerError, "R125", lambda: r(U[k], axis=k)) == (
        "identity -1 of reducer 'r' does not fit dtype uint8. Give a constant of the dtype that "
        "the state should have: te.const(value, dtype)."
    )


def test_r201_part_of_an_expression(A, k):
    def body(i):
        return te.sum(A[i, k], axis=k) + 1

    assert refused(ReducerError, "R201", lambda: te.compute((2,), body, "C")) == (
        "in compute 'C' a reduction is part of a larger expression. Reductions stand alone at the "
        "top level: compute them in a stage of their own and use its tensor."
    )


def test_r201_beside_a_plain_value(A, k):
    def body(i):
        return te.sum(A[i, k], axis=k), A[i, 0]

    message = refused(ReducerError, "R201", lambda: te.compute((2,), body, "C"))
    assert message.startswith("in compute 'C' a reduction is part of a larger expression.")


def test_r202_two_reductions(A, k):
    def body(i):
        return te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k)

    assert refused(ReducerError, "R202", lambda: te.compute((2,), body, "C")) == (
        "compute 'C' returns several different reductions. Make one te.comm_reducer over tuples, "
        "or one stage for each."
    )


def test_r204_number_of_starts(A, k):
    assert refused(ReducerError, "R204", lambda: te.sum(A[0, k], axis=k, init=(1, 2))) == (
        "init= has 2 values for a state of 1 components."
    )
