# SPDX-License-Identifier: Apache-2.0
"""The innermost statements of a stage: init and update of a reduction, or a plain store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axisfold.ir import build
from axisfold.ir.expr import Const, Expr, Var
from axisfold.ir.stmt import If, Let, Stmt
from axisfold.ir.walk import substitute_all
from axisfold.lower.storage import Storage
from axisfold.tensor.reduce import Reduce

Resolve = Callable[[Expr], Expr]


def store_all(targets: Sequence[Storage], indices: Sequence[Expr], values: Sequence[Expr]) -> Stmt:
    """Store one value in each target; every value is computed before any is stored."""
    stores = [t.store(indices, v) for t, v in zip(targets, values, strict=True)]
    if len(values) == 1 or all(isinstance(v, Const) for v in values):
        return build.seq(*stores)
    names = [Var(f"{t.buffer.name}.new", v.dtype) for t, v in zip(targets, values, strict=True)]
    stores = [t.store(indices, n) for t, n in zip(targets, names, strict=True)]
    body = build.seq(*stores)
    for name, value in zip(reversed(names), reversed(values), strict=True):
        body = Let(name, value, body)
    return body


def init_statement(
    reduction: Reduce, targets: Sequence[Storage], indices: Sequence[Expr], resolve: Resolve
) -> Stmt:
    """Store the start of a reduction: ``init=`` if given, else the identity."""
    start = reduction.init or reduction.combiner.identity
    return store_all(targets, indices, [resolve(e) for e in start])


def update_statement(
    reduction: Reduce, targets: Sequence[Storage], indices: Sequence[Expr], resolve: Resolve
) -> Stmt:
    """Fold one more element into the state, if the reduction's condition holds.

    Tail guards come first and apart: a ``where=`` under them may read what lies beyond the tail,
    and loop partition takes them out one by one.
    """
    lhs = reduction.combiner.lhs
    # Resolved before the state comes in: its offsets are in loop variables already.
    values = [resolve(e) for e in reduction.update(lhs)]
    state: dict[Var, Expr] = {v: t.load(indices) for v, t in zip(lhs, targets, strict=True)}
    body = store_all(targets, indices, substitute_all(values, state))
    return guarded_update(resolve(reduction.condition), body)


def split_condition(condition: Expr) -> tuple[list[Expr], list[Expr]]:
    """Return the tail guards that rfactor put into a condition, and the rest of it.

    The rest may read memory, and that only where the guards hold.
    """
    parts = build.conjuncts(condition)
    guards = [part for part in parts if build.bare(part) is not part]
    return guards, [part for part in parts if build.bare(part) is part]


def guarded_update(condition: Expr, body: Stmt) -> Stmt:
    """Put the condition of a reduction around its update, tail guards first and apart."""
    guards, wheres = split_condition(condition)
    if wheres:
        body = If(build.all_of(wheres), body)
    for guard in reversed(guards):
        body = If(guard, body)
    return body
