# SPDX-License-Identifier: Apache-2.0
"""What an observer is told: enough to draw who combined what, when, and in which banks."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sim_support import (
    BLOCK,
    RANK,
    TID,
    fault,
    get,
    kernel,
    last_block,
    launch,
    local,
    put,
    shared,
    vector,
)
from sim_support.strategies import STRATEGIES, block_sum

from axisfold import sim
from axisfold.ir import build
from axisfold.ir.stmt import Barrier, If, Shuffle
from axisfold.sim.observer import Access, End, Exchange, Start, Take, Wait


def events_of(program, arrays, **options):
    events = []
    sim.run(program, arrays, observer=events.append, **options)
    return events


def combined(events, scope):
    """Return for each step that stores in a scope what each thread read and wrote there."""
    steps = {}
    for e in events:
        if isinstance(e, Access) and e.buffer.scope == scope:
            for thread, element in zip(e.threads, e.elements, strict=True):
                row = steps.setdefault(e.step, {}).setdefault(
                    int(thread), {"load": [], "store": []}
                )
                row[e.kind].append(int(element))
    return [row for row in steps.values() if all(t["store"] for t in row.values())]


@pytest.mark.parametrize(
    ("strategy", "pairs"),
    [
        ("interleaved", [[(0, 4), (1, 5), (2, 6), (3, 7)], [(0, 2), (1, 3)], [(0, 1)]]),
        ("global", [[(0, 4), (1, 5), (2, 6), (3, 7)], [(0, 2), (1, 3)], [(0, 1)]]),
        ("adjacent", [[(0, 1), (2, 3), (4, 5), (6, 7)], [(0, 2), (4, 6)], [(0, 4)]]),
    ],
)
def test_trees_can_be_recognised(strategy, pairs):
    program = block_sum(strategy, 8)
    events = events_of(program, [np.arange(8), np.zeros(1, np.int64)])
    scope = "global" if strategy == "global" else "shared"
    rows = [row for row in combined(events, scope) if all(t["load"][1:] for t in row.values())]
    assert [[tuple(t["load"]) for t in row.values()] for row in rows] == pairs
    for row in rows:
        assert all(t["store"] == t["load"][:1] for t in row.values())


def test_shuffles_tell_their_sources():
    events = events_of(block_sum("shuffle", 32), [np.arange(32), np.zeros(1, np.int64)])
    exchanges = [e for e in events if isinstance(e, Exchange)]
    assert [e.mode for e in exchanges] == ["down"] * 5
    lane = np.arange(32)
    for e, offset in zip(exchanges, (16, 8, 4, 2, 1), strict=True):
        np.testing.assert_array_equal(e.threads, lane)
        np.testing.assert_array_equal(e.sources, np.where(lane + offset < 32, lane + offset, lane))
        assert e.target.name == "other"
    np.testing.assert_array_equal(exchanges[0].values, np.where(lane < 16, lane + 16, lane))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_results_are_the_same_with_an_observer(strategy):
    x, sums, seen = np.arange(300), np.zeros(5, np.int64), np.zeros(5, np.int64)
    sim.run(block_sum(strategy), [x.copy(), sums])
    events = events_of(block_sum(strategy), [x.copy(), seen])
    np.testing.assert_array_equal(sums, seen)
    assert isinstance(events[0], Start)
    assert isinstance(events[-1], End)
    assert (events[0].grid, events[0].cluster, events[0].block) == (
        (5, 1, 1),
        (1, 1, 1),
        (64, 1, 1),
    )
    assert events[-1].launch.name == events[0].launch.name == "threads"


def test_lines_and_addresses():
    a, s, out = shared("a", 3), shared("s", 32), vector("out")
    body = [put(a, 0, 0), put(s, TID, TID), Barrier(), put(out, TID, get(s, TID))]
    program = kernel(launch(If(TID.equal(0), body[0]), *body[1:], memory=[a, s]), params=[out])
    events = events_of(program, [np.zeros(32, np.int32)])
    text = str(program).splitlines()
    stores = [e for e in events if isinstance(e, Access) and e.kind == "store"]
    starts = [text[e.line - 1].strip().split(" = ")[0] for e in stores]
    assert starts == ["a[0]", "s[threadIdx.x]", "out_2[threadIdx.x]"]
    np.testing.assert_array_equal(np.diff(stores[1].addresses), 4)
    assert stores[1].addresses[0] >= 12  # behind a
    assert stores[2].addresses[0] == 0
    np.testing.assert_array_equal(stores[1].values, np.arange(32))
    (wait,) = [e for e in events if isinstance(e, Wait)]
    assert wait.level == "block"
    assert text[wait.line - 1].strip() == "@barrier(block)"
    assert stores[1].step < wait.step < stores[2].step
    with pytest.raises(FrozenInstanceError):
        wait.step = 0


def test_tickets_and_blocks():
    events = events_of(last_block(), [np.zeros(4, np.int32)], seed=2)
    takes = [e for e in events if isinstance(e, Take)]
    blocks = np.concatenate([e.blocks for e in takes])
    is_last = np.concatenate([e.is_last for e in takes])
    assert sorted(blocks) == [0, 1, 2, 3]
    assert is_last.tolist() == [False, False, False, True]
    reads = [
        e
        for e in events
        if isinstance(e, Access) and e.buffer.name == "partial" and e.kind == "load"
    ]
    assert {int(b) for e in reads for b in e.blocks} == {int(blocks[-1])}


def test_blocks_of_clusters_have_one_number():
    out, r = vector("out"), local()
    body = [Shuffle(r, TID, "down", build.const(1)), put(out, (BLOCK * 2 + RANK) * 32 + TID, 0)]
    program = kernel(launch(*body, grid=2, cluster=2, memory=[r]), params=[out])
    events = events_of(program, [np.zeros(128, np.int32)])
    (start,) = [e for e in events if isinstance(e, Start)]
    assert (start.grid, start.cluster) == ((4, 1, 1), (2, 1, 1))
    (store,) = [e for e in events if isinstance(e, Access) and e.buffer.name == "out"]
    np.testing.assert_array_equal(store.elements // 32, store.blocks)
    np.testing.assert_array_equal(store.elements % 32, store.threads)


def test_a_fault_stops_the_events():
    s = shared()
    events = []
    fault(kernel(launch(put(s, 0, 1), memory=[s])), [], "M101", observer=events.append)
    assert [type(e) for e in events] == [Start]
