# SPDX-License-Identifier: Apache-2.0
"""Races of random programs: found exactly where the definition, applied to all pairs, has one."""

import random

import numpy as np
import pytest
from sim_support import BLOCK, RANK, TID, get, kernel, launch, local, put, shared
from sim_support.definition import ELEMENTS, Machine, Step, is_met, refused_step

from axisfold.dtypes import INT32
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Barrier, If

GROUPS = ("warp", "block", "cluster", "grid")


def random_steps(rng, machine, count):
    """Return steps of few threads each, with barriers of random groups between."""
    steps = []
    for _ in range(count):
        if rng.random() < 0.5:
            level = rng.choice(GROUPS[:3])
            groups = sorted({machine.group(level, t) for t in range(machine.threads)})
            chosen = {g for g in groups if rng.random() < 0.8}
            threads = [t for t in range(machine.threads) if machine.group(level, t) in chosen]
            steps.append(Step(level, dict.fromkeys(threads, 0)))
            continue
        kind = rng.choice(("load", "load", "store"))
        near = rng.choice(GROUPS)
        home = machine.group(near, rng.randrange(machine.threads))
        pool = [t for t in range(machine.threads) if machine.group(near, t) == home]
        threads = rng.sample(pool, min(len(pool), rng.choice((1, 1, 2, 3))))
        steps.append(Step(kind, {t: rng.randrange(ELEMENTS) for t in threads}))
    return steps


def first_race(machine, steps, scope):
    """Return the first step that races with an earlier one or itself, by the definition."""
    for number, step in enumerate(steps):
        if step.kind not in ("load", "store"):
            continue
        for thread, element in step.elements.items():
            for earlier in range(number + 1):
                before = steps[earlier]
                if before.kind not in ("load", "store") or "store" not in (step.kind, before.kind):
                    continue
                for other, place in before.elements.items():
                    same = place == element and machine.share(scope, thread, other)
                    if other == thread or not same:
                        continue
                    between = steps[earlier:number]
                    if not any(is_met(machine, s, thread, other) for s in between):
                        return number
    return None


def program(machine, steps, scope):
    """Return a kernel that does the steps; a table says which threads take part and where."""
    table = Buffer("table", INT32, tuple(map(build.const, (len(steps), machine.threads))))
    output = Buffer("m", INT32, (build.const(ELEMENTS),))
    memory = (
        output
        if scope == "grid"
        else shared("m", ELEMENTS, scope={"block": "shared"}.get(scope, scope))
    )
    r = local()
    number = (BLOCK * machine.cluster + RANK) * machine.block + TID
    body = []
    if scope != "grid":
        first = TID.equal(0) if scope == "block" else build.all_of([TID.equal(0), RANK.equal(0)])
        body = [If(first, put(memory, n, 0)) for n in range(ELEMENTS)] + [Barrier("cluster")]
    for n, step in enumerate(steps):
        place = get(table, number + n * machine.threads)
        action = {"load": put(r, 0, get(memory, place)), "store": put(memory, place, n)}
        body.append(If(place >= 0, action.get(step.kind) or Barrier(step.kind)))
    threads = launch(
        *body,
        block=machine.block,
        grid=machine.clusters,
        cluster=machine.cluster,
        memory=[r] if scope == "grid" else [memory, r],
    )
    rows = np.full((len(steps), machine.threads), -1, np.int32)
    for row, step in zip(rows, steps, strict=True):
        row[list(step.elements)] = list(step.elements.values())
    return kernel(threads, params=[table, output], outputs=[output]), rows


def race_of(made, arrays, seed):
    """Return the step that is refused; None if nothing is."""
    found = refused_step(made, arrays, seed)
    if found is None:
        return None
    assert found[0] == "M101"
    return found[1]


@pytest.mark.parametrize("scope", ["block", "cluster", "grid"])
def test_races_are_those_of_the_definition(scope):
    rng = random.Random(scope)
    found = 0
    for seed in range(100):
        machine = Machine(rng.choice((1, 2)), rng.choice((1, 2)), rng.choice((1, 5, 40, 64)))
        steps = random_steps(rng, machine, 14)
        expected = first_race(machine, steps, scope)
        made, rows = program(machine, steps, scope)
        assert race_of(made, [rows, np.zeros(ELEMENTS, np.int32)], seed) == expected
        found += expected is not None
    assert 15 < found < 95  # both happen often
