# SPDX-License-Identifier: Apache-2.0
"""Random schedules for threads run in the simulator: right answers, and nothing to report.

``--schedules N`` makes 2/5 of N.  A failure names its seed and prints the schedule as a program.
"""

from collections import Counter

import numpy as np
import pytest
from te_support.random_threads import REFUSALS, ThreadCase

from axisfold.build import build
from axisfold.errors import ScheduleError, UnsupportedError

BATCHES = 20


def check(seed):
    """Run one case, some with two orders of their blocks; return the code of a refusal, else ""."""
    case = ThreadCase(seed)
    try:
        function = build(case.schedule, case.problem.args, "sim")
    except (ScheduleError, UnsupportedError) as error:
        if error.code not in REFUSALS:
            raise
        return error.code
    for order in range(1 + (seed % 3 == 0)):
        inputs = case.inputs(case.sizes or case.extents())
        wanted = case.problem.answer(*inputs)
        found = [np.full(w.shape, 77, w.dtype) for w in wanted]
        function(*inputs, *found, seed=seed + order)
        for one, expected in zip(found, wanted, strict=True):
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-10)
            else:
                np.testing.assert_array_equal(one, expected)
    return ""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_schedule_for_threads_gives_the_same_answer(batch, request):
    # Two programs for each five of a CPU: 200 of the default 500.
    count = request.config.getoption("--schedules") * 2 // 5
    refused = Counter()
    seeds = range(batch, count, BATCHES)
    for seed in seeds:
        try:
            refused[check(seed)] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it names the schedule
            program = ThreadCase(seed).schedule.trace
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{program}")
    # Few are refused: lowering takes what threads can do.
    assert refused[""] >= 0.5 * len(seeds), refused
