# SPDX-License-Identifier: Apache-2.0
"""Frequent nodes are shared: made of the same objects, they are one object; else they are not."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import axisfold
from axisfold.analysis.linear import linear
from axisfold.analysis.simplify import simplify
from axisfold.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64
from axisfold.ir import build, node
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Broadcast, Compare, Const, Load, Not, Ramp, Var
from axisfold.ir.node import forget_shared
from axisfold.ir.walk import sharing
from axisfold.tensor.key import expression_key

X, Y = Var("x"), Var("y")
ONE, FOUR = build.const(1), build.const(4)
A, C = Buffer("A", FLOAT32, (X,)), Buffer("C", FLOAT32, (X,))
MASK = Broadcast(X < Y, 4)

MADE = {
    "binary": lambda: Binary("add", X, Y),
    "comparison": lambda: Compare("lt", X, Y),
    "ramp": lambda: Ramp(X, ONE, 4),
    "broadcast": lambda: Broadcast(X, 4),
    "load": lambda: Load(A, X),
    "masked load": lambda: Load(A, Ramp(X, ONE, 4), MASK, 16, "stream", 64),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_what_is_made_of_the_same_objects_is_one_object(make):
    first = make()
    assert make() is first
    assert replace(first) is first
    assert copy.copy(first) is first
    forget_shared()
    assert make() is not first
    assert make() == first


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_pickled_node_has_the_same_fields(make):
    first = make()
    again = pickle.loads(pickle.dumps(first))
    assert type(again) is type(first)
    assert str(again) == str(first)
    assert again.dtype == first.dtype


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Const(1, INT32), Const(True, BOOL)),
        (Const(1, INT32), Const(1, INT64)),
        (Const(1.0, FLOAT32), Const(1.0, FLOAT64)),
        (Const(0.0, FLOAT64), Const(-0.0, FLOAT64)),
        (Const(math.nan, FLOAT64), Const(math.inf, FLOAT64)),
        (build.const(1, INT32), build.const(True, INT32)),
        (build.const(1, INT32), build.const(1, INT64)),
        (build.const(0.0, FLOAT32), build.const(-0.0, FLOAT32)),
    ],
    ids=str,
)
def test_operands_that_only_look_alike_are_kept_apart(a, b):
    for make in (lambda e: Binary("add", e, e), lambda e: Broadcast(e, 4)):
        one, other = make(a), make(b)
        assert (one is other) == (a is b)
        assert one.dtype == a.dtype.with_lanes(one.dtype.lanes)
        assert other.dtype == b.dtype.with_lanes(other.dtype.lanes)
        assert str(make(a)) == str(one)


def test_nodes_that_differ_in_one_part_are_kept_apart():
    wide = Ramp(X, ONE, 4)
    nodes = [
        Binary("add", X, Y), Binary("sub", X, Y), Binary("add", Y, X), Compare("lt", X, Y),
        Compare("le", X, Y), Ramp(X, ONE, 4), Ramp(X, ONE, 8), Ramp(ONE, X, 4), Broadcast(X, 4),
        Broadcast(X, 8), Load(A, X), Load(C, X), Load(A, Y), Load(A, X, None, 4),
        Load(A, X, cache="stream"), Load(A, X, ahead=4), Load(A, wide), Load(A, wide, MASK),
    ]  # fmt: skip
    assert len({id(n) for n in nodes}) == len(nodes)


def test_so_many_nodes_are_remembered_and_no_more(monkeypatch):
    monkeypatch.setattr(node, "_MOST_SHARED", 100)
    forget_shared()
    for n in range(1000):
        assert Binary("add", X, Const(n, INT32)) == Binary("add", X, Const(n, INT32))
        assert len(node.shared) <= 100


def test_a_plan_leaves_no_nodes_behind():
    data = np.ones((3, 5, 7), np.int16)[:, ::2]
    axisfold.fold(data, axisfold.Reducer("left", state={"s": "acc"}, identity={"s": 0},
        lift=lambda x: {"s": x * 3}, combine=lambda a, b: {"s": a.s + b.s},
        finalize=lambda a: a.s), axis=1)  # fmt: skip
    assert not node.shared


def test_what_is_remembered_of_a_sum_stays_as_it_is():
    one, other = X + ONE, X * 3 + Y + FOUR
    before = [(dict(linear(e).terms), linear(e).constant) for e in (one, other)]
    simplify(one < other)
    simplify(other - one)
    assert [(dict(linear(e).terms), linear(e).constant) for e in (one, other)] == before


def test_the_key_of_expressions_is_the_same_whether_nodes_are_shared_or_not():
    def made():
        x = Var("x")
        first = Binary("mul", x, FOUR)
        yield first
        yield Binary("add", first, Binary("mul", x, FOUR))

    def apart():
        for root in made():
            forget_shared()
            yield root

    assert expression_key(made()) == expression_key(apart())
    assert expression_key(made()) != expression_key(reversed(list(made())))


def test_roots_that_are_rewritten_one_after_the_other_go_on_sharing():
    seen = []
    rewritten = sharing(lambda n: seen.append(n) or (Y if n is X else n))
    common = Not(X < ONE)
    first, second = rewritten(Not(common)), rewritten(common)
    assert first.a is second
    assert str(second) == "!(y < 1)"
    assert len(seen) == len(set(map(id, seen))) == 5
