# SPDX-License-Identifier: Apache-2.0
"""Loops over groups of which the last one begins early: that one in a rest of its own."""

from __future__ import annotations

from dataclasses import replace

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import simplify
from axisfold.ir import build
from axisfold.ir.expr import Binary, Expr, Load, Node, Var
from axisfold.ir.stmt import For, Stmt, Store
from axisfold.ir.walk import post_order, rewrite, uses


def without_last_group(loop: For, bounds: Bounds) -> tuple[For, For] | None:
    """Return a loop over the groups that begin where they would, and one over the others.

    Before::

        for (v, 0, groups) { … X[min(v*4, n - 4) + …] … }

    After::

        for (v, 0, floordiv(n, 4)) { … X[v*4 + …] … }
        for (v, floordiv(n, 4), groups - floordiv(n, 4)) { … X[n - 4 + …] … }

    So addresses in the first one move evenly.  None where there is nothing of that kind.
    """
    found = _minimum(loop.body, loop.var)
    form = None if found is None else linear_form(found.a, {loop.var})
    if found is None or form is None:
        return None
    step = build.as_int(form[0][loop.var]) or 0
    if step <= 0 or uses(form[1], {loop.var}):
        return None
    edge = build.ceildiv(found.b + 1 - form[1], step) - loop.min
    even = simplify(build.maximum(build.minimum(edge, loop.extent), 0), bounds)
    first = replace(loop, extent=even, body=_with(loop.body, found, found.a))
    low, left = simplify(loop.min + even, bounds), simplify(loop.extent - even, bounds)
    return first, replace(loop, min=low, extent=left, body=_with(loop.body, found, found.b))


def _minimum(body: Stmt, var: Var) -> Binary | None:
    """Return the one minimum that indices are computed from and that moves with a loop."""
    indices = [n.index for n in post_order(body) if isinstance(n, (Load, Store))]
    parts = (part for index in indices for part in post_order(index))
    found = {p for p in parts if isinstance(p, Binary) and p.op == "min" and uses(p.a, {var})}
    if len(found) != 1:
        return None
    (minimum,) = found
    inner = {n.var for n in post_order(body) if isinstance(n, For)}
    return None if uses(minimum, inner) or uses(minimum.b, {var}) else minimum


def _with(body: Stmt, minimum: Binary, value: Expr) -> Stmt:
    def rule(node: Node) -> Node:
        return value if isinstance(node, Binary) and node == minimum else node

    return rewrite(body, rule)
