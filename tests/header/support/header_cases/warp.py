# SPDX-License-Identifier: Apache-2.0
"""Reductions over a warp, sub-warps, segments and sets of lanes."""

import numpy as np
import pytest
from header_support import KERNELS, Machine

from header_cases.oracle import AFFINE, affine, composed, same_affine

SOURCE = KERNELS / "warp.cu"
THREADS = (1, 2, 11, 31, 32, 33, 40, 64, 95, 128)


def groups(threads: int, width: int) -> list[range]:
    """Groups of ``width`` lanes within each warp of a block."""
    found = []
    for warp in range(0, threads, 32):
        end = min(warp + 32, threads)
        found += [range(i, min(i + width, end)) for i in range(warp, end, width)]
    return found


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    ("kernel", "dtype", "width"),
    [("sum_i32", "i4", 32), ("sum_u8", "u1", 32), ("sum_i32_7", "i4", 7), ("sum_i32_4", "i4", 4)],
)
def test_integer_sums_are_exact(
    machine: Machine, kernel: str, dtype: str, width: int, threads: int
) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(threads).integers(limits.min, limits.max, threads, dtype=dtype)
    out = np.zeros_like(x)
    machine.launch(SOURCE, kernel, 1, threads, x, out)
    for group in groups(threads, width):
        with np.errstate(over="ignore"):
            expected = x[list(group)].sum(dtype=dtype)
        assert (out[list(group)] == expected).all()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(("kernel", "dtype"), [("sum_f32", "f4"), ("sum_f64", "f8")])
def test_float_sums_meet_the_tree_bound(
    machine: Machine, kernel: str, dtype: str, threads: int
) -> None:
    x = np.random.default_rng(threads).standard_normal(threads).astype(dtype)
    out = np.zeros_like(x)
    machine.launch(SOURCE, kernel, 1, threads, x, out)
    for group in groups(threads, 32):
        values = x[list(group)].astype(np.longdouble)
        bound = 5 * np.finfo(dtype).eps / 2 * np.abs(values).sum()
        assert np.abs(out[list(group)] - values.sum()).max() <= bound
        assert (out[list(group)] == out[group[0]]).all()


@pytest.mark.parametrize("threads", [7, 32, 45])
@pytest.mark.parametrize(
    ("kernel", "dtype", "reference"),
    [
        ("min_f32", "f4", np.min),
        ("max_f32", "f4", np.max),
        ("min_f64", "f8", np.min),
        ("max_f16", "f2", np.max),
    ],
)
def test_extremes_keep_nan_infinity_and_signed_zero(
    machine: Machine, kernel: str, dtype: str, reference: object, threads: int
) -> None:
    assert callable(reference)
    inf = np.inf
    rows = [
        np.random.default_rng(1).standard_normal(threads),
        np.full(threads, -inf),
        np.full(threads, inf),
        np.where(np.arange(threads) == threads - 1, np.nan, 1.0),
        np.where(np.arange(threads) % 32 == 3, -0.0, 0.0),
        np.where(np.arange(threads) % 32 == 3, 0.0, -0.0),
    ]
    for row in rows:
        x = row.astype(dtype)
        out = np.zeros_like(x)
        machine.launch(SOURCE, kernel, 1, threads, x, out)
        for group in groups(threads, 32):
            expected = reference(x[list(group)])
            got = out[list(group)]
            assert np.array_equal(got, np.full_like(got, expected), equal_nan=True)
            if expected == 0:
                # np.min leaves the sign open; here -0 is below +0.
                signs = np.signbit(x[list(group)])
                sign = signs.any() if "min" in kernel else signs.all()
                assert (np.signbit(got) == sign).all()


def test_states_of_odd_size_travel_whole(machine: Machine) -> None:
    x = np.random.default_rng(3).integers(0, 256, (50, 7), dtype=np.uint8)
    out = np.zeros_like(x)
    machine.launch(SOURCE, "sum_bytes", 1, 50, x, out)
    for group in groups(50, 32):
        assert (out[list(group)] == x[list(group)].sum(axis=0, dtype=np.uint8)).all()


@pytest.mark.parametrize("block", [1, 2, 31, 32, 47, 64, 100, (8, 9), (3, 5, 7)])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 11, 16, 17, 31, 32])
def test_any_width_keeps_the_order(
    machine: Machine, width: int, block: int | tuple[int, ...]
) -> None:
    threads = int(np.prod(block))
    x = affine(threads, width)
    out = np.zeros(threads, AFFINE)
    machine.launch(SOURCE, f"compose_{width}", 1, block, x, out)
    for group in groups(threads, width):
        expected = composed(x[list(group)])
        assert all(same_affine(out[i], expected) for i in group)


def test_result_in_the_first_lane(machine: Machine) -> None:
    x = affine(70)
    out = np.zeros(70, AFFINE)
    machine.launch(SOURCE, "first_11", 1, 70, x, out)
    for group in groups(70, 11):
        assert same_affine(out[group[0]], composed(x[list(group)]))


@pytest.mark.parametrize("threads", [1, 5, 32, 50, 64])
@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
def test_segments_in_a_warp(machine: Machine, threads: int, density: float) -> None:
    heads = (np.random.default_rng(threads).random(threads) < density).astype(np.uint8)
    x = affine(threads, 5)
    first, everyone = np.zeros((2, threads), AFFINE)
    machine.launch(SOURCE, "segments", 1, threads, x, heads, first, everyone)
    starts = [i for i in range(threads) if heads[i] or i % 32 == 0]
    for start, end in zip(starts, [*starts[1:], threads], strict=True):
        expected = composed(x[start:end])
        assert same_affine(first[start], expected)
        assert all(same_affine(everyone[i], expected) for i in range(start, end))


@pytest.mark.parametrize("threads", [1, 20, 32, 61])
@pytest.mark.parametrize("density", [0.05, 0.5, 1.0])
def test_any_set_of_lanes(machine: Machine, threads: int, density: float) -> None:
    takes_part = (np.random.default_rng(threads).random(threads) < density).astype(np.uint8)
    x = affine(threads, 6)
    first, everyone = np.zeros((2, threads), AFFINE)
    machine.launch(SOURCE, "members", 1, threads, x, takes_part, first, everyone)
    for warp in range(0, threads, 32):
        lanes = [i for i in range(warp, min(warp + 32, threads)) if takes_part[i]]
        if lanes:
            expected = composed(x[lanes])
            assert same_affine(first[lanes[0]], expected)
            assert all(same_affine(everyone[i], expected) for i in lanes)
    untouched = takes_part == 0
    assert (first[untouched] == np.zeros(1, AFFINE)).all()
