# SPDX-License-Identifier: Apache-2.0
"""What a placeholder promises is used, checked, and never trusted."""

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build, lower


def scheduled(factor=16, **facts):
    """Row sums with lanes along the row."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A", **facts)
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, lane = s[B].split(k, factor=factor)
    first = s.rfactor(B, lane)
    s[first].compute_at(s[B], s[B].op.axis[0])
    s[first].reorder(*s[first].op.reduce_axis, s[first].op.axis[0])
    s[first].vectorize(s[first].op.axis[0])
    return s, [A, B]


def aligned(shape, offset=0):
    """Return zeros whose first element lies ``offset`` bytes behind a multiple of 64."""
    size = int(np.prod(shape)) * 4
    memory = np.zeros(size + 128, "uint8")
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + size].view("float32").reshape(shape)


def loads(function):
    """Return the lines of the LLVM text that read vectors of the argument."""
    lines = function.source().splitlines()
    reads = [line for line in lines if "load <16" in line or "llvm.masked" in line]
    return [line.strip() for line in reads if "declare" not in line]


def test_nothing_is_promised_by_default():
    s, args = scheduled()
    assert "likely" in str(lower(s, args))
    assert any("gather" in line for line in loads(build(s, args)))


def test_compact_makes_contiguous_loads():
    s, args = scheduled(compact=True)
    text = str(lower(s, args))
    assert "A: Buffer(A_2: Pointer(float32), float32, [n, m: int32], [])" in text
    assert "likely" in text
    assert not any("gather" in line for line in loads(build(s, args)))


@pytest.mark.parametrize("factor", [16, 4, 8])
def test_divisible_removes_the_guard(factor):
    s, args = scheduled(factor, compact=True, divisible={1: 16})
    text = str(lower(s, args))
    assert "likely" not in text
    assert f"floordiv(m, 16)*{16 // factor})" in text or factor == 16
    assert not any("masked" in line for line in loads(build(s, args)))


def test_a_divisor_that_does_not_fit_keeps_the_guard():
    s, args = scheduled(16, compact=True, divisible={1: 24})
    assert "likely" in str(lower(s, args))


def test_divisors_of_two_tensors_join():
    n = te.var("n")
    A = te.placeholder((n,), name="A", divisible=(4,))
    C = te.placeholder((n,), name="C", divisible={0: 6})
    B = te.compute((n,), lambda i: A[i] + C[i], name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=12)
    assert "likely" not in str(lower(s, [A, C, B]))


def test_the_loads_are_aligned_as_far_as_rows_are():
    def alignment(**facts):
        lines = loads(build(*scheduled(compact=True, **facts)))
        argument = [line for line in lines if "load <16 x float>, ptr" in line]
        return max(int(line.rsplit("align ", 1)[1]) for line in argument)

    assert alignment(divisible={1: 16}) == 4
    assert alignment(divisible={1: 16}, align=64) == 64
    assert alignment(divisible={1: 16}, align=32) == 32
    assert alignment(divisible={1: 16}, align=128) == 64
    assert alignment(align=64) == 4  # the second row starts anywhere


@pytest.mark.parametrize("offset", [0, 4, 16, 64])
def test_misaligned_arrays_run_the_version_without_promises(offset):
    s, args = scheduled(compact=True, align=64, divisible={1: 16})
    function = build(s, args)
    for rows, columns in ((5, 32), (1, 16), (3, 0), (0, 16)):
        a = aligned((rows, columns), offset)
        a[:] = np.arange(a.size).reshape(a.shape)
        found = np.full(rows, 7, "float32")
        function.general._code = function.general._entry = None
        function(a, found)
        np.testing.assert_array_equal(found, a.sum(axis=1))
        if a.size:  # NumPy puts an empty array anywhere
            assert (function.general._code is not None) == (offset % 64 != 0)


def test_arrays_that_are_not_compact_run_the_version_without_promises():
    s, args = scheduled(compact=True, align=64, divisible={1: 16})
    function = build(s, args)
    whole = aligned((6, 64))
    whole[:] = np.arange(whole.size).reshape(whole.shape)
    for a in (whole[::2], whole[:, :32], whole[:, ::2], whole[::-1, ::-1]):
        found = np.full(len(a), 7, "float32")
        function(a, found)
        np.testing.assert_array_equal(found, a.sum(axis=1))


def test_constant_extents_and_rank_0():
    A = te.placeholder((4, 16), name="A", align=64, divisible=(1, 16))
    X = te.placeholder((), name="X", compact=True, align=4)
    B = te.compute((4, 16), lambda i, j: A[i, j] * X[()], name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[1])
    function = build(s, [A, X, B])
    assert any(line.endswith("align 64") for line in loads(function))
    a, found = aligned((4, 16)), np.zeros((4, 16), "float32")
    a[:] = np.arange(64).reshape(4, 16)
    function(a, np.array(2, "float32"), found)
    np.testing.assert_array_equal(found, a * 2)
