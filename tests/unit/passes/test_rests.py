# SPDX-License-Identifier: Apache-2.0
"""The rests of split loops: no round without elements, and little code."""

from __future__ import annotations

import numpy as np
import pytest
from te_support.interpreter import Interpreter, Memory
from te_support.kernels import buffer, index, kernel

import axisfold
from axisfold import te
from axisfold.analysis.evaluate import evaluate
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.api import launches
from axisfold.build import build, lower
from axisfold.ir import build as ir
from axisfold.ir.expr import Binary, Compare, Const, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Seq, Store
from axisfold.ir.walk import post_order, rewrite, uses
from axisfold.passes import partition_loops as module
from axisfold.passes.guards import reaches_of
from axisfold.passes.partition_loops import partition_loops
from axisfold.passes.pipelines import device
from axisfold.passes.registers import counts
from axisfold.passes.rewriter import StmtRewriter, substatements, with_body
from axisfold.passes.simplify_program import simplify_program
from axisfold.passes.unroll_loops import unroll_loops
from axisfold.plan import planner

TILE = 64


def tile_of_columns():
    """A tile of columns, of which few exist: each statement of a round has a guard of its own."""
    n, x = Var("n", is_size=True), buffer("X", "int64", 8)
    held = buffer("held", "int64", 4, scope="local")
    outer, lane, again = Var("outer"), Var("lane"), Var("again")

    def below(inner):
        return ir.likely(Compare("lt", outer * 4 + inner, n))

    start = For(
        lane, index(0), index(4), "vectorized", If(below(lane), Store(held, lane, index(1)))
    )
    put = Store(x, outer * 4 + again, Load(held, again))
    finish = For(again, index(0), index(4), "vectorized", If(below(again), put))
    body = Allocate(held, Seq((start, finish)))
    return kernel([x], [x], For(outer, index(0), index(TILE), "serial", body)), n, x


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8])
def test_a_rest_ends_with_the_elements(size):
    nest, n, x = tile_of_columns()
    parted = simplify_program(partition_loops(nest))
    loops = [s for s in post_order(parted.body) if isinstance(s, For) and s.var.name == "outer"]
    assert len(loops) == 2
    rounds = sum(evaluate(s.extent, {n: size}) for s in loops)
    assert rounds == -(-size // 4), "a loop goes over rounds without elements"
    array = np.full(8, -1, np.int64)
    memory = {x: Memory(x, array.view("uint8"))}
    Interpreter(memory=memory, values={n: size}).run(parted.body)
    assert array.tolist() == [1] * size + [-1] * (8 - size)


def counted_squares(columns, rows, step=32):
    """Adds 1 to each of 20 places below ``columns``, ``rows`` times, ``step`` rows in a round."""
    x, block, place, row = buffer("X", "int64", 20), Var("block"), Var("place"), Var("row")
    add = Store(x, place, Binary("add", Load(x, place), ir.const(1, "int64")))
    inside = If(ir.likely(Compare("lt", block * step + row, rows)), add)
    turn = For(row, index(0), index(step), "unrolled", inside)
    guarded = If(ir.likely(Compare("lt", place, columns)), turn)
    loop = For(place, index(0), index(20), "serial", guarded)
    return kernel([x], [x], For(block, index(0), (rows + step - 1) // step, "serial", loop)), x


SQUARES = [(size, size) for size in (5, 20, 31, 33)]


@pytest.mark.parametrize(
    ("sizes", "questions"), [([(5, 40), (40, 5), *SQUARES], 1), (SQUARES, 2)],
    ids=["rows and columns", "squares"],
)  # fmt: skip
def test_a_rest_knows_what_its_interior_found_out(sizes, questions, monkeypatch):
    """If it holds there, too: the interior of squares, 32 rows at least, has all 20 places."""
    asked = []
    monkeypatch.setattr(module, "reaches_of", lambda v, g: asked.append(v.name) or reaches_of(v, g))
    n, m = Var("n", is_size=True), Var("m", is_size=True)
    nest, x = counted_squares(n, n if sizes is SQUARES else m)
    parted = partition_loops(nest)
    assert asked.count("place") == questions
    for columns, rows in sizes:
        array = np.zeros(20, np.int64)
        memory = {x: Memory(x, array.view("uint8"))}
        Interpreter(memory=memory, values={n: columns, m: rows}).run(parted.body)
        assert array.tolist() == [rows if i < columns else 0 for i in range(20)]


def test_guards_with_which_a_rest_begins_are_not_proved_there(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "can_prove", lambda c, env: asked.append(c) or can_prove(c, env))
    n, m = Var("n", is_size=True), Var("m", is_size=True)
    nest, _ = counted_squares(n, m, step=8)
    parted = partition_loops(nest)
    (left,) = (s.condition for s in post_order(parted.body) if isinstance(s, If))
    assert uses(left, {m})
    assert not asked


def test_a_rest_tests_no_guard_that_holds_as_long_as_anything_is_left(monkeypatch):
    """Before which round nothing is left is told; that it is so there need not be proved."""
    monkeypatch.setattr(planner, "_plans", {})
    launches.forget()
    axisfold.sum(np.ones((2, 37, 100), np.float32), axis=1)
    (plan,) = (p for p in planner._plans.values() if p.target.kind == "llvm")
    nodes = list(post_order(plan.compiled.device.body))
    columns = {n.var for n in nodes if isinstance(n, For) and n.var.name.startswith("i1")}
    assert len(columns) > 3
    assert not any(uses(n.condition, columns) for n in nodes if isinstance(n, If))


def test_vectors_of_a_rest_are_never_whole():
    nest, *_ = tile_of_columns()
    rest = partition_loops(nest).body.body[1]
    guards = [s.condition for s in post_order(rest) if isinstance(s, If)]
    assert guards
    assert all(ir.bare(g) is g for g in guards)


def test_rows_of_a_rest_stay_a_loop():
    n, m = te.var("n"), te.var("m")
    X = te.placeholder((m, n), name="X")
    k = te.reduce_axis((0, m), name="k")
    R = te.compute((n,), lambda i: te.sum(X[k, i], axis=k), name="R")
    s = te.create_schedule(R.op)
    outer, inner = s[R].split(R.op.axis[0], factor=4)
    rows, row = s[R].split(R.op.reduce_axis[0], factor=8)
    s[R].reorder(rows, outer, row, inner)
    s[R].unroll(row)
    s[R].vectorize(inner)
    program = device(lower(s, [X, R]))
    stores = sum(isinstance(node, Store) for node in post_order(program.body))
    written_out = sum(
        isinstance(node, Store) for node in post_order(unroll_loops(_all_unrolled(program)).body)
    )
    assert stores * 2 < written_out
    x = np.random.default_rng(0).random((83, 37), np.float32)
    out = np.full(37, np.nan, np.float32)
    build(s, [X, R])(x, out)
    np.testing.assert_allclose(out, x.sum(axis=0, dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("name", ["norm", "sum", "nanmean", "var", "argmax", "logsumexp"])
def test_states_that_a_rest_shares_with_the_interior_stay_in_registers(name, monkeypatch):
    monkeypatch.setattr(planner, "_plans", {})
    launches.forget()
    getattr(axisfold, name)(np.ones((2048, 9), np.float32)[:, :8], axis=1)
    plans = [p for p in planner._plans.values() if p.target.kind == "llvm"]
    shared = [a for p in plans for a in _allocated(p.compiled.device.body) if a.buffer.is_on_stack]
    assert shared
    for allocation in shared:
        nodes = post_order(allocation.body)
        for loop in (n for n in nodes if isinstance(n, For) and n.kind == "rolled"):
            others = {n.buffer for n in post_order(loop.body) if isinstance(n, (Load, Store))}
            assert not counts(loop, others - {allocation.buffer}), loop.var.name


class _Known(StmtRewriter):
    """Collects conditions that always hold or never, and ends of loops that can be told shorter."""

    def __init__(self):
        super().__init__()
        self.found = []

    def visit_if(self, stmt):
        if isinstance(simplify(ir.bare(stmt.condition), self.bounds), Const):
            self.found.append(stmt.condition)
        return super().visit_if(stmt)

    def visit_for(self, loop):
        if isinstance(short := simplify(loop.extent, self.bounds), Binary) and short.op != "max":
            self.found += [n for n in (loop.extent,) if isinstance(n, Binary) and n.op == "max"]
        return super().visit_for(loop)


@pytest.mark.parametrize(
    ("name", "shape", "axis"),
    [("logsumexp", (300, 80), 0), ("softmax", (40, 4100), 1), ("sum", (3, 70_000), 1),
     ("var", (4, 5000), 1), ("sum", (33, 35), 0), ("argmax", (100_000,), 0)],
)  # fmt: skip
def test_nothing_is_asked_that_is_known(name, shape, axis, monkeypatch):
    """No pass simplifies the program after loops were cut: each makes what it makes simple."""
    monkeypatch.setattr(planner, "_plans", {})
    launches.forget()
    getattr(axisfold, name)(np.ones(shape, np.float32), axis=axis)
    plans = [p for p in planner._plans.values() if p.target.kind == "llvm"]
    assert plans
    for plan in plans:
        asked = _Known()
        asked.run(plan.compiled.device)
        assert not asked.found


def _allocated(stmt):
    """Yield the allocations that no rest is around, which is a loop or stands under a condition."""
    if isinstance(stmt, Allocate):
        yield stmt
    if not (isinstance(stmt, If) or (isinstance(stmt, For) and stmt.kind == "rolled")):
        for part in substatements(stmt):
            yield from _allocated(part)


RUN, PLACES, LANES = 6, 4, 2


def folded_in_places(*, is_near=False, order="sum", kind="unrolled"):
    """Elements below n are folded into vectors, which are then written out.

    The vectors stand side by side, or each reads a run of its own; ``kind`` is of the loops that
    give them values and take these.
    """
    n, x, out = Var("n", is_size=True), buffer("X", "int64", 64), buffer("out", "int64", 8)
    held = buffer("held", "int64", PLACES * LANES, scope="local")
    turn, place, lane = Var("turn"), Var("place"), Var("lane")
    first = place * LANES if is_near else place * (RUN * LANES)
    at = first + turn * (PLACES * LANES if is_near else LANES) + lane
    mine = place * LANES + lane
    value = Load(held, mine) * (3 if order == "horner" else 1) + Load(x, at)
    step = If(ir.likely(Compare("lt", at, n)), Store(held, mine, value))
    lanes = For(lane, index(0), index(LANES), "vectorized", step)
    places = For(place, index(0), index(PLACES), "unrolled", lanes)
    turns = For(turn, index(0), index(RUN), "serial", places)
    i, j = Var("i"), Var("j")
    start = For(i, index(0), index(PLACES * LANES), kind, Store(held, i, index(1)))
    finish = For(j, index(0), index(PLACES * LANES), kind, Store(out, j, Load(held, j)))
    return kernel([x, out], [out], Allocate(held, Seq((start, turns, finish)))), n, x, out


def ran(program, n, x, out, size):
    values, result = np.arange(64), np.full(8, -1, np.int64)
    memory = {x: Memory(x, values.view("uint8")), out: Memory(out, result.view("uint8"))}
    Interpreter(memory=memory, values={n: size}).run(program.body)
    return result.tolist()


@pytest.mark.parametrize("is_near", [True, False])
def test_a_rest_is_a_loop_over_its_accumulators(is_near):
    nest, n, x, out = folded_in_places(is_near=is_near, order="horner")
    parted = simplify_program(partition_loops(nest))
    loops = [s for s in post_order(parted.body) if isinstance(s, For) and s.var.name == "place"]
    assert sorted(s.kind for s in loops if s.kind == "unrolled") == ["unrolled"], "the interior"
    assert any(s.kind == "rolled" for s in loops)
    for size in range(PLACES * LANES * RUN + 1):
        assert ran(parted, n, x, out, size) == ran(nest, n, x, out, size), size


def test_accumulators_of_a_rest_have_memory_of_their_own():
    nest, _, _, out = folded_in_places()
    parted = unroll_loops(partition_loops(nest))
    (held,) = (
        s.buffer
        for s in post_order(parted.body)
        if isinstance(s, Allocate) and s.buffer.name == "held"
    )
    turns = [s for s in post_order(parted.body) if isinstance(s, For) and s.var.name == "place"]
    for loop in turns:
        assert not counts(loop, {out, *(_buffers(loop) - {held})})


def test_accumulators_that_a_loop_takes_are_not_copied_for_a_rest():
    nest, n, x, out = folded_in_places(kind="serial", order="horner")
    parted = partition_loops(nest)
    assert [s.buffer.name for s in post_order(parted.body) if isinstance(s, Allocate)] == ["held"]
    for size in range(PLACES * LANES * RUN + 1):
        assert ran(parted, n, x, out, size) == ran(nest, n, x, out, size), size


def _buffers(stmt):
    return {s.buffer for s in post_order(stmt) if isinstance(s, (Load, Store))}


def test_what_is_left_goes_to_one_of_the_states_that_are_merged():
    n, x = te.var("n"), np.arange(1, 200, dtype=np.float32)
    X = te.placeholder((n,), name="X")
    k = te.reduce_axis((0, n), name="k")
    R = te.compute((1,), lambda i: te.sum(X[k], axis=k), name="R")
    s = te.create_schedule(R.op)
    _, inner = s[R].split(R.op.reduce_axis[0], factor=16)
    by_place = s.rfactor(R, inner)
    rest, place = by_place.op.reduce_axis[0], by_place.op.axis[0]
    s[by_place].compute_at(s[R], s[R].op.axis[0])
    vector, lane = s[by_place].split(place, factor=4)
    s[by_place].reorder(rest, vector, lane)
    s[by_place].unroll(vector)
    s[by_place].vectorize(lane)
    s[R].unroll(s[R].op.reduce_axis[0])
    plain = lower(s, [X, R])
    s[by_place].pragma(vector, "any_place", 1)
    free = lower(s, [X, R])
    copied, kept = (
        [a.buffer.name for a in post_order(device(p).body) if isinstance(a, Allocate)]
        for p in (plain, free)
    )
    assert len(copied) == len(kept) + 1
    compiled = build(s, [X, R])
    for size in (0, 1, 3, 4, 15, 16, 17, 37, 199):
        out = np.full(1, np.nan, np.float32)
        compiled(x[:size], out)
        assert out[0] == x[:size].sum()


def test_accumulators_that_share_places_stay_written_out():
    n, x = Var("n", is_size=True), buffer("X", "int64", 64)
    held = buffer("held", "int64", PLACES + 3, scope="local")
    turn, place = Var("turn"), Var("place")
    at = place * RUN + turn
    swapped = Store(held, place, Load(held, place + 3) + Load(x, at))
    step = If(ir.likely(Compare("lt", at, n)), swapped)
    places = For(place, index(0), index(PLACES), "unrolled", step)
    turns = For(turn, index(0), index(RUN), "serial", places)
    nest = kernel([x], [x], Allocate(held, turns))
    loops = [s for s in post_order(partition_loops(nest).body) if isinstance(s, For)]
    assert {s.kind for s in loops if s.var.name == "place"} == {"unrolled"}


def _all_unrolled(program):
    """Return a program whose short loops are unrolled wherever they stand."""

    def rule(node):
        if isinstance(node, For) and ir.as_int(node.extent) == 8:
            return For(node.var, node.min, node.extent, "unrolled", node.body)
        return node

    plain = rewrite(program.body, rule)
    return with_body(program, rewrite(plain, _serial))


def _serial(node):
    return (
        For(node.var, node.min, node.extent, "serial", node.body)
        if isinstance(node, For) and node.kind == "rolled"
        else node
    )
