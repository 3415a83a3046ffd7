# SPDX-License-Identifier: Apache-2.0
"""Smart constructors: conversion, promotion, folding, and what they refuse."""

import math

import numpy as np
import pytest

from axisfold import te
from axisfold.dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, INT32, INT64, DType, parse
from axisfold.errors import DTypeError, ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Binary, Broadcast, Call, Const, Ramp, Var

INT8, UINT8, UINT64 = DType("int", 8), DType("uint", 8), DType("uint", 64)


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (300, "uint8", 44),
        (-1, "uint64", 2**64 - 1),
        (2**31, "int32", -(2**31)),
        (7.0, "int32", 7),
        (0.1, "float32", float(np.float32(0.1))),
        (65520, "float16", math.inf),
        (2**53 + 1, "float64", 2.0**53),
        # Through float64 the last bit would be lost, and the tie go down.
        (2**60 + 2**36 + 1, "float32", float(2**60 + 2**37)),
        pytest.param(10**400, "float32", math.inf, id="huge"),
        pytest.param(-(10**400), "float64", -math.inf, id="-huge"),
        (2, "bool", True),
    ],
)
def test_constants(value, dtype, wanted):
    assert build.const(value, dtype) == Const(wanted, parse(dtype))


@pytest.mark.parametrize("value", [1.5, math.inf, math.nan])
def test_a_fraction_is_no_integer_constant(value):
    with pytest.raises(ExpressionError) as caught:
        te.const(value, "int32")
    assert str(caught.value) == (
        f"{value!r} is not an integer, so it is no constant of dtype int32. "
        "Name a float dtype. [axisfold-E107]"
    )


def test_a_complex_constant_is_refused():
    for value, dtype in ((1.0, "complex64"), (1j, "float32")):
        with pytest.raises(ExpressionError) as caught:
            te.const(value, dtype)
        assert str(caught.value) == (
            f"{value!r} of dtype {dtype} is complex, and loop IR knows real numbers only. "
            "Make two constants, of the real and the imaginary part. [axisfold-E108]"
        )


@pytest.mark.parametrize(
    ("like", "value", "dtype"),
    [
        (INT8, 3, INT8),
        (INT8, 300, INT32),  # would wrap in int8
        (UINT8, -1, INT32),
        (INT32, 2**40, INT64),
        (INT32, 2**63, UINT64),
        (FLOAT16, 3, FLOAT16),
        (FLOAT32, 2.5, FLOAT32),
        (INT32, 2.5, FLOAT32),
        (BOOL, 3, INT32),
        (BOOL, True, BOOL),
        (FLOAT32, np.float64(2), FLOAT64),
        (INT32, np.int8(2), INT8),
        (INT32, np.bool_(True), BOOL),
    ],
)
def test_numbers_follow_expressions(like, value, dtype):
    assert build.as_expr(value, like).dtype == dtype


@pytest.mark.parametrize("value", ["k", None, 2**64, 1j, np.array(3), np.complex64(1), [1]])
def test_what_stands_in_no_expression(value):
    with pytest.raises(ExpressionError) as caught:
        build.as_expr(value)
    assert str(caught.value) == (
        f"{type(value).__name__} {value!r} cannot stand in an expression. Use an expression, an "
        "axis, a number of at most 64 bits or a truth value. [axisfold-E104]"
    )


def test_numpy_scalars_stand_on_either_side():
    x = Var("x", FLOAT32)
    for made in (np.float32(2) * x, x * np.float32(2)):
        assert made.dtype == FLOAT32
        assert isinstance(made, Binary)
    assert (np.int32(3) + Var("i")).dtype == INT32


def test_integers_wrap_and_fold():
    top = build.const(2**31 - 1)
    assert top + 1 == build.const(-(2**31))
    assert build.const(-7) // 2 == build.const(-4)
    assert build.const(-7) % 2 == build.const(1)
    assert te.truncdiv(build.const(-7), 2) == build.const(-3)
    assert te.truncmod(build.const(-7), 2) == build.const(-1)
    assert build.const(5) // 0 == build.const(0)
    assert build.const(5) % 0 == build.const(0)


def test_identities_keep_the_operand():
    x, f = Var("x"), Var("f", FLOAT32)
    assert x + 0 is x
    assert 0 + x is x
    assert x - 0 is x
    assert x * 1 is x
    assert x // 1 is x
    assert x % 1 == build.const(0)
    assert x * 0 == build.const(0)
    assert f * 1 is f
    # Not identities: -0.0 + 0.0 is 0.0, and 0 times infinity a NaN.
    assert isinstance(f + 0, Binary)
    assert isinstance(f * 0, Binary)


def test_floor_division_of_floats():
    a, b = Var("a", FLOAT32), Var("b", FLOAT32)
    floor = Call("floor", (Binary("div", a, b),), FLOAT32)
    assert a // b == floor
    assert a % b == Binary("sub", a, Binary("mul", floor, b))


