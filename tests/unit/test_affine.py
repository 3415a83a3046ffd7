# SPDX-License-Identifier: Apache-2.0
"""Coefficients of variables in index expressions."""

from __future__ import annotations

import pytest

from axisfold.analysis.affine import coefficient, linear_form
from axisfold.analysis.bounds import Bounds
from axisfold.dtypes import FLOAT32, INT32, INT64
from axisfold.ir.buffer import Buffer
from axisfold.ir.build import cast, const, minimum
from axisfold.ir.expr import Load, Var

i, k, fused, lane = (Var(name) for name in ("i", "k", "fused", "lane"))
n, stride, stride_1 = (Var(name, is_size=True) for name in ("n", "stride", "stride_1"))
TABLE = Buffer("table", INT32, (n,))


def test_strides_and_offset():
    coefficients, rest = linear_form(i * stride + k * 4 + n + 3, (i, k, lane))
    assert coefficients == {i: stride, k: const(4), lane: const(0)}
    assert rest == n + 3


def test_products_of_sums_are_multiplied_out():
    expr = ((i * 16 + k) * stride + i) * stride_1 + stride
    coefficients, rest = linear_form(expr, (i, k))
    assert coefficients[k] == stride * stride_1
    assert coefficients[i] == stride * stride_1 * 16 + stride_1
    assert rest == stride


@pytest.mark.parametrize(
    "index",
    [
        (fused // 8) * 8 + fused % 8,
        (fused // 64) * 64 + (fused % 64) // 8 * 8 + fused % 8,
        (fused // 8 * 8 + fused % 8) * 1 + n,
    ],
    ids=str,
)
def test_a_split_index_moves_by_one(index):
    assert coefficient(index, fused) == const(1)


def test_a_fused_index_of_symbolic_extent_moves_by_one():
    env = Bounds().extended(fused, 0, n * stride)
    assert coefficient((fused // n) * n + fused % n, fused, env) == const(1)
    # Without the domain n may be 0.
    assert coefficient((fused // n) * n + fused % n, fused) is None


def test_a_narrow_column_is_one_row_of_lanes():
    row, column = (i * 24 + lane) // 3, (i * 24 + lane) % 3
    coefficients, rest = linear_form(row * 3 + column, (i, lane))
    assert coefficients == {i: const(24), lane: const(1)}
    assert rest == const(0)


def test_conversions_of_indices_are_opened():
    index = cast("int64", i * 4 + k) * cast("int64", stride) + cast("int64", n)
    coefficients, rest = linear_form(index, (i, k))
    assert coefficients == {i: cast("int64", stride) * 4, k: cast("int64", stride)}
    assert rest == cast("int64", n)
    assert {part.dtype for part in (*coefficients.values(), rest)} == {INT64}


@pytest.mark.parametrize(
    "expr",
    [
        i * i,
        i * k,
        i // 4,
        i % 4,
        minimum(i, 3),
        Load(TABLE, i),
        cast("int64", Load(TABLE, k) + i),
        Var("real", FLOAT32),
    ],
    ids=str,
)
def test_not_affine(expr):
    assert linear_form(expr, (i, k)) is None


def test_data_at_a_point_is_an_offset():
    coefficients, rest = linear_form(Load(TABLE, k) + i * 2, (i,))
    assert coefficients == {i: const(2)}
    assert rest == Load(TABLE, k)


def test_domains_help():
    env = Bounds().extended(i, 0, 4)
    assert coefficient(i % 4, i, env) == const(1)
    assert coefficient(i // 4, i, env) == const(0)
