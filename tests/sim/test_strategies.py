# SPDX-License-Identifier: Apache-2.0
"""The tutorials' four trees: exact sums on every extent, and the faults of their wrong versions."""

from dataclasses import replace

import numpy as np
import pytest
from sim_support import fault
from sim_support.strategies import STRATEGIES, block_sum

from axisfold import sim
from axisfold.ir.stmt import Barrier
from axisfold.ir.walk import rewrite

BLOCK = 64


def arrays(n, block=BLOCK):
    x = np.random.default_rng(n).integers(-(1 << 40), 1 << 40, n)
    return x, np.full(-(-n // block), -1, np.int64)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sums(strategy):
    program = block_sum(strategy, BLOCK)
    for n in range(1, 301):
        x, sums = arrays(n)
        expected = np.add.reduceat(x, range(0, n, BLOCK))
        sim.run(program, [x, sums], seed=n)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_barriers_of_warps_are_too_weak(strategy):
    program = block_sum(strategy, 128)
    weak = rewrite(program.body, lambda n: Barrier("warp") if isinstance(n, Barrier) else n)
    fault(replace(program, body=weak), arrays(200, 128), "M101")


def test_results_do_not_depend_on_the_order_of_blocks():
    program = block_sum("adjacent", BLOCK)
    x, first = arrays(2000)
    sim.run(program, [x, first], seed=0)
    for seed in range(1, 4):
        sums = np.zeros_like(first)
        sim.run(program, [x, sums], seed=seed)
        np.testing.assert_array_equal(sums, first)
