# SPDX-License-Identifier: Apache-2.0
"""The named identities of the simplifier, and the shapes that it must keep."""

from __future__ import annotations

import sys

import pytest

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.dtypes import BOOL, FLOAT32, INT32, INT64, DType
from axisfold.ir.buffer import Buffer
from axisfold.ir.build import (
    FALSE,
    TRUE,
    all_of,
    any_of,
    cast,
    const,
    if_then_else,
    likely,
    logical_not,
    maximum,
    minimum,
    select,
)
from axisfold.ir.expr import Binary, Broadcast, Call, Compare, Const, Expr, Load, Ramp, Var

n, m, stride, stride_1 = (Var(name, is_size=True) for name in ("n", "m", "stride", "stride_1"))
i, k, outer, inner, x, y, free = (
    Var(name) for name in ("i", "k", "outer", "inner", "x", "y", "free")
)
wide = Var("wide", INT64)
ENV = (
    Bounds()
    .extended(i, 0, n)
    .extended(x, 0, 16)
    .extended(y, 0, 4)
    .extended(outer, 0, m // 16)
    .extended(inner, 0, 16)
)
TABLE = Buffer("table", INT32, (n,))


def raw(op: str, a: Expr, b: Expr) -> Expr:
    """A node that the smart constructors would have folded."""
    return Binary(op, a, b)


KEPT = [
    (m + 15) // 16,
    outer * 32 + inner,
    (outer * 16 + inner) * stride,
    i * stride + k * stride_1,
    stride * n,
    n + 31,
    n - 2,
    5 - i,
    (i + 1) * 16,
    (i + k) * stride + y,
    free // n,
    free % n,
    free // 16,
    (free // 16) * 16,
    minimum(i, k),
    outer * 16 + inner < n,
    i + 1 <= k,
    free % -4,
    (free * 4 + x) % 16,
    (free * 4 - y) % 16,
]


@pytest.mark.parametrize("expr", KEPT, ids=str)
def test_keeps_the_shape(expr):
    assert simplify(expr, ENV) is expr


IDENTITIES = [
    # sums
    (free - free, const(0)),
    ((x + free) - free, x),
    (free + x - free, x),
    (free + k + free, free * 2 + k),
    (free * 3 - free, free * 2),
    (free * 3 - free * 2, free),
    (raw("mul", raw("mul", free, const(2)), const(3)), free * 6),
    (31 + n, n + 31),
    ((n + 3) + k, n + k + 3),
    (n + (-2), n - 2),
    (n - const(-2), n + 2),
    (-1 * k + n, n - k),
    (16 * i, i * 16),
    (raw("add", n, const(0)), n),
    (raw("mul", n, const(0)), const(0)),
    ((i + 1) * 16 - i * 16, const(16)),
    ((i + k) * stride - k * stride, i * stride),
    (n * stride - stride * n, const(0)),
    # split indices, put together again
    ((free // 16) * 16 + free % 16, free),
    (free % 16 + (free // 16) * 16, free),
    (((free // 16) * 16 + free % 16) * stride, free * stride),
    ((free // 16) * 16 * stride + (free % 16) * stride, stride * free),
    ((free // 16) * 48 + (free % 16) * 3, free * 3),
    ((free // n) * n + free % n, free),
    ((free // n) * n * stride + (free % n) * stride, stride * free),
    ((free * 4) // 8 * 8 + (free * 4) % 8, free * 4),
    ((free // 3) // 5 * 5 + (free // 3) % 5, free // 3),
    ((free // 32) * 32 + (free % 32) // 8 * 8 + free % 8, free),
    (free - (free // 7) * 7, free % 7),
    # division
    ((free * 16 + x) // 16, free),
    ((free * 16 + k) // 16, free + k // 16),
    ((free * 16 + k) % 16, k % 16),
    ((free * n + i) // n, free),
    ((free * n + i) % n, i),
    ((free * n + k) // n, free + k // n),
    ((free * n + k) % n, k % n),
    ((free // 4) // 8, free // 32),
    ((m + 32) // 16, m // 16 + 2),
    ((free * 16 + y + 16) // 16, free + 1),
    ((free * 2) // 4, free // 2),
    ((free * 2) % 4, free % 2 * 2),
    ((free * 4 + y) % 16, y + free % 4 * 4),
    ((free * 6 + y // 2) % 4, y // 2 + free * 3 % 2 * 2),
    (x // 16, const(0)),
    (x % 16, x),
    ((x + 16) % 16, x),
    (i // n, const(0)),
    (i % n, i),
    ((free % 32) % 8, free % 8),
    ((free % 32 + k) % 8, (free + k) % 8),
    ((free % (n * 4)) % n, free % n),
    (raw("floordiv", free, const(0)), const(0)),
    (raw("floormod", free, const(0)), const(0)),
    (raw("truncdiv", i, const(4)), i // 4),
    (raw("truncmod", x, const(16)), x),
    # minima and maxima
    (minimum(n, n + 3), n),
    (maximum(n, n + 3), n + 3),
    (minimum(x, 20), x),
    (maximum(i, n), n),
    (minimum(minimum(free, 5), 3), minimum(free, 3)),
    (minimum(minimum(free, k), k), minimum(free, k)),
    (maximum(minimum(free, 5), 7), const(7)),
    # truth values
    (x < 16, TRUE),
    (x >= 16, FALSE),
    (i < n, TRUE),
    (i.equal(n), FALSE),
    (i.not_equal(n), TRUE),
    (free.equal(free), TRUE),
    (free + 1 < free + n, const(1) < n),
    (likely(x < 16), TRUE),
    (likely(outer * 16 + inner < m), TRUE),
    (all_of([x < 16, free < n]), free < n),
    (any_of([x > 16, free < n]), free < n),
    (all_of([free < n, free < n]), free < n),
    (logical_not(free < n), free >= n),
    (select(x < 16, free, k), free),
    (if_then_else(x > 16, free, k), k),
    (select(free < n, k, k + y - y), k),
    (cast("int64", free - free + 3), const(3, "int64")),
]


@pytest.mark.parametrize(("expr", "expected"), IDENTITIES, ids=str)
def test_identity(expr, expected):
    result = simplify(expr, ENV)
    assert result == expected
    assert simplify(result, Bounds(dict(ENV))) == result


@pytest.mark.parametrize(
    "expr",
    [
        # A size may be 0, and then both quotient and remainder are 0.
        (free // n) * n + free % n,
        (free * n + k) // n,
        i // n,
    ],
    ids=str,
)
def test_symbolic_divisors_may_be_zero(expr):
    assert simplify(expr) == expr


def test_a_variable_in_a_domain_makes_its_extent_positive():
    env = Bounds().extended(i, 0, n * m)
    assert simplify((i // m) * m + i % m, env) == i
    assert can_prove(m >= 1, env)


GUARDS = [
    (outer * 16 + inner < m, True),
    (outer * 16 + inner >= 0, True),
    (outer * 16 + inner <= m - 1, True),
    (outer * 16 + inner < m - 1, False),
    (m >= 16, True),
    (m >= 17, False),
    (outer * 16 + inner + 1 <= m, True),
    ((outer * 16 + inner) * stride <= (m - 1) * stride, True),
    (i * stride >= 0, True),
    ((i * 16 + x) // 16 < n, True),
    ((i * 16 + x) % 16 < 16, True),
    (minimum(free, n - 1) < n, True),
    (maximum(minimum(free, n - 1), 0) < n, True),
    (maximum(minimum(free, n), 0) < n, False),
    (free < n, False),
    (all_of([i < n, x < 16]), True),
    (all_of([i < n, x < 15]), False),
    (any_of([free < n, x < 16]), True),
    (logical_not(i >= n), True),
    (cast("int64", i) < cast("int64", n), True),
    (cast("int64", i) * 4 + 3 < cast("int64", n) * 4, True),
    (select(free < 3, i, i + 1) <= n, True),
]


@pytest.mark.parametrize(("condition", "expected"), GUARDS, ids=str)
def test_can_prove(condition, expected):
    assert can_prove(condition, ENV) is expected


def test_a_tail_is_not_provable():
    env = Bounds().extended(outer, 0, (m + 15) // 16).extended(inner, 0, 16)
    guard = outer * 16 + inner < m
    assert not can_prove(guard, env)
    assert simplify(likely(guard), env) == likely(guard)
    assert can_prove(outer * 16 + inner < m + 15, env)


def test_triangular_domains():
    env = Bounds().extended(i, 0, n).extended(k, 0, i + 1)
    assert can_prove(k < n, env)
    assert can_prove(k <= i, env)
    assert not can_prove(k < i, env)
    ragged = Bounds().extended(i, 0, n).extended(k, i, n - i)
    assert can_prove(k < n, ragged)
    assert can_prove(k >= i, ragged)


def test_a_multiple_of_a_quotient_is_rounded_towards_safety():
    env = Bounds().extended(y, 0, 2).extended(x, 3, 5)
    assert not can_prove(y <= (x // 4) * 2, env)
    assert can_prove(y <= ((x + 1) // 4) * 2, env)


def test_a_symbolic_split():
    factor = Var("factor", is_size=True)
    env = Bounds().extended(outer, 0, n // factor).extended(inner, 0, factor)
    assert can_prove(outer * factor + inner < n, env)
    tail = Bounds().extended(outer, 0, (n + factor - 1) // factor).extended(inner, 0, factor)
    assert not can_prove(outer * factor + inner < n, tail)


def test_data_wrap_and_are_left_alone():
    data = Load(TABLE, i)
    kept = [(data * 2) // 2, data + 1 > data, minimum(data + 1, data), (data * 4) % 4 + data]
    for expr in kept:
        assert simplify(expr, ENV) == expr
    assert simplify(data + i - data, ENV) == i
    narrow = Var("narrow", DType("uint", 8))
    assert simplify(narrow + const(200, narrow.dtype) > narrow, ENV) != TRUE


def test_floats_are_left_alone():
    value = Var("value", FLOAT32)
    for expr in (value - value, value + const(0.0, FLOAT32), value < value):
        assert simplify(expr) is expr
    call = Call("exp", (value - value,), FLOAT32)
    assert simplify(call) is call


def test_indices_inside_other_nodes_are_simplified():
    index = (free // 16) * 16 + free % 16
    assert simplify(Load(TABLE, index) + 1) == Load(TABLE, free) + 1
    mask = Compare("lt", x, const(16))
    assert simplify(Load(TABLE, index, mask), ENV) == Load(TABLE, free, TRUE)
    ramp = Ramp(index, raw("add", y, const(0)), 4)
    expected = raw("max", Ramp(free, y, 4), Broadcast(free, 4))
    assert simplify(raw("max", ramp, Broadcast(index, 4))) == expected


def test_int64_arithmetic_keeps_its_type():
    result = simplify((wide // 16) * 16 + wide % 16 + 3 - 1)
    assert result == wide + 2
    assert result.dtype == INT64


def test_constants_that_do_not_fit_are_not_folded():
    big = 2**30
    expr = raw("mul", raw("mul", free, const(big)), const(8))
    assert simplify(expr) == expr


def test_unchanged_truth_constants():
    assert simplify(Const(True, BOOL)) is not None
    assert simplify(TRUE) is TRUE


def test_deep_expressions(monkeypatch):
    rules, applied = sys.modules["axisfold.analysis.simplify"], []
    apply = rules._apply
    monkeypatch.setattr(rules, "_apply", lambda node, env: applied.append(node) or apply(node, env))
    total: Expr = x
    for step in range(5000):
        total = total + (y if step % 2 else outer * 3)
    assert simplify(total) == x + outer * 7500 + y * 2500
    assert len(applied) < 20_000  # 7,504 different nodes: each is met a few times, not once a step
    both: Expr = free < n
    for step in range(2000):
        both = Binary("and", both, Compare("lt", x, const(16 + step)))
    assert simplify(both, ENV) == (free < n)


def test_equal_results_are_remembered():
    expr = (outer * 16 + inner) + (free - free)
    env = Bounds(dict(ENV))
    assert simplify(expr, env) is simplify(expr, env)
