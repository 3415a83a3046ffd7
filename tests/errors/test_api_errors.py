# SPDX-License-Identifier: Apache-2.0
"""What axisfold.sum, fold and Reducer refuse: class, code and the whole message."""

import pickle

import numpy as np
import pytest

import axisfold as af
from axisfold import te
from axisfold.api.catalog import CATALOG, SPREADS
from axisfold.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    DTypeError,
    EmptyError,
    ExpressionError,
    ReducerError,
    ShapeError,
)

X = np.arange(12.0).reshape(3, 4)
INTS = np.arange(12).reshape(3, 4)
DTYPES = (
    "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, "
    "float32, float64, complex64, complex128"
)
NAMES = ", ".join([*CATALOG, *SPREADS])
BY_DTYPE = "Give a value of that dtype, or a function of the dtype such as axisfold.lowest."
BY_FIELDS = "Return a dict with exactly these fields, or a tuple in this order."
OUT_OF_RANGE = "is out of range for an array of 2 axes. Valid axes are from -2 to 1."
NO_STATE = """reducer 'r' has no state. Give a dict such as {"s": "acc"}."""
OTHER_DTYPES = "Use acc, compensated, compensated_real, held, input or a dtype name."
TWO_STATES = "combine of reducer 'r' must take two states. Write lambda a, b: …"
FACTS = (
    "Choose from ['commutative', 'exact', 'first', 'idempotent', 'ordered']; "
    "commutative and ordered exclude each other."
)


