# SPDX-License-Identifier: Apache-2.0
"""Thousands of schedules from all primitives that a CPU runs: every one gives the same answer.

``--schedules N`` sets how many.  A failure names its seed and prints the schedule as a program.
"""

import random

import numpy as np
import pytest
from te_support.interpreter import run_kernel
from te_support.problems import argmax, columns, complex_product, lower_triangle, masked, rows
from te_support.random_schedules import UNDONE, Case, Generator
from te_support.threads import run_threads
from te_support.traces import replays

from axisfold import te
from axisfold.build import build, lower
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
    if seed % 2:
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


@pytest.mark.parametrize("seed", range(120))
def test_bound_loops_give_the_same_answer(seed):
    """One stage, split, fused and reordered, with some of its loops on threads."""
    rng = random.Random(seed)
    problem_of = rng.choice((rows, columns, argmax, complex_product, masked, lower_triangle))
    is_symbolic = rng.random() < 0.5
    sizes = {name: rng.choice((0, 1, 3, 5, 8)) for name in "nm"}
    n, m = (te.var("n"), te.var("m")) if is_symbolic else sizes.values()
    problem = problem_of(n, m)
    schedule = te.create_schedule([t.op for t in problem.outputs])
    stage = schedule.stages[-1]
    generator = Generator(schedule, rng)
    tags = rng.sample(["blockIdx.x", "threadIdx.x", "threadIdx.y", "threadIdx.z"], 4)
    for step in [*["split", "split", "reorder", "fuse"][: rng.randint(0, 4)], *tags]:
        try:
            if step in tags:
                axis = rng.choice(stage.leaf_axes)
                if axis.kind == "data" or step != "blockIdx.x":  # blocks do not fold for each other
                    stage.bind(axis, te.thread_axis(step))
            else:
                getattr(generator, step)(stage)
        except ScheduleError as error:
            if error.code not in {"S122", "S172", "S242", "S247", "S248"}:
                raise
    if seed % 4 == 0:
        replays(schedule, problem.args)
    program = lower(schedule, problem.args)
    inputs = [
        np.random.default_rng(seed).integers(-9, 9, [sizes[e] for e in shape]).astype(problem.dtype)
        for shape in problem.input_shapes
    ]
    compare(problem.answer(*inputs), inputs, lambda *arrays: run_threads(program, arrays))
