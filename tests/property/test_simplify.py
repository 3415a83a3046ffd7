# SPDX-License-Identifier: Apache-2.0
"""Simplifier, prover and bounds against a plain evaluation of the documented semantics."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import Bounds, constant_interval, symbolic_bounds
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.dtypes import BOOL, INT32, wrap
from axisfold.errors import UnsupportedError
from axisfold.ir.buffer import Buffer
from axisfold.ir.build import const, likely
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Load,
    Not,
    Select,
    Var,
)
from axisfold.ir.walk import uses

CHECKED = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

SIZES = (Var("n", is_size=True), Var("m", is_size=True))
MOVING = (Var("i"), Var("j"), Var("k"))
FREE = Var("free")
TABLE = Buffer("table", INT32, (const(8),))
OTHER_OPERATIONS = (
    *("floordiv", "floormod", "truncdiv", "truncmod"),
    *("min", "max", "min", "max", "bitand", "bitor", "bitxor"),
)
COUNTS = (-2, 0, 1, 2, 3, 5, 32, 40)
DIVISORS = (-7, -2, 0, 1, 2, 3, 4, 8, 16, 32)


# --- evaluation -------------------------------------------------------------------------------


def evaluate(root: Expr, values: dict[Var, int]) -> int:
    """Evaluate by the semantics in axisfold.ir.expr; arithmetic on loaded data wraps."""
    return _evaluate(root, values)[0]


def _evaluate(node: Expr, values: dict[Var, int]) -> tuple[int, bool]:
    match node:
        case Var():
            return values[node], False
        case Const():
            return int(node.value), False
        case Load():
            index, _ = _evaluate(node.index, values)
            return random.Random(index).randint(-(2**31), 2**31 - 1), True
        case Cast():
            return _evaluate(node.value, values)
        case Call():
            return _evaluate(node.args[0], values)
        case Not():
            return 1 - _evaluate(node.a, values)[0], False
        case Select() | IfThenElse():
            chosen = _evaluate(node.condition, values)[0]
            sides = [_evaluate(v, values) for v in (node.true_value, node.false_value)]
            return sides[0 if chosen else 1][0], sides[0][1] or sides[1][1]
        case Compare():
            a, b = _evaluate(node.a, values)[0], _evaluate(node.b, values)[0]
            table = {"lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b}
            return int(table.get(node.op, a != b)), False
        case Binary():
            (a, x), (b, y) = _evaluate(node.a, values), _evaluate(node.b, values)
            result = OPERATIONS[node.op](a, b)
            return (wrap(result, node.dtype) if x or y else result), x or y
    raise AssertionError(node)


def _truncdiv(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "floormod": lambda a, b: a % b if b else 0,
    "truncdiv": _truncdiv,
    "truncmod": lambda a, b: a - b * _truncdiv(a, b) if b else 0,
    "min": min,
    "max": max,
    "and": min,
    "or": max,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b if 0 <= b < 32 else 0,
    "shr": lambda a, b: a >> b if 0 <= b < 32 else (-1 if a < 0 else 0),
}


# --- random expressions and environments ------------------------------------------------------


def _number(value: int) -> Expr:
    return Const(value, INT32)


def _binary(op: str) -> Callable[[tuple[Expr, Expr]], Expr]:
    return lambda pair: Binary(op, *pair)


def _recombined(parts: tuple[Expr, Expr, Expr]) -> Expr:
    """A split index that the identity (f // C) * C + f % C == f puts together again."""
    f, c, k = parts
    whole = Binary("mul", Binary("floordiv", f, c), c)
    return Binary("mul", Binary("add", whole, Binary("floormod", f, c)), k)


def integers(leaf: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    numbers = st.one_of(st.sampled_from([-1, 0, 1, 2, 15, 16]), st.integers(-20, 40)).map(_number)
    counts = st.sampled_from(COUNTS).map(_number)
    divisors = st.one_of(st.sampled_from(DIVISORS).map(_number), st.sampled_from(SIZES))

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pair, scaled = st.tuples(inner, inner), st.tuples(inner, numbers)
        return st.one_of(
            pair.map(_binary("add")),
            pair.map(_binary("add")),
            pair.map(_binary("sub")),
            scaled.map(_binary("mul")),
            pair.map(_binary("mul")),
            st.tuples(inner, divisors).map(_binary("floordiv")),
            st.tuples(inner, divisors).map(_binary("floormod")),
            st.tuples(st.sampled_from(OTHER_OPERATIONS), inner, inner).map(lambda p: Binary(*p)),
            st.tuples(st.sampled_from(["shl", "shr"]), inner, counts).map(lambda p: Binary(*p)),
            st.tuples(inner, inner).map(_binary("shr")),
            st.tuples(inner, divisors, numbers).map(_recombined),
            st.tuples(compares(inner), inner, inner).map(lambda p: Select(*p)),
            st.tuples(compares(inner), inner, inner).map(lambda p: IfThenElse(*p)),
        )

    return st.recursive(st.one_of(leaf, leaf, numbers), grow, max_leaves=10)


def compares(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    ops = st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"])
    return st.tuples(ops, inner, inner).map(lambda p: Compare(*p))


def conditions(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.recursive(
        compares(inner),
        lambda c: st.one_of(
            st.tuples(st.sampled_from(["and", "or"]), c, c).map(lambda p: Binary(*p)),
            c.map(Not),
            c.map(likely),
        ),
        max_leaves=3,
    )


@dataclass(frozen=True)
class World:
    """An environment and points of it."""

    env: Bounds
    points: tuple[dict[Var, int], ...]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    env = Bounds()
    outer: list[Expr] = [*SIZES]
    for var in MOVING:
        low = draw(st.one_of(st.integers(-4, 4).map(_number), st.sampled_from(outer)))
        base = draw(st.sampled_from([*outer, _number(1), _number(16), _number(5)]))
        factor = draw(st.sampled_from([1, 1, 2, 16]))
        extent = draw(
            st.sampled_from(
                [
                    base,
                    (base + (factor - 1)) // factor,
                    base // factor,
                    base * 2 + 1,
                    Binary("min", base, _number(3)),
                    base - low,
                ]
            )
        )
        env = env.extended(var, low, extent)
        outer.append(var)
    points = []
    seed = random.Random(draw(st.integers(0, 2**30)))
    for _ in range(30):
        point = {var: seed.choice([0, 1, 2, 15, 16, 17, seed.randint(0, 70)]) for var in SIZES}
        point[FREE] = seed.randint(-30, 30)
        for var, domain in env.items():
            low, extent = evaluate(domain.min, point), evaluate(domain.extent, point)
            if extent < 1:
                break
            point[var] = low + seed.choice([0, extent - 1, seed.randrange(extent)])
        else:
            points.append(point)
        if len(points) == 8:
            break
    assume(points)
    return World(env, tuple(points))


VARIABLES = st.sampled_from([*MOVING, *MOVING, *SIZES, FREE])
LOADS = st.sampled_from(MOVING).map(lambda var: Load(TABLE, var))
INDICES = integers(VARIABLES)
WITH_DATA = integers(st.one_of(VARIABLES, LOADS))


# --- properties -------------------------------------------------------------------------------


@CHECKED
@given(worlds(), st.one_of(INDICES, WITH_DATA, conditions(INDICES), conditions(WITH_DATA)))
def test_simplify_keeps_the_value(world, expr):
    for env in (world.env, None):
        simple = simplify(expr, env)
        for point in world.points:
            assert evaluate(simple, point) == evaluate(expr, point)


@CHECKED
@given(worlds(), st.one_of(INDICES, conditions(INDICES), WITH_DATA))
def test_simplify_is_idempotent(world, expr):
    simple = simplify(expr, world.env)
    fresh = Bounds(dict(world.env))
    assert simplify(simple, fresh) == simple
    assert simplify(simple, world.env) == simple


@CHECKED
@given(worlds(), st.one_of(conditions(INDICES), conditions(WITH_DATA)))
def test_what_is_proved_is_true(world, condition):
    if can_prove(condition, world.env):
        assert all(evaluate(condition, point) for point in world.points)


@CHECKED
@given(worlds(), INDICES, st.integers(-3, 3))
def test_proved_ends_of_ranges_are_true(world, expr, slack):
    values = [evaluate(expr, point) for point in world.points]
    for bound in (min(values) + slack, max(values) + slack):
        for condition in (expr >= _number(bound), expr < _number(bound)):
            if can_prove(condition, world.env):
                assert all(evaluate(condition, point) for point in world.points)


@CHECKED
@given(worlds(), WITH_DATA)
def test_interval_contains_the_value(world, expr):
    found = constant_interval(expr, world.env)
    for point in world.points:
        assert found.low <= evaluate(expr, point) <= found.high


@CHECKED
@given(worlds(), INDICES, st.sets(st.sampled_from(MOVING)))
def test_symbolic_bounds_contain_the_value(world, expr, over):
    try:
        low, high = symbolic_bounds(expr, world.env, over)
    except UnsupportedError:
        assume(False)
    assert not uses(low, over)
    assert not uses(high, over)
    for point in world.points:
        assert evaluate(low, point) <= evaluate(expr, point) <= evaluate(high, point)


@CHECKED
@given(worlds(), INDICES)
def test_linear_form_has_the_same_value(world, expr):
    form = linear_form(expr, MOVING, world.env)
    assume(form is not None)
    coefficients, rest = form
    assert not any(uses(part, set(MOVING)) for part in (*coefficients.values(), rest))
    for point in world.points:
        total = sum(evaluate(c, point) * point[var] for var, c in coefficients.items())
        assert total + evaluate(rest, point) == evaluate(expr, point)


def test_the_evaluator_follows_the_documented_semantics():
    for op, a, b, expected in [
        ("floordiv", -7, 2, -4),
        ("floormod", -7, 2, 1),
        ("truncdiv", -7, 2, -3),
        ("truncmod", -7, 2, -1),
        ("floordiv", 7, -2, -4),
        ("floormod", 7, -2, -1),
        ("floordiv", 5, 0, 0),
        ("floormod", 5, 0, 0),
        ("truncmod", 5, 0, 0),
        ("shl", -3, 2, -12),
        ("shl", 3, 32, 0),
        ("shr", -7, 1, -4),
        ("shr", -7, -1, -1),
    ]:
        assert evaluate(Binary(op, _number(a), _number(b)), {}) == expected
    doubled = Binary("mul", Load(TABLE, _number(3)), _number(2))
    assert -(2**31) <= evaluate(doubled, {}) < 2**31


@pytest.mark.parametrize("value", [True, False])
def test_truth_constants_are_left_alone(value):
    assert simplify(Const(value, BOOL)) == Const(value, BOOL)
