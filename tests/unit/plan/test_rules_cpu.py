# SPDX-License-Identifier: Apache-2.0
"""Every rule for CPUs: which layouts reach it, and that its kernels are right there."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import axisfold
from axisfold import te
from axisfold.api import launches
from axisfold.config import config
from axisfold.ir import build
from axisfold.ir.expr import Load, Var
from axisfold.ir.stmt import Allocate, For, If, Store
from axisfold.ir.walk import post_order
from axisfold.passes.skip_stages import skip_stages
from axisfold.plan import planner, rules_cpu, sizes_cpu
from axisfold.plan.explain import layout_text
from axisfold.plan.rules_cpu_columns import CACHED_VECTORS, TILE_AHEAD
from axisfold.plan.rules_cpu_narrow import HALVED, ROW_PLACES, ROW_STREAMS, ROWS_AHEAD
from axisfold.plan.rules_cpu_rows import CHUNK_BYTES, PLACE_AHEAD
from axisfold.plan.schedules_cpu import FEW_LANES, FEW_VECTORS, STREAMS
from axisfold.plan.script import schedule_source
from axisfold.plan.traffic import LINE_BYTES
from axisfold.plan.writing import loops as lowered
from axisfold.runtime.cpu import WIDE_VECTOR, host_vector_bytes
from axisfold.target import Target

LONG = (1 << 18) + 77


def numbers(*shape, dtype="float32"):
    rng = np.random.default_rng(7)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def ties(*shape):
    return (numbers(*shape) * 3).astype("int8").astype("float32")


def with_nans(*shape):
    x = numbers(*shape)
    x.reshape(-1)[5::97] = np.nan
    return x


def outlier_first(*shape):
    """Elements whose variance would lose most if it were taken about the first of them."""
    x = numbers(*shape) + np.float32(1e4)
    x[(0,) * x.ndim] = -3e7
    return x


CASES = [
    ("sum", numbers(LONG), None, "long_row"),
    ("max", with_nans(LONG), None, "long_row"),
    ("sum", numbers(3, LONG), 1, "long_row"),
    ("sum", numbers(2 * LONG)[::2], None, "long_row"),
    ("sum", numbers(LONG, dtype="complex64"), None, "long_row"),
    ("norm", numbers(LONG), None, "long_row"),
    ("sum", numbers(1234), None, "full"),
    ("sum", numbers(17, 1001), 1, "row"),
    ("sum", numbers(3, 7, 50)[:, :, ::3], 2, "row"),
    ("min", with_nans(18, 77), 1, "row"),
    ("norm", numbers(6, 333, dtype="float64"), 1, "row"),
    ("sum", numbers(1001, 3), 1, "row"),
    ("sum", numbers(9, 5, 70), (0, 2), "row"),
    ("sum", numbers(5, 1001), 0, "shallow_column"),
    ("max", with_nans(16, 33), 0, "shallow_column"),
    ("var", with_nans(1001, 1), 1, "shallow_column"),
    ("argmax", with_nans(1, 999), 0, "shallow_column"),
    ("count_nonzero", numbers(40, 1, 33, dtype="bool")[::-1, :, ::2], 1, "shallow_column"),
    ("nansum", with_nans(7, 1, 129), 1, "shallow_column"),
    ("min", with_nans(3, 613, 1201), 1, "column"),
    ("sum", numbers(300, 14_101)[:, ::2], 0, "column"),
    ("sum", numbers(99, 1001), 0, "column_in_cache"),
    ("sum", numbers(67, 1037, dtype="float64"), 0, "column_in_cache"),
    ("max", numbers(61, 517, dtype="int8"), 0, "column_in_cache"),
    ("sum", with_nans(17, 70)[:, ::3], 0, "column_in_cache"),
    ("min", with_nans(5, 61, 40), 1, "column_in_cache"),
    ("sum", numbers(33, 65_539), 0, "column"),
    ("sum", numbers(300, 9001), 0, "column"),
    ("sum", numbers(33, 8199), 0, "column_in_cache"),
    ("max", with_nans(2, 19, 57_350)[:, ::-1], 1, "column"),
    ("sum", numbers(24, 131_080, dtype="complex64")[:, ::2], 0, "column"),
    ("sum", numbers(10_001, 5), 1, "short_row"),
    ("sum", numbers(8001, 7), 1, "short_row"),
    ("max", with_nans(8001, 6), 1, "short_row"),
    ("sum", numbers(99, 2002)[:, ::2], 0, "column_in_cache"),
    ("sum", numbers(300, 3), 0, "column_in_cache"),
    ("sum", numbers(1032, 77), 1, "row_streams"),
    ("sum", numbers(8 * 132, 1101), 1, "row_streams"),
    ("min", with_nans(8 * 131, 1101), 1, "row_streams"),
    ("sum", numbers(1032, 77, dtype="float64"), 1, "row_streams"),
    ("nanmean", with_nans(1040, 93), 1, "tiled_rows"),
    ("nanmean", with_nans(501, 80)[::2], 0, "tiled_column"),
    ("nanmean", with_nans(LONG), None, "single_pass_row"),
    ("sum", numbers(1031, 77), 1, "row_streams"),
    ("sum", numbers(2050, 77, dtype="complex64"), 1, "row_streams"),
    ("max", with_nans(1025, 77)[::-1, 3:], 1, "row_streams"),
    ("sum", numbers(1032, 77, dtype="complex64"), 1, "row_streams"),
    ("norm", numbers(1032, 66)[:, 1:], 1, "row_streams"),
    ("max", with_nans(1024, 9, 11)[:, ::2], (1, 2), "row_streams"),
    ("sum", numbers(3, 1032, 77), (0, 2), "outer_row_streams"),
    ("max", with_nans(5, 1027, 70)[::-1, ::-1, 3:], (0, 2), "outer_row_streams"),
    ("min", with_nans(2, 1111, 3, 67)[:, :, ::2], (0, 2, 3), "outer_row_streams"),
    ("norm", numbers(4, 1111, 65, dtype="float64"), (0, 2), "outer_row_streams"),
    ("sum", numbers(3, 1032, 69, dtype="complex64"), (0, 2), "outer_row_streams"),
    ("sum", numbers(16_387, 2), 1, "short_row"),
    ("max", with_nans(11_003, 3), 1, "short_row"),
    ("sum", numbers(5501, 6, dtype="complex64"), 1, "short_row"),
    ("sum", numbers(4801, 7, dtype="int8"), 1, "short_row"),
    ("sum", numbers(1025, 33), 1, "short_row"),
    ("sum", with_nans(8211, 4), 1, "short_row"),
    ("sum", numbers(4101, 8, dtype="int8"), 1, "short_row"),
    ("max", with_nans(4101, 8), 1, "short_row"),
    ("sum", numbers(2055, 16, dtype="complex64"), 1, "short_row"),
    ("sum", numbers(2055, 16, dtype="float64")[::-1], 1, "short_row"),
    ("sum", numbers(8200, 4, dtype="float64"), 1, "short_row"),
    ("argmax", ties(4099, 8), 1, "short_row"),
    ("any", numbers(6555, 5, dtype="bool"), 1, "short_row"),
    ("any", numbers(1031, 63, dtype="bool"), 1, "short_row"),
    ("max", numbers(1025, 64, dtype="int8"), 1, "short_row"),
    ("all", with_nans(1061, 31), 1, "short_row"),
    ("sum", numbers(57, 2 * 40, 9)[:, ::2][:, :40], (0, 2), "row"),
    ("sum", numbers(11, 509, 6), (0, 2), "short_row"),
    ("sum", numbers(11_003, 3), 0, "few_columns"),
    ("sum", numbers(5001, 7, dtype="complex64"), 0, "few_columns"),
    ("max", with_nans(4099, 9), 0, "few_columns"),
    ("sum", numbers(31, 331, 33, dtype="float64"), (0, 1), "few_columns"),
    ("var", numbers(16_391, 2), 0, "few_columns"),
    ("argmax", ties(2392, 5), 0, "few_columns"),
    ("argmax", numbers(2392, 5, dtype="uint8"), 0, "few_columns"),
    ("max", with_nans(1700, 5), 1, "short_row"),
    ("sum", numbers(600, 20), 0, "column_in_cache"),
    ("max", with_nans(2000, 5, 2)[:, :, 0], 0, "few_columns"),
    ("max", with_nans(2000, 9)[:, 3:8], 0, "column_in_cache"),
    ("argmin", ties(600, 20), 0, "tiled_column"),
    ("var", outlier_first(2000, 33), 0, "tiled_column"),
    ("sum", numbers(26_300, 24)[:, :20], 0, "column_parts"),
    ("argmax", with_nans(26_300, 24)[:, :20], 0, "column_parts"),
    ("sum", numbers(2100, 1201), 0, "column_parts"),
    ("max", with_nans(2049, 1025), 0, "column_parts"),
    ("min", with_nans(517, 4101), 0, "column_parts"),
    ("argmax", ties(2100, 1201), 0, "tiled_column_parts"),
    ("nanargmin", with_nans(1051, 2001)[:, ::-1], 0, "tiled_column_parts"),
    ("argmax", numbers(4099, 8203, dtype="int8"), 0, "tiled_column_parts"),
    ("nanargmin", with_nans(519, 4101)[:, ::-1], 0, "tiled_column"),
    ("var", outlier_first(5, 1031, 411), (0, 1), "tiled_column_parts"),
    ("nanmean", with_nans(2500, 1001)[::-1], 0, "tiled_column_parts"),
    ("nanargmax", with_nans(2051, 1030).astype("float64"), 0, "tiled_column_parts"),
    ("argmax", ties(17, 2051, 13), 1, "tiled_column"),
    ("argmin", with_nans(2049, 67), 0, "tiled_column"),
    ("var", outlier_first(17, 2051, 13), 1, "tiled_column"),
    ("sum", np.full((2085, 77), -128, "int8"), 0, "narrow_column"),
    ("sum", numbers(2100, 71), 0, "column_in_cache"),
    ("min", with_nans(40, 57_350), 0, "column"),
    ("sum", numbers(LONG, dtype="int8"), None, "narrow_row"),
    ("sum", np.full(LONG, -128, "int8"), None, "narrow_row"),
    ("sum", np.full(LONG, 255, "uint8"), None, "narrow_row"),
    ("sum", np.full(LONG, -32768, "int16"), None, "narrow_row"),
    ("count_nonzero", numbers(LONG, dtype="bool"), None, "narrow_row"),
    ("count_nonzero", np.ones(LONG, bool), None, "narrow_row"),
    ("count_nonzero", with_nans(LONG), None, "narrow_row"),
    ("sum", numbers(1, LONG, dtype="bool"), 1, "narrow_row"),
    ("count_nonzero", with_nans(LONG).astype("float64"), None, "narrow_row"),
    ("count_nonzero", numbers(70_001, dtype="int16"), None, "narrow_row"),
    ("count_nonzero", (numbers(LONG, dtype="int8") > 50).astype("float16"), None, "narrow_row"),
    ("count_nonzero", np.ones((1300, 77), "int16"), 0, "narrow_column"),
    ("sum", numbers(LONG, dtype="float16"), None, "narrowed_row"),
    ("sum", numbers(3, LONG, dtype="float16")[::-1], 1, "narrowed_row"),
    ("sum", numbers(2 * LONG, dtype="float16")[::2], None, "narrowed_row"),
    ("mean", np.full(LONG, 6e4, "float16"), None, "narrowed_row"),
    ("mean", np.full(LONG, -128, "int8"), None, "narrowed_row"),
    ("mean", numbers(LONG, dtype="int8") > 3, None, "narrowed_row"),
    ("mean", numbers(2, LONG, dtype="int16").astype("uint16"), 1, "narrowed_row"),
    ("nansum", with_nans(LONG).astype("float16"), None, "long_row"),
    ("any", np.arange(LONG) == LONG - 1, None, "stopping_row"),
    ("all", np.arange(LONG) != LONG - 1, None, "stopping_row"),
    ("any", np.arange(70_001) == 70_000, None, "stopping_row"),
    ("argmax", np.arange(70_001) >= 69_000, None, "first_row"),
    ("argmin", np.arange(LONG) % 3 == 1, None, "first_row"),
    ("argmax", np.arange(LONG) == LONG - 1, None, "first_row"),
    ("argmin", numbers(9, 77, dtype="bool"), 1, "stopping_rows"),
    ("all", with_nans(3, LONG) != 2, 1, "stopping_row"),
    ("any", np.zeros((5, 2 * LONG), "float64")[:, 1:-1], 1, "stopping_row"),
    ("var", outlier_first(LONG), None, "single_pass_row"),
    ("argmax", ties(LONG), None, "single_pass_row"),
    ("argmax", ties(7, 5001), 1, "tiled_rows"),
    ("argmin", with_nans(7, 5001), 1, "tiled_rows"),
    ("argmax", ties(70_001), None, "tiled_long_row"),
    ("argmax", np.full((3, 99), -np.inf, "float32"), 1, "tiled_rows"),
    ("var", outlier_first(7, 5001), 1, "tiled_rows"),
    ("std", numbers(5, 101, dtype="complex64"), 1, "tiled_rows"),
    ("var", numbers(7, 5001, dtype="float64"), 1, "tiled_row"),
    ("all", numbers(9, 77, dtype="bool"), 1, "stopping_rows"),
    ("any", np.arange(7 * 3001).reshape(7, 3001) % 4001 == 4000, 1, "stopping_rows"),
    ("all", with_nans(6, 5, 1031) != 1, (0, 2), "stopping_rows"),
    ("var", numbers(40, 33, dtype="float64"), 0, "column_of_passes"),
    ("var", outlier_first(3, 1003), 0, "column_of_passes"),
    ("argmax", with_nans(3, 5, 1003), 1, "column_of_passes"),
    ("argmin", ties(16, 33), 0, "column_of_passes"),
    ("any", numbers(9, 77, dtype="bool"), 0, "column_of_passes"),
    ("argmax", ties(2051, 16), 1, "short_row"),
    ("argmax", numbers(3001, 11, dtype="uint8"), 1, "short_row"),
    ("argmin", numbers(3001, 11, dtype="int16"), 1, "short_row"),
    ("argmin", numbers(3001, 11, dtype="bool"), 1, "short_row"),
    ("argmax", with_nans(2051, 17), 1, "tiled_rows"),
    ("var", outlier_first(1025, 33), 1, "tiled_rows"),
    ("nanargmax", with_nans(LONG), None, "single_pass_row"),
    ("nanargmin", with_nans(9, 5001), 1, "tiled_rows"),
    ("nanargmax", np.where(numbers(3, 999) > -1, np.nan, -1), 1, "tiled_rows"),
    ("nanargmin", with_nans(101, 77), 0, "tiled_column"),
    ("nanmax", np.arange(70_001) == 70_000, None, "stopping_row"),
    ("argmax", np.asfortranarray(ties(3, 77, 5)), None, "best_then_place"),
    ("argmin", np.asfortranarray(with_nans(30, 7, 77)), None, "best_then_place"),
    ("nanargmax", with_nans(99, 40)[:, ::-1][3:, 2:], None, "best_then_place"),
    ("argmax", np.asfortranarray(np.full((20, 3, 41), -128, "int8")), None, "best_then_place"),
    ("argmin", numbers(701, 50, dtype="int16")[:, :37], None, "best_then_place"),
    ("argmax", np.full((20, 40), -np.inf)[:, :39], None, "best_then_place"),
    ("argmax", ties(99, 700)[:, 1:], None, "tiled_long_row"),
    ("argmax", np.asfortranarray(numbers(30, 41, dtype="bool")), None, "block"),
    ("argmin", np.ones((30, 41), bool)[:, 1:], None, "block"),
    ("any", (np.arange(70 * 50).reshape(70, 50) == 3448)[:, :49], None, "stopping_block"),
    ("any", np.zeros((70, 5000))[:, 1:], None, "stopping_block"),
    ("all", (numbers(33, 40, 50) < 5)[::2, :, 1:], None, "stopping_block"),
    ("count_nonzero", with_nans(99, 700)[:, 1:], None, "block"),
    ("nanmean", with_nans(99, 70)[:, 1:], None, "block"),
    ("var", outlier_first(99, 70)[:, 1:], None, "block"),
    ("var", outlier_first(99, 700)[:, 1:], None, "tiled_long_row"),
    ("sum", numbers(99, 33, 70)[:, 1:, 1:], None, "full"),
    ("argmax", np.full(3000, -np.inf, "float32"), None, "tiled_long_row"),
    ("argmax", np.where(np.arange(5000) == 4999, np.nan, 1).astype("f2"), None, "searched_row"),
    ("argmin", np.where(np.arange(LONG) % 70_000 == 69_999, -0.0, 0.0).astype("f2"), None,
     "searched_row"),
    ("argmax", np.full(9000, -np.inf, "float16"), None, "searched_row"),
    ("argmax", with_nans(LONG + 77).astype("f2"), None, "searched_row"),
    ("argmax", with_nans(LONG + 77), None, "single_pass_row"),
    ("argmin", np.arange(90_000, 0, -1, "int32")[::-1], None, "searched_row"),
    ("nanargmin", np.where(np.arange(9000) < 8000, np.nan, 7.0).astype("f2"), None, "searched_row"),
    ("argmax", numbers(20_000, dtype="float16"), None, "searched_row"),
    ("argmax", ties(501, 33), 0, "tiled_column"),
    ("argmin", with_nans(101, 5001), 0, "tiled_column"),
    ("var", outlier_first(301, 4101), 0, "tiled_column"),
    ("std", numbers(3, 33, 20), 1, "tiled_column"),
    ("any", numbers(17, 77, dtype="bool"), 0, "tiled_column"),
    ("sum", np.full((300, 77), -128, "int8"), 0, "narrow_column"),
    ("count_nonzero", np.ones((1300, 77), bool), 0, "narrow_column"),
    ("count_nonzero", np.ones(70_001, bool), None, "narrow_row"),
    ("count_nonzero", with_nans(31, 33), None, "narrow_row"),
    ("sum", numbers(70_001, dtype="int16"), None, "narrow_row"),
    ("sum", np.full(70_001, -32768, "int16"), None, "narrow_row"),
    ("sum", np.full((1 << 15) + 5, -128, "int8"), None, "narrow_row"),
    ("sum", np.full(50_001, 255, "uint8"), None, "narrow_row"),
    ("sum", np.full(3 * 50_001, 255, "uint8")[::3], None, "full"),
    ("sum", numbers(77, dtype="int8")[::-1], None, "narrow_row"),
    ("sum", numbers(70, 300, dtype="int8")[:, :200], None, "block"),
    ("max", np.arange(70_001) == 70_000, None, "stopping_row"),
    ("min", np.arange(7 * 3001).reshape(7, 3001) % 4001 != 4000, 1, "stopping_rows"),
    ("sum", numbers(60, 36, 37), 1, "column_in_cache"),
    ("sum", numbers(160, 36, 7, dtype="float64"), 1, "column_in_cache"),
    ("max", with_nans(160, 36, 16).reshape(160, 36, 16), 1, "few_columns"),
    ("sum", numbers(80, 70, 7), 1, "few_columns"),
    ("argmax", numbers(LONG, dtype="uint8"), None, "searched_row"),
    ("argmin", np.full(LONG, 7, "int16"), None, "searched_row"),
    ("argmax", (np.arange(40_000) == 39_999).astype("int8"), None, "searched_row"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "axis", "rule"), CASES, ids=lambda v: str(v)[:12])
def test_a_rule_is_reached_and_right(plans, name, x, axis, rule):
    found = getattr(axisfold, name)(x, axis=axis, keepdims=True)
    assert [p.rule.name for p in plans] == [rule]
    wide = x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))
    if name == "norm":
        wanted = np.linalg.norm(wide, axis=axis, keepdims=True)
    else:
        wanted = getattr(np, name)(wide, axis=axis, keepdims=True)
    scale = np.abs(wide).sum(axis=axis, keepdims=True) if name == "sum" else np.abs(wanted)
    assert found.shape == wanted.shape
    if found.dtype.kind in "fc":
        error = np.nan_to_num(np.abs(found - wanted))
        eps = np.finfo(x.dtype if x.dtype.kind in "fc" else found.dtype).eps
        assert (error <= 4 * eps * np.nan_to_num(scale) + 1e-30).all()
        assert (np.isnan(found) == np.isnan(wanted)).all()
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["sum", "count_nonzero", "any"])
def test_lanes_lie_along_the_rows_of_a_block(plans, name):
    getattr(axisfold, name)(np.ones((70, 9, 500), "float32")[:, 1:, 1:])
    (plan,) = plans
    text = str(lowered(plan.traced, plan, plan.target))
    assert re.search(r"for \(k0.inner.*\n +for \(k1.*\n +for \(k2", text)
    assert re.search(r"for \(k2.inner.* \"vectorized\"", text)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("width", [60, 6000])
def test_parts_of_a_block_after_the_end_are_not_begun(plans, monkeypatch, threads, width):
    monkeypatch.setattr(config, "threads", threads)
    x = np.zeros((3000, width + 4), bool)[:, :width]
    for place in [(0, 0), (5, width - 1), (31, 7), (2999, width - 1)]:
        x[place] = True
        assert axisfold.any(x)
        x[place] = False
    assert not axisfold.any(x)
    text = str(plans[0].compiled.device)
    assert '"parallel" until (bool*)state.stop[0i64]' in text
    assert "state.stop[0i64] = True" in text


@pytest.mark.parametrize("size", [LONG, LONG + 4097])
def test_two_inputs_share_the_places_that_are_read(plans, size):
    x, y = numbers(2, size)
    dot = axisfold.Reducer("dot", {"s": "compensated"}, 0, _product, lambda a, b: a.s + b.s)
    found = axisfold.fold((x, y), dot)
    (plan,) = plans
    assert plan.rule.name == "long_row"
    assert "nparts=4)" in schedule_source(plan)
    wide = x.astype("float64") * y
    assert abs(found - wide.sum()) <= 1e-6 * np.abs(wide).sum()


@pytest.mark.parametrize("size", [1 << 19, LONG, 2 * LONG + 4097])
@pytest.mark.parametrize(
    ("name", "dtype"), [("sum", "float32"), ("max", "float16"), ("nansum", "float64")]
)
def test_huge_rows_have_larger_chunks(plans, monkeypatch, name, dtype, size):
    monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 18)
    x = with_nans(size) if name == "nansum" else numbers(size)
    x = x.astype(dtype)
    found = getattr(axisfold, name)(x)
    (plan,) = plans
    assert (plan.rule.name, plan.layout.run) == ("long_row", "huge")
    source = schedule_source(plan)
    assert f"factor={CHUNK_BYTES // x.itemsize})" in source
    places = 8 if host_vector_bytes() >= WIDE_VECTOR else 4
    assert f"nparts={places})" in source
    wanted = getattr(np, name)(x.astype("float64"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7 * np.nansum(np.abs(x, dtype="f8")))


@pytest.mark.parametrize(
    ("shape", "rule"), [((LONG + 4097,), "single_pass_row"), ((1025, 33), "tiled_rows")]
)
def test_runs_of_several_sums_are_asked_for_ahead(plans, monkeypatch, shape, rule):
    monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 18)
    x = outlier_first(*shape)
    found = axisfold.var(x, axis=-1)
    (plan,) = plans
    assert plan.rule.name == rule
    assert f'"prefetch", {PLACE_AHEAD})' in schedule_source(plan)
    np.testing.assert_allclose(found, np.var(x.astype("float64"), axis=-1), 1e-6)


@pytest.mark.parametrize(
    ("x", "rule"),
    [
        (numbers(2053, 32), "row_streams"),
        (numbers(2053, 31), "short_row"),
        (numbers(2053, 32, dtype="float64"), "row_streams"),
        (numbers(2053, 31, dtype="float64"), "short_row"),
        (numbers(2053, 64, dtype="float16"), "row_streams"),
        (numbers(2053, 128)[:, ::2], "row_streams"),
    ],
)
@pytest.mark.parametrize("is_far", [True, False], ids=["memory", "cache"])
def test_short_rows_from_memory_are_read_in_several_places(plans, monkeypatch, x, rule, is_far):
    if is_far:
        monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 17)
    found = axisfold.sum(x, axis=1)
    assert {p.rule.name for p in plans} == {rule if is_far else "short_row"}
    wanted = x.astype("float64").sum(axis=1)
    np.testing.assert_allclose(found, wanted, 2e-3 if x.dtype == "float16" else 1e-6, 1e-5)


@pytest.mark.parametrize("columns", [63, 65, 129])
@pytest.mark.parametrize(
    ("name", "rows", "rule"),
    [
        ("sum", 40, "column_in_cache"),
        ("max", 9, "shallow_column"),
        ("sum", (1 << 21) // 63 + 1, "column_parts"),
        ("argmax", 40, "tiled_column"),
        ("logsumexp", 40, "column_of_passes"),
    ],
)
def test_columns_end_with_whole_vectors(plans, name, rows, rule, columns):
    x = ties(rows, columns)
    found = getattr(axisfold, name)(x, axis=0)
    (plan,) = plans
    is_whole = columns >= sizes_cpu.THIN
    assert plan.layout.least == (sizes_cpu.THIN if is_whole else 0)
    assert ('"shift_inwards"' in schedule_source(plan)) == is_whole
    wide = x.astype("float64")
    if name == "logsumexp":
        np.testing.assert_allclose(found, np.logaddexp.reduce(wide, 0), 1e-6)
    else:
        np.testing.assert_array_equal(found, getattr(np, name)(wide, 0))
    if is_whole:
        assert plan.rule.name == rule


AHEAD = [
    ("sum", numbers(LONG + 4097), None, "long_row"),
    ("nansum", with_nans(2 * LONG), None, "long_row"),
    ("sum", numbers(LONG + 1, dtype="float16"), None, "narrowed_row"),
    ("sum", numbers(LONG + 33, dtype="int8"), None, "narrow_row"),
    ("sum", numbers(1032, 77), 1, "row_streams"),
    ("max", with_nans(1031, 66)[:, 1:], 1, "row_streams"),
    ("min", with_nans(9, 1032, 70), (0, 2), "outer_row_streams"),
]


IS_WIDE = host_vector_bytes() >= WIDE_VECTOR
SHORT_ROWS = [
    ("sum", numbers(4099, 16), 4),
    ("max", with_nans(8201, 8), 8 if IS_WIDE else 4),
    ("sum", numbers(16_391, 4), 8),
    ("sum", numbers(20_011, 2), 8),
    ("max", with_nans(11_003, 3), 8),
    ("sum", numbers(10_001, 5), 8 if IS_WIDE else 4),
    ("argmax", ties(8209, 4), 8),
]


@pytest.mark.parametrize("is_far", [True, False], ids=["memory", "cache"])
@pytest.mark.parametrize(
    ("name", "x", "places"), SHORT_ROWS, ids=[f"{c[0]}-{c[1].shape[1]}" for c in SHORT_ROWS]
)
def test_short_rows_are_asked_for_ahead(plans, monkeypatch, name, x, places, is_far):
    if is_far:
        monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 15)
    found = getattr(axisfold, name)(x, axis=1)
    (plan,) = plans
    assert (plan.rule.name, plan.layout.loads) == ("short_row", "ahead" if is_far else "")
    assert f"factor={places})" in schedule_source(plan)
    assert f"nparts={ROW_PLACES})" in schedule_source(plan)
    assert (f'"prefetch", {ROWS_AHEAD})' in schedule_source(plan)) == is_far
    # Whether rows are vectors or lanes come out of vectors.
    kernel = plan.compiled.source()
    asked = {line for line in kernel.splitlines() if "call void @llvm.prefetch" in line}
    assert bool(asked) == is_far
    np.testing.assert_allclose(found, getattr(np, name)(x.astype("float64"), 1), 1e-6, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("length", [8, 12, 16, 17])
@pytest.mark.parametrize("name", ["sum", "max"])
def test_lanes_of_short_rows_are_folded_by_halves(plans, name, length, dtype):
    x = (numbers(2053, length) * 100).astype(dtype)
    found = getattr(axisfold, name)(x, axis=1)
    (plan,) = plans
    assert plan.rule.name == "short_row"
    np.testing.assert_allclose(found, getattr(np, name)(x.astype("float64"), 1), 1e-6, 1e-4)
    state = plan.traced.combiner.lhs[0].dtype
    width = min(host_vector_bytes() // state.itemsize, 16)
    held = min(width, length)
    assert length % 4 == 0 or length >= width
    is_wide = state.is_float or state.itemsize >= HALVED
    is_strided = length <= 8 and len(plan.traced.combiner.lhs) > 1
    has_halves = is_wide and held > FEW_LANES and width % held == 0 and length <= 16
    has_halves = has_halves and not is_strided
    assert (".fuse(" in schedule_source(plan)) == has_halves
    if has_halves:  # they are lanes of vectors that were written
        kernel = plan.compiled.source()
        assert "shufflevector" in kernel
        assert kernel.count("gather.") - kernel.count("declare") <= 1


def test_sums_of_short_rows_add_nothing_to_the_identity(plans):
    zeros = np.full((2053, 16), -0.0, "float32")
    assert not np.signbit(axisfold.sum(zeros, axis=1)).any()
    (plan,) = plans
    assert "negative_zero=True" in schedule_source(plan)
    assert f"fadd <{host_vector_bytes() // 8} x double> splat (double 0x8" in plan.compiled.source()


@pytest.mark.parametrize(("length", "dtype"), [(4, "float32"), (2, "float64"), (4, "int32")])
def test_places_that_are_written_past_the_caches_get_whole_lines(
    plans, vectors, monkeypatch, length, dtype
):
    vectors(max(host_vector_bytes(), 32))
    monkeypatch.setattr(sizes_cpu, "LARGE_RESULTS", 1 << 14)
    x = (numbers(20_011, length) * 100).astype(dtype)
    found = axisfold.sum(x, axis=1)
    (plan,) = plans
    assert (plan.rule.name, plan.layout.stores) == ("short_row", "stream")
    rows = LINE_BYTES // found.itemsize
    assert f".split(s[result].op.axis[0], factor={rows})" in schedule_source(plan)
    np.testing.assert_allclose(found, x.astype("float64").sum(1), 1e-6, 1e-4)


def test_few_places_are_written_past_the_caches_by_less_than_lines(plans, monkeypatch):
    monkeypatch.setattr(sizes_cpu, "LARGE_RESULTS", 1 << 14)
    x = (numbers(20_011, 4) * 100).astype("int8")
    np.testing.assert_array_equal(axisfold.max(x, axis=1), x.max(1))
    (plan,) = plans
    assert (plan.rule.name, plan.layout.stores) == ("short_row", "stream")
    source = schedule_source(plan)
    assert f"nparts={ROW_PLACES})" in source
    assert f"i0_outer_outer, factor={ROW_STREAMS})" in source


@pytest.mark.parametrize("width", [16, 32, 64])
def test_small_results_of_short_rows_go_through_the_caches_where_vectors_are_wide(
    plans, vectors, monkeypatch, width
):
    vectors(width)
    monkeypatch.setattr(sizes_cpu, "LARGE_RESULTS", 1 << 14)
    x = numbers(20_011, 8)
    np.testing.assert_allclose(axisfold.sum(x, axis=1), x.sum(1, dtype="float64"), 1e-6, 1e-4)
    (plan,) = plans
    assert plan.layout.stores == ("" if width >= WIDE_VECTOR else "stream")
    assert f"<{width // 8} x double>" in plan.compiled.source()


@pytest.mark.parametrize("is_far", [True, False], ids=["memory", "cache"])
@pytest.mark.parametrize(
    ("name", "x", "axis", "rule"), AHEAD, ids=[f"{c[0]}-{c[3]}" for c in AHEAD]
)
def test_rows_from_memory_are_asked_for_ahead(plans, monkeypatch, name, x, axis, rule, is_far):
    if is_far:
        monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 17)
    found = getattr(axisfold, name)(x, axis=axis)
    plan = plans[0]
    assert (plan.rule.name, plan.layout.loads) == (rule, "ahead" if is_far else "")
    assert (f'"prefetch", {PLACE_AHEAD})' in schedule_source(plan)) == is_far
    assert ("loads: ahead" in layout_text(plan.layout)) == is_far
    wide = x.astype("float64") if x.dtype.kind == "f" else x
    near = 1e-3 if x.dtype == "float16" else 1e-6
    np.testing.assert_allclose(found, getattr(np, name)(wide, axis), near, 1e-5)


@pytest.mark.parametrize(
    ("shape", "split"),
    [((2051, 67), "nparts={})"), ((600, 67), "factor={})")],
    ids=["far apart", "neighbours"],
)
def test_passes_read_a_few_rows_at_once(plans, shape, split):
    x = ties(*shape)
    for name in ("argmax", "var"):
        found = getattr(axisfold, name)(x, axis=0)
        np.testing.assert_allclose(found, getattr(np, name)(x.astype("float64"), axis=0), 1e-6)
    for plan in plans:
        assert plan.rule.name == "tiled_column"
        rows = 8 if host_vector_bytes() >= WIDE_VECTOR else 4
        assert f"reduce_axis[0], {split.format(rows)}" in schedule_source(plan)


@pytest.mark.parametrize(
    ("x", "vectors"),
    [
        (numbers(2100, 1201), 2),
        (numbers(2100, 1201, dtype="float16"), 2),
        (numbers(600, 200), 1),  # in a cache
        (numbers(2100, 2402)[:, ::2], 1),
    ],
    ids=["float32", "float16", "small", "gaps"],
)
def test_passes_over_columns_take_lines_of_a_cache(plans, x, vectors):
    # Half a line at a time, each line of memory would be asked for twice.
    found = axisfold.var(x, axis=0)
    (plan,) = plans
    lanes = host_vector_bytes() // 8 * (vectors if IS_WIDE else 1)
    assert f"s[tile0[0]].op.axis[0], factor={lanes})" in schedule_source(plan)
    near = 2e-3 if x.dtype == "float16" else 1e-6
    np.testing.assert_allclose(found, x.astype("float64").var(axis=0), near)


@pytest.mark.parametrize("size", [1 << 19, LONG, 2 * LONG + 4097])
@pytest.mark.parametrize(
    ("name", "dtype", "rule"),
    [
        ("argmax", "float32", "single_pass_row"),
        ("argmax", "float16", "searched_row"),
        ("var", "float32", "single_pass_row"),
        ("count_nonzero", "bool", "narrow_row"),
        ("any", "bool", "stopping_row"),
        ("all", "float64", "stopping_row"),
    ],
)
def test_huge_rows_have_longer_runs(plans, monkeypatch, name, dtype, rule, size):
    monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 18)
    x = numbers(size, dtype=dtype)
    places = [None]
    if rule == "stopping_row":
        x = np.full(size, name == "all", dtype)
        places = [None, size - 1, size // 2, 0]
    for place in places:
        if place is not None:
            x[place] = not x[place]
        found, wanted = getattr(axisfold, name)(x), getattr(np, name)(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert {(p.rule.name, p.layout.run) for p in plans} == {(rule, "huge")}


@pytest.mark.parametrize("is_huge", [False, True], ids=["long", "huge"])
@pytest.mark.parametrize("size", [LONG, 3 * LONG + 4097])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_halves_are_narrow_for_a_while(plans, monkeypatch, dtype, size, is_huge):
    """512 terms in float32 are off by 511 units of its roundoff, relative to all their sizes."""
    if is_huge:
        monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 18)
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)
    unit = 2.0**-8 if dtype.name == "bfloat16" else 2.0**-11
    x = numbers(size).astype(dtype)
    x[: size // 2] = -x[-(size // 2) :]
    for last in (1.0, np.inf, np.nan):
        x[-1] = last
        wide = x.astype("float64")
        exact, sizes = wide.sum(), np.abs(wide).sum()
        for name, count in (("sum", 1), ("mean", size)):
            found = float(getattr(axisfold, name)(x))
            assert np.isnan(found) == np.isnan(exact)
            if np.isfinite(exact):
                bound = (unit * abs(exact) + 2.0**-15 * sizes) / count
                assert abs(found - exact / count) <= bound
            else:
                assert np.isnan(exact) or found == exact
    assert {p.rule.name for p in plans} == {"narrowed_row"}
    assert {p.layout.run for p in plans} == {"huge" if is_huge else "long"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_wider_results_of_halves_show_no_rounding_on_the_way(plans, name, dtype):
    x = numbers(LONG).astype("float16")
    x[: LONG // 2] = -x[-(LONG // 2) :]
    exact = getattr(np, name)(x.astype("float64"))
    found = getattr(axisfold, name)(x, dtype=dtype)
    assert abs(found - exact) <= 2 * np.finfo(dtype).eps * abs(exact)
    assert {p.rule.name for p in plans} == {"long_row"}


def test_sums_of_bfloat16_keep_the_range_of_float64(plans):
    largest, least = 3.3e38, 2.0**-133
    x = np.zeros(LONG, pytest.importorskip("ml_dtypes").bfloat16)
    x[:] = largest
    assert axisfold.mean(x) == x[0]
    assert axisfold.sum(x) == np.inf
    x[LONG // 2 :] = -largest
    assert abs(float(axisfold.sum(x))) == float(x[0]) * (LONG % 2)
    x[:] = least
    assert axisfold.mean(x) == x[0]
    assert float(axisfold.sum(x[: 1 << 18])) == least * 2.0**18
    assert {p.rule.name for p in plans} == {"narrowed_row"}


@pytest.mark.parametrize("run", [1 << 13, 1 << 16])
@pytest.mark.parametrize(
    ("name", "x"),
    [("count_nonzero", np.ones(LONG, bool)), ("sum", np.full(LONG, -128, "int8"))],
    ids=["bool", "int8"],
)
def test_narrow_sums_hold_runs_of_any_length(plans, monkeypatch, name, x, run):
    monkeypatch.setattr(planner, "_plans", {})
    monkeypatch.setattr(planner, "tuned_rule", lambda r, *_: r.with_values({"tile_rows": run}))
    assert getattr(axisfold, name)(x) == getattr(np, name)(x)
    assert [p.rule.name for p in plans] == ["narrow_row"]
    launches.forget()


def test_places_of_bytes_fit_runs_of_any_length(plans, monkeypatch):
    monkeypatch.setattr(planner, "_plans", {})
    monkeypatch.setattr(planner, "tuned_rule", lambda r, *_: r.with_values({"tile_rows": 1 << 16}))
    x = np.zeros((LONG, 2), "uint8", order="F")  # two folded axes: runs come in another order
    x[50_000, 1] = 1
    assert axisfold.argmax(x) == 100_001
    assert [p.rule.name for p in plans] == ["single_pass_row"]
    launches.forget()


@pytest.mark.parametrize(("dtype", "size"), [("float16", 5000), ("int8", LONG), ("bool", 9000)])
def test_only_runs_with_a_better_element_are_searched(plans, dtype, size):
    x = np.zeros(size, dtype)
    x[size - 3] = 1
    assert axisfold.argmax(x) == size - 3
    (plan,) = plans
    program = skip_stages(lowered(plan.traced, plan, plan.target))
    guards = [n for n in post_order(program.body) if isinstance(n, If)]
    searches = [n for n in guards if any(isinstance(m, For) for m in post_order(n.then))]
    assert any("tile0[" in str(n.condition) for n in searches)


def _product(x, y):
    return axisfold.te.cast("float64", x) * axisfold.te.cast("float64", y)


@pytest.mark.parametrize(
    ("shape", "axis", "rule"),
    [((rows, 70), 1, "row_streams") for rows in (1024, 1031, 1151, 1153, 4099)]
    + [((3, rows, 70), (0, 2), "outer_row_streams") for rows in (131, 200, 1031, 1153)],
)
def test_rows_that_fill_no_block_are_folded_too(plans, shape, axis, rule):
    x = with_nans(*shape)
    mask = numbers(*shape) > 0
    lowest, highest = axisfold.fold(x, ["min", "max"], axis=axis)
    filled = np.nan_to_num(x)
    out = np.full(lowest.shape, -1, "float32")
    assert axisfold.sum(filled, axis=axis, where=mask, initial=3, out=out) is out
    assert [p.rule.name for p in plans] == [rule] * 2
    np.testing.assert_array_equal(lowest, np.min(x, axis=axis))
    np.testing.assert_array_equal(highest, np.max(x, axis=axis))
    wanted = np.sum(filled, axis=axis, where=mask, initial=3, dtype="float64")
    np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("rule", "rows"), [("tiled_column_parts", 2100), ("tiled_column", 301)])
def test_runs_are_merged_by_one_vector_of_states_in_a_loop(plans, rule, rows):
    """Tiles have vectors of as many int32 as there are two of int64 for."""
    x = ties(rows, 1201)
    np.testing.assert_array_equal(axisfold.argmax(x, axis=0), np.argmax(x, axis=0))
    (plan,) = plans
    assert plan.rule.name == rule
    stores = [n for n in post_order(plan.compiled.device.body) if isinstance(n, Store)]
    states = [n for n in stores if n.buffer.name.startswith("state") and isinstance(n.value, Var)]
    parts = "state.rf" if rule == "tiled_column_parts" else "state"
    assert sum(n.buffer.name == f"{parts}.v0" for n in states) == 1


def test_parts_of_columns_hold_one_tile(plans):
    axisfold.sum(np.ones((2100, 20_000), "float32"), axis=0)
    (plan,) = plans
    assert plan.rule.name == "column_parts"
    held = [n.buffer for n in post_order(plan.compiled.device.body) if isinstance(n, Allocate)]
    sizes = [math.prod(map(build.as_int, b.allocated_extents)) * b.dtype.itemsize for b in held]
    assert 0 < sum(sizes) < (1 << 20) + (1 << 12)


@pytest.mark.parametrize(
    ("shape", "rule"), [((2100, 1201), "column_parts"), ((33, 65_539), "column")]
)
def test_rows_of_a_tile_are_asked_for_ahead(plans, shape, rule):
    x = numbers(*shape)
    np.testing.assert_allclose(axisfold.sum(x, axis=0), x.sum(0, dtype="float64"), rtol=1e-6)
    (plan,) = plans
    assert plan.rule.name == rule
    loads = [n for n in post_order(plan.compiled.device.body) if isinstance(n, Load)]
    ahead = [n.ahead for n in loads if n.ahead]
    assert len(ahead) >= STREAMS
    assert set(ahead) == {TILE_AHEAD}
    assert plan.compiled.source().count("call void @llvm.prefetch") >= STREAMS


@pytest.mark.parametrize(("dtype", "rows"), [("float32", 4), ("float64", 8)])
def test_rows_in_a_cache_are_a_few_at_once_by_two_vectors(plans, dtype, rows):
    lanes = CACHED_VECTORS * host_vector_bytes() // 8
    x = numbers(8 * 9, lanes, dtype=dtype)
    np.testing.assert_allclose(axisfold.sum(x, axis=0), x.sum(0, dtype="float64"), rtol=1e-6)
    (plan,) = plans
    assert plan.rule.name == "column_in_cache"
    whole = [
        n for n in post_order(plan.compiled.device.body)
        if isinstance(n, Load) and n.buffer.name == "x0" and n.dtype.lanes == lanes
    ]  # fmt: skip
    assert len(whole) >= rows
    assert not any(n.ahead for n in whole)


@pytest.mark.parametrize(("name", "size"), [("argmax", 4), ("var", 8)])
def test_rows_of_a_tile_are_a_vector_each(plans, name, size):
    x = ties(7, 5001)
    found = getattr(axisfold, name)(x, axis=1)
    (plan,) = plans
    assert plan.rule.name == "tiled_rows"
    width = host_vector_bytes() // size
    assert f"reduce_axis[0], factor={width})" in schedule_source(plan)
    np.testing.assert_allclose(found, getattr(np, name)(x, axis=1), rtol=1e-6)


@pytest.mark.parametrize("rows", [None, 5])
@pytest.mark.parametrize("length", [3, 40, 999, 5001])
def test_lanes_of_places_are_folded_into_a_few(plans, vectors, rows, length):
    vectors(max(host_vector_bytes(), 32))  # of others all lanes are a few
    shape, axis = ((length,), None) if rows is None else ((rows, length), 1)
    for x in (ties(*shape), with_nans(*shape), np.full(shape, -np.inf, "float32")):
        for name in ("argmax", "argmin"):
            found = getattr(axisfold, name)(x, axis=axis)
            np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))
    for plan in plans:
        assert _splits_into_few(plan)


def test_lanes_of_places_in_long_rows_are_folded_one_by_one_in_a_loop(plans):
    x = ties(sizes_cpu.LONG_ROW)
    assert axisfold.argmax(x) == x.argmax()
    (plan,) = plans
    assert _merging_rounds(plan)[-1] == host_vector_bytes() // 4


@pytest.mark.parametrize(("size", "is_long"), [(sizes_cpu.LONG_ROW, True), (1 << 12, False)])
def test_truth_values_of_long_rows_are_merged_in_loops(plans, size, is_long):
    x = np.zeros(size, bool)
    assert not axisfold.any(x)
    x[-1] = True
    assert axisfold.any(x)
    (plan,) = plans
    assert (host_vector_bytes() in _merging_rounds(plan)) == is_long


def test_passes_over_a_row_merge_few_vectors_in_loops(plans):
    x = numbers(3, 999)
    found = axisfold.logsumexp(x, axis=1)
    wanted = np.log(np.exp(x.astype("float64")).sum(axis=1))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    (plan,) = plans
    assert plan.rule.name == "row_of_passes"
    assert {FEW_VECTORS, host_vector_bytes() // 4} <= set(_merging_rounds(plan))


def _merging_rounds(plan):
    """Return the rounds of the loops that merge vectors and lanes of partial states."""
    nodes = post_order(plan.compiled.device.body)
    loops = [n for n in nodes if isinstance(n, For) and n.var.name.endswith(".v")]
    return [rounds for n in loops if (rounds := build.as_int(n.extent)) is not None]


def _splits_into_few(plan):
    return f"reduce_axis[0], factor={FEW_LANES})" in schedule_source(plan)


@pytest.mark.parametrize(("name", "is_loop"), [("argmax", True), ("var", True), ("max", False)])
def test_vectors_of_states_of_several_fields_are_merged_in_a_loop(plans, name, is_loop):
    getattr(axisfold, name)(np.ones(1 << 18, np.float32))
    (plan,) = plans
    nodes = list(post_order(plan.compiled.device.body))
    loops = [
        n for n in nodes
        if isinstance(n, For) and n.var.name.endswith(".v") and build.as_int(n.extent)
    ]  # fmt: skip
    copies = [n for n in nodes if isinstance(n, Allocate) and n.buffer.name.endswith(".rest")]
    assert bool(loops) == is_loop
    assert bool(copies) != is_loop


def test_every_rule_is_tested():
    elsewhere = {"general", "row_of_passes"}  # ordered reducers; tests of sums of exponentials
    assert {r.name for r in rules_cpu.RULES} == {rule for *_, rule in CASES} | elsewhere


@pytest.mark.parametrize(
    ("given", "cast"), [("int8", "uint8"), ("int16", "int8"), ("uint16", "uint8")]
)
def test_sums_of_wrapped_elements_are_of_what_was_wrapped(given, cast):
    x = np.arange(1 << 10).astype(given) - np.ones(1, given)

    def lift(e):
        return {"s": te.cast("int64", te.cast(cast, e))}

    reducer = axisfold.Reducer(
        name="wrapped", state={"s": "int64"}, identity={"s": 0}, lift=lift,
        combine=lambda a, b: {"s": a.s + b.s}, finalize=lambda a: a.s,
        tile=lambda t: {"s": t.sum(lambda e: lift(e)["s"])},
    )  # fmt: skip
    assert axisfold.fold(x, reducer) == x.astype(cast).astype("int64").sum()


@pytest.mark.parametrize(
    ("name", "dtype", "columns", "tile"),
    [
        ("sum", "float32", 9001, 2048),
        ("argmax", "float32", 9001, 2048),
        ("argmax", "float16", 9001, 4096),
        ("count_nonzero", "int8", 9001, 8192),
        ("argmax", "float32", 16_384, 8192),  # each of two threads has a tile
    ],
)
def test_tiles_are_narrow_where_threads_share_them(plans, name, dtype, columns, tile):
    x = numbers(300, columns).astype(dtype)
    found = getattr(axisfold, name)(x, axis=0)
    (plan,) = plans
    assert f"axis[0], factor={tile})" in schedule_source(plan)
    np.testing.assert_allclose(found, getattr(np, name)(x.astype("f8"), axis=0), rtol=0, atol=1e-3)


@pytest.mark.parametrize("is_far", [True, False], ids=["memory", "cache"])
@pytest.mark.parametrize("vectors", [32, 64])
@pytest.mark.parametrize(
    ("name", "dtype"), [("sum", "int8"), ("count_nonzero", "bool"), ("sum", "float16")]
)
def test_narrow_sums_of_huge_rows_read_more_places_by_wide_vectors(
    plans, monkeypatch, name, dtype, vectors, is_far
):
    if is_far:
        monkeypatch.setattr(sizes_cpu, "HUGE_ROW", 1 << 18)
    x = np.zeros((1 << 18) + 77, dtype)
    assert getattr(axisfold, name)(x) == 0
    (plan,) = plans
    other = planner.make_plan(plan.traced, plan.layout, Target("llvm", vector_bytes=vectors))
    text = schedule_source(other)
    places = re.findall(r"narrow\]\.op\.axis\[2\], nparts=(\d)", text)
    assert places == ["8" if is_far and vectors == 64 else "4"]
