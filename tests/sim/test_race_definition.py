# SPDX-License-Identifier: Apache-2.0
"""Races of random programs: found exactly where the definition, applied to all pairs, has one."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from sim_support import BLOCK, QUOTE, RANK, TID, get, kernel, launch, local, put, shared

from axisfold import sim
from axisfold.dtypes import INT32
from axisfold.errors import SimulationError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Barrier, If

WARP, ELEMENTS = 32, 3
GROUPS = ("warp", "block", "cluster", "grid")


@dataclass(frozen=True)
class Machine:
    """A launch of one-dimensional clusters and blocks."""

    clusters: int
    cluster: int
    block: int

    @property
    def threads(self):
        return self.clusters * self.cluster * self.block

    def group(self, level, thread):
        block = thread // self.block
        match level:
            case "warp":
                return block, thread % self.block // WARP
            case "block":
                return block
            case "cluster":
                return block // self.cluster
            case _:
                return 0

    def share(self, level, a, b):
        return self.group(level, a) == self.group(level, b)


@dataclass(frozen=True)
class Step:
    """What is done: load, store or the level of a barrier; by which threads, at which element."""

    kind: str
    elements: dict


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


def is_met(machine, step, a, b):
    """Return whether a step is a barrier of a group that has both threads."""
    is_barrier = step.kind not in ("load", "store")
    return is_barrier and a in step.elements and machine.share(step.kind, a, b)


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
    """Return the condition around the racing statement by number; None if nothing is refused."""
    try:
        sim.run(made, arrays, seed=seed)
    except SimulationError as error:
        refusal = error
    else:
        return None
    assert refusal.code == "M101"
    lines = enumerate(str(made).splitlines(), 1)
    conditions = [number for number, text in lines if " >= 0) {" in text]
    return conditions.index(int(QUOTE.findall(str(refusal))[0][0]) - 1)


@pytest.mark.parametrize("scope", ["block", "cluster", "grid"])
def test_races_are_those_of_the_definition(scope):
    rng = random.Random(scope)
    found = 0
    for seed in range(150):
        machine = Machine(rng.choice((1, 2)), rng.choice((1, 2)), rng.choice((1, 5, 40, 64)))
        steps = random_steps(rng, machine, 14)
        expected = first_race(machine, steps, scope)
        made, rows = program(machine, steps, scope)
        assert race_of(made, [rows, np.zeros(ELEMENTS, np.int32)], seed) == expected
        found += expected is not None
    assert 20 < found < 140  # both happen often
