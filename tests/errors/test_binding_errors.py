# SPDX-License-Identifier: Apache-2.0
"""Bad arguments of lower, build and built functions: class, code, full message, nothing written."""

import copy
import pickle

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build, lower
from axisfold.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError


def row_sum(n=None, m=None):
    n, m = n or te.var("n"), m or te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B


@pytest.fixture(scope="module")
def function():
    s, A, B = row_sum()
    return build(s, [A, B])


def text_of(kind, code, action):
    with pytest.raises(kind) as caught:
        action()
    assert type(caught.value) is kind
    assert caught.value.code == code
    return str(caught.value).removesuffix(f" [axisfold-{code}]")


def refused(kind, code, function, a, b):
    """Call a function that must refuse, and must not have written."""
    before = np.copy(b)
    message = text_of(kind, code, lambda: function(a, b))
    np.testing.assert_array_equal(b, before)
    return message


A = np.ones((4, 6), "float32")


def out(n=4, dtype="float32"):
    return np.full(n, 7, dtype)


@pytest.mark.parametrize("arrays", [(), (A,), (A, out(), out())])
def test_a201_number_of_arguments(function, arrays):
    assert text_of(ArgumentError, "A201", lambda: function(*arrays)) == (
        f"default_function takes 2 arrays (A, B), but {len(arrays)} were given."
    )


@pytest.mark.parametrize("wrong", [[[1.0]], 3, None, memoryview(A)])
def test_a202_no_array(function, wrong):
    assert refused(ArgumentError, "A202", function, wrong, out()) == (
        f"argument 0 (A) is a {type(wrong).__name__}, not a NumPy array. Convert it with "
        "numpy.asarray."
    )


def test_a202_masked_array(function):
    masked = np.ma.masked_array(A, A > 2)
    assert refused(ArgumentError, "A202", function, masked, out()) == (
        "argument 0 (A) is a masked array, and the kernel would not see its mask. Pass "
        ".filled(value), or fold .compressed()."
    )


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "complex64", object])
def test_d201_dtype_of_an_input(function, dtype):
    wrong = A.astype(dtype)
    assert refused(DTypeError, "D201", function, wrong, out()) == (
        f"argument 0 (A) has dtype {wrong.dtype}, but the kernel was built for float32. Convert "
        "it with .astype('float32')."
    )


def test_d201_byte_order(function):
    assert refused(DTypeError, "D201", function, A.astype(">f4"), out()) == (
        "argument 0 (A) has dtype >f4, but the kernel was built for float32. Convert it with "
        ".astype('float32')."
    )


def test_d201_dtype_of_an_output(function):
    assert refused(DTypeError, "D201", function, A, out(dtype="float64")) == (
        "argument 1 (B) has dtype float64, but the kernel was built for float32. Pass an array of "
        "that dtype."
    )


def test_a203_rank(function):
    assert refused(ShapeError, "A203", function, A[0], out()) == (
        "argument 0 (A) has 1 axes, but the kernel was built for 2."
    )
    assert refused(ShapeError, "A203", function, A, np.full((), 7, "float32")) == (
        "argument 1 (B) has 0 axes, but the kernel was built for 1."
    )


def test_a204_read_only(function):
    frozen = out()
    frozen.flags.writeable = False
    assert refused(ArgumentError, "A204", function, A, frozen) == (
        "argument 1 (B) is an output but read-only. Pass a writable array."
    )


def test_a205_output_with_a_stride_of_0(function):
    flat = np.lib.stride_tricks.as_strided(out(1), (4,), (0,))
    assert refused(ArgumentError, "A205", function, A, flat) == (
        "argument 1 (B) is an output whose elements may overlap (strides (0,)). Pass an array "
        "whose elements all have memory of their own."
    )


def test_a205_output_of_overlapping_elements(function):
    window = np.lib.stride_tricks.as_strided(out(4), (4,), (2,))
    assert refused(ArgumentError, "A205", function, A, window).startswith(
        "argument 1 (B) is an output whose elements may overlap (strides (2,))."
    )


def test_a205_output_over_an_input(function):
    both = np.ones(24, "float32")
    assert refused(ArgumentError, "A205", function, both.reshape(4, 6), both[20:]) == (
        "argument 1 (B) is an output and shares memory with argument 0 (A). Pass a separate array."
    )


