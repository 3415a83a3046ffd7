# SPDX-License-Identifier: Apache-2.0
"""Walking and rewriting IR.  Everything here is iterative: depth is bounded by memory only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from itertools import islice
from operator import attrgetter, is_
from typing import Any, Final, TypeVar, cast

from axisfold.ir.expr import Expr, Node, Var

N = TypeVar("N", bound=Node)


Getter = Callable[[Any], tuple[Node, ...]]

_getters: dict[type[Any], Getter] = {}


def _getter(cls: type[Any]) -> Getter:
    """Return what reads the children of a class, which differ in how fields hold them."""
    names = cls.child_fields
    if not names:
        return lambda _: ()
    kinds = {f.name: f.type for f in fields(cls)} if is_dataclass(cls) else {}
    held = {str(kinds.get(name)) for name in names}
    if held <= {"Expr", "Stmt", "Expr | None", "Stmt | None"}:
        if held <= {"Expr", "Stmt"}:
            return _whole(names)
        some: Callable[[Any], tuple[Node | None, ...]] = _whole(names)
        return lambda node: tuple([child for child in some(node) if child is not None])
    return _generic


def _whole(names: tuple[str, ...]) -> Getter:
    """Return what reads fields that hold one node each."""
    if len(names) > 1:
        return attrgetter(*names)
    only = attrgetter(names[0])
    return lambda node: (only(node),)


def _generic(node: Node) -> tuple[Node, ...]:
    found: list[Node] = []
    for name in node.child_fields:
        value = getattr(node, name)
        if isinstance(value, tuple):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return tuple(found)


def children(node: Node) -> tuple[Node, ...]:
    """Return the child nodes in evaluation order."""
    cls = type(node)
    try:
        getter = _getters[cls]
    except KeyError:
        getter = _getters[cls] = _getter(cls)
    return getter(node)


_init: dict[type[Any], tuple[str, ...]] = {}


def _init_fields(cls: type[Any]) -> tuple[str, ...]:
    if cls not in _init:
        _init[cls] = tuple(f.name for f in fields(cls) if f.init)
    return _init[cls]


def rebuild(node: N, new_children: Sequence[Node]) -> N:
    """Return ``node`` with other children, the same object if they are the same objects."""
    old = children(node)
    if len(old) == len(new_children) and all(map(is_, new_children, old)):
        return node
    cls = type(node)
    fresh = iter(new_children)
    values: dict[str, object] = {}
    for name in node.child_fields:
        value = getattr(node, name)
        if isinstance(value, tuple):
            values[name] = tuple(islice(fresh, len(value)))
        else:
            values[name] = None if value is None else next(fresh)
    return cls(*[values[n] if n in values else getattr(node, n) for n in _init_fields(cls)])


def post_order(root: Node) -> Iterator[Node]:
    """Yield each distinct node object once, children before parents."""
    seen: set[int] = set()
    stack: list[Node | None] = [root]  # None: the node below is next
    while stack:
        node = stack.pop()
        if node is None:
            yield cast("Node", stack.pop())
        elif id(node) not in seen:
            seen.add(id(node))
            if not node.child_fields:  # half of all nodes
                yield node
                continue
            stack += (node, None, *reversed(children(node)))


def statements(root: Node) -> Iterator[Node]:
    """Yield each distinct statement once, those inside of it before it; no expressions."""
    seen: set[int] = set()
    stack: list[Node | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            yield cast("Node", stack.pop())
        elif id(node) not in seen:
            seen.add(id(node))
            stack += (node, None)
            stack += [child for child in reversed(children(node)) if not isinstance(child, Expr)]


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


def variables(root: Node) -> frozenset[Var]:
    """Return the variables that occur, remembered by each node."""
    stack = [root]
    while stack:
        node = stack[-1]
        if hasattr(node, "_variables"):
            stack.pop()
            continue
        below = children(node)
        missing = [child for child in below if not hasattr(child, "_variables")]
        if missing:
            stack += missing
            continue
        stack.pop()
        sets = [child._variables for child in below]  # type: ignore[attr-defined]
        widest = max(sets, key=len, default=_NONE)
        found = frozenset((node,)) if isinstance(node, Var) else widest.union(*sets)
        # Most nodes have the variables of one child, and share its set.
        object.__setattr__(node, "_variables", widest if found == widest else found)
    return cast("frozenset[Var]", root._variables)  # type: ignore[attr-defined]


_NONE: Final[frozenset[Var]] = frozenset()


def uses(root: Node, searched: AbstractSet[Var]) -> bool:
    """Return whether any of the variables ``searched`` occurs."""
    return not variables(root).isdisjoint(searched)
