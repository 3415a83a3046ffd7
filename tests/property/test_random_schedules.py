# SPDX-License-Identifier: Apache-2.0
"""Thousands of schedules from all primitives that a CPU runs: every one gives the same answer.

``--schedules N`` sets how many.  A failure names its seed and prints the schedule as a program.
"""

import numpy as np
import pytest
from te_support.interpreter import run_kernel
from te_support.random_schedules import UNDONE, Case
from te_support.traces import replays

from axisfold.build import build
from axisfold.config import config
from axisfold.errors import ScheduleError
from axisfold.runtime.threads import pool

BATCHES = 50
SMALL = 60  # elements that the interpreter reads in a moment


@pytest.fixture(autouse=True)
def _two_threads_for_loops_of_any_length():
    before = config.threads
    pool().set_chunk_work(1)
    config.threads = 2
    yield
    pool().set_chunk_work()
    config.threads = before


def check(seed):
    """Run one case; return whether it could be lowered."""
    case = Case(seed)
    try:
        function = build(case.schedule, case.problem.args)
    except ScheduleError as error:
        if error.code not in UNDONE:
            raise
        return False
    replays(case.schedule, case.problem.args)
    for run in range(1 if case.sizes else 2):
        inputs = case.inputs(case.sizes or case.extents())
        wanted = case.problem.answer(*inputs)
        compare(wanted, inputs, function)
        if seed % 4 == 0 and not run and sum(a.size for a in inputs) < SMALL:
            dense = [np.ascontiguousarray(a) for a in inputs]
            compare(wanted, dense, lambda *arrays: run_kernel(function.declared.device, arrays))
    return True


def compare(wanted, inputs, run):
    found = [np.full(w.shape, 77, w.dtype) for w in wanted]
    run(*inputs, *found)
    for one, expected in zip(found, wanted, strict=True):
        if one.dtype.kind == "f":
            np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-10)
        else:
            np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_schedule_gives_the_same_answer(batch, request):
    count = request.config.getoption("--schedules")
    lowered = 0
    for seed in range(batch, count, BATCHES):
        try:
            lowered += check(seed)
        except Exception as error:  # noqa: BLE001 - whatever it is, it names the schedule
            program = Case(seed).schedule.trace
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{program}")
    assert lowered >= count // BATCHES // 2
