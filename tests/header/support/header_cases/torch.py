# SPDX-License-Identifier: Apache-2.0
"""PyTorch's spelling: WarpReduce and BlockReduce."""

import numpy as np
import pytest
from header_support import KERNELS, Machine

SOURCE = KERNELS / "torch.cu"


def integers(count: int) -> np.ndarray:
    """Small integers, whose sums are exact in float32."""
    return np.random.default_rng(count).integers(-1000, 1000, count).astype("f4")


@pytest.mark.parametrize("threads", [1, 2, 20, 31, 32, 33, 64, 100, 1024])
def test_torch_warp_reduce(machine: Machine, threads: int) -> None:
    x = integers(threads)
    warps = -(-threads // 32)
    out = np.zeros(warps, "f4")
    machine.launch(SOURCE, "warp_sum", 1, threads, x, out)
    assert out.tolist() == [x[w * 32 : w * 32 + 32].sum() for w in range(warps)]


@pytest.mark.parametrize("threads", [1, 20, 32, 33, 96, 100, 1000, 1024])
def test_torch_block_reduce_1d(machine: Machine, threads: int) -> None:
    x = integers(threads)
    out = np.zeros(2, "f4")
    machine.launch(SOURCE, "block_sum_1d", 1, threads, x, out)
    assert out.tolist() == [x.sum(), 2 * x.sum() + threads]


@pytest.mark.parametrize("block", [(1, 1), (5, 3), (32, 2), (40, 1), (33, 7), (16, 64)])
def test_torch_block_reduce_2d(machine: Machine, block: tuple[int, int]) -> None:
    threads = block[0] * block[1]
    x = integers(threads)
    out = np.zeros(2, "f4")
    machine.launch(SOURCE, "block_sum_2d", 1, block, x, out)
    assert out.tolist() == [x.sum(), -(-threads // 32)]


@pytest.mark.parametrize("threads", [32, 128, 1024])
def test_torch_operator_that_names_all_lanes(machine: Machine, threads: int) -> None:
    x = integers(threads)
    out = np.zeros(1, "f4")
    machine.launch(SOURCE, "full_warps", 1, threads, x, out)
    assert out[0] == x.sum()


@pytest.mark.parametrize("threads", [7, 64, 500])
def test_torch_operator_of_this_library(machine: Machine, threads: int) -> None:
    for x in (integers(threads), np.full(threads, -np.inf, "f4")):
        out = np.zeros(1, "i8")
        machine.launch(SOURCE, "arg_max_1d", 1, threads, x, out)
        assert out[0] == np.argmax(x)
