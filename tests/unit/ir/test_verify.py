# SPDX-License-Identifier: Apache-2.0
"""Each rule of legal loop IR finds one planted fault."""

import pytest
from te_support.kernels import buffer, index, kernel, loop

from axisfold.dtypes import BOOL, FLOAT32, INT32, INT64
from axisfold.errors import VerifyError
from axisfold.ir import build
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    IfThenElse,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Seq, Store
from axisfold.ir.verify import verify

A, B, T = buffer("A", "float32", 8), buffer("B", "float32", 8), buffer("T", "float32", 8)
X = Load(A, index(0))
FINE = Store(B, index(0), X)
AT = Ramp(index(0), index(1), 4)
WIDE = Load(A, AT)
I32, F64 = Var("i", INT32), build.const(1.0, "float64")
FLAGS = Broadcast(build.TRUE, 4)


def value(expr):
    """A program that evaluates an expression, whatever its dtype."""
    return Let(Var("name", expr.dtype), expr, FINE)


def for_(var, low, extent, body, kind="serial", stop=None):
    return For(var, low, extent, kind, body, stop)


ROUND = Var("i", INT64)
OPERANDS = "operands of {} differ"
FAULTS = {
    "a store changes the dtype": Store(B, index(0), F64),
    "a store changes the dtype, by lanes": Store(B, AT, X),
    "input A is written": Store(A, index(0), X),
    "a condition is not a truth value for each lane": If(X, FINE),
    "a condition is not a truth value for each lane, but a vector": If(FLAGS, FINE),
    "a condition is not a truth value for each lane, in a mask": Store(B, AT, WIDE, build.TRUE),
    "a condition is not a truth value for each lane, in a stop": for_(
        ROUND, index(0), index(3), FINE, stop=ROUND
    ),
    "a scalar access has a mask": Store(B, index(0), X, build.TRUE),
    "a scalar access has a mask, in a load": value(Load(A, index(0), build.TRUE)),
    "a mask is not a truth value for each lane": value(Load(A, AT, build.TRUE)),
    "a sequence of one statement": Seq((FINE,)),
    "a nested sequence": Seq((FINE, Seq((FINE, FINE)))),
    "a name changes the dtype": Let(Var("x", INT32), X, FINE),
    "a loop's ends differ in dtype": for_(ROUND, index(0), build.const(3), FINE),
    "variable i is bound twice": for_(
        ROUND, index(0), index(3), for_(ROUND, index(0), index(3), FINE)
    ),
    "variable i is bound twice, side by side": Seq(
        (for_(ROUND, index(0), index(3), FINE), for_(ROUND, index(0), index(3), FINE))
    ),
    "variable i is not bound": Store(B, ROUND, X),
    "variable i is not bound, in the bounds of its own loop": for_(ROUND, ROUND, index(3), FINE),
    "variable i is not bound, after its loop": Seq(
        (for_(ROUND, index(0), index(3), FINE), Store(B, ROUND, X))
    ),
    "buffer T is not live": Store(T, index(0), X),
    "buffer T is not live, in a load": value(Load(T, index(0))),
    "buffer T is not live, after its scope": Seq(
        (Allocate(T, Store(T, index(0), X)), Store(T, index(0), X))
    ),
    "buffer T is allocated twice": Allocate(T, Allocate(T, FINE)),
    "buffer A is allocated twice": Allocate(A, FINE),
    "an offset is not an integer": Store(B, X, X),
    "an offset is not an integer, in a load": value(Load(A, X)),
    OPERANDS.format("Const"): value(Const(1, INT32.with_lanes(4))),
    OPERANDS.format("Binary"): value(Binary("add", X, F64)),
    OPERANDS.format("Binary") + ", by lanes": value(Binary("add", X, WIDE)),
    OPERANDS.format("Binary") + ", division of integers": value(Binary("div", index(1), index(2))),
    OPERANDS.format("Binary") + ", floor of floats": value(Binary("floordiv", X, X)),
    OPERANDS.format("Binary") + ", sum of flags": value(Binary("add", build.TRUE, build.TRUE)),
    OPERANDS.format("Binary") + ", and of numbers": value(Binary("and", index(1), index(1))),
    OPERANDS.format("Compare"): value(Compare("lt", X, F64)),
    OPERANDS.format("Select"): value(Select(build.TRUE, X, F64)),
    OPERANDS.format("Select") + ", by the flag": value(Select(X, X, X)),
    OPERANDS.format("IfThenElse"): value(IfThenElse(build.TRUE, WIDE, WIDE)),
    OPERANDS.format("Not"): value(Not(X)),
    OPERANDS.format("Cast"): value(Cast(X, FLOAT32.with_lanes(4))),
    OPERANDS.format("Call"): value(Call("exp", (X, X), FLOAT32)),
    OPERANDS.format("Call") + ", of an integer": value(Call("exp", (index(1),), INT64)),
    OPERANDS.format("Call") + ", of two dtypes": value(Call("power", (X, F64), FLOAT32)),
    OPERANDS.format("Ramp"): value(Ramp(index(0), build.const(1), 4)),
    OPERANDS.format("Broadcast"): value(Broadcast(WIDE, 4)),
    OPERANDS.format("Broadcast") + ", to one lane": value(Broadcast(X, 1)),
}
DEVICE_FAULTS = {
    "a loop is still vectorized": for_(ROUND, index(0), index(4), FINE, "vectorized"),
    "a loop is still unrolled": for_(ROUND, index(0), index(4), FINE, "unrolled"),
    "a loop variable is not int64": for_(I32, build.const(0), build.const(4), FINE),
    "an offset is not int64": Store(B, build.const(0), X),
    "an offset is not int64, in a load": value(Load(A, build.const(0))),
}


def fault_in(statement, level):
    with pytest.raises(VerifyError) as caught:
        verify(Kernel("main", (A, B), (B,), statement), after="a pass", level=level)
    assert caught.value.code == "I101"
    return str(caught.value)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_rule(fault):
    message = fault_in(FAULTS[fault], "loops")
    assert message.startswith(f"{fault.split(',')[0]} after a pass, in:\n")
    assert message.endswith(
        "This is a bug of axisfold; please report it with this text. [axisfold-I101]"
    )


@pytest.mark.parametrize("fault", DEVICE_FAULTS)
def test_every_rule_of_device_programs(fault):
    verify(kernel([A, B], [B], DEVICE_FAULTS[fault]), level="loops")
    message = fault_in(DEVICE_FAULTS[fault], "device")
    assert message.startswith(f"{fault.split(',')[0]} after a pass, in:\n")


def test_the_message_shows_the_statement():
    assert "\nB[0i64] = 1f64\n" in fault_in(Store(B, index(0), F64), "loops")


def test_legal_programs_pass():
    n = Var("n", INT64)
    S = build.const(0, INT64)
    program = Kernel(
        "main",
        (A, B),
        (B,),
        build.seq(
            loop(4, lambda i: Store(B, i, Load(A, i))),
            Allocate(T, build.seq(Store(T, AT, WIDE, FLAGS), Store(B, AT, Load(T, AT, FLAGS)))),
            Let(n, S, If(Compare("lt", n, index(3)), FINE, FINE)),
        ),
    )
    verify(program, level="device")
    assert BOOL.with_lanes(4) == FLAGS.dtype
