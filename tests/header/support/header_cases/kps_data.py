# SPDX-License-Identifier: Apache-2.0
"""Kernel primitives that move data: reads, writes, broadcasts, start values."""

import numpy as np
import pytest
from header_support import KERNELS, Machine

SOURCE = KERNELS / "kps_data.cu"


def strided_positions(
    threads: int, shape: tuple[int, int], sizes: tuple[int, ...], kind: str
) -> list[list[int | None]]:
    """Offset that each register of each thread stands for; None where nothing is moved."""
    nx, ny = shape
    size_nx, size_ny, stride_nx, stride_ny = sizes
    found: list[list[int | None]] = []
    for thread in range(threads):
        row: list[int | None] = []
        for y in range(ny):
            for x in range(nx):
                inside = kind == "full" or (
                    thread + x * stride_nx < size_nx
                    and (y < size_ny if kind == "older" else y * stride_ny < size_ny)
                )
                row.append(thread + x * stride_nx + y * stride_ny if inside else None)
        found.append(row)
    return found


READS = [
    *((name, shape, "full") for name, shape in (("1_1", (1, 1)), ("1_4", (1, 4)))),
    *((name, (int(name[0]), int(name[2])), "today") for name in ("1_1", "1_4", "4_1", "3_2")),
    *((name, (int(name[0]), int(name[2])), "older") for name in ("1_4", "3_2")),
]


@pytest.mark.parametrize(("name", "shape", "kind"), READS)
@pytest.mark.parametrize("rows", [0, 1, 2, 4])
@pytest.mark.parametrize("columns", [0, 1, 30, 33, 90])
def test_strided_read(
    machine: Machine, name: str, shape: tuple[int, int], kind: str, rows: int, columns: int
) -> None:
    threads, pitch = 33, 120
    x = np.random.default_rng(rows).standard_normal(4 * pitch + 100).astype("f4")
    size_ny = rows if kind == "older" else rows * pitch
    sizes = (columns, size_ny, threads, pitch)
    out = np.zeros((threads, shape[0] * shape[1]))
    machine.launch(SOURCE, f"read_{name}_{kind}", 1, threads, x, out, *map(np.int64, sizes))
    expected = [
        [-1.0 if at is None else float(x[at]) for at in row]
        for row in strided_positions(threads, shape, sizes, kind)
    ]
    assert out.tolist() == expected


def test_strided_read_of_a_full_block_in_the_older_list(machine: Machine) -> None:
    x = np.arange(400, dtype="f4")
    out = np.zeros((32, 6))
    machine.launch(SOURCE, "read_3_2_oldfull", 1, 32, x, out, *map(np.int64, (0, 0, 32, 100)))
    positions = strided_positions(32, (3, 2), (0, 0, 32, 100), "full")
    assert out.tolist() == positions


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "dtype", "nx"),
    [
        ("row_1_full", "f4", 1),
        ("row_2_full", "f4", 2),
        ("row_3_full", "f4", 3),
        ("row_4_full", "f4", 4),
        ("row_8_full", "f4", 8),
        ("row_8_full_u8", "u1", 8),
        ("row_4_full_i64", "i8", 4),
    ],
)
def test_contiguous_read_of_a_full_block(
    machine: Machine, kernel: str, dtype: str, nx: int, offset: int
) -> None:
    threads = 40
    x = np.arange(threads * nx + offset).astype(dtype)
    out = np.zeros(threads * nx, dtype)
    arguments = (x, out, np.int64(offset), np.int64(threads * nx))
    machine.launch(SOURCE, kernel, 1, threads, *arguments)
    assert (out == x[offset:]).all()


