# SPDX-License-Identifier: Apache-2.0
"""Constant intervals and symbolic ends."""

from __future__ import annotations

import math

import pytest

from axisfold.analysis.bounds import (
    Bounds,
    Domain,
    Interval,
    constant_interval,
    environment,
    symbolic_bounds,
)
from axisfold.analysis.domains import NOTHING
from axisfold.analysis.simplify import simplify
from axisfold.dtypes import FLOAT32, INT32, DType
from axisfold.errors import UnsupportedError
from axisfold.ir.buffer import Buffer
from axisfold.ir.build import cast, const, if_then_else, maximum, minimum, select
from axisfold.ir.expr import Binary, Broadcast, Compare, Expr, Load, Ramp, Var
from axisfold.ir.walk import uses

n, m = Var("n", is_size=True), Var("m", is_size=True)
i, j, k, outer, inner, free = (Var(name) for name in ("i", "j", "k", "outer", "inner", "free"))
step = Var("step")
ENV = (
    Bounds()
    .extended(i, 0, n)
    .extended(j, -3, 11)
    .extended(k, 0, i + 1)
    .extended(outer, 0, (m + 31) // 32)
    .extended(inner, 0, 32)
)
TABLE = Buffer("table", INT32, (n,))
BYTES = Buffer("bytes", DType("uint", 8), (n,))
INF = math.inf


def op(name: str, a: Expr, b: object) -> Expr:
    return Binary(name, a, b if isinstance(b, Expr) else const(b))


INTERVALS = [
    (const(7), (7, 7)),
    (n, (1, INF)),
    (m, (1, INF)),
    (Var("size", is_size=True), (0, INF)),
    (free, (-INF, INF)),
    (i, (0, INF)),
    (j, (-3, 7)),
    (j + inner, (-3, 38)),
    (j - inner, (-34, 7)),
    (j * 3, (-9, 21)),
    (j * -3, (-21, 9)),
    (j * j, (-21, 49)),
    (i * -1, (-INF, 0)),
    (free * 0, (0, 0)),
    (j // 2, (-2, 3)),
    (j // -2, (-4, 1)),
    (op("floordiv", j, 0), (0, 0)),
    (inner // n, (0, 31)),
    (inner // free, (-31, 31)),
    (j % 4, (0, 3)),
    (inner % 64, (0, 31)),
    ((inner + 64) % 64, (0, 31)),
    (j % -4, (-3, 0)),
    (op("floormod", j, 0), (0, 0)),
    (free % 5, (0, 4)),
    (free % n, (0, INF)),
    (op("truncdiv", j, 2), (-1, 3)),
    (op("truncmod", j, 2), (-1, 1)),
    (op("truncmod", j, -5), (-3, 4)),
    (op("bitand", inner, 7), (0, 7)),
    (op("bitor", inner, 7), (0, 31)),
    (op("bitxor", j, 7), (-INF, INF)),
    (minimum(j, 2), (-3, 2)),
    (maximum(free, 2), (2, INF)),
    (select(free < 3, j, inner), (-3, 31)),
    (if_then_else(free < 3, j, free), (-INF, INF)),
    (cast("int64", j), (-3, 7)),
    (cast("uint8", j), (0, 255)),
    (cast("int32", free < 3), (0, 1)),
    (Load(TABLE, i), (-INF, INF)),
    (cast("int32", Load(BYTES, i)), (0, 255)),
    (Load(TABLE, i) % 8, (0, 7)),
    # Loaded data wrap: the sum may be negative.
    (maximum(Load(TABLE, i), 0) + 1, (-INF, INF)),
    (cast("int32", Var("real", FLOAT32)), (-INF, INF)),
    (Ramp(j, const(2), 4), (-3, 13)),
    (Broadcast(j, 4), (-3, 7)),
    (Compare("lt", free, n), (0, 1)),
]


@pytest.mark.parametrize(("expr", "expected"), INTERVALS, ids=str)
def test_constant_interval(expr, expected):
    found = constant_interval(expr, ENV)
    assert (found.low, found.high) == expected


def test_intervals_say_what_they_are():
    assert Interval(3, 3).is_point
    assert not Interval(3, 4).is_point
    assert Interval(3, 4).is_finite
    assert not Interval(0).is_finite
    assert not Interval().is_finite


def test_deep_expressions_have_intervals():
    total: Expr = j
    for _ in range(5000):
        total = total + j
    assert constant_interval(total, ENV) == Interval(-3 * 5001, 7 * 5001)


def test_an_environment_is_a_mapping_outermost_first():
    assert list(ENV) == [i, j, k, outer, inner]
    assert len(ENV) == 5
    assert ENV[inner] == Domain(const(0), const(32))
    assert free not in ENV
    assert repr(Bounds().extended(i, 0, n)) == "Bounds(i)"


ENDS = [
    # nothing moves
    (outer * 32 + inner, set(), outer * 32 + inner, outer * 32 + inner),
    # affine
    (outer * 32 + inner, {inner}, outer * 32, outer * 32 + 31),
    (i, {i}, const(0), n - 1),
    (n - i, {i}, const(1), n),
    (i * n + j, {j}, i * n - 3, i * n + 7),
    (i * (n + 1), {i}, const(0), (n - 1) * (n + 1)),
    # a domain that reads another moving variable
    (i - k, {i, k}, const(0), n - 1),
    (k, {k}, const(0), i),
    (k, {i, k}, const(0), n - 1),
    # a stride of unknown sign
    (inner * step, {inner}, minimum(const(0), step * 31), maximum(const(0), step * 31)),
    # products
    (i * k, {k}, const(0), i * i),
    (j * j, {j}, const(-21), const(49)),
    # division and remainder
    ((outer * 32 + inner) // 4, {inner}, outer * 8, outer * 8 + 7),
    (inner % 64, {inner}, const(0), const(31)),
    ((outer * 32 + inner) % 16, {inner}, const(0), const(15)),
    ((outer + j) % 16, {j}, const(0), const(15)),
    (inner // (free % 4), {inner}, const(0), 31 // (free % 4)),
    (j % m, {j}, const(0), m - 1),
    # minima, maxima, choices, conversions
    (minimum(outer * 32 + inner, m - 1), {inner}, outer * 32, minimum(outer * 32 + 31, m - 1)),
    (maximum(j, free), {j}, maximum(const(-3), free), maximum(const(7), free)),
    (select(free < 2, inner, inner + 2), {inner}, const(0), const(33)),
    (cast("int64", inner), {inner}, const(0, "int64"), const(31, "int64")),
    # data that do not move are points; data of few bits have bounds
    (Load(TABLE, i) + inner, {inner}, Load(TABLE, i), Load(TABLE, i) + 31),
    (cast("int32", Load(BYTES, inner)), {inner}, const(0), const(255)),
]


def _label(value):
    """Name a case the same in every process: sets of variables have no order of their own."""
    return (
        ",".join(sorted(v.name for v in value))
        if isinstance(value, (set, frozenset))
        else str(value)
    )


@pytest.mark.parametrize(("expr", "over", "low", "high"), ENDS, ids=_label)
def test_symbolic_bounds(expr, over, low, high):
    assert symbolic_bounds(expr, ENV, over) == (low, high)


def test_a_tail_tile_reads_an_outer_moving_variable():
    env = (
        Bounds().extended(outer, 0, (m + 31) // 32).extended(inner, 0, minimum(32, m - outer * 32))
    )
    low, high = symbolic_bounds(outer * 32 + inner, env, {inner})
    assert low == outer * 32
    assert high == outer * 32 + minimum(const(32), m - outer * 32) - 1
    low, high = symbolic_bounds(outer * 32 + inner, env, {outer, inner})
    assert low == const(0)
    assert not uses(high, {outer})


def test_a_data_dependent_index_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        symbolic_bounds(Load(TABLE, inner) + 1, ENV, {inner})
    assert str(caught.value) == (
        "an index depends on inner in a way that has no known bounds (through a load), so the "
        "region it touches is not known. Clamp it with te.max(0, te.min(index, extent - 1)), or "
        "compute what it reads in full. [axisfold-E201]"
    )


def test_a_clamped_data_dependent_index_is_bounded():
    clamped = maximum(minimum(Load(BYTES, inner).astype("int32"), n - 1), 0)
    low, high = symbolic_bounds(clamped, ENV, {inner})
    assert low == const(0)
    assert constant_interval(high, ENV).low >= 0


def test_a_divisor_of_unknown_sign_is_refused():
    with pytest.raises(UnsupportedError, match="through `floordiv`"):
        symbolic_bounds(i // free, ENV, {i})


def test_bounds_over_a_variable_without_domain_are_refused():
    with pytest.raises(UnsupportedError, match="no domain is known for free"):
        symbolic_bounds(free + 1, ENV, {free})


def test_the_same_environment_is_asked_again():
    outside, here = Bounds(), Var("here")
    inside = outside.extended(here, 0, 4)
    assert outside.extended(here, 0, const(4)) is inside
    for other in (outside.extended(here, 0, 8), outside.extended(here, 1, 4)):
        assert other is not inside
        assert other[here] != inside[here]


def test_environments_of_the_same_domains_are_one():
    domains = {i: Domain(const(0), n), inner: Domain(const(0), const(32))}
    assert environment(domains) is environment(domains)
    assert environment({}) is NOTHING
    assert environment({i: domains[i]}).extended(inner, 0, 32) is environment(domains)


def test_environments_are_not_kept_without_end():
    outside, here = Bounds(), Var("here")
    first = outside.extended(here, 0, 4)
    for _ in range(100):
        outside.extended(Var("another"), 0, 4)
    assert outside.extended(here, 0, 4) is not first


def test_a_range_is_asked_of_the_outermost_environment_that_knows_it():
    outside = Bounds().extended(i, 0, 8)
    inside = outside.extended(inner, 0, 32)
    assert inside.ranging(i * 2) is outside
    assert inside.ranging(n + 1) is outside.ranging(n + 1) is outside.outer
    assert inside.ranging(i + inner) is inside


def test_a_range_that_a_loop_with_rounds_makes_smaller_is_asked_of_it():
    outside = Bounds().extended(i, 0, 8)
    inside = outside.extended(k, 0, n - 3).extended(inner, 0, 32)
    assert constant_interval(n, outside).low == 0
    assert constant_interval(n, inside).low == 4
    assert inside.ranging(n + i) is inside.outer


def test_an_expression_is_simplified_where_all_is_known_that_bears_on_it():
    outside = Bounds().extended(i, 0, n)
    columns = outside.extended(k, 0, m // 16).extended(inner, 0, 32)
    assert columns.deciding(i < n) is outside
    assert columns.deciding(inner < i) is columns
    assert columns.deciding(m > 0) is columns.outer  # as m // 16 is at least 1
    assert columns.bearing({m}) == {m, k}
    assert simplify(minimum(m, 16), columns) == const(16)
    assert simplify(minimum(m, 16), outside) == minimum(m, 16)
    squares = outside.extended(k, 0, n // 16)
    assert squares.deciding(i < 16) is squares  # i reads n, and n // 16 is at least 1


def test_the_root_keeps_no_variable_that_it_is_asked_of():
    n = Var("n", INT32)
    assert NOTHING.ranging(n + 1) is NOTHING.deciding(n + 1) is NOTHING
    assert not any(n in names for names in (*NOTHING._ranging, *NOTHING._deciding))
