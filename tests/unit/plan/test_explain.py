# SPDX-License-Identifier: Apache-2.0
"""Why a rule was chosen, what a fold moves, and how full a multiprocessor is."""

import random
from itertools import product

import numpy as np
import pytest

import axisfold
from axisfold.api.arguments import item_of
from axisfold.api.dispatch import plan_request
from axisfold.api.options import Request
from axisfold.plan.canonical import LoopAxis
from axisfold.plan.explain import passed_over
from axisfold.plan.occupancy import occupancy
from axisfold.plan.planner import HOST, rules_of
from axisfold.plan.rule import Rule
from axisfold.plan.traffic import touched_lines, traffic
from axisfold.target import Target


def planned(op, shape, axis, target=HOST):
    request = Request("fold", (item_of(op),), axis=axis)
    return plan_request(request, [axisfold.ArraySpec(shape, "float32")], target)


@pytest.mark.parametrize("target", [HOST, Target("sim")], ids=str)
@pytest.mark.parametrize(("shape", "axis"), [((64, 64), 0), ((64, 64), 1), ((9, 9, 9), (0, 2))])
def test_every_other_rule_has_a_reason(target, shape, axis):
    found = planned("sum", shape, axis, target)
    rules = rules_of(target)
    mine = found.plan.rule.name
    passed = passed_over(rules, mine, found.plan.layout, found.traced)
    assert [p.name for p in passed] == [r.name for r in rules if r.name != mine]
    below = False
    for rule in rules:
        below = below or rule.name == mine
        why = next((p.why for p in passed if p.name == rule.name), "")
        if rule.applies(found.plan.layout, found.traced):
            assert below
            assert not why or "below" in why
        else:
            assert why.startswith(("needs ", "takes ", "is for "))


def test_a_reason_names_what_is_missing():
    found = planned("sum", (64, 64), 0)
    rules = (
        Rule("a", lambda c, t: c.inner_kind == "reduced", "", lambda *_: None),
        Rule("b", lambda c, t: c.inner_kind == "reduced" and not c.kept, "", lambda *_: None),
        Rule("c", lambda c, t: bool(t.tile_passes), "", lambda *_: None),
        Rule("d", lambda c, t: c.kept > 10, "", lambda *_: None),
        Rule("e", lambda c, t: c.width > 0, "", lambda *_: None),
        Rule("f", lambda c, t: bool(t.combiner.absorbing), "", lambda *_: None),
        Rule("g", lambda c, t: c.outputs == "streams", "", lambda *_: None),
        Rule("h", lambda c, t: t.combiner.keeps_first, "", lambda *_: None),
    )
    why = [p.why for p in passed_over(rules, "", found.plan.layout, found.traced)]
    assert why == [
        "needs a folded axis innermost in memory",
        "needs a folded axis innermost in memory and no kept axis",
        "needs a reducer that has a form for short runs",
        "takes problems of quite another kind",
        "needs an innermost axis of at most 64 elements in a large array without gaps",
        "needs a reducer that has a state which no element changes",
        "needs many rows, which blocks of a few runs take",
        "needs a reducer that keeps the first state of all",
    ]


def test_every_rule_of_a_cpu_says_what_it_needs():
    found = planned("sum", (64, 64), 1)
    passed = passed_over(rules_of(HOST), found.plan.rule.name, found.plan.layout, found.traced)
    assert not [p for p in passed if "another kind" in p.why]
    wide = planned("any", (64, 3000), 1)
    assert wide.plan.rule.name == "stopping_rows"
    passed = passed_over(rules_of(HOST), wide.plan.rule.name, wide.plan.layout, wide.traced)
    assert not [p for p in passed if "another kind" in p.why]