@pytest.mark.parametrize("num", [-1, 0, 1, 7, 100, 119, 120, 121])
@pytest.mark.parametrize(
    ("kernel", "nx"), [("row_1_tail", 1), ("row_3_tail", 3), ("row_4_tail", 4)]
)
def test_contiguous_read_of_a_tail(machine: Machine, kernel: str, nx: int, num: int) -> None:
    threads = 40
    x = np.arange(1, max(0, min(num, threads * nx)) + 1, dtype="f4")
    out = np.zeros(threads * nx, "f4")
    machine.launch(SOURCE, kernel, 1, threads, x, out, np.int64(0), np.int64(num))
    assert out.tolist() == [*x, *[-1] * (threads * nx - len(x))]


def test_contiguous_read_with_a_length(machine: Machine) -> None:
    x = np.arange(50, dtype="f4")
    out = np.zeros(64, "f4")
    machine.launch(SOURCE, "row_lens", 1, 16, x, out, np.int64(50))
    assert out.tolist() == [*range(50), *[-1] * 14]


@pytest.mark.parametrize("num", [0, 5, 64, 66])
def test_tuples_hold_inputs_of_two_types(machine: Machine, num: int) -> None:
    x = np.arange(num, dtype="f4") / 4
    y = np.arange(num, dtype="i8") * 2**40
    out = np.zeros((64, 2))
    machine.launch(SOURCE, "read_tuples", 1, 16, x, y, out, np.int64(num))
    held = min(num, 64)
    assert (out[:held, 0] == x[:held]).all()
    assert (out[:held, 1] == y[:held]).all()
    assert (out[held:] == -1).all()


WRITES = [("1_1", "full"), ("1_1", "today"), ("1_4", "today"), ("3_2", "today"), ("3_2", "older")]


@pytest.mark.parametrize(("name", "kind"), WRITES)
@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("columns", [0, 5, 33, 70])
def test_strided_write(machine: Machine, name: str, kind: str, rows: int, columns: int) -> None:
    threads, pitch = 33, 120
    shape = (int(name[0]), int(name[2]))
    sizes = (columns, rows if kind == "older" else rows * pitch, threads, pitch)
    expected = np.full(4 * pitch, -5, "f4")
    for thread, row in enumerate(strided_positions(threads, shape, sizes, kind)):
        for i, at in enumerate(row):
            if at is not None:
                expected[at] = thread * 100 + i
    out = np.full(4 * pitch, -5, "f4")
    machine.launch(SOURCE, f"write_{name}_{kind}", 1, threads, out, *map(np.int64, sizes))
    assert (out == expected).all()


@pytest.mark.parametrize("offset", [0, 1, 2])
@pytest.mark.parametrize(
    ("kernel", "nx"), [("put_1_full", 1), ("put_3_full", 3), ("put_8_full", 8)]
)
def test_contiguous_write_of_a_full_block(
    machine: Machine, kernel: str, nx: int, offset: int
) -> None:
    out = np.zeros(40 * nx + offset, "f4")
    machine.launch(SOURCE, kernel, 1, 40, out, np.int64(offset), np.int64(40 * nx))
    assert out.tolist() == [*[0] * offset, *range(1, 40 * nx + 1)]


@pytest.mark.parametrize("num", [-1, 0, 1, 39, 40, 157, 160, 200])
@pytest.mark.parametrize(("kernel", "nx"), [("put_1_tail", 1), ("put_4_tail", 4)])
def test_contiguous_write_of_a_tail(machine: Machine, kernel: str, nx: int, num: int) -> None:
    out = np.zeros(200, "f4")
    machine.launch(SOURCE, kernel, 1, 40, out, np.int64(0), np.int64(num))
    held = max(0, min(num, 40 * nx))
    assert out.tolist() == [*range(1, held + 1), *[0] * (200 - held)]


def test_contiguous_write_with_a_length(machine: Machine) -> None:
    out = np.zeros(20, "f4")
    machine.launch(SOURCE, "put_lens", 1, 10, out, np.int64(17))
    assert out.tolist() == [*range(1, 18), 0, 0, 0]


