# SPDX-License-Identifier: Apache-2.0
"""Tiles in private memory: whole vectors where only places of elements are read again."""

from __future__ import annotations

import numpy as np
import pytest
from te_support.interpreter import Interpreter, Memory
from te_support.kernels import buffer, index, kernel

import axisfold
from axisfold.api import launches
from axisfold.ir import build as ir
from axisfold.ir.expr import Compare, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Seq, Store
from axisfold.ir.walk import post_order
from axisfold.passes import unguard_tiles as module
from axisfold.passes.pipelines import device
from axisfold.passes.unguard_tiles import _edge as edge_of
from axisfold.passes.unguard_tiles import unguard_tiles
from axisfold.plan import planner

LANES = 4


class Tile:
    """A tile of LANES elements for each round of a loop, filled by ``start`` and then copied."""

    def __init__(self):
        self.n, self.x = Var("n", is_size=True), buffer("X", "int64", 8)
        self.held = buffer("held", "int64", LANES, scope="local")
        self.outer, self.lane, self.again = Var("outer"), Var("lane"), Var("again")

    def below(self, place):
        return ir.likely(Compare("lt", place, self.n))

    def vectors(self, var, body):
        return For(var, index(0), index(LANES), "vectorized", body)

    def filled(self, value=1):
        store = Store(self.held, self.lane, index(value))
        return self.vectors(self.lane, If(self.below(self.outer * LANES + self.lane), store))

    def kernel(self, *start):
        place = self.outer * LANES + self.again
        put = Store(self.x, place, Load(self.held, self.again))
        finish = self.vectors(self.again, If(self.below(place), put))
        body = Allocate(self.held, Seq((*start, finish)))
        return kernel([self.x], [self.x], For(self.outer, index(0), index(2), "serial", body))


@pytest.mark.parametrize("size", [0, 1, 4, 7, 8])
def test_a_tile_is_filled_by_whole_vectors(size):
    tile = Tile()
    nest = tile.kernel(tile.filled())
    done = unguard_tiles(nest)
    (first, _) = (s for s in post_order(done.body) if isinstance(s, For) and s.var in vars_of(tile))
    assert isinstance(first.body, Store), "the lanes of private memory are still guarded"
    array = np.full(8, -1, np.int64)
    memory = {tile.x: Memory(tile.x, array.view("uint8"))}
    Interpreter(memory=memory, values={tile.n: size}).run(done.body)
    assert array.tolist() == [1] * size + [-1] * (8 - size)


def vars_of(tile):
    return (tile.lane, tile.again)


def test_a_tile_that_is_also_written_without_guards_keeps_them():
    """Its places beyond the edge have values, which somebody may read."""
    tile, every = Tile(), Var("every")
    zeros = tile.vectors(every, Store(tile.held, every, index(0)))
    nest = tile.kernel(zeros, tile.filled())
    assert unguard_tiles(nest) is nest


def test_a_place_that_stands_for_several_elements_keeps_its_guard():
    tile, k = Tile(), Var("k")
    own = Load(tile.held, tile.lane)
    more = If(tile.below(k * LANES + tile.lane), Store(tile.held, tile.lane, own + index(1)))
    fold = For(k, index(0), index(2), "serial", tile.vectors(tile.lane, more))
    nest = tile.kernel(fold)
    assert unguard_tiles(nest) is nest


def test_lanes_that_read_an_array_keep_their_guard():
    tile = Tile()
    place = tile.outer * LANES + tile.lane
    store = Store(tile.held, tile.lane, Load(tile.x, place))
    nest = tile.kernel(tile.vectors(tile.lane, If(tile.below(place), store)))
    assert unguard_tiles(nest) is nest


def test_places_are_asked_for_where_vectors_of_a_tile_have_guards(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "_edge", lambda *args: asked.append(args) or edge_of(*args))
    tile = Tile()
    vectors = tile.filled()
    serial = For(vectors.var, vectors.min, vectors.extent, "serial", vectors.body)
    unguard_tiles(tile.kernel(serial))
    assert not asked
    unguard_tiles(tile.kernel(vectors))
    assert asked


@pytest.mark.parametrize("columns", [1, 5, 67, 4097])
@pytest.mark.parametrize("op", ["sum", "var", "argmax", "logsumexp"])
def test_columns_beyond_whole_vectors(op, columns):
    rng = np.random.default_rng(columns)
    x = rng.random((41, columns), dtype=np.float32)
    wide = np.log(np.exp(x.astype(float)).sum(axis=0))
    wanted = wide if op == "logsumexp" else getattr(np, op)(x.astype(float), axis=0)
    np.testing.assert_allclose(getattr(axisfold, op)(x, axis=0), wanted, rtol=1e-5)


def test_starts_of_columns_have_one_loop():
    launches.forget()
    planner._plans.clear()
    axisfold.sum(np.ones((100, 300), np.float32), axis=0)
    (plan,) = planner._plans.values()
    loops = [n for n in post_order(device(plan.compiled.ir).body) if isinstance(n, For)]
    starts = [n for n in loops if "init" in n.var.name]
    assert len(starts) == 1
