# SPDX-License-Identifier: Apache-2.0
"""Lanes that count on, in fewer bits than the number that they begin with."""

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, run

from axisfold.codegen.llvm import emit_kernel
from axisfold.ir import build
from axisfold.ir.expr import Load, Ramp
from axisfold.ir.stmt import Store


def counted(dtype, *, step=1):
    """Return a kernel that writes eight numbers from one on, as vectors of four."""
    start, out = buffer("start", "int64", 1), buffer("out", dtype, 8)
    parts = []
    for n in (0, 4):
        lanes = Ramp(Load(start, index(0)) + n * step, index(step), 4)
        parts.append(Store(out, Ramp(index(n), index(1), 4), build.cast(dtype, lanes)))
    return kernel([start, out], [out], build.seq(*parts))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("begin", [0, 120, 2**31 - 3, 2**40 - 2, -(2**33) - 9])
@pytest.mark.parametrize("step", [1, 3])
def test_counts_wrap_as_their_numbers_do(dtype, begin, step):
    found = np.zeros(8, dtype)
    run(counted(dtype, step=step), np.array([begin]), found)
    np.testing.assert_array_equal(found, (begin + step * np.arange(8)).astype(dtype))


def test_neighbours_share_what_they_count_from():
    text = emit_kernel(counted("int32"))
    assert text.count("trunc") == text.count("shufflevector") == 1


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_conversions_are_of_whole_numbers(dtype):
    found = np.zeros(8, dtype)
    run(counted(dtype), np.array([2**33]), found)
    np.testing.assert_array_equal(found, (2**33 + np.arange(8)).astype(dtype))
