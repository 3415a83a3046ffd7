# SPDX-License-Identifier: Apache-2.0
"""Walking and rewriting IR.  Everything here is iterative: depth is bounded by memory only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from itertools import islice
from operator import attrgetter, is_, itemgetter
from typing import Any, Final, TypeVar, cast

from axisfold.ir.expr import Expr, Node, Var

N = TypeVar("N", bound=Node)


Getter = Callable[[Any], tuple[Node, ...]]
Maker = Callable[[Any, Sequence[Node]], Any]


def _child_kinds(cls: type[Any]) -> set[str]:
    """Return how the fields of a class hold children: one each, one or none, or any number."""
    kinds = {f.name: f.type for f in fields(cls)} if is_dataclass(cls) else {}
    return {str(kinds.get(name)) for name in cls.child_fields}


def _getter(cls: type[Any]) -> Getter:
    """Return what reads the children of a class, which differ in how fields hold them."""
    names, held = cls.child_fields, _child_kinds(cls)
    if not names:
        return lambda _: ()
    if held <= _ONE:
        return _whole(names)
    kinds = {f.name: str(f.type) for f in fields(cls)}
    optional = [n for n, name in enumerate(names) if kinds[name] in _OPTIONAL]
    if held <= _ONE | _OPTIONAL and len(optional) == 1:
        return _present(_whole(names), optional[0])
    return _generic


_ONE: Final = frozenset({"Expr", "Stmt"})
_OPTIONAL: Final = frozenset({"Expr | None", "Stmt | None"})


def _present(read: Callable[[Any], tuple[Any, ...]], at: int) -> Getter:
    """Return what reads fields of which one may hold nothing."""

    def getter(node: Node) -> tuple[Node, ...]:
        found = read(node)
        return found if found[at] is not None else found[:at] + found[at + 1 :]

    return getter


def _whole(names: tuple[str, ...]) -> Getter:
    """Return what reads fields that hold one value each."""
    if len(names) > 1:
        return attrgetter(*names)
    only: Callable[[Any], Any] = attrgetter(*names)
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


class _Getters(dict[type[Any], Getter]):
    """What reads the children of each class of nodes."""

    def __missing__(self, cls: type[Any]) -> Getter:
        self[cls] = _getter(cls)
        return self[cls]


_getters: Final = _Getters()


def children(node: Node) -> tuple[Node, ...]:
    """Return the child nodes in evaluation order."""
    return _getters[type(node)](node)


def _maker(cls: type[Any]) -> Maker:
    """Return what makes a node of a class from one like it and other children."""
    given = [f.name for f in fields(cls) if f.init]
    names = cls.child_fields
    if not _child_kinds(cls) <= _ONE:
        return _remade
    plain = tuple(name for name in given if name not in names)
    if not plain:
        return lambda _, new: cls(*new)
    read, held = _whole(plain), (*names, *plain)
    pick = itemgetter(*(held.index(name) for name in given))
    return lambda node, new: cls(*pick((*new, *read(node))))


def _remade(node: Node, new_children: Sequence[Node]) -> Node:
    cls = type(node)
    fresh = iter(new_children)
    values: dict[str, object] = {}
    for name in cls.child_fields:
        value = getattr(node, name)
        if isinstance(value, tuple):
            values[name] = tuple(islice(fresh, len(value)))
        else:
            values[name] = None if value is None else next(fresh)
    return cls(*[values[n] if n in values else getattr(node, n) for n in _init_fields(cls)])


class _Makers(dict[type[Any], Maker]):
    """What makes a node of each class from one like it."""

    def __missing__(self, cls: type[Any]) -> Maker:
        self[cls] = _maker(cls)
        return self[cls]


_makers: Final = _Makers()
_init: dict[type[Any], tuple[str, ...]] = {}


def _init_fields(cls: type[Any]) -> tuple[str, ...]:
    if cls not in _init:
        _init[cls] = tuple(f.name for f in fields(cls) if f.init)
    return _init[cls]


def rebuild(node: N, new_children: Sequence[Node]) -> N:
    """Return ``node`` with other children, the same object if they are the same objects."""
    cls = type(node)
    old = _getters[cls](node)
    if len(old) == len(new_children) and all(map(is_, new_children, old)):
        return node
    return cast("N", _makers[cls](node, new_children))


def post_order(*roots: Node) -> Iterator[Node]:
    """Yield each distinct node object once, children before parents."""
    seen: set[int] = set()
    stack: list[Node | None] = [*reversed(roots)]  # None: the node below is next
    while stack:
        node = stack.pop()
        if node is None:
            yield cast("Node", stack.pop())
        elif id(node) not in seen:
            seen.add(id(node))
            if not node.child_fields:  # half of all nodes
                yield node
                continue
            stack += (node, None)
            stack += _getters[type(node)](node)[::-1]


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
            inside = [c for c in _getters[type(node)](node) if not isinstance(c, Expr)]
            if not inside:
                yield node
                continue
            stack += (node, None)
            stack += inside[::-1]


def rewrite(root: N, rule: Callable[[Node], Node]) -> N:
    """Rewrite bottom-up: ``rule`` gets each node with its children already rewritten.

    The rule returns its argument to leave a node as it is.  A shared subtree is visited once.
    """
    return rewrite_all((root,), rule)[0]


def rewrite_statements(root: N, rule: Callable[[Node], Node]) -> N:
    """Rewrite bottom-up as :func:`rewrite` does, but leave expressions as they are."""
    return rewrite_all((root,), rule, leaves_expr=True)[0]


def rewrite_all(
    roots: Sequence[N],
    rule: Callable[[Node], Node],
    done: dict[int, Node] | None = None,
    *,
    leaves_expr: bool = False,
) -> list[N]:
    """Rewrite several roots, which go on sharing what they share.

    ``done`` keeps, by identity, what nodes have become, for roots to come; the caller keeps these.
    """
    done = {} if done is None else done
    stack: list[Any] = [*reversed(roots)]  # None: the node below is next, of the children below it
    while stack:
        node = stack.pop()
        if node is None:
            node, old = stack.pop(), stack.pop()
            new = [done[id(child)] for child in old]
            same = all(map(is_, new, old))
            done[id(node)] = rule(node if same else _makers[type(node)](node, new))
        elif id(node) in done:
            continue
        elif leaves_expr and isinstance(node, Expr):
            done[id(node)] = node
        elif not node.child_fields:
            done[id(node)] = rule(node)
        else:
            old = _getters[type(node)](node)
            stack += (old, node, None)
            stack += old[::-1]
    return cast("list[N]", [done[id(root)] for root in roots])


def substitute(root: N, mapping: Mapping[Var, Expr]) -> N:
    """Replace variables by expressions."""
    return substitute_all((root,), mapping)[0]


def substitute_all(roots: Sequence[N], mapping: Mapping[Var, Expr]) -> list[N]:
    """Replace variables by expressions in several roots, which go on sharing what they share."""
    if not mapping:
        return list(roots)
    return rewrite_all(roots, lambda n: mapping.get(n, n) if isinstance(n, Var) else n)


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
