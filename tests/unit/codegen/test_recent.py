# SPDX-License-Identifier: Apache-2.0
"""What a block has written is not read again, and what it writes over is not written."""

import numpy as np
import pytest
from te_support.kernels import buffer, index, kernel, loop, run

from axisfold.codegen.llvm import emit_kernel
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Binary, Broadcast, Compare, Load, Ramp
from axisfold.ir.stmt import If, Store

SIZE, ROUNDS, LANES = 24, 3, 4


def at(place, lanes, step=1):
    return place if lanes == 1 else Ramp(place, index(step), lanes)


def lanes_below(count):
    return Compare("lt", Ramp(index(0), index(1), LANES), Broadcast(index(count), LANES))


class Draw:
    """A random program on two buffers: its statements, and what each does to lists of numbers."""

    def __init__(self, seed, **more):
        self.random = np.random.default_rng(seed)
        self.buffers = [buffer(name, "int64", SIZE, **more) for name in "AB"]
        self.actions = []

    def place(self, i):
        """Return an index that may count rounds of the loop, and its value in a round."""
        first, slope = (int(n) for n in self.random.choice([0, 0, 1, 4], 2) * (1, 0.25))
        place = index(first) if slope == 0 else build.binary("add", i, index(first))
        return place, lambda n: first + slope * n

    def store(self, i):
        lanes = int(self.random.choice([1, LANES, LANES]))
        step, apart = (int(n) for n in self.random.choice([1, 1, 1, 2], 2))
        which, source = self.random.integers(0, 2, 2)
        to, to_value = self.place(i)
        origin, origin_value = self.place(i)
        added = int(self.random.integers(1, 100))
        valid = int(self.random.integers(1, LANES)) if lanes > 1 and added % 5 == 0 else lanes
        mask = lanes_below(valid) if valid < lanes else None
        plus = build.const(added, "int64")
        value = Binary(
            "add",
            Load(self.buffers[source], at(origin, lanes, apart)),
            plus if lanes == 1 else Broadcast(plus, lanes),
        )

        def act(memory, n):
            start = origin_value(n)
            read = [memory[source][start + lane * apart] + added for lane in range(lanes)]
            for lane in range(valid):
                memory[which][to_value(n) + lane * step] = read[lane]

        return Store(self.buffers[which], at(to, lanes, step), value, mask), act

    def branch(self, i):
        """Return a store that only even rounds reach."""
        store, act = self.store(i)
        is_even = build.compare("eq", Binary("floormod", i, index(2)), index(0))
        return If(is_even, store), lambda memory, n: act(memory, n) if n % 2 == 0 else None

    def body(self, i):
        return self.some(60, [self.store] * 11 + [self.branch], i)

    def some(self, count, makers, i):
        statements = []
        for which in self.random.integers(0, len(makers), count):
            statement, act = makers[which](i)
            statements.append(statement)
            self.actions.append(act)
        return build.seq(*statements)


@pytest.mark.parametrize("seed", range(8))
def test_programs_do_what_their_statements_say(seed):
    draw = Draw(seed)
    program = kernel(draw.buffers, draw.buffers, loop(ROUNDS, draw.body))
    found = [np.arange(SIZE) * (1 + n) for n in range(2)]
    wanted = [f.tolist() for f in found]
    for n in range(ROUNDS):
        for act in draw.actions:
            act(wanted, n)
    run(program, *found)
    np.testing.assert_array_equal(found, wanted)


def added_up(places, lanes=LANES):
    """Return the text of additions to memory, one after the other."""
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    additions = [
        Store(A, at(place, lanes), Binary("add", Load(A, at(place, lanes)), Load(B, at(n, lanes))))
        for place, n in zip(places, map(index, range(len(places))), strict=True)
    ]
    return emit_kernel(kernel([A, B], [A], *additions))


def accesses(text, name):
    lines = [line.split(", ptr ")[1] for line in text.splitlines() if f" {name} " in line]
    return len(lines)


def test_a_place_that_is_added_to_is_read_and_written_once():
    text = added_up([index(8)] * 5)
    assert accesses(text, "store") == 1
    assert accesses(text, "load") == 1 + 5


def test_places_side_by_side_do_not_matter_to_each_other():
    text = added_up([index(8), index(12), index(8), index(12)])
    assert accesses(text, "store") == 2
    assert accesses(text, "load") == 2 + 4


def test_places_that_overlap_are_read_and_written_each_time():
    text = added_up([index(8), index(10), index(8)])
    assert accesses(text, "store") == 3
    assert accesses(text, "load") == 3 + 3


def test_places_that_are_not_known_may_overlap():
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    one = build.const(1, INT64)
    other = Load(B, index(0))
    body = [
        Store(A, index(8), one),
        Store(A, other, Load(A, index(8))),
        Store(A, index(8), Load(A, index(8))),
    ]
    text = emit_kernel(kernel([A, B], [A], *body))
    assert accesses(text, "store") == 3
    assert accesses(text, "load") == 2


def test_a_write_before_a_branch_is_kept():
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    one = build.const(1, INT64)
    is_set = build.compare("gt", Load(B, index(0)), index(0))
    body = [Store(A, index(8), one), If(is_set, Store(B, index(1), Load(A, index(8))))]
    text = emit_kernel(kernel([A, B], [A, B], *body, Store(A, index(8), Load(B, index(1)))))
    assert accesses(text, "store") == 3


def test_a_place_is_read_once_until_something_may_write_to_it():
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    sums = [
        Binary("add", Load(B, at(index(0), LANES)), Load(A, at(index(n), LANES))) for n in (0, 8)
    ]
    body = [Store(A, at(index(n), LANES), value) for n, value in zip((4, 12), sums, strict=True)]
    text = emit_kernel(kernel([A, B], [A], *body))
    assert accesses(text, "load") == 1 + 2
    changed = Store(B, index(2), build.const(1, INT64))
    text = emit_kernel(kernel([A, B], [A, B], body[0], changed, body[1]))
    assert accesses(text, "load") == 2 + 2


@pytest.mark.parametrize("mask", [None, 3])
def test_lanes_are_read_once_until_something_may_write_to_them(mask):
    A, B = buffer("A", "int64", SIZE), buffer("B", "int64", SIZE)
    step = 5 if mask is None else 1
    lanes = Load(B, at(index(0), LANES, step), None if mask is None else lanes_below(mask))
    body = [Store(A, at(index(n), LANES), lanes) for n in (0, 8)]
    several = LANES if mask is None else 1
    name = "load" if mask is None else "@llvm.masked.load.v4i64.p0(ptr"

    def reads(*statements):
        text = emit_kernel(kernel([A, B], [A, B], *statements))
        return text.split("declare")[0].count(f" {name} ")

    assert reads(*body) == several
    for changed in (
        Store(B, index(2), build.const(1, INT64)),
        Store(B, at(index(0), LANES, 2), Broadcast(build.const(1, INT64), LANES)),
    ):
        assert reads(body[0], changed, body[1]) == 2 * several
    # A write that such a read may see stays.
    first, second = (Store(B, index(1), build.const(n, INT64)) for n in (1, 2))
    text = emit_kernel(kernel([A, B], [A, B], first, body[0], second))
    assert text.count("store i64 ") == 2
