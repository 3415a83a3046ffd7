# SPDX-License-Identifier: Apache-2.0
"""Constant extents whose product, or whose rounding up, is no int32."""

import numpy as np
import pytest

import axisfold
from axisfold import te
from axisfold.ir import build
from axisfold.schedule.relations import fused_extent, split_extents

LARGEST = 2**31 - 1


@pytest.mark.parametrize(
    ("outer", "inner", "dtype"),
    [(2**16, 2**15, "int64"), (2**16, 2**16, "int64"), (LARGEST, 1, "int32"), (4, 8, "int32")],
)
def test_fused_extent(outer, inner, dtype):
    expected = build.const(outer * inner, dtype)
    assert fused_extent(build.const(outer), build.const(inner)) == expected


@pytest.mark.parametrize("parts", [{"factor": 16}, {"nparts": 16}])
def test_split_of_the_largest_int32(parts):
    size = {name: build.const(value) for name, value in parts.items()}
    outer, inner = split_extents(build.const(LARGEST), size.get("factor"), size.get("nparts"))
    assert {outer, inner} == {build.const(16), build.const(2**27)}


@pytest.mark.parametrize("split", [None, {"factor": 1000}, {"nparts": 7}])
def test_every_round_of_a_fused_loop_is_run(split):
    n, m = 2**16, 2**15
    a = te.placeholder((n, m), "int8", "A")
    k, j = te.reduce_axis((0, n), "k"), te.reduce_axis((0, m), "j")
    b = te.compute((1,), lambda _: te.sum(te.cast("int64", a[k, j]), axis=[k, j]), name="B")
    s = te.create_schedule(b.op)
    fused = s[b].fuse(*b.op.reduce_axis)
    if split:
        s[b].split(fused, **split)
    total = np.empty(1, np.int64)
    axisfold.build(s, [a, b])(np.broadcast_to(np.int8(1), (n, m)), total)
    assert total[0] == n * m


def test_values_of_int32_axes_stay_int32_in_a_fused_loop_of_int64():
    n = te.var("n", "int64")
    a = te.placeholder((n, 8), "int32", "A")
    b = te.compute(
        (n, 8), lambda i, j: a[i, j] + j * 100000 * 100000 - te.cast("int32", i), name="B"
    )
    x, plain, fused = (np.zeros((5, 8), np.int32) for _ in range(3))
    s = te.create_schedule(b.op)
    axisfold.build(s, [a, b])(x, plain)
    s[b].split(s[b].fuse(*b.op.axis), factor=3)
    axisfold.build(s, [a, b])(x, fused)
    assert (fused == plain).all()
