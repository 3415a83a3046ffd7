# SPDX-License-Identifier: Apache-2.0
"""Structural equality and hash, iterative; variables and buffers compare by identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from axisfold.dtypes import bit_pattern
from axisfold.ir.expr import Const, Node, Var
from axisfold.ir.walk import children

_plain: dict[type[Any], tuple[str, ...]] = {}


def plain_fields(cls: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields that are values rather than children."""
    if cls not in _plain:
        _plain[cls] = tuple(f.name for f in fields(cls) if f.name not in cls.child_fields)
    return _plain[cls]


_shapes: dict[type[Any], tuple[Callable[[Any], object] | None, tuple[str, ...]]] = {}


def _shape(cls: type[Any]) -> tuple[Callable[[Any], object] | None, tuple[str, ...]]:
    """Return what reads the given values of a class, and its fields of a varying number of nodes.

    Fields that are computed follow from the others.
    """
    if cls not in _shapes:
        given = [f for f in fields(cls) if f.init]
        plain = [f.name for f in given if f.name not in cls.child_fields]
        varying = (f.name for f in given if f.name in cls.child_fields)
        kinds = {f.name: str(f.type) for f in given}
        _shapes[cls] = (
            attrgetter(*plain) if plain else None,
            tuple(name for name in varying if kinds[name] not in ("Expr", "Stmt")),
        )
    return _shapes[cls]


def _payload(node: Node) -> object:
    """What a node is apart from its children."""
    if isinstance(node, Const):
        return (node.dtype, bit_pattern(node.value, node.dtype))
    read, varying = _shape(type(node))
    values = None if read is None else read(node)
    if not varying:
        return values
    return values, tuple([_count(getattr(node, name)) for name in varying])


def _count(held: object) -> int | None:
    """Return how many nodes a field holds; an empty tuple is not None."""
    if held is None:
        return None
    return len(held) if isinstance(held, tuple) else 1


def structural_equal(a: Node, b: Node) -> bool:
    """Return whether two nodes are the same tree."""
    if hash(a) != hash(b):
        return False
    stack = [(a, b)]
    same: set[tuple[int, int]] = set()
    while stack:
        x, y = stack.pop()
        if x is y or (id(x), id(y)) in same:
            continue
        if type(x) is not type(y) or isinstance(x, Var) or _payload(x) != _payload(y):
            return False
        same.add((id(x), id(y)))
        stack.extend(zip(children(x), children(y), strict=True))
    return True


def structural_hash(root: Node) -> int:
    """Return a hash that equal trees share; cached in each node."""
    stack = [root]
    while stack:
        node = stack[-1]
        if hasattr(node, "_hash"):
            stack.pop()
            continue
        below = children(node)
        try:
            parts = [child._hash for child in below]  # type: ignore[attr-defined]
        except AttributeError:
            stack.extend([child for child in below if not hasattr(child, "_hash")])
            continue
        if isinstance(node, Var):
            value = object.__hash__(node)
        else:
            value = hash((type(node).__name__, _payload(node), *parts))
        object.__setattr__(node, "_hash", value)
        stack.pop()
    return root._hash  # type: ignore[attr-defined, no-any-return]
