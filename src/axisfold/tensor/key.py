# SPDX-License-Identifier: Apache-2.0
"""A key for expressions up to the names and identities of their variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from axisfold.dtypes import bit_pattern
from axisfold.ir.expr import Const, Node, Var
from axisfold.ir.node import plain_fields
from axisfold.ir.walk import post_order


def expression_key(roots: Iterable[Node]) -> Hashable:
    """Return a value that is equal for programs of expressions that differ in names only."""
    roots = list(roots)
    numbers: dict[int, int] = {}
    variables: dict[Var, int] = {}
    rows: dict[Hashable, int] = {}  # equal nodes have one row, whether or not they are one object
    for node in post_order(*roots):
        numbers[id(node)] = rows.setdefault(_row(node, variables, numbers), len(rows))
    return (tuple(rows), tuple(numbers[id(root)] for root in roots))


def _row(node: Node, variables: dict[Var, int], numbers: dict[int, int]) -> Hashable:
    if isinstance(node, Var):
        return ("Var", node.dtype, variables.setdefault(node, len(variables)))
    if isinstance(node, Const):
        return ("Const", node.dtype, bit_pattern(node.value, node.dtype))
    plain = tuple(getattr(node, name) for name in plain_fields(node))
    return (type(node).__name__, plain, tuple(numbers[id(c)] for c in node.children()))
