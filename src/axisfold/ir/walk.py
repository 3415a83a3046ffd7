# SPDX-License-Identifier: Apache-2.0
"""Walking and rewriting IR.  Everything here is iterative: depth is bounded by memory only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from operator import attrgetter, is_
from typing import Any, TypeVar, cast

from axisfold.ir.expr import Expr, Node, Var

N = TypeVar("N", bound=Node)


_getters: dict[type[Any], Callable[[Any], tuple[Node, ...]] | None] = {}


def _getter(cls: type[Any]) -> Callable[[Any], tuple[Node, ...]] | None:
    """Return what reads the children of a class whose fields all hold one node each, else None."""
    kinds = {f.name: f.type for f in fields(cls)} if is_dataclass(cls) else {}
    if any(kinds.get(name) not in ("Expr", "Stmt") for name in cls.child_fields):
        return None
    if len(cls.child_fields) > 1:
        return attrgetter(*cls.child_fields)
    only = attrgetter(cls.child_fields[0])
    return lambda node: (only(node),)


def children(node: Node) -> tuple[Node, ...]:
    """Return the child nodes in evaluation order."""
    names = node.child_fields
    if not names:
        return ()
    cls = type(node)
    try:
        getter = _getters[cls]
    except KeyError:
        getter = _getters[cls] = _getter(cls)
    if getter is not None:
        return getter(node)
    found: list[Node] = []
    for name in names:
        value = getattr(node, name)
        if isinstance(value, tuple):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return tuple(found)


_init: dict[type[Any], tuple[str, ...]] = {}


def _init_fields(cls: type[Any]) -> tuple[str, ...]:
    if cls not in _init:
        _init[cls] = tuple(f.name for f in fields(cls) if f.init)
    return _init[cls]


def rebuild(node: N, new_children: Sequence[Node]) -> N:
    """Return ``node`` with other children, the same object if they are the same objects."""
    position = 0
    changed: dict[str, object] = {}
    for name in node.child_fields:
        value = getattr(node, name)
        if value is None:
            continue
        if isinstance(value, tuple):
            part = tuple(new_children[position : position + len(value)])
            position += len(value)
            if any(new is not old for new, old in zip(part, value, strict=True)):
                changed[name] = part
        else:
            if new_children[position] is not value:
                changed[name] = new_children[position]
            position += 1
    if not changed:
        return node
    cls = type(node)
    kept = {name: getattr(node, name) for name in _init_fields(cls) if name not in changed}
    return cls(**kept, **changed)


def post_order(root: Node) -> Iterator[Node]:
    """Yield each distinct node object once, children before parents."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            if not node.child_fields:  # half of all nodes
                yield node
                continue
            stack.append((node, True))
            stack.extend([(child, False) for child in reversed(children(node))])


def rewrite(root: N, rule: Callable[[Node], Node]) -> N:
    """Rewrite bottom-up: ``rule`` gets each node with its children already rewritten.

    The rule returns its argument to leave a node as it is.  A shared subtree is visited once.
    """
    done: dict[int, Node] = {}
    stack: list[Node] = [root]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        old = children(node)
        missing = [child for child in old if id(child) not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        new = [done[id(child)] for child in old]
        done[id(node)] = rule(node if all(map(is_, new, old)) else rebuild(node, new))
    return cast("N", done[id(root)])


def substitute(root: N, mapping: Mapping[Var, Expr]) -> N:
    """Replace variables by expressions."""
    if not mapping:
        return root
    return rewrite(root, lambda n: mapping.get(n, n) if isinstance(n, Var) else n)


def free_vars(root: Node) -> list[Var]:
    """Return the variables that occur, in order of first occurrence (loop variables included)."""
    return [node for node in post_order(root) if isinstance(node, Var)]


def uses(root: Node, variables: set[Var] | frozenset[Var]) -> bool:
    """Return whether any of ``variables`` occurs."""
    return any(isinstance(node, Var) and node in variables for node in post_order(root))
