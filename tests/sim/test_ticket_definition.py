# SPDX-License-Identifier: Apache-2.0
"""Random programs with barriers and a ticket: refused exactly where the protocol is not kept.

An access of another block is ordered before one of the block with the last ticket if a barrier, or
being the taker, brings it before the ticket of its block, and likewise the last ticket before the
later access.
"""

import random

import numpy as np
from sim_support import BLOCK, ONE, TID, ZERO, allocated, get, kernel, launch, local, put
from sim_support.definition import ELEMENTS, Machine, Step, is_met, refused_step

from axisfold.dtypes import BOOL, INT32, UINT32
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Barrier, If, Ticket

ACCESSES = ("load", "store")


def random_steps(rng, machine, last):
    """Return steps of all blocks, a ticket of each, and steps of the last block."""
    everybody = list(range(machine.threads))
    own = [t for t in everybody if machine.group("block", t) == last]
    takers = [b * machine.block + rng.randrange(machine.block) for b in range(machine.clusters)]
    steps = [random_step(rng, machine, everybody) for _ in range(rng.randrange(1, 7))]
    if rng.random() < 0.4:
        steps.append(Step("block", dict.fromkeys(everybody, 0)))
    steps.append(Step("ticket", dict.fromkeys(takers, 0)))
    if rng.random() < 0.7:
        steps.append(Step("block", dict.fromkeys(everybody, 0)))
    return steps + [random_step(rng, machine, own) for _ in range(rng.randrange(1, 5))]


def random_step(rng, machine, threads):
    kind = rng.choice((*ACCESSES, *ACCESSES, "warp", "block"))
    if kind in ("warp", "block"):
        groups = sorted({machine.group(kind, t) for t in threads})
        chosen = {g for g in groups if rng.random() < 0.8}
        return Step(kind, {t: 0 for t in threads if machine.group(kind, t) in chosen})
    some = rng.sample(threads, min(len(threads), rng.choice((1, 1, 2))))
    return Step(kind, {t: rng.randrange(ELEMENTS) for t in some})


def first_fault(machine, steps, last):
    """Return the first step with an access that is not ordered after an earlier one."""
    accesses = [
        (n, thread, element, step.kind)
        for n, step in enumerate(steps)
        if step.kind in ACCESSES
        for thread, element in step.elements.items()
    ]
    fine = {}
    for j, (n, thread, element, kind) in enumerate(accesses):
        for i in range(len(accesses)):
            m, other, place, before = accesses[i]
            if m > n or i == j or place != element or other == thread:
                continue
            through = (
                k for k in range(len(accesses)) if accesses[k][3] == "store" and fine.get((i, k))
            )
            fine[i, j] = is_ordered(machine, steps, last, (m, other), (n, thread)) or any(
                accesses[k][1] == thread or fine.get((k, j)) for k in through if accesses[k][0] < n
            )
            if not fine[i, j] and "store" in (kind, before):
                return n
    return None


def is_ordered(machine, steps, last, first, second):
    """Return whether barriers, or a ticket, order two accesses (step, thread)."""
    (m, a), (n, b) = first, second
    if reaches(machine, steps, m, a, n, b):
        return True
    (ticket,) = (k for k, step in enumerate(steps) if step.kind == "ticket")
    if machine.group("block", b) != last or not m < ticket < n:
        return False
    taker = {machine.group("block", t): t for t in steps[ticket].elements}
    first_taker, last_taker = taker[machine.group("block", a)], taker[last]
    told = a == first_taker or reaches(machine, steps, m, a, ticket, first_taker)
    return told and (b == last_taker or reaches(machine, steps, ticket, last_taker, n, b))


def reaches(machine, steps, m, a, n, b):
    """Return whether a barrier that both threads reach lies between two steps."""
    barriers = [s for s in steps[m:n] if s.kind in ("warp", "block")]
    return any(is_met(machine, s, a, b) for s in barriers)


def program(machine, steps):
    table = Buffer("table", INT32, tuple(map(build.const, (len(steps), machine.threads))))
    memory = Buffer("m", INT32, (build.const(ELEMENTS),))
    counter = Buffer("counter", UINT32, (ONE,))
    r, flag = local(), local("flag", 1, BOOL)
    number = BLOCK * machine.block + TID
    body = []
    for n, step in enumerate(steps):
        place = get(table, number + n * machine.threads)
        match step.kind:
            case "load":
                action = put(r, 0, get(memory, place))
            case "store":
                action = put(memory, place, n)
            case "ticket":
                action = Ticket(flag, counter, ZERO, build.const(machine.clusters))
            case level:
                action = Barrier(level)
        body.append(If(place >= 0, action))
    threads = launch(*body, block=machine.block, grid=machine.clusters, memory=[r, flag])
    rows = np.full((len(steps), machine.threads), -1, np.int32)
    for row, step in zip(rows, steps, strict=True):
        row[list(step.elements)] = list(step.elements.values())
    whole = allocated([counter], threads, zeroed=True)
    return kernel(whole, params=[table, memory], outputs=[memory]), rows


def test_refusals_are_those_of_the_definition():
    rng = random.Random(0)
    kept, codes = 0, []
    for seed in range(200):
        machine = Machine(rng.choice((2, 3)), 1, rng.choice((1, 2, 40)))
        last = int(np.random.default_rng(seed).permutation(machine.clusters)[-1])
        steps = random_steps(rng, machine, last)
        expected = first_fault(machine, steps, last)
        made, rows = program(machine, steps)
        found = refused_step(made, [rows, np.zeros(ELEMENTS, np.int32)], seed)
        assert (None if found is None else found[1]) == expected
        codes.append(found and found[0])
        (ticket,) = (n for n, step in enumerate(steps) if step.kind == "ticket")
        kept += found is None and any(s.kind in ACCESSES for s in steps[ticket:])
    assert kept > 20
    assert codes.count("M101") > 20
    assert codes.count("M107") > 3
