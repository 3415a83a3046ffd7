# SPDX-License-Identifier: Apache-2.0
"""The kernels that measure the speed of memory read all of it."""

import re

import numpy as np
import pytest

from axisfold.build import build
from axisfold.plan.read_limit import PATTERNS, reader
from axisfold.plan.read_limit_cuda import LANES, LOADS, THREADS, read_schedule


@pytest.mark.parametrize("pattern", PATTERNS)
def test_reading_on_the_host(pattern):
    memory = np.arange(1 << 18, dtype=np.int64)
    call, sums = reader(memory, *pattern)
    call()
    assert sums.sum() == memory.sum()


def test_reading_on_a_gpu():
    x = np.arange(3 * 2 * LOADS * THREADS * LANES, dtype=np.int32)
    x = x.reshape(3, 2, LOADS, THREADS, LANES)
    total = np.full((2, THREADS, LANES), -1, np.int32)
    build(*read_schedule(), "sim")(x, total)
    assert np.array_equal(total, x.sum((0, 2)))


def test_a_gpu_loads_16_bytes_at_once():
    source = build(*read_schedule(), "cuda -arch=sm_90").source()
    # One load, in a loop that the compiler writes out.
    assert source.count("reinterpret_cast<const uint4 *>") == 1
    assert re.search(rf"#pragma unroll\n.*; \w+ < {LOADS}; ", source)
