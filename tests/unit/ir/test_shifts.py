# SPDX-License-Identifier: Apache-2.0
"""Shifts and the upper half of a product: operators, folding, simplifying, te's text, vectors."""

import numpy as np
import pytest

import axisfold
from axisfold import te
from axisfold.analysis.bounds import Bounds, constant_interval
from axisfold.analysis.simplify import simplify
from axisfold.compat.tvm import tir
from axisfold.dtypes import INT32, INT64, parse
from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Cast, Load, Ramp, Var
from axisfold.ir.stmt import For, Kernel, Store
from axisfold.passes.widen_indices import widen_indices
from axisfold.tensor.script import GraphScript

AT = Var("i")
DATA = Load(Buffer("data", INT32, (build.const(8),)), AT)


def test_operators():
    assert str(AT << 2) == "(i << 2)"
    assert str(1 << AT) == "(1 << i)"
    assert str(AT >> 2) == "(i >> 2)"
    assert str(64 >> AT) == "(64 >> i)"
    assert tir.shift_left(AT, 3) == AT << 3
    assert tir.shift_right(AT, 3) == AT >> 3
    assert (Var("b", parse("bool")) << 1).dtype == INT32


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (build.const(3) << 2, build.const(12)),
        (build.const(1) << 31, build.const(-(2**31))),
        (build.const(1) << 32, build.const(0)),
        (build.const(-5) >> 40, build.const(-1)),
        (build.const(-5) >> -1, build.const(-1)),
        (build.const(5, "uint8") << 7, build.const(128, "uint8")),
        (AT << 0, AT),
        (AT >> 0, AT),
    ],
    ids=str,
)
def test_constants_fold(expr, expected):
    assert expr == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (AT << 3, AT * 8),
        (AT >> 3, AT // 8),
        ((AT << 2) + (AT << 2), AT * 8),
        (((AT << 4) + 5) >> 4, AT),
        (AT << 31, AT << 31),
        (AT << -1, AT << -1),
        (DATA << 1, DATA << 1),
        (DATA >> 1, DATA >> 1),
    ],
    ids=str,
)
def test_simplify(expr, expected):
    assert simplify(expr) == expected


def test_intervals():
    env = Bounds().extended(AT, -5, 13)  # -5 … 7
    assert constant_interval(AT << 2, env) == constant_interval(AT * 4, env)
    assert constant_interval(AT >> 1, env) == constant_interval(AT // 2, env)
    count = Var("c")
    counted = env.extended(count, 0, 4)
    found = constant_interval(AT << count, counted)
    assert (found.low, found.high) == (-40, 56)
    found = constant_interval(AT >> count, counted)
    assert (found.low, found.high) == (-5, 7)
    assert not constant_interval(AT << count, env).is_finite


def test_a_shifted_ramp_stays_a_ramp():
    ramp = Ramp(AT, build.const(1), 4)
    assert build.binary("shl", ramp, build.broadcast(build.const(2), 4)) == Ramp(
        AT << 2, build.const(4), 4
    )


def test_an_int32_that_loses_bits_is_widened_afterwards():
    def offset(count):
        i, b = Var("i"), Buffer("b", INT32, (build.const(64),))
        body = Store(b, Binary("shl", i, build.const(count)), build.const(0))
        kernel = Kernel("k", (b,), (b,), For(i, build.const(0), build.const(4), "serial", body))
        return widen_indices(kernel).body.body.index

    assert offset(3).dtype == INT64
    assert isinstance(offset(3), Binary)  # an index: computed in int64
    assert isinstance(offset(33), Cast)  # 0 in int32
    assert offset(33).value.dtype == INT32


def a_computation():
    n = te.var("n")
    a = te.placeholder((n,), "uint32", name="A")

    def rule(i):
        bits = (a[i] << 3) + (a[i] >> 2 << 1) ^ 1 << (a[i] & 7)
        return bits + te.mulhi(a[i], 12345 << 15)

    return [a, te.compute((n,), rule, name="B")]


def test_machine_code():
    args = a_computation()
    s = te.create_schedule(args[1].op)
    s[args[1]].vectorize(s[args[1]].split(args[1].op.axis[0], factor=4)[1])
    values = np.array([0, 1, 7, 77, 2**31, 2**32 - 1, 12345], "uint32")
    found = np.zeros_like(values)
    axisfold.build(s, args)(values, found)
    for x, y in zip(values.tolist(), found.tolist(), strict=True):
        exact = (((x << 3) + (x >> 2 << 1)) % 2**32 ^ 1 << (x & 7)) + (x * (12345 << 15) >> 32)
        assert y == exact % 2**32


def test_the_text_of_a_computation_builds_it_again():
    args = a_computation()
    names = {"te": te}
    exec(GraphScript(tuple(args), (args[1],)).text(), names)  # noqa: S102 - the program's own text
    again = axisfold.lower(te.create_schedule(names["B"].op), names["args"])
    s = te.create_schedule(args[1].op)
    assert str(again) == str(axisfold.lower(s, args))
    assert te.Schedule.from_json(s.trace.to_json()).trace.to_json() == s.trace.to_json()


def test_indices_may_be_shifted():
    n = te.var("n")
    a = te.placeholder((n,), "float32", name="A")
    b = te.compute((n // 4,), lambda i: a[(i << 2) + 3], name="B")
    values, found = np.arange(22, dtype="float32"), np.zeros(5, "float32")
    axisfold.build(te.create_schedule(b.op), [a, b])(values, found)
    np.testing.assert_array_equal(found, [3, 7, 11, 15, 19])


def test_floats_have_no_bits():
    with pytest.raises(ExpressionError) as caught:
        Var("x", parse("float32")) << 1
    assert str(caught.value) == (
        "`shl` is for integers, not for float32. Convert with .astype('int64'), or use te.trunc "
        "and te.fmod. [axisfold-E109]"
    )


@pytest.mark.parametrize("dtype", ["int8", "float32", "bool"])
def test_upper_halves_are_of_words(dtype):
    with pytest.raises(ExpressionError) as caught:
        te.mulhi(Var("x", parse(dtype)), Var("y", parse(dtype)))
    assert str(caught.value) == (
        f"`mulhi` is for integers of 32 or 64 bits, not for {dtype}. Convert both operands with "
        ".astype, to 'uint32' for example. [axisfold-E112]"
    )
