# SPDX-License-Identifier: Apache-2.0
"""Loads and stores touch what they should and nothing else."""

import ctypes
import mmap
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, loop, run

from axisfold.build import Compiled
from axisfold.codegen.llvm import emit_kernel
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Binary, Broadcast, Cast, Compare, Load, Ramp
from axisfold.ir.stmt import Allocate, Store

LANES = 8
NOTHING, READ_WRITE = 0, 3


def lanes_below(count):
    return Compare("lt", Ramp(index(0), index(1), LANES), Broadcast(index(count), LANES))


@pytest.fixture
def page():
    """A page of memory after which the next one must not be touched."""
    if sys.platform == "win32":
        pytest.skip("mprotect is POSIX")
    libc = ctypes.CDLL(None, use_errno=True)
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    anchor = ctypes.c_char.from_buffer(memory)
    border = ctypes.addressof(anchor) + mmap.PAGESIZE

    def protect(mode):
        assert libc.mprotect(ctypes.c_void_p(border), mmap.PAGESIZE, mode) == 0

    protect(NOTHING)
    yield np.frombuffer(memory, "uint8", count=mmap.PAGESIZE)
    protect(READ_WRITE)


def at_the_end(page, dtype, count):
    return page[len(page) - count * np.dtype(dtype).itemsize :].view(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("valid", [0, 1, 5, 7])
def test_masked_lanes_touch_no_memory(page, dtype, valid):
    A, B = buffer("A", dtype, valid), buffer("B", dtype, LANES)
    at, mask = Ramp(index(0), index(1), LANES), lanes_below(valid)
    array = at_the_end(page, dtype, valid)
    array[:] = np.arange(1, valid + 1).astype(dtype)
    copied = np.full(LANES, 1, dtype)
    run(kernel([A, B], [B], Store(B, at, Load(A, at, mask))), array, copied)
    wanted = np.zeros(LANES, dtype)
    wanted[:valid] = array
    np.testing.assert_array_equal(copied, wanted)
    source = np.arange(1, LANES + 1).astype(dtype)
    run(kernel([B, A], [A], Store(A, at, Load(B, at), mask)), source, array)
    np.testing.assert_array_equal(array, source[:valid])


@pytest.mark.parametrize("dtype", ["bool", "int16", "float64"])
def test_gather_and_scatter_with_a_mask(page, dtype):
    valid = 5
    A, B = buffer("A", dtype, valid), buffer("B", dtype, LANES)
    backwards, mask = Ramp(index(valid - 1), index(-1), LANES), lanes_below(valid)
    array = at_the_end(page, dtype, valid)
    array[:] = (np.arange(valid) % 2).astype(dtype)
    copied = np.full(LANES, 1, dtype)
    at = Ramp(index(0), index(1), LANES)
    run(kernel([A, B], [B], Store(B, at, Load(A, backwards, mask))), array, copied)
    np.testing.assert_array_equal(copied[:valid], array[::-1])
    np.testing.assert_array_equal(copied[valid:], np.zeros(LANES - valid, dtype))
    run(kernel([B, A], [A], Store(A, backwards, Load(B, at), mask)), copied, array)
    np.testing.assert_array_equal(array[::-1], copied[:valid])


def test_offsets_that_are_loaded():
    P, A, B = buffer("P", "int32", 8), buffer("A", "float32", 20), buffer("B", "float32", 8)
    at = Ramp(index(0), index(1), LANES)
    offsets = Cast(Load(P, at), INT64.with_lanes(LANES))
    places = np.array([19, 0, 3, 3, 7, 11, 2, 1], "int32")
    array, found = np.arange(20, dtype="float32"), np.zeros(8, "float32")
    run(kernel([P, A, B], [B], Store(B, at, Load(A, offsets))), places, array, found)
    np.testing.assert_array_equal(found, array[places])


def test_negative_and_wide_steps_in_bytes():
    record = np.dtype([("flag", "i1"), ("value", "<f8")])
    rows = np.zeros(LANES, record)
    rows["value"] = np.arange(LANES) * 1.5
    A = buffer("A", "float64", LANES, unit="byte")
    B = buffer("B", "float64", LANES)
    at = Ramp(index(0), index(1), LANES)
    steps = Ramp(index(0), index(-record.itemsize), LANES)
    found = np.zeros(LANES)
    run(kernel([A, B], [B], Store(B, at, Load(A, steps))), rows["value"][::-1], found)
    np.testing.assert_array_equal(found, rows["value"][::-1])


@pytest.mark.parametrize("lanes", [1, LANES])
def test_a_truth_value_in_memory_is_a_byte_that_is_not_zero(lanes):
    A, B = buffer("A", "bool", LANES), buffer("B", "bool", LANES)
    raw = np.array([0, 1, 2, 255, 0, 128, 3, 0], "uint8")
    found = np.full(LANES, 7, "uint8")
    at = Ramp(index(0), index(1), lanes) if lanes > 1 else None
    statement = (
        loop(LANES, lambda i: Store(B, i, Load(A, i))) if at is None else Store(B, at, Load(A, at))
    )
    run(kernel([A, B], [B], statement), raw, found)
    np.testing.assert_array_equal(found, (raw != 0).astype("uint8"))


def test_memory_of_one_thread_is_masked_too():
    T = buffer("T", "int32", LANES, scope="local")
    B = buffer("B", "int32", LANES)
    at = Ramp(index(0), index(1), LANES)
    ones = Broadcast(build.const(1, "int32"), LANES)
    twos = Broadcast(build.const(2, "int32"), LANES)
    body = build.seq(
        Store(T, at, ones),
        Store(T, at, twos, lanes_below(3)),
        Store(B, at, Binary("add", Load(T, at), Load(T, at, lanes_below(4)))),
    )
    found = np.zeros(LANES, "int32")
    run(kernel([B], [B], Allocate(T, body)), found)
    np.testing.assert_array_equal(found, [4, 4, 4, 2, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("size", "first", "apart", "lanes"),
    [
        (32, 3, 4, 8), (32, 0, 8, 4), (64, 13, 4, 8), (16, 1, 2, 8), (17, 2, 2, 8), (30, 5, 8, 4),
        (32, 6, 4, 4), (28, 1, 3, 8), (64, 7, 8, 8), (61, 4, 8, 8),
    ],
)  # fmt: skip
def test_lanes_of_private_memory_come_out_of_whole_vectors(size, first, apart, lanes):
    T, A = buffer("T", "int32", size, scope="local"), buffer("A", "int32", size)
    B = buffer("B", "int32", lanes)
    copy = [Store(T, index(i), Load(A, index(i))) for i in range(size)]
    steps, at = (Ramp(index(n), index(by), lanes) for n, by in ((first, apart), (0, 1)))
    source, found = np.arange(size, dtype="int32") * 3, np.zeros(lanes, "int32")
    body = Allocate(T, build.seq(*copy, Store(B, at, Load(T, steps))))
    run(kernel([A, B], [B], body), source, found)
    np.testing.assert_array_equal(found, source[first::apart][:lanes])


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_columns_of_private_memory_are_made_of_its_rows(dtype, lanes):
    A, B = (buffer(name, dtype, lanes * lanes) for name in "AB")
    T = buffer("T", dtype, lanes, lanes, scope="local")
    rows = [Ramp(index(n * lanes), index(1), lanes) for n in range(lanes)]
    columns = [Ramp(index(n), index(lanes), lanes) for n in range(lanes)]
    written = [Store(T, at, Load(A, at)) for at in rows]
    read = [Store(B, at, Load(T, of)) for at, of in zip(rows, columns, strict=True)]
    program = kernel([A, B], [B], Allocate(T, build.seq(*written, *read)))
    source = np.arange(lanes * lanes).astype("uint16" if dtype == "bfloat16" else dtype)
    found = np.zeros_like(source)
    run(program, source, found)
    np.testing.assert_array_equal(found, source.reshape(lanes, lanes).T.ravel())
    # What is read are the vectors that were written, so a matrix that fits is in registers alone.
    assert source.nbytes > 128 or not re.search(
        r"\b(rsp|sp)\b", Compiled(program, "brief").assembly()
    )


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_halves_of_rows_in_private_memory_are_lanes_of_two_vectors(dtype):
    A, B = buffer("A", dtype, 4 * LANES), buffer("B", dtype, 2 * LANES)
    T = buffer("T", dtype, 4 * LANES, scope="local")
    lane, half = Ramp(index(0), index(1), LANES), Broadcast(index(LANES // 2), LANES)
    apart = build.binary("mul", build.binary("floordiv", lane, half), Broadcast(index(8), LANES))
    within = build.binary("add", build.binary("floormod", lane, half), apart)
    wholes = [Ramp(index(n * LANES), index(1), LANES) for n in range(4)]

    def halves(first):
        return Load(T, build.binary("add", within, Broadcast(index(first), LANES)))

    written = [Store(T, at, Load(A, at)) for at in wholes]
    read = [
        Store(B, wholes[n], build.binary("add", halves(16 * n), halves(16 * n + 4)))
        for n in range(2)
    ]
    program = kernel([A, B], [B], Allocate(T, build.seq(*written, *read)))
    source = np.arange(4 * LANES).astype(dtype)
    found = np.zeros(2 * LANES, dtype)
    run(program, source, found)
    rows = source.reshape(4, 2, 4)
    np.testing.assert_array_equal(found, (rows[:, 0] + rows[:, 1]).ravel())
    source = Compiled(program).source()
    assert "gather" not in source
    assert f"add <{LANES} x i64>" not in source  # the places are known, and not computed
    assert not re.search(r"\b(rsp|sp)\b", Compiled(program, "brief").assembly())


@pytest.mark.parametrize(
    "at",
    [(0, 9, 18, 27, 4, 13, 22, 31), (28, 29, 30, 31, 32, 33, 34, 35), (1, 1, 1, 1, 9, 9, 8, 8)],
)
def test_any_known_lanes_of_private_memory_are_read(at):
    T, A = buffer("T", "int32", 36, scope="local"), buffer("A", "int32", 36)
    B = buffer("B", "int32", LANES)
    lane, places = Ramp(index(0), index(1), LANES), Broadcast(index(0), LANES)
    for n, (before, each) in enumerate(pairwise((0, *at))):  # no ramp: each has its own step
        later = build.binary("add", lane, Broadcast(index(LANES - n), LANES))
        is_later = build.binary("floordiv", later, Broadcast(index(LANES), LANES))
        step = build.binary("mul", is_later, Broadcast(index(each - before), LANES))
        places = build.binary("add", places, step)
    copy = [Store(T, index(i), Load(A, index(i))) for i in range(36)]
    body = Allocate(T, build.seq(*copy, Store(B, lane, Load(T, places))))
    source, found = np.arange(36, dtype="int32") * 3, np.zeros(LANES, "int32")
    run(kernel([A, B], [B], body), source, found)
    np.testing.assert_array_equal(found, source[list(at)])


def test_the_text_uses_nothing_that_llvm_upgrades_with_a_warning(recwarn, capfd):
    from llvmlite import binding

    A, B = buffer("A", "float32", 5), buffer("B", "float32", LANES)
    at, mask = Ramp(index(0), index(1), LANES), lanes_below(5)
    text = emit_kernel(kernel([A, B], [B], Store(B, at, Load(A, at, mask), mask)))
    module = binding.parse_assembly(text)
    module.verify()
    assert not recwarn.list
    assert capfd.readouterr() == ("", "")
