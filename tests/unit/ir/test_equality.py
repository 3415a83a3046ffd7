# SPDX-License-Identifier: Apache-2.0
"""Structural equality and hash: by dtype and bits, iterative, shared subtrees seen once."""

import math
import struct

import pytest

from axisfold.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Broadcast, Call, Cast, Compare, Const, Load, Not, Ramp, Var
from axisfold.ir.stmt import For, If, Seq, Store
from axisfold.ir.walk import free_vars, post_order, rewrite, substitute, uses, variables

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Const(1, INT32), Const(True, BOOL)),
        (Const(1, INT32), Const(1.0, FLOAT32)),
        (Const(1, INT32), Const(1, INT64)),
        (Const(1.0, FLOAT32), Const(1.0, FLOAT64)),
        (Const(0.0, FLOAT64), Const(-0.0, FLOAT64)),
        (Const(math.nan, FLOAT64), Const(OTHER_NAN, FLOAT64)),
        (Const(math.inf, FLOAT64), Const(-math.inf, FLOAT64)),
    ],
    ids=str,
)
def test_constants_differ_by_dtype_or_bits(a, b):
    assert a != b
    assert hash(a) != hash(b)


@pytest.mark.parametrize("value", [math.nan, -0.0, 0.0, math.inf, 1.5])
def test_a_constant_equals_itself(value):
    assert Const(value, FLOAT64) == Const(value, FLOAT64)
    assert hash(Const(value, FLOAT64)) == hash(Const(value, FLOAT64))


def test_variables_compare_by_identity():
    x, y = Var("x"), Var("x")
    assert x == x
    assert x != y
    assert Binary("add", x, x) == Binary("add", x, x)
    assert Binary("add", x, x) != Binary("add", x, y)


def some_nodes():
    x, y = Var("x"), Var("y")
    A = Buffer("A", FLOAT32, (x,))
    C = Buffer("C", FLOAT32, (x,))
    one, flag = build.const(1), Compare("lt", x, y)
    wide = Ramp(x, one, 4)
    lanes = Compare("lt", wide, Broadcast(y, 4))
    return [
        x, y, one, flag, wide, lanes, Not(flag), Cast(x, INT64), Cast(x, FLOAT32),
        Binary("add", x, y), Binary("sub", x, y), Binary("add", y, x), Compare("le", x, y),
        Ramp(x, one, 8), Ramp(y, one, 4), Broadcast(x, 4), Broadcast(x, 8),
        Load(A, x), Load(C, x), Load(A, y), Load(A, x, align=16), Load(A, x, cache="stream"),
        Load(A, wide), Load(A, wide, lanes), Call("exp", (x,), INT32), Call("log", (x,), INT32),
        Store(A, x, Load(A, x)), Store(A, x, Load(A, y)), Store(A, wide, Load(A, wide), lanes),
        Store(A, wide, Load(A, wide)), If(flag, Seq(())), If(flag, Seq(()), Seq(())),
        For(x, one, y, "serial", Seq(())), For(x, one, y, "unrolled", Seq(())),
        For(x, one, y, "serial", Seq(()), flag), Seq((Seq(()),)),
    ]  # fmt: skip


def test_nodes_are_equal_to_themselves_alone():
    nodes = some_nodes()
    for n, a in enumerate(nodes):
        for m, b in enumerate(nodes):
            assert (a == b) == (n == m), (a, b)
    assert len(set(nodes)) == len(nodes)


def test_a_rebuilt_copy_is_equal():
    for node in some_nodes():
        copy = rewrite(node, lambda n: n if isinstance(n, Var) else copied(n))
        assert copy == node
        assert hash(copy) == hash(node)


def copied(node):
    from dataclasses import fields

    return type(node)(**{f.name: getattr(node, f.name) for f in fields(node) if f.init})


DEEP = 5_000


def deep(leaf):
    for n in range(DEEP):
        leaf = Binary("add" if n % 2 else "mul", leaf, build.const(n % 7))
    return leaf


def test_deep_expressions_hash_compare_walk_rewrite_and_print():
    x, y = Var("x"), Var("y")
    a, b, other = deep(x), deep(x), deep(y)
    assert hash(a) == hash(b)
    assert a == b
    assert a != other
    assert sum(1 for _ in post_order(a)) == DEEP + 1 + 7  # equal constants are one node
    assert free_vars(a) == [x]
    assert uses(a, {x})
    assert not uses(a, {y})
    assert substitute(a, {x: y}) == other
    assert rewrite(a, lambda n: n) is a
    assert str(a).count("(") == DEEP


def test_the_variables_of_a_node_are_those_of_all_its_parts():
    a, b, c, d = (Var(name) for name in "abcd")
    memory = Buffer("m", FLOAT32, (build.const(8),))
    masked, whole = Load(memory, a, b < 3), Load(memory, a)
    call = Call("power", (whole, build.cast("float32", c)), FLOAT32)
    assert variables(masked) == {a, b}
    assert variables(whole) == {a}
    assert variables(call) == {a, c}
    assert variables(Seq((Store(memory, d, masked), Store(memory, d, call)))) == {a, b, c, d}
    assert variables(If(a < b, Seq(()))) == {a, b}
    assert variables(For(a, build.const(0), c, "serial", Seq(()), stop=d < 1)) == {c, d}
    assert not variables(build.const(1))
    assert [len(node.children()) for node in (masked, whole, call)] == [2, 1, 2]


def test_deep_expressions_simplify():
    from axisfold.analysis.simplify import simplify

    x = Var("x")
    total = x
    for _ in range(DEEP):
        total = Binary("add", total, build.const(1))
    assert str(simplify(total)) == f"(x + {DEEP})"


def test_a_shared_subtree_is_walked_once():
    x = Var("x")
    shared = x
    for _ in range(200):  # 2**200 paths
        shared = Binary("add", shared, shared)
    assert sum(1 for _ in post_order(shared)) == 201
    assert hash(shared) == hash(substitute(shared, {x: x}))
    again = x
    for _ in range(200):
        again = Binary("add", again, again)
    assert again == shared


def test_rewriting_keeps_what_did_not_change():
    x, y, z = Var("x"), Var("y"), Var("z")
    kept, changed = Binary("mul", x, x), Binary("mul", y, y)
    both = Binary("add", kept, changed)
    result = substitute(both, {y: z})
    assert result.children()[0] is kept
    assert result.children()[1] == Binary("mul", z, z)
    assert substitute(both, {z: x}) is both
    assert substitute(both, {}) is both


def test_masks_and_stops_are_children():
    x = Var("x")
    A = Buffer("A", FLOAT32, (x,))
    at = Ramp(x, build.const(1), 4)
    mask = Compare("lt", at, Broadcast(Var("n"), 4))
    assert mask in Load(A, at, mask).children()
    stop = Compare("lt", x, Var("m"))
    assert stop in For(x, build.const(0), x, "serial", Seq(()), stop).children()
    none = rewrite(Load(A, at), lambda n: n)
    assert none.mask is None