def refused(call, error, message):
    """Assert the class and the text, and that the error survives pickling."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert str(caught.value) == message
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), copy.code) == (error, message, caught.value.code)


# --- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function", [af.sum, af.argmax, lambda x, axis: af.fold(x, "var", axis=axis)]
)
@pytest.mark.parametrize(
    ("axis", "code", "text"),
    [
        (2, "A301", f"axis 2 {OUT_OF_RANGE}"),
        (-3, "A301", f"axis -3 {OUT_OF_RANGE}"),
        ((0, 2), "A301", f"axis 2 {OUT_OF_RANGE}"),
        (2**70, "A301", f"axis {2**70} {OUT_OF_RANGE}"),
        ((0, 0), "A302", "axis (0, 0) names an axis twice. Name each axis once."),
        ((1, -1), "A302", "axis (1, -1) names an axis twice. Name each axis once."),
    ],
)  # fmt: skip
def test_axes(function, axis, code, text):
    refused(lambda: function(X, axis=axis), AxisError, f"{text} [axisfold-{code}]")


@pytest.mark.parametrize(
    "axis", [1.0, ("0",), True, (0, True), (None,), {0}, (0, (1,)), [0], [0, 1]]
)
@pytest.mark.parametrize("function", [af.sum, lambda x, axis: af.fold(x, "var", axis=axis)])
def test_axes_of_other_types(function, axis):
    wrong = axis[-1] if isinstance(axis, tuple) else axis
    refused(
        lambda: function(X, axis=axis), ArgumentTypeError,
        f"axis {wrong!r} is not an integer. Use an integer or a tuple of them. [axisfold-A303]",
    )  # fmt: skip


def test_axes_of_a_scalar():
    # As NumPy, which lets axis 0 and -1 of a scalar pass.
    assert [af.sum(3.0, axis=a) for a in (0, -1, (), None)] == [3.0] * 4
    text = "is out of range for an array of 0 axes. Valid axes are none: it has no axes."
    for axis, wrong in [(1, 1), (-2, -2), ((0,), 0)]:
        refused(
            lambda axis=axis: af.sum(3.0, axis=axis), AxisError,
            f"axis {wrong} {text} [axisfold-A301]",
        )  # fmt: skip


def test_an_axis_error_is_a_value_error_and_an_index_error():
    assert issubclass(AxisError, ValueError)
    assert issubclass(AxisError, IndexError)


@pytest.mark.parametrize(
    "call", [lambda a: af.sum(X, axis=a), lambda a: af.fold(X, ["sum"], axis=a)]
)
def test_what_equals_a_known_axis_is_still_refused(call):
    # 1, 1.0 and True are one key of a dictionary: the remembered call of the first is not theirs.
    for known in (1, (1,)):
        call(known)
    for axis in (True, 1.0, (True,), (1.0,)):
        with pytest.raises(ArgumentTypeError, match="A303"):
            call(axis)


# --- inputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.array([None, 1]), "object"),
        (10**30, "object"),
        ("abc", "<U3"),
        (np.array([b"a"]), "|S1"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64[D]"),
        (np.array([1], "m8[s]"), "timedelta64[s]"),
        (np.zeros(2, np.longdouble), np.dtype("longdouble").name),
        (np.zeros(2, np.clongdouble), np.dtype("clongdouble").name),
        (np.zeros(2, "V4"), "|V4"),
        (np.zeros(2, [("a", "<f4")]), "[('a', '<f4')]"),
    ],
)
@pytest.mark.parametrize("function", [af.sum, af.max, lambda x: af.fold(x, ["mean"])])
def test_dtypes_of_elements(function, value, name):
    refused(
        lambda: function(value), DTypeError,
        f"dtype {name} is not supported: axisfold reduces numbers and truth values only. "
        f"Convert to one of {DTYPES}, or use NumPy for this array. [axisfold-D101]",
    )  # fmt: skip


@pytest.mark.parametrize("value", [None, {1, 2}, {1: 2}, (i for i in range(3)), object()])
def test_what_is_no_array(value):
    refused(
        lambda: af.sum(value), ArgumentTypeError,
        f"x is a {type(value).__name__}, which is no array. "
        "Pass an array, a number or nested lists of numbers. [axisfold-A317]",
    )  # fmt: skip


def test_ragged_lists():
    refused(
        lambda: af.sum([[1, 2], [3]]), ArgumentError,
        "x is no array: setting an array element with a sequence. The requested array has an "
        "inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part. "
        "Pass a NumPy array or nested lists of numbers. [axisfold-A304]",
    )  # fmt: skip


def test_masked_arrays():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    rest = (
        "is a masked array, and its masked elements would be folded too. Fold x.filled(value) "
        "with a value that does not count, or x.compressed(). [axisfold-A309]"
    )
    refused(lambda: af.sum(masked), ArgumentError, f"x {rest}")
    refused(lambda: af.fold((X, masked), "sum"), ArgumentError, f"input 1 {rest}")


def test_no_input():
    refused(
        lambda: af.fold((), "sum"), ArgumentError,
        "fold was given no input. Pass an array or a tuple of arrays. [axisfold-A310]",
    )  # fmt: skip


def test_inputs_that_do_not_broadcast():
    dot = af.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    refused(
        lambda: af.fold((X, np.ones(3)), dot), ShapeError,
        "inputs of shapes (3, 4), (3,) do not broadcast. Align the shapes from the last axis. "
        "[axisfold-A307]",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_extremes_of_nothing(name):
    function = getattr(af, name)
    for shape, axis, at in (
        ((2, 0), 1, 1),
        ((0, 2), None, 0),
        ((2, 0, 3), (0, 1), 1),
        ((0,), 0, 0),
    ):
        for call in (
            lambda x, a: function(x, axis=a),
            lambda x, a: af.fold(x, ["sum", name], axis=a),
        ):
            refused(
                lambda call=call, shape=shape, axis=axis: call(np.zeros(shape), axis), EmptyError,
                f"{name} of no elements has no value: axis {at} of shape {shape} is empty. "
                f"Check the "
                "shape first, or fold a reducer that has an identity. [axisfold-A308]",
            )  # fmt: skip
    assert function(np.zeros((0, 2)), axis=1).shape == (0,)
    assert function(np.zeros((0, 0)), axis=1).shape == (0,)
    assert function(np.zeros((0, 3)), axis=()).shape == (0, 3)


# --- names and dtypes ---------------------------------------------------------------------------


def test_unknown_reductions():
    refused(
        lambda: af.fold(X, "median"), ArgumentError,
        f"unknown reduction 'median'. Known are {NAMES}; or pass a Reducer. [axisfold-A305]",
    )  # fmt: skip
    refused(
        lambda: af.fold(X, ("sum", "mean")), ArgumentError,
        "('sum', 'mean') is neither the name of a reduction nor a Reducer. Several reducers go in "
        "a list. [axisfold-A306]",
    )  # fmt: skip
    for item in (3, None):
        refused(
            lambda item=item: af.fold(X, item), ArgumentError,
            f"{item!r} is neither the name of a reduction nor a Reducer. Names are {NAMES}. "
            "[axisfold-A306]",
        )  # fmt: skip
    for function in (af.fold, af.explain):
        refused(
            lambda function=function: function("sum", X), ArgumentError,
            "the ndarray is neither the name of a reduction nor a Reducer. Arrays come first, what "
            "is folded after them. [axisfold-A306]",
        )  # fmt: skip
    refused(
        lambda: af.fold(X, []), ArgumentError,
        "fold was given no reducer. Pass a name or a Reducer. [axisfold-A306]",
    )  # fmt: skip


def test_reductions_that_complex_numbers_lack():
    refused(
        lambda: af.logsumexp(X * 1j), DTypeError,
        "logsumexp of complex128 is not defined. Fold real numbers, such as abs(x). "
        "[axisfold-D301]",
    )  # fmt: skip


def test_dtypes_asked_for():
    for spec in ("nope", 3, [1]):
        refused(
            lambda spec=spec: af.sum(X, dtype=spec), DTypeError,
            f"{spec!r} is not a dtype. Use one of {DTYPES}. [axisfold-D101]",
        )  # fmt: skip
    refused(
        lambda: af.sum(X, dtype=object), DTypeError,
        "dtype object is not supported: axisfold reduces numbers and truth values only. Convert "
        f"to one of {DTYPES}, or use NumPy for this array. [axisfold-D101]",
    )  # fmt: skip
    refused(
        lambda: af.sum(X * 1j, dtype="float64"), ExpressionError,
        "a complex value has no form of dtype float64. "
        "Use a complex dtype, or real parts: x.real of an array, te.real of a value. "
        "[axisfold-E232]",
    )  # fmt: skip


# --- reducers: how they are made ----------------------------------------------------------------


def make(**parts):
    given = {
        "name": "r", "state": {"s": "acc"}, "identity": 0, "lift": lambda x: x,
        "combine": lambda a, b: a.s + b.s,
    }  # fmt: skip
    return af.Reducer(**{**given, **parts})


def one(x):
    return x


@pytest.mark.parametrize(
    ("parts", "code", "text"),
    [
        ({"state": {}}, "R101", NO_STATE),
        ({"state": None}, "R101", NO_STATE),
        ({"state": {"a b": "acc"}}, "R101", "state field 'a b' of reducer 'r' is not a name."),
        ({"state": {1: "acc"}}, "R101", "state field 1 of reducer 'r' is not a name."),
        ({"state": {"__c": "acc"}}, "R101", "state field '__c' of reducer 'r' is not a name."),
        (
            {"state": {"s": "float80"}}, "R101",
            f"state field 's' of reducer 'r' has unknown dtype 'float80'. {OTHER_DTYPES}",
        ),
        (
            {"state": {"s": ["acc"]}}, "R101",
            f"state field 's' of reducer 'r' has unknown dtype ['acc']. {OTHER_DTYPES}",
        ),
        (
            {"state": {"a": "acc", "b": "acc"}}, "R102",
            ("identity of reducer 'r' is one value for 2 fields. Give a dict with a value for each "
            "field."),
        ),
        (
            {"identity": {"t": 0}}, "R102",
            "identity of reducer 'r' has fields ['t'], its state ['s'].",
        ),
        ({"facts": ("fast",)}, "R103", f"facts ['fast'] of reducer 'r' are not legal. {FACTS}"),
        (
            {"facts": ("ordered", "commutative")}, "R103",
            f"facts ['commutative', 'ordered'] of reducer 'r' are not legal. {FACTS}",
        ),
        ({"lift": lambda: 1}, "R104", "lift of reducer 'r' takes no element."),
        ({"lift": lambda index: index}, "R104", "lift of reducer 'r' takes no element."),
        (
            {"lift": 3}, "R104",
            "lift of reducer 'r' is no function with known parameters: 3. Wrap it: lambda x: …",
        ),
        (
            {"combine": max}, "R104",
            ("combine of reducer 'r' is no function with known parameters: <built-in function "
             "max>. "
            "Wrap it: lambda x: …"),
        ),
        ({"combine": one}, "R105", TWO_STATES),
    ],
)  # fmt: skip
def test_parts_of_a_reducer(parts, code, text):
    refused(lambda: make(**parts), ReducerError, f"{text} [axisfold-{code}]")


# --- reducers: what their functions do ----------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (1.5, "int64"), (300, "uint8"), (-1, "uint64"), (float("inf"), "int64"), (2, "bool"),
        (float("nan"), "int32"), (1j, "float64"), (1e300, "float32"),
    ],
)  # fmt: skip
def test_identities_that_do_not_fit(value, state):
    text = (
        f"identity {value!r} of field 's' of reducer 'r' does not fit its dtype {state}. {BY_DTYPE}"
    )
    for given in (value, np.asarray(value)[()], lambda _: value):
        reducer = make(state={"s": state}, identity=given)
        refused(
            lambda reducer=reducer: af.fold(INTS, reducer), ReducerError, f"{text} [axisfold-R106]"
        )


@pytest.mark.parametrize("value", [None, "0", [0]])
def test_identities_that_are_no_numbers(value):
    text = f"identity {value!r} of field 's' of reducer 'r' is not a number. [axisfold-R107]"
    refused(lambda: af.fold(X, make(identity=value)), ReducerError, text)


@pytest.mark.parametrize(
    ("result", "given"),
    [
        (None, "None"), ([1, 2], "2 values"), ((), "0 values"), ({"t": 1}, "fields ['t']"),
        ({"s": 1, "t": 2}, "fields ['s', 't']"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("part", ["lift", "combine", "absorb"])
def test_functions_that_return_no_state(part, result, given):
    function = (lambda x: result) if part == "lift" else (lambda a, b: result)
    refused(
        lambda: af.fold(X, make(**{part: function})), ReducerError,
        f"{part} of reducer 'r' returned {given}, but the state has fields ['s']. {BY_FIELDS} "
        "[axisfold-R108]",
    )  # fmt: skip


def test_one_value_for_several_fields():
    reducer = make(
        state={"s": "acc", "t": "acc"}, identity={"s": 0, "t": 0}, combine=lambda a, b: a.s + b.s
    )
    refused(
        lambda: af.fold(X, reducer), ReducerError,
        f"combine of reducer 'r' returned one value, but the state has fields ['s', 't']. "
        f"{BY_FIELDS} "
        "[axisfold-R108]",
    )  # fmt: skip


def test_states():
    refused(
        lambda: af.fold(X, make(combine=lambda a, b: a.total + b.s)), ReducerError,
        "the state of reducer 'r' has no field 'total'. Its fields are ['s']. [axisfold-R109]",
    )  # fmt: skip

    def change(a, b):
        a.s = a.s + b.s
        return a

    refused(
        lambda: af.fold(X, make(combine=change)), ReducerError,
        "field 's' of a state of reducer 'r' cannot be set. Return a new state: a dict with every "
        "field. [axisfold-R112]",
    )  # fmt: skip


def test_the_number_of_inputs():
    refused(
        lambda: af.fold((X, X), make()), ReducerError,
        "reducer 'r' folds 1 inputs (x), but 2 were given. [axisfold-R110]",
    )  # fmt: skip
    two = make(lift=lambda x, y, index: x * y + index)
    refused(
        lambda: af.fold(X, two), ReducerError,
        "reducer 'r' folds 2 inputs (x, y), but 1 were given. [axisfold-R110]",
    )  # fmt: skip


def test_complex_results_of_a_real_dtype():
    refused(
        lambda: af.fold(X * 1j, make(), dtype="float32"), ReducerError,
        "finalize of reducer 'r' gives a complex value for a result of dtype float32. "
        "[axisfold-R111]",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda a: None, "None"),
        (lambda a: {}, "fields []"),
        (lambda a: (a.s, a.s), "2 values"),
        (lambda a: a, "state of 'r' with fields ['s']"),
    ],
)
def test_finalize_without_a_result(function, given):
    refused(
        lambda: af.fold(X, make(finalize=function)), ReducerError,
        f"finalize of reducer 'r' returned {given}, which is no result. Return a value such as "
        f"a.s, "
        "or a dict with a name for each result. [axisfold-R113]",
    )  # fmt: skip


def test_complex_values_where_real_ones_are_needed():
    refused(
        lambda: af.fold(X * 1j, make(lift=te.exp)), ExpressionError,
        "a complex value stands where a real one is needed. Use te.real, te.imag or te.abs. "
        "[axisfold-E231]",
    )  # fmt: skip


def test_python_conditions_of_expressions():
    for lift in (lambda x: x if x > 0 else -x, lambda x: x and 1, lambda x: max(x, 0)):
        with pytest.raises(ExpressionError, match="E102"):
            af.fold(X, make(lift=lift))
