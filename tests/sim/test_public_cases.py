# SPDX-License-Identifier: Apache-2.0
"""Reductions that went wrong in public, by the plans for GPUs in the simulator."""

import pytest
from fold_support import simulated
from public_cases import REPORTS
from public_cases.case import parameters, run

from axisfold.plan import planner, sizes_gpu
from axisfold.target import Target

FUNCTIONS = simulated.Functions()


@pytest.fixture(autouse=True, scope="module")
def _small_card():
    """Six blocks are a wave of this card, so that folds are shared by blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "TARGET", Target("sim", multiprocessors=3))
        patch.setattr(sizes_gpu, "RESIDENT", 2)
        patch.setattr(planner, "_plans", {})
        yield


@pytest.mark.parametrize("variant", parameters(REPORTS, "sim", first=1))
def test_public_cases(variant):
    run(variant, FUNCTIONS, is_small=True)