def test_a206_extent_of_a_variable(function):
    assert refused(ShapeError, "A206", function, A, out(5)) == (
        "argument 1 (B) has extent 5 along axis 0, but 4 (n = 4) is needed."
    )


def test_a206_constant_extent():
    s, X, Y = row_sum(4, 6)
    fixed = build(s, [X, Y])
    assert refused(ShapeError, "A206", fixed, A[:, :5], out()) == (
        "argument 0 (A) has extent 5 along axis 1, but 6 is needed."
    )


def test_a206_computed_extent():
    n = te.var("n")
    X = te.placeholder((n,), name="X")
    Y = te.compute((n - 2,), lambda i: X[i + 2] - X[i], name="Y")
    differences = build(te.create_schedule(Y.op), [X, Y])
    assert refused(ShapeError, "A206", differences, A[0], out(6)) == (
        "argument 1 (Y) has extent 6 along axis 0, but 4 ((n - 2) = 4) is needed."
    )
    assert refused(ShapeError, "A206", differences, A[0, :1], out(0)) == (
        "argument 1 (Y) has extent 0 along axis 0, but -1 ((n - 2) = -1) is needed."
    )


def test_a101_no_tensor():
    s, X, Y = row_sum()
    n = X.shape[0]
    assert text_of(ArgumentError, "A101", lambda: lower(s, [n, X, Y])) == (
        f"args[0] is {n!r}, not a tensor. Extents are bound from the arrays' shapes and are not "
        "listed."
    )


def test_a101_tensor_of_another_schedule():
    s, X, Y = row_sum()
    other = row_sum()[2]
    assert text_of(ArgumentError, "A101", lambda: lower(s, [X, Y, other])) == (
        "args[2], tensor 'B', is not part of the schedule."
    )


def test_a101_twice():
    s, X, Y = row_sum()
    assert text_of(ArgumentError, "A101", lambda: lower(s, [X, Y, Y])) == (
        "a tensor is named twice in args."
    )


def test_a102_missing():
    s, X, Y = row_sum()
    assert text_of(ArgumentError, "A102", lambda: lower(s, [Y])) == (
        "input 'A' is not among args. Pass it: args=[…, A]."
    )
    assert text_of(ArgumentError, "A102", lambda: lower(s, [X])) == (
        "output 'B' is not among args. Pass it: args=[…, B]."
    )


def test_a103_a_variable_without_a_value():
    X = te.placeholder((te.var("n"),), name="X")
    loose = te.var("loose")
    Y = te.compute((3,), lambda i: X[i + loose], name="Y")
    s = te.create_schedule(Y.op)
    assert text_of(ArgumentError, "A103", lambda: lower(s, [X, Y])) == (
        "variable 'loose' cannot be bound: it is no extent of an argument. Use it as an extent of "
        "a placeholder, or a constant in its place."
    )


@pytest.mark.parametrize("name", ["", "two words", "1st", "größe"])
def test_a104_name(name):
    s, X, Y = row_sum()
    assert text_of(ArgumentError, "A104", lambda: build(s, [X, Y], name=name)) == (
        f"{name!r} cannot name a function."
    )


@pytest.mark.parametrize("target", ["vulkan", None, 3])
def test_x101_target(target):
    s, X, Y = row_sum()
    with pytest.raises(UnsupportedError) as caught:
        build(s, [X, Y], target=target)
    assert caught.value.code == "X101"
    assert str(caught.value).startswith(f"target {target!r} is not available in this release.")


@pytest.mark.parametrize("action", [pickle.dumps, copy.copy, copy.deepcopy])
def test_x104_pickled_or_copied(action):
    s, X, Y = row_sum()
    function = build(s, [X, Y])
    assert text_of(UnsupportedError, "X104", lambda: action(function)) == (
        "a Function cannot be pickled or copied: its code is loaded into this process. Pickle the "
        "text s.trace.to_json() of its schedule s, and build Schedule.from_json(text) again."
    )


def test_what_to_pickle_in_place_of_a_function():
    s, _, _ = row_sum()
    again = te.Schedule.from_json(pickle.loads(pickle.dumps(s.trace.to_json())))
    found = np.zeros(2, "float32")
    build(again, again.trace.args)(np.ones((2, 3), "float32"), found)
    assert (found == 3).all()
