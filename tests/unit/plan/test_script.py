# SPDX-License-Identifier: Apache-2.0
"""The Python that a plan prints builds the same program again."""

import numpy as np
import pytest

import axisfold
from axisfold import te
from axisfold.api.arguments import item_of
from axisfold.api.catalog import CATALOG
from axisfold.api.dispatch import plan_request
from axisfold.api.options import Request
from axisfold.ir.printer import print_kernel
from axisfold.passes.pipelines import legible
from axisfold.plan.script import plan_source, schedule_source, te_source


def plan_of(items, shape, dtype, axis):
    request = Request("fold", tuple(map(item_of, items)), axis=axis)
    return plan_request(request, [np.zeros(shape, dtype)]).plan


def rebuilt(plan):
    """Run the printed program and return its loops as text."""
    names = {}
    exec(plan_source(plan), names)  # noqa: S102 - the text is a program
    original = plan.compiled.ir
    results = names["args"][-len(plan.graph.results) :]
    layouts = {t: s for t, s in zip(results, plan.graph.layouts, strict=True) if s is not None}
    return print_kernel(legible(names["s"], names["args"], original.name, layouts=layouts))


CASES = [("float32", 1), ("float16", 0), ("float64", None), ("complex64", 1)]


@pytest.mark.parametrize(
    ("op", "dtype", "axis"),
    [(r.name, d, a) for r in CATALOG.values() for d, a in CASES if r.takes_complex or d[0] == "f"],
)
def test_rebuilds_every_reduction(op, dtype, axis):
    plan = plan_of([op], (5, 6), dtype, axis)
    assert rebuilt(plan) == print_kernel(plan.compiled.ir)


@pytest.mark.parametrize("items", [["mean", "var", "argmax"], ["sum", "sum"], ["norm", "any"]])
def test_rebuilds_several_reductions(items):
    plan = plan_of(items, (5, 6, 7), "float32", (0, 2))
    assert rebuilt(plan) == print_kernel(plan.compiled.ir)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_rebuilds_results_of_the_inputs_shape(axis):
    norm = axisfold.Reducer(
        "unit",
        state={"s": "acc"},
        identity=0,
        lift=lambda x: x * x,
        combine=lambda a, b: a.s + b.s,
        finalize=lambda a: te.sqrt(a.s),
        spread=lambda x, length: x / length,
    )
    plan = plan_of([norm], (5, 6), "float32", axis)
    assert rebuilt(plan) == print_kernel(plan.compiled.ir)


def test_rebuilds_a_users_reducer():
    last = axisfold.Reducer(
        "last",
        state={"seen": "bool", "v": "input"},
        identity={"seen": False, "v": 0},
        lift=lambda x: {"seen": True, "v": x},
        combine=lambda a, b: {
            "seen": te.any(a.seen, b.seen),
            "v": te.select(b.seen, b.v, a.v),
        },
        finalize=lambda a: a.v,
        facts=["ordered"],
    )
    plan = plan_of([last], (4, 5), "float32", 1)
    assert 'facts=["ordered"])\n' in te_source(plan.graph)
    assert rebuilt(plan) == print_kernel(plan.compiled.ir)


def test_reads_as_a_person_would_write_it():
    plan = plan_of(["sum"], (5, 6), "float32", 1)
    assert te_source(plan.graph) == (
        "from axisfold import te\n"
        "\n"
        'n0 = te.size_var("n0", "int64")\n'
        'm0 = te.size_var("m0", "int64")\n'
        's0_0 = te.var("s0_0", "int64")\n'
        'x0 = te.placeholder((n0, m0), "float32", "x0", strides=[s0_0, 4], unit="byte")\n'
        "\n"
        'k0 = te.reduce_axis((0, m0), "k0")\n'
        'fold = te.comm_reducer(lambda a_s, b_s: a_s + b_s, lambda *t: te.const(0.0, "float64"))\n'
        'state = te.compute((n0,), lambda i0: fold(te.cast("float64", x0[i0, k0]), axis=[k0]), '
        'name="state")\n'
        "\n"
        'result = te.compute((n0,), lambda i0: te.cast("float32", state[i0]), name="result")\n'
        "\n"
        "args = [x0, result]\n"
    )
    assert schedule_source(plan).startswith("s = te.create_schedule(result.op)\n")


def test_a_state_of_several_fields_is_unpacked():
    text = te_source(plan_of(["argmin"], (5, 6), "int32", 1).graph)
    assert "    a_i, a_v = a\n    b_i, b_v = b\n" in text


def test_parts_that_are_used_twice_get_names():
    text = te_source(plan_of(["var"], (5, 6), "float32", 1).graph)
    assert "    v0 = a_n + b_n\n" in text


def test_a_plans_schedule_goes_to_json_and_back():
    plan = plan_of(["var", "argmax"], (5, 6), "float32", 1)
    document = plan.schedule.trace.to_json()
    loaded = te.Schedule.from_json(document)
    assert loaded.trace.to_json() == document
    assert str(loaded.trace) == str(plan.schedule.trace)
