# SPDX-License-Identifier: Apache-2.0
"""Reductions of an axis that is not the last: the published kernels and the corrected one."""

from typing import Any

import numpy as np
import pytest
from header_support import KERNELS, Machine

SOURCE = KERNELS / "higher_dim.cu"
ENGLISH = KERNELS / "published_en.cu"
CHINESE = KERNELS / "published_zh.cu"

SHAPE = (6, 5, 7, 3)  # N, H, W, C


def split(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Merge an array around one axis: outer, reduced and inner extent."""
    return int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :]))


REDUCTIONS: list[Any] = [
    ("sum_f32", "f4", "f4", "f8", lambda x, axis: x.sum(axis, dtype="f8").astype("f4")),
    ("mean_f16", "f2", "f2", "f4", lambda x, axis: x.mean(axis, dtype="f8").astype("f2")),
    ("mean_i32", "i4", "f8", "i8", lambda x, axis: x.mean(axis, dtype="f8")),
    ("prod_f64", "f8", "f8", "f8", lambda x, axis: x.prod(axis)),
    ("any_u8", "u1", "u1", "u1", lambda x, axis: (x != 0).any(axis).astype("u1")),
    ("max_f32", "f4", "f4", "f4", lambda x, axis: x.max(axis)),
]


def example(name: str, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    draw = np.random.default_rng(7)
    if name == "mean_f16":
        # Their sum exceeds the largest float16: partial results must not be rounded to it.
        return draw.uniform(20000, 30000, shape).astype(dtype)
    if name == "any_u8":
        return (draw.random(shape) < 0.15).astype(dtype)
    if name == "prod_f64":
        return draw.integers(1, 4, shape).astype(dtype)
    x = draw.integers(-2000, 2000, shape).astype(dtype)
    if name == "max_f32":
        x[0] = -np.inf
        x[1, 1] = np.nan
    return x


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("split_rows", [1, 2, 3])
@pytest.mark.parametrize(("name", "dtype", "out_dtype", "acc", "reference"), REDUCTIONS)
def test_corrected_kernel(
    machine: Machine,
    name: str,
    dtype: str,
    out_dtype: str,
    acc: str,
    reference: Any,
    axis: int,
    split_rows: int,
) -> None:
    x = example(name, dtype, SHAPE)
    outer, reduced, left = split(SHAPE, axis)
    rows = -(-reduced // split_rows)
    threads = 32
    columns = -(-left // threads)
    expected = reference(x, axis)
    out = np.zeros(expected.shape, out_dtype)
    layers = min(outer, 4)  # fewer blocks than slices: they stride over the outer axis
    if split_rows == 1:
        sizes = map(np.int64, (outer, reduced, left, rows, reduced))
        machine.launch(SOURCE, f"{name}_once", (columns, 1, layers), threads, x, out, *sizes)
    else:
        partial = np.zeros((outer, split_rows, left), acc)
        sizes = map(np.int64, (outer, reduced, left, rows, 1))
        grid = (columns, split_rows, layers)
        machine.launch(SOURCE, f"{name}_part", grid, threads, x, partial, *sizes)
        sizes = map(np.int64, (outer, split_rows, left, split_rows, reduced))
        machine.launch(SOURCE, f"{name}_last", (columns, 1, layers), threads, partial, out, *sizes)
    if name == "mean_f16":
        assert np.abs(out.astype("f8") - expected.astype("f8")).max() <= 16  # one unit at 2^14
    elif name == "mean_i32":
        assert np.allclose(out, expected, rtol=4e-16, atol=0)
    else:
        assert np.array_equal(out, expected, equal_nan=True)


def test_corrected_kernel_on_more_rows_than_blocks_need(machine: Machine) -> None:
    """Blocks past the last row write the identity, and an empty axis gives it too."""
    x = np.arange(10, dtype="f4").reshape(2, 5)
    partial = np.full((4, 5), -1.0)
    sizes = map(np.int64, (1, 2, 5, 1, 1))
    machine.launch(SOURCE, "sum_f32_part", (1, 4, 1), 32, x, partial, *sizes)
    assert partial.tolist() == [x[0].tolist(), x[1].tolist(), [0] * 5, [0] * 5]
    out = np.full(5, -1, "f4")
    sizes = map(np.int64, (1, 0, 5, 1, 1))
    machine.launch(SOURCE, "sum_f32_once", (1, 1, 1), 32, x[:0], out, *sizes)
    assert out.tolist() == [0] * 5


@pytest.mark.parametrize("left", [5, 32, 50, 96])
@pytest.mark.parametrize("rows", [2, 4, 8])
@pytest.mark.parametrize("outer", [1, 3])
def test_english_text_sums_even_row_counts(
    machine: Machine, left: int, rows: int, outer: int
) -> None:
    x = np.random.default_rng(left).integers(-99, 99, (outer, rows, left)).astype("f4")
    out = np.zeros((outer, 1, left), "f4")
    sizes = map(np.int32, (rows, left, rows))
    machine.launch(ENGLISH, "sum_en", (-(-left // 32), 1, outer), 32, x, out, *sizes)
    assert (out[:, 0] == x.sum(axis=1)).all()
    halves = np.zeros((outer, 2, left), "f4")
    if rows % 4 == 0:
        sizes = map(np.int32, (rows, left, rows // 2))
        machine.launch(ENGLISH, "sum_en", (-(-left // 32), 2, outer), 32, x, halves, *sizes)
        assert (halves == x.reshape(outer, 2, rows // 2, left).sum(axis=2)).all()


def test_english_text_reads_one_row_too_many(machine: Machine) -> None:
    """What the documentation says of the text: with an odd row count, the next row is added."""
    x = np.random.default_rng(0).integers(1, 99, (4, 40)).astype("f4")  # 3 rows and a stray one
    out = np.zeros(40, "f4")
    machine.launch(ENGLISH, "sum_en", 2, 32, x, out, *map(np.int32, (3, 40, 3)))
    assert (out == x.sum(axis=0)).all()
    assert (out != x[:3].sum(axis=0)).all()


def test_english_text_always_adds(machine: Machine) -> None:
    x = np.random.default_rng(0).integers(1, 99, (4, 40)).astype("f4")
    out = np.zeros(40, "f4")
    machine.launch(ENGLISH, "max_en", 2, 32, x, out, *map(np.int32, (4, 40, 4)))
    assert (out == x.sum(axis=0)).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [("sum_zh", np.sum), ("prod_zh", np.prod), ("max_zh", np.max), ("any_zh", np.any)],
)
def test_chinese_text(machine: Machine, kernel: str, reference: Any, axis: int) -> None:
    dtype = "?" if kernel == "any_zh" else "f4"
    x = np.random.default_rng(axis).integers(-2, 4, SHAPE).astype(dtype)
    outer, reduced, left = split(SHAPE, axis)
    out = np.zeros((outer, 1, left), dtype)
    sizes = map(np.int32, (reduced, left, reduced))
    machine.launch(CHINESE, kernel, (-(-left // 32), 1, outer), 32, x, out, *sizes)
    assert (out[:, 0] == reference(x, axis=axis).reshape(outer, left)).all()


@pytest.mark.parametrize("kernel", ["mean_zh", "mean_zh_own"])
def test_chinese_text_with_its_own_functors(machine: Machine, kernel: str) -> None:
    x = np.random.default_rng(3).integers(-99, 99, (8, 70)).astype("f4")
    out = np.zeros((2, 70), "f4")
    sizes = map(np.int32, (8, 8, 70, 4))
    machine.launch(CHINESE, kernel, (3, 2, 1), 32, x, out, *sizes)
    assert np.allclose(out.sum(axis=0), x.mean(axis=0), rtol=1e-6, atol=1e-5)
