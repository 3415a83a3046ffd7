# SPDX-License-Identifier: Apache-2.0
"""Kernel primitives that compute: elementwise functions, functors, reductions, scans, sorts."""

from typing import Any

import numpy as np
import pytest
from header_support import KERNELS, Machine

from header_cases.oracle import AFFINE, affine, composed, same_affine

SOURCE = KERNELS / "kps_compute.cu"


def test_elementwise_functions_in_both_lists(machine: Machine) -> None:
    x = np.random.default_rng(0).integers(-99, 99, (4, 3, 6)).astype("f4")
    out = np.zeros((4, 6, 6))
    machine.launch(SOURCE, "elementwise", 1, 4, x, out)
    a, b, c = (x[:, i].astype("f8") for i in range(3))
    assert (out[:, 0] == a * a).all()
    assert (out[:, 1] == a - b).all()
    assert (out[:, 2] == a + 2 * b + 3 * c).all()
    assert (out[:, 3] == a - 10 * b).all()
    cycled = a[:, None, :3] - b.reshape(4, 2, 3)
    assert (out[:, 4] == cycled.reshape(4, 6)).all()
    assert (out[:, 5] == 42).all()


@pytest.mark.parametrize(("kernel", "dtype"), [("binary_f32", "f4"), ("binary_f64", "f8")])
def test_binary_functors_on_floats(machine: Machine, kernel: str, dtype: str) -> None:
    special = [0.0, -0.0, 1.0, -1.5, 7.25, np.inf, -np.inf, np.nan, 1e30, -3.0, 0.1, 2.5]
    x, y = (g.ravel().astype(dtype) for g in np.meshgrid(special, special))
    out = np.zeros((x.size, 9))
    machine.launch(SOURCE, kernel, -(-x.size // 32), 32, x, y, out, np.uint32(x.size))
    with np.errstate(all="ignore"):
        expected = [
            *(x + y, x * y, np.minimum(x, y), np.maximum(x, y)),
            *((x != 0) & (y != 0), (x != 0) | (y != 0), x - y, x / y, np.floor_divide(x, y)),
        ]
    for column, values in zip(out.T[:8], expected[:8], strict=True):
        assert np.array_equal(column, values.astype("f8"), equal_nan=True)
    usual = np.isfinite(x) & np.isfinite(y) & (y != 0)
    assert np.array_equal(out[usual, 8], expected[8][usual].astype("f8"))


def test_binary_functors_on_integers(machine: Machine) -> None:
    special = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 1000, -999]
    x, y = (g.ravel().astype("i4") for g in np.meshgrid(special, special))
    keep = (y != 0) & ~((x == -(2**31)) & (y == -1))
    x, y = x[keep], y[keep]
    out = np.zeros((x.size, 9))
    machine.launch(SOURCE, "binary_i32", -(-x.size // 32), 32, x, y, out, np.uint32(x.size))
    expected = [
        *(np.minimum(x, y), np.maximum(x, y), (x != 0) & (y != 0), (x != 0) | (y != 0)),
        np.trunc(x / y),
        x // y,
    ]
    for k, values in zip((2, 3, 4, 5, 7, 8), expected, strict=True):
        assert (out[:, k] == values).all()
    small = (np.abs(x.astype("i8")) < 2**15) & (np.abs(y.astype("i8")) < 2**15)
    for k, values in ((0, x + y), (1, x * y), (6, x - y)):
        assert (out[small, k] == values[small]).all()


def test_initial_values_are_identities(machine: Machine) -> None:
    out = np.zeros(31)
    machine.launch(SOURCE, "initials", 1, 1, out)
    floats = [0, 1, np.inf, -np.inf, 1, 0, 0, 1, 1]
    assert out[:9].tolist() == floats
    assert out[9:18].tolist() == [0, 1, 2**31 - 1, -(2**31), 1, 0, 0, 1, 1]
    assert out[18:27].tolist() == floats
    # bool: min starts from true and max from false, or neither could ever change.
    assert out[27:].tolist() == [1, 0, 1, 0]


def test_unary_functors(machine: Machine) -> None:
    x = np.array([0.5, -2.0, 3.0, 100.0], "f4")
    k = np.array([1, -2, 30, 2**31 - 1], "i4")
    out = np.zeros((4, 8))
    machine.launch(SOURCE, "unary", 1, 4, x, k, out)
    wide = x.astype("f8")
    assert (out[:, 0] == wide).all()
    assert (out[:, 1] == k / 4).all()
    assert (out[:, 2] == wide / 8).all()
    assert np.allclose(out[:, 3], k / 3, rtol=4e-16, atol=0)
    assert (out[:, 4] == -wide).all()
    assert np.allclose(out[:, 5], np.exp(wide), rtol=1e-15, atol=0)
    assert (out[:, 6] == wide * wide).all()
    # 1/3000 has few bits as a float16; the division works in float.
    assert np.allclose(out[:, 7], wide / 3000, rtol=2e-7, atol=0)


SHAPES: list[Any] = [
    *(1, 20, 32, 100, (1, 7), (5, 3), (16, 8), (33, 5), (32, 32), (100, 2), (3, 100)),
    (8, 4, 5),
]


@pytest.mark.parametrize("block", SHAPES)
@pytest.mark.parametrize(
    ("kernel", "dtype", "ufunc"),
    [
        ("add_x_i64", "i8", np.add),
        ("add_y_i64", "i8", np.add),
        ("max_x_f32", "f4", np.maximum),
        ("max_y_f32", "f4", np.maximum),
        ("add_y_u8", "u1", np.add),
    ],
)
def test_global_reduce(
    machine: Machine, kernel: str, dtype: str, ufunc: np.ufunc, block: Any
) -> None:
    x_extent, y_extent, z_extent = (*((block,) if isinstance(block, int) else block), 1, 1)[:3]
    shape = (z_extent, y_extent, x_extent)
    x = np.random.default_rng(1).integers(0, 100, shape).astype(dtype)
    if dtype == "f4":
        x[0, 0, 0] = np.nan
    out = np.zeros((*shape, 2), dtype)
    machine.launch(SOURCE, kernel, 1, block, x, out)
    both = np.stack([x, (x * 3).astype(dtype)], axis=-1)
    axis = 2 if "_x_" in kernel else 1
    expected = ufunc.reduce(both, axis=axis, keepdims=True, dtype=dtype)
    assert np.array_equal(out, np.broadcast_to(expected, out.shape), equal_nan=True)


def test_local_reduce_in_both_lists(machine: Machine) -> None:
    x = np.random.default_rng(2).integers(-99, 99, (40, 2, 3)).astype("i4")
    out = np.zeros((40, 2), "i4")
    machine.launch(SOURCE, "local", 1, 40, x, out)
    assert (out == x.sum(axis=2) + np.array([1000, 2000])).all()


@pytest.mark.parametrize("threads", [1, 2, 31, 32, 33, 100, 512, 700])
def test_prefixes_keep_the_order(machine: Machine, threads: int) -> None:
    x = affine(2 * threads, threads)
    out = np.zeros(2 * threads, AFFINE)
    machine.launch(SOURCE, "cumsum", 1, threads, x, out)
    running = (1, 0)
    for item, given in zip(out, x, strict=True):
        so_far = np.array([(running[0], running[1])], AFFINE)[0]
        running = composed([so_far, given])
        assert same_affine(item, running)


@pytest.mark.parametrize("threads", [7, 64, 300])
def test_prefix_sums(machine: Machine, threads: int) -> None:
    x = np.random.default_rng(threads).integers(-99, 99, 2 * threads).astype("f4")
    out = np.zeros(2 * threads)
    machine.launch(SOURCE, "cumsum_f64", 1, threads, x, out)
    assert (out == np.cumsum(x, dtype="f8")).all()


@pytest.mark.parametrize("threads", [1, 3, 32, 50, 64, 512])
@pytest.mark.parametrize("monotonic", [1, 0])
def test_sort_is_stable(machine: Machine, threads: int, monotonic: int) -> None:
    for num in sorted({0, 1, threads, 2 * threads - 1, 2 * threads}):
        x = np.random.default_rng(num).integers(-5, 5, 2 * threads).astype("f4")
        if num > 4:
            x[[1, num - 1]] = np.nan
            x[2] = np.inf
        out, values = np.zeros(num, "f4"), np.zeros(num)
        indices = np.full(num, -1, "i4")
        limits = (np.int32(num), np.int32(monotonic))
        machine.launch(SOURCE, "sort", 1, threads, x, out, values, indices, *limits)
        rising = np.nan_to_num(x[:num].astype("f8"), nan=1e300, posinf=1e200)
        order = np.argsort(rising if monotonic else -rising, kind="stable")
        assert indices.tolist() == order.tolist()
        assert np.array_equal(out, x[:num][order], equal_nan=True)
        assert np.array_equal(values, x[:num][order], equal_nan=True)


@pytest.mark.parametrize("count", [1, 100, 512, 513, 4000])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 128), (3, 96), (2, 50)])
def test_a_reduction_in_primitives(machine: Machine, count: int, blocks: int, threads: int) -> None:
    x = np.random.default_rng(count).integers(-99, 99, count).astype("f4")
    out = np.full(blocks, -1.0)
    machine.launch(SOURCE, "row_sum", blocks, threads, x, out, np.int64(count))
    assert out.sum() == x.sum(dtype="f8")
