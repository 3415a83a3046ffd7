# SPDX-License-Identifier: Apache-2.0
"""Counterexamples are never found for what holds, and are found for guards of tails."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.linear import expanded
from axisfold.analysis.refute import is_refuted
from axisfold.dtypes import INT32
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Var

M = Var("m", is_size=True)
OUTER, INNER = Var("k.outer"), Var("k.inner")


def _env(factor: int) -> Bounds:
    return Bounds().extended(OUTER, 0, build.ceildiv(M, factor)).extended(INNER, 0, factor)


def _forms() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.sampled_from([M, OUTER, INNER]), st.integers(-5, 5).map(build.const))

    def grown(part: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pairs = st.tuples(part, part)
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: build.minimum(*p)),
            pairs.map(lambda p: build.maximum(*p)),
            st.tuples(part, st.integers(1, 4)).map(lambda p: p[0] // p[1]),
        )

    return st.recursive(leaves, grown, max_leaves=6)


def test_the_guard_of_a_tail_is_refuted() -> None:
    assert is_refuted(expanded(M - 1 - (OUTER * 16 + INNER)), _env(16))


def test_what_holds_is_not() -> None:
    assert not is_refuted(expanded(M - 1 - OUTER), _env(1))
    assert not is_refuted(expanded(M - 1 - OUTER * 16), _env(16))


def test_what_is_no_arithmetic_is_left_to_proofs() -> None:
    place = Buffer("X", INT32, (M,))
    assert not is_refuted(expanded(Load(place, OUTER) - 7), _env(4))


def test_what_nothing_is_known_of_has_any_value() -> None:
    start = Var("start")
    assert is_refuted(expanded(start - 7), _env(4))
    assert is_refuted(expanded(M - start - 1), _env(4))


@given(_forms(), st.sampled_from([1, 3, 16]))
def test_a_refuted_form_is_negative_somewhere(form: Expr, factor: int) -> None:
    if not is_refuted(expanded(form), _env(factor)):
        return
    sizes = (1, 1_000_003)
    places = [
        (m, outer, inner)
        for m in sizes
        for outer, inner in itertools.product((0, -(-m // factor) - 1), (0, factor - 1))
    ]
    assert any(_value(form, dict(zip((M, OUTER, INNER), p, strict=True))) < 0 for p in places)


def _value(node: Expr, at: dict[Expr, int]) -> int:
    if isinstance(node, Var):
        return at[node]
    if (constant := build.as_int(node)) is not None:
        return constant
    a, b = (_value(part, at) for part in (node.a, node.b))  # type: ignore[attr-defined]
    return {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
        "min": lambda: min(a, b), "max": lambda: max(a, b), "floordiv": lambda: a // b,
    }[node.op]()  # type: ignore[attr-defined]  # fmt: skip


@pytest.mark.parametrize("factor", [1, 4])
def test_loops_without_rounds_give_no_example(factor: int) -> None:
    env = Bounds().extended(OUTER, 0, build.const(0)).extended(INNER, 0, factor)
    assert not is_refuted(expanded(build.const(0) - 1 - INNER), env)
