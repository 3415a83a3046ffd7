# SPDX-License-Identifier: Apache-2.0
"""Reductions over a block, over groups and segments of it, and states of several fields."""

from functools import reduce
from typing import Any

import numpy as np
import pytest
from header_support import KERNELS, Machine

from header_cases.oracle import AFFINE, affine, composed, same_affine

SOURCE = KERNELS / "block.cu"
BLOCKS: list[Any] = [1, 2, 31, 32, 33, 64, 96, 100, 255, 256, 1000, 1024]
SHAPED: list[Any] = [(5, 7), (32, 3), (16, 2, 3), (7, 9, 11)]


def size(block: Any) -> int:
    return int(np.prod(block))


@pytest.mark.parametrize("block", [*BLOCKS, *SHAPED])
@pytest.mark.parametrize(
    ("kernel", "dtype", "ufunc"),
    [
        ("sum_i32", "i4", np.add),
        ("sum_i64", "i8", np.add),
        ("max_i64", "i8", np.maximum),
        ("and_u32", "u4", np.bitwise_and),
        ("or_u32", "u4", np.bitwise_or),
        ("xor_u32", "u4", np.bitwise_xor),
    ],
)
def test_integers_are_exact(
    machine: Machine, kernel: str, dtype: str, ufunc: np.ufunc, block: Any
) -> None:
    threads = size(block)
    info = np.iinfo(dtype)
    x = np.random.default_rng(threads).integers(info.min, info.max, (2, threads), dtype=dtype)
    first, everyone = np.zeros(2, dtype), np.zeros_like(x)
    machine.launch(SOURCE, kernel, 2, block, x, first, everyone)
    expected = ufunc.reduce(x, axis=1, dtype=dtype)
    assert (first == expected).all()
    assert (everyone == expected[:, None]).all()


@pytest.mark.parametrize("block", [*BLOCKS, *SHAPED])
@pytest.mark.parametrize(("kernel", "dtype"), [("sum_f32", "f4"), ("sum_f64", "f8")])
def test_sums_meet_the_tree_bound(machine: Machine, kernel: str, dtype: str, block: Any) -> None:
    threads = size(block)
    x = np.random.default_rng(threads).standard_normal((3, threads)).astype(dtype)
    first, everyone = np.zeros(3, dtype), np.zeros_like(x)
    machine.launch(SOURCE, kernel, 3, block, x, first, everyone)
    exact = x.astype(np.longdouble).sum(axis=1)
    bound = 10 * np.finfo(dtype).eps / 2 * np.abs(x.astype(np.longdouble)).sum(axis=1)
    assert (np.abs(first - exact) <= bound).all()
    assert (everyone == first[:, None]).all()


@pytest.mark.parametrize("threads", [3, 32, 77, 512])
def test_products(machine: Machine, threads: int) -> None:
    x = np.random.default_rng(threads).uniform(0.5, 2.0, threads)
    first, everyone = np.zeros(1), np.zeros_like(x)
    machine.launch(SOURCE, "prod_f64", 1, threads, x, first, everyone)
    exact = np.prod(x.astype(np.longdouble))
    assert abs(first[0] - exact) <= 2 * threads * np.finfo("f8").eps * exact


