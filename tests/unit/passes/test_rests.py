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
from axisfold.api import launches
from axisfold.build import build, lower
from axisfold.ir import build as ir
from axisfold.ir.expr import Compare, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Seq, Store
from axisfold.ir.walk import post_order, rewrite
from axisfold.passes.partition_loops import partition_loops
from axisfold.passes.pipelines import device
from axisfold.passes.registers import counts
from axisfold.passes.rewriter import substatements, with_body
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


def _allocated(stmt):
    """Yield the allocations that no rest is around."""
    if isinstance(stmt, Allocate):
        yield stmt
    if not (isinstance(stmt, For) and stmt.kind == "rolled"):
        for part in substatements(stmt):
            yield from _allocated(part)


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
