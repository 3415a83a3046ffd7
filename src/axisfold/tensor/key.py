# SPDX-License-Identifier: Apache-2.0
"""A key for expressions up to the names and identities of their variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from axisfold.dtypes import bit_pattern
from axisfold.ir.equal import plain_fields
from axisfold.ir.expr import Const, Node, Var
from axisfold.ir.walk import children, post_order


def expression_key(roots: Iterable[Node]) -> Hashable:
    """Return a value that is equal for programs of expressions that differ in names only."""
    numbers: dict[int, int] = {}
    variables: dict[Var, int] = {}
    rows: list[Hashable] = []
    ends: list[int] = []
    alive = []
    for root in roots:
        alive.append(root)
        for node in post_order(root):
            if id(node) in numbers:
                continue
            numbers[id(node)] = len(numbers)
            rows.append(_row(node, variables, numbers))
        ends.append(numbers[id(root)])
    return (tuple(rows), tuple(ends))


def _row(node: Node, variables: dict[Var, int], numbers: dict[int, int]) -> Hashable:
    if isinstance(node, Var):
        return ("Var", node.dtype, variables.setdefault(node, len(variables)))
    if isinstance(node, Const):
        return ("Const", node.dtype, bit_pattern(node.value, node.dtype))
    plain = tuple(getattr(node, name) for name in plain_fields(type(node)))
    return (type(node).__name__, plain, tuple(numbers[id(c)] for c in children(node)))