def test_copies_of_one_thread(machine: Machine) -> None:
    x, out = np.arange(8, dtype="f4"), np.full(8, -1, "f4")
    machine.launch(SOURCE, "copies", 1, 4, x, out, np.int64(5))
    assert out.tolist() == [0, 1, 2, 3, 4, -1, -1, -1]


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize(
    ("in_shape", "out_shape"),
    [
        ((1, 35), (32, 35)),
        ((7, 1), (7, 11)),
        ((3, 1, 5), (3, 4, 5)),
        ((1,), (9,)),
        ((6, 7), (6, 7)),
    ],
)
def test_broadcast_reads(
    machine: Machine, in_shape: tuple[int, ...], out_shape: tuple[int, ...], is_wide: bool
) -> None:
    x = np.random.default_rng(0).standard_normal(in_shape).astype("f4")
    expected = np.broadcast_to(x, out_shape).ravel()
    total = expected.size
    out = np.zeros(2 * total, "f4")
    arguments = (
        np.array(out_shape[::-1], "i8"),
        np.array(in_shape[::-1], "i8"),
        np.int32(len(in_shape)),
        np.int64(total),
        np.uint8(is_wide),
    )
    machine.launch(SOURCE, "broadcast", -(-total // 128), 32, x, out, *arguments)
    assert (out[:total] == expected).all()
    assert (out[total:] == expected).all()


@pytest.mark.parametrize("bits", [32, 64])
def test_division_by_multiplication(machine: Machine, bits: int) -> None:
    draw = np.random.default_rng(bits)
    dtype = f"u{bits // 8}"
    top = 2**bits
    edges = [1, 2, 3, 7, 10, top // 2 - 1, top // 2, top // 2 + 1, top - 2, top - 1]
    divisors = [*edges, *(int(d) for d in draw.integers(1, 1000, 40))]
    divisors += [max(1, int(d)) for d in draw.integers(1, top, 40, dtype=dtype)]
    pairs = []
    for d in divisors:
        multiples = [k * d for k in (0, 1, 2, top // d - 1, top // d)]
        wanted = {v for m in multiples for v in (m - 1, m, m + 1)} | {top - 1, top // 2}
        pairs += [(v, d) for v in wanted if 0 <= v < top]
    pairs += [(0, 1)] * (-len(pairs) % 64)
    dividend, divisor = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    quotient, remainder = np.zeros((2, len(pairs)), dtype)
    arguments = (dividend, divisor, quotient, remainder)
    machine.launch(SOURCE, f"divide_{bits}", len(pairs) // 64, 64, *arguments)
    assert (quotient == dividend // divisor).all()
    assert (remainder == dividend % divisor).all()


def test_start_values(machine: Machine) -> None:
    out = np.zeros((5, 9), "f4")
    machine.launch(SOURCE, "inits", 1, 5, out)
    for thread, row in enumerate(out.tolist()):
        first = 1000 + 3 * thread
        assert row == [7, 7, 7, 10, 20, -1, first, first + 1, first + 2]


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("size_ny", [0, 1, 4, 9, 20, 40])
def test_reads_of_a_reduced_run(machine: Machine, last: bool, size_ny: int) -> None:
    width, height = 8, 5
    x = np.random.default_rng(size_ny).standard_normal(200).astype("f4")
    out = np.zeros((height, width, 5))
    arguments = (x, out, np.int64(3), np.int64(size_ny), np.uint8(last))
    machine.launch(SOURCE, "gather", 1, (width, height), *arguments)
    for ty in range(height):
        for tx in range(width):
            reduced, kept, stride = (tx, ty, width) if last else (ty, tx, height)
            rows = [reduced + k * stride for k in range(3)]
            expected = [-float(x[2 * (r + 3)]) if r < size_ny else -1.0 for r in rows]
            inside = [reduced < size_ny and kept + k < width + height for k in range(2)]
            expected += [-float(x[2 * (reduced + 3) + k]) if inside[k] else -1.0 for k in range(2)]
            assert out[ty, tx].tolist() == expected