def brute_lines(axes, itemsize, line):
    touched = set()
    for index in product(*(range(a.extent) for a in axes)):
        first = sum(i * a.strides[0] for i, a in zip(index, axes, strict=True))
        touched |= set(range(first // line, (first + itemsize - 1) // line + 1))
    return len(touched)


# Strides of the outer axis that leave room for the inner one, as arrays and their slices have.
NESTED = [
    ([(7, 4)], 4), ([(40, 64)], 4), ([(40, 128)], 8), ([(16, 4096), (9, 4)], 4),
    ([(16, 4096), (64, 8)], 4), ([(16, 512), (5, 40)], 8), ([(3, 0), (50, 12)], 4),
    ([(32, 192), (3, 4)], 4), ([(8, 8), (50, 8)], 8), ([(64, 96), (2, 4)], 4),
]  # fmt: skip


@pytest.mark.parametrize(("axes", "itemsize"), NESTED)
def test_touched_lines_are_those_of_the_elements(axes, itemsize):
    made = [LoopAxis(extent, (stride,)) for extent, stride in axes]
    for line in (32, 64):
        assert touched_lines(made, 0, itemsize, line) == brute_lines(made, itemsize, line)


def test_touched_lines_of_random_slices():
    draw = random.Random(7)
    for _ in range(100):
        itemsize = draw.choice([1, 2, 4, 8])
        inner, gap = draw.randint(1, 40), draw.randint(1, 30) * itemsize
        outer = draw.choice([16, 32, 64])
        row = -(-(inner * gap) // 64 + 2) * 64 * draw.randint(1, 3)
        axes = [LoopAxis(outer, (row,)), LoopAxis(inner, (gap,))]
        exact, found = brute_lines(axes, itemsize, 64), touched_lines(axes, 0, itemsize, 64)
        assert exact <= found * 1.05 + outer
        assert found <= exact * 1.05 + outer


def test_broadcast_elements_count_once():
    found = planned("sum", (64, 64), 0)
    problem = found.problem
    whole = traffic(problem, [4], [4], 64)
    assert (whole.element_bytes, whole.read_bytes, whole.written_bytes) == (16384, 16384, 256)
    assert whole.moved_bytes == 16640
    spread = axisfold.ArraySpec((64, 64), "float32", (0, 4))
    request = Request("fold", (item_of("sum"),), axis=1)
    again = traffic(plan_request(request, [spread]).problem, [4], [4], 64)
    assert again.read_bytes == 256


def test_nothing_is_moved_for_no_elements():
    assert traffic(planned("sum", (0, 4), 0).problem, [4], [4], 64).moved_bytes == 0


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks", "share", "limit"),
    [
        # Source: NVIDIA's occupancy calculator.
        ("sm_90", 256, 32, 0, 8, 1.0, "warps"),
        ("sm_90", 256, 64, 0, 4, 0.5, "registers"),
        ("sm_90", 1024, 33, 0, 1, 0.5, "registers"),
        ("sm_90", 128, 32, 100 << 10, 2, 0.125, "shared memory"),
        ("sm_90", 32, 16, 0, 32, 0.5, "blocks"),
        ("sm_86", 1024, 32, 0, 1, 2 / 3, "warps"),
        ("sm_75", 1024, 64, 0, 1, 1.0, "warps"),
    ],
)
def test_occupancy(arch, threads, registers, shared, blocks, share, limit):
    found = occupancy(arch, threads, registers, shared)
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.share == pytest.approx(share)


def test_occupancy_of_an_unknown_architecture():
    assert occupancy("sm_999", 32, 32, 0) is None


def test_a_rule_takes_other_parameters():
    seen = []

    def schedule(*_, chunk=8):
        seen.append(chunk)

    rule = Rule("r", lambda c, t: True, "", schedule, 512, {"chunk": (4, 8), "tile_rows": (256,)})
    assert (rule.default("chunk"), rule.default("tile_rows")) == (8, 512)
    other = rule.with_values({"chunk": 4, "tile_rows": 256})
    rule.schedule(), other.schedule()
    assert seen == [8, 4]
    assert (other.tile_rows, other.values) == (256, {"chunk": 4, "tile_rows": 256})
    assert np.all(rule.values == {})