@pytest.mark.parametrize("threads", [1, 30, 64, 321])
@pytest.mark.parametrize(
    ("kernel", "dtype", "ufunc"),
    [
        ("max_f32", "f4", np.maximum),
        ("min_f32", "f4", np.minimum),
        ("max_f64", "f8", np.maximum),
        ("min_f16", "f2", np.minimum),
    ],
)
def test_extremes(machine: Machine, kernel: str, dtype: str, ufunc: np.ufunc, threads: int) -> None:
    draw = np.random.default_rng(threads)
    rows = [
        draw.standard_normal(threads),
        np.full(threads, -np.inf),
        np.full(threads, np.inf),
        np.where(draw.random(threads) < 0.5, np.inf, -np.inf),
        np.where(np.arange(threads) == threads // 2, np.nan, draw.standard_normal(threads)),
    ]
    x = np.array(rows).astype(dtype)
    first, everyone = np.zeros(len(rows), dtype), np.zeros_like(x)
    machine.launch(SOURCE, kernel, len(rows), threads, x, first, everyone)
    expected = ufunc.reduce(x, axis=1)
    assert np.array_equal(first, expected, equal_nan=True)
    assert np.array_equal(everyone, np.repeat(expected[:, None], threads, 1), equal_nan=True)


@pytest.mark.parametrize("threads", [1, 40, 256])
@pytest.mark.parametrize(
    ("kernel", "ufunc"),
    [
        ("min_bool", np.logical_and),
        ("max_bool", np.logical_or),
        ("all_u8", np.logical_and),
        ("any_u8", np.logical_or),
    ],
)
def test_booleans(machine: Machine, kernel: str, ufunc: np.ufunc, threads: int) -> None:
    some = np.arange(threads) == threads - 1
    x = np.array([np.zeros(threads), np.ones(threads), some, ~some]).astype(np.uint8)
    first, everyone = np.zeros(4, np.uint8), np.zeros_like(x)
    machine.launch(SOURCE, kernel, 4, threads, x, first, everyone)
    assert (first == ufunc.reduce(x.astype(bool), axis=1)).all()


def test_states_of_odd_size(machine: Machine) -> None:
    x = np.random.default_rng(0).integers(0, 256, (333, 7), dtype=np.uint8)
    first, everyone = np.zeros((1, 7), np.uint8), np.zeros_like(x)
    machine.launch(SOURCE, "sum_bytes", 1, 333, x, first, everyone)
    expected = x.sum(axis=0, dtype=np.uint8)
    assert (first == expected).all()
    assert (everyone == expected).all()


@pytest.mark.parametrize("block", [*BLOCKS, *SHAPED])
def test_order_is_preserved(machine: Machine, block: Any) -> None:
    threads = size(block)
    x = affine(2 * threads, threads).reshape(2, threads)
    first, everyone = np.zeros(2, AFFINE), np.zeros((2, threads), AFFINE)
    machine.launch(SOURCE, "compose_block", 2, block, x, first, everyone)
    for row in range(2):
        expected = composed(x[row])
        assert same_affine(first[row], expected)
        assert all(same_affine(item, expected) for item in everyone[row])


@pytest.mark.parametrize("threads", [20, 32, 64, 200, 1024])
def test_tails_need_no_identity(machine: Machine, threads: int) -> None:
    for count in sorted({1, 2, 31, 32, 33, threads - 1, threads, threads + 5} - {0}):
        x = affine(threads, count)
        out = np.zeros(threads, AFFINE)
        machine.launch(SOURCE, "valid", 1, threads, x, out, np.uint32(count))
        expected = composed(x[:count])
        assert all(same_affine(item, expected) for item in out), count


@pytest.mark.parametrize("block", [1, 24, 32, 64, 90, 256, 1000, (16, 10), (33, 7), (8, 4, 5)])
def test_groups_of_any_size(machine: Machine, block: Any) -> None:
    threads = size(block)
    wanted = {1, 2, 3, 8, 11, 31, 32, 33, 48, 64, 65, 100, 500, threads, threads + 1}
    for group in sorted(g for g in wanted if g <= threads + 1):
        x = affine(threads, group)
        count = -(-threads // group)
        first, everyone = np.zeros(count, AFFINE), np.zeros(threads, AFFINE)
        machine.launch(SOURCE, "groups", 1, block, x, first, everyone, np.uint32(group))
        for g in range(count):
            members = range(g * group, min((g + 1) * group, threads))
            expected = composed(x[list(members)])
            assert same_affine(first[g], expected), (group, g)
            assert all(same_affine(everyone[i], expected) for i in members), (group, g)


@pytest.mark.parametrize("threads", [1, 31, 64, 130, 1000])
@pytest.mark.parametrize("density", [0.0, 0.004, 0.05, 0.6, 1.0])
def test_segments_across_warps(machine: Machine, threads: int, density: float) -> None:
    draw = np.random.default_rng(threads)
    heads = (draw.random(threads) < density).astype(np.uint8)
    if density == 0.05 and threads > 64:
        heads[64] = 1  # a head in lane 0, right where an earlier segment would go on
    x = affine(threads, 8)
    out = np.zeros(threads, AFFINE)
    machine.launch(SOURCE, "segments", 1, threads, x, heads, out)
    starts = [i for i in range(threads) if heads[i] or i == 0]
    for start, end in zip(starts, [*starts[1:], threads], strict=True):
        assert same_affine(out[start], composed(x[start:end]))


def arg_rows(threads: int) -> list[np.ndarray]:
    draw = np.random.default_rng(threads)
    ties = draw.integers(0, 3, threads).astype("f4")
    two_nans = draw.standard_normal(threads).astype("f4")
    two_nans[[threads // 3, threads - 1]] = np.nan
    zeros = np.where(np.arange(threads) % 2 == 0, -0.0, 0.0).astype("f4")
    full = [np.full(threads, value, "f4") for value in (-np.inf, np.inf, np.nan)]
    return [draw.standard_normal(threads).astype("f4"), ties, two_nans, zeros, *full]


@pytest.mark.parametrize("threads", [1, 17, 64, 300])
def test_arg_extremes_take_the_first(machine: Machine, threads: int) -> None:
    for x in arg_rows(threads):
        values, indices = np.zeros(2, "f4"), np.zeros(2, "i8")
        machine.launch(SOURCE, "arg", 1, threads, x, values, indices)
        assert indices.tolist() == [np.argmax(x), np.argmin(x)]
        assert np.array_equal(values, [x[np.argmax(x)], x[np.argmin(x)]], equal_nan=True)


@pytest.mark.parametrize("count", [1, 2, 40, 256])
def test_moments_survive_a_large_offset(machine: Machine, count: int) -> None:
    x = 1e9 + np.random.default_rng(count).standard_normal(256)
    out = np.zeros(3)
    machine.launch(SOURCE, "variance", 1, 256, x, np.uint32(count), out)
    exact = x[:count].astype(np.longdouble)
    assert out[0] == count
    assert abs(out[1] - exact.mean()) <= 1e-15 * 1e9 * 4
    m2 = ((exact - exact.mean()) ** 2).sum()
    assert abs(out[2] - m2) <= 1e-6 * max(1.0, float(m2))


def test_moments_of_no_elements(machine: Machine) -> None:
    out = np.ones(3)
    machine.launch(SOURCE, "variance", 1, 64, np.zeros(64), np.uint32(0), out)
    assert out.tolist() == [0, 0, 0]


@pytest.mark.parametrize("threads", [1, 33, 128])
def test_exp_sums_make_no_nan_of_infinities(machine: Machine, threads: int) -> None:
    draw = np.random.default_rng(threads)
    some = np.where(draw.random(threads) < 0.5, -np.inf, draw.standard_normal(threads))
    one_inf = np.where(np.arange(threads) == threads // 2, np.inf, 0.0)
    rows = [draw.standard_normal(threads) * 50, np.full(threads, -np.inf), some, one_inf]
    for row in [*rows, np.where(np.arange(threads) == 0, np.nan, 1.0)]:
        x, y = row.astype("f4"), row.astype("f8")
        out, wide = np.zeros(2, "f4"), np.zeros(2)
        machine.launch(SOURCE, "exp_sum", 1, threads, x, y, out, wide)
        for (top, total), data, tolerance in ((out, x, 1e-5), (wide, y, 1e-13)):
            with np.errstate(divide="ignore", invalid="ignore"):
                got = float(top) + np.log(np.float64(total))
                expected = reduce(np.logaddexp, data.astype("f8"))
            assert np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_several_states_in_one_pass(machine: Machine) -> None:
    x = np.random.default_rng(1).integers(-50, 50, 222).astype("f4")
    total, top, at = np.zeros(222), np.zeros(222, "f4"), np.zeros(222, "i8")
    machine.launch(SOURCE, "several", 1, 222, x, total, top, at)
    assert (total == x.sum(dtype="f8")).all()
    assert (top == x.max()).all()
    assert (at == np.argmin(x)).all()