@pytest.mark.parametrize("op", ["truncdiv", "truncmod"])
def test_integer_operations_on_floats_are_refused(op):
    with pytest.raises(ExpressionError) as caught:
        getattr(te, op)(Var("a", FLOAT32), 2)
    assert str(caught.value) == (
        f"`{op}` is for integers, not for float32. Convert with .astype('int64'), or use te.trunc "
        "and te.fmod. [axisfold-E109]"
    )


def test_bits_of_floats_are_refused():
    with pytest.raises(ExpressionError, match="E109"):
        Var("a", FLOAT32) & 1


def test_division_of_integers_is_ambiguous():
    with pytest.raises(ExpressionError) as caught:
        Var("a") / 2
    assert str(caught.value) == (
        "`/` between integers is ambiguous. Use // (floor), te.truncdiv, or convert one side with "
        ".astype('float64'). [axisfold-E105]"
    )


def test_truth_values():
    p, q = Var("p", BOOL), Var("q", BOOL)
    assert str(p & q) == "(p && q)"
    assert str(p | q) == "(p || q)"
    assert str(p ^ q) == "(p != q)"
    assert str(~p) == "!p"
    assert ~~p is p
    assert (p + q).dtype == INT32
    assert (-p).dtype == INT32
    assert te.all() == build.TRUE
    assert te.any() == build.FALSE
    assert te.all(True, p) is p
    assert te.any(p, True) == build.TRUE


def test_negation():
    assert str(-Var("x")) == "(x*-1)"
    assert str(-Var("f", FLOAT32)) == "(f*-1f)"
    assert str(-Var("u", UINT8)) == "((uint8)0 - u)"


def test_comparisons_are_methods_and_equality_is_structural():
    x = Var("x")
    assert str(x.equal(3)) == "(x == 3)"
    assert str(x.not_equal(3)) == "(x != 3)"
    for other in (3, 2.5, True, np.int64(3)):
        with pytest.raises(ExpressionError) as caught:
            x == other  # noqa: B015
        assert str(caught.value) == (
            f"`==` compares the structure of expressions, and {other!r} is none. "
            f"Write expr.equal({other!r}) to build a comparison. [axisfold-E101]"
        )
    assert x != "x"


def test_an_expression_has_no_truth():
    with pytest.raises(ExpressionError) as caught:
        bool(Var("x") < 3)
    assert str(caught.value) == (
        "the truth of an expression is not known while a program is being built. Use "
        "te.if_then_else, te.all or te.any in place of if, and, or. [axisfold-E102]"
    )


def test_an_expression_is_no_sequence():
    with pytest.raises(ExpressionError) as caught:
        list(Var("x"))
    assert str(caught.value) == "an expression is one value, not a sequence. [axisfold-E103]"


def test_a_choice_on_a_python_truth_value_is_a_mistake():
    x = Var("x")
    with pytest.raises(ExpressionError) as caught:
        te.if_then_else(x == Var("y"), 1, 2)
    assert str(caught.value) == (
        "the condition is the Python value False: `==` compares structure. Write a.equal(b) or "
        "a.not_equal(b) to compare values. [axisfold-E106]"
    )


def test_lanes_of_ramps_fold():
    i, two = Var("i"), Broadcast(build.const(2), 4)
    ramp = Ramp(i, build.const(1), 4)
    assert build.binary("mul", ramp, two) == Ramp(i * 2, build.const(2), 4)
    assert build.binary("add", two, ramp) == Ramp(i + 2, build.const(1), 4)
    assert build.binary("sub", ramp, two) == Ramp(i - 2, build.const(1), 4)
    assert build.binary("add", ramp, ramp) == Ramp(i + i, build.const(2), 4)
    assert isinstance(build.binary("sub", two, ramp), Binary)
    assert build.binary("add", two, two) == Broadcast(build.const(4), 4)


def test_casts_of_constants_fold():
    assert build.cast("float32", 3) == build.const(3.0, "float32")
    assert build.cast("int8", build.const(300)) == build.const(44, "int8")
    assert build.cast("float64", build.const(0.1, "float32")).value == float(np.float32(0.1))
    wide = build.cast("float32", Broadcast(Var("x"), 4))
    assert wide == Broadcast(build.cast("float32", wide.value.value), 4)


@pytest.mark.parametrize("spec", ["float8", object, "S3", "M8[s]", None, [1], 7, "longdouble"])
def test_dtypes_that_are_not_supported(spec):
    with pytest.raises(DTypeError) as caught:
        parse(spec)
    assert caught.value.code == "D101"
    assert "Use one of" in str(caught.value) or "Convert to one of" in str(caught.value)


def test_conjuncts_and_bare():
    p, q, r = (Var(n, BOOL) for n in "pqr")
    assert build.conjuncts(build.all_of([p, q, r])) == [p, q, r]
    assert build.conjuncts(build.TRUE) == []
    assert build.bare(build.likely(p)) is p
    assert build.bare(p) is p
