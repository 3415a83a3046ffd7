# SPDX-License-Identifier: Apache-2.0
"""Whatever the schedule, the answer is the same."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from te_support.interpreter import run_kernel
from te_support.problems import PROBLEMS, random_inputs
from te_support.schedules import draw_schedule

from axisfold import te
from axisfold.build import build, lower
from axisfold.errors import ScheduleError

# The interpreter takes a few microseconds for each node of each round.
SMALL = 150
EXTENTS = (0, 1, 2, 3, 5, 16, 17, 33)


def constant_sizes(data):
    return {name: data.draw(st.sampled_from(EXTENTS), label=name) for name in "nm"}


def made(problem_of, sizes):
    if sizes is None:
        return problem_of(te.var("n"), te.var("m"))
    return problem_of(sizes["n"], sizes["m"])


def names_of(problem):
    """Name each operation as the text of a trace should."""
    names = {}
    seen = list(problem.args)
    while seen:
        tensor = seen.pop()
        op = tensor.op
        if op.body and op not in names:
            single = op.num_outputs == 1
            names[op] = f"t[{op.name!r}]" + ("" if single else "[0]")
        seen += op.input_tensors
    return names


def tensors_by_name(problem):
    """Return what the names of names_of stand for."""
    return {
        op.name: op.output(0) if op.num_outputs == 1 else op.outputs for op in names_of(problem)
    }


@pytest.mark.parametrize("problem_of", PROBLEMS, ids=lambda f: f.__name__)
@settings(
    max_examples=16, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(data=st.data())
def test_every_schedule_gives_the_same_answer(problem_of, data):
    sizes = None if data.draw(st.booleans(), label="symbolic") else constant_sizes(data)
    problem = made(problem_of, sizes)
    schedule = te.create_schedule([t.op for t in problem.outputs])
    draw_schedule(data, schedule)
    note(schedule.trace.as_python(names_of(problem)))
    try:
        function = build(schedule, problem.args)
    except ScheduleError as error:
        if error.code != "S154":  # primitives after compute_at may undo it
            raise
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    for run in range(2 if sizes is None else 1):
        inputs = random_inputs(problem, sizes or constant_sizes(data), rng)
        wanted = problem.answer(*inputs)
        if run == 0 and sum(a.size for a in inputs) < SMALL:
            # Before the machine code, which does not check bounds.
            check(wanted, inputs, lambda *arrays: run_kernel(function.declared.device, arrays))
        check(wanted, inputs, function)


def check(wanted, inputs, run):
    found = [np.full(w.shape, 77, w.dtype) for w in wanted]
    run(*inputs, *found)
    for one, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("problem_of", PROBLEMS, ids=lambda f: f.__name__)
@settings(
    max_examples=8, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
@given(data=st.data())
def test_the_trace_as_python_makes_the_same_program(problem_of, data):
    problem = made(problem_of, None)
    schedule = te.create_schedule([t.op for t in problem.outputs])
    draw_schedule(data, schedule)
    try:
        wanted = str(lower(schedule, problem.args))
    except ScheduleError as error:
        if error.code != "S154":
            raise
        return
    again = made(problem_of, None)
    replayed = te.create_schedule([t.op for t in again.outputs])
    text = schedule.trace.as_python(names_of(problem))
    note(text)
    exec(text, {"s": replayed, "te": te, "t": tensors_by_name(again)})  # noqa: S102
    assert str(lower(replayed, again.args)) == wanted
