# SPDX-License-Identifier: Apache-2.0
"""Walking and rewriting IR.  Everything here is iterative: depth is bounded by memory only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import is_
from typing import Any, Final, TypeVar, cast

from axisfold.ir.expr import Expr, Node, Var

N = TypeVar("N", bound=Node)


def rebuild(node: N, new_children: Sequence[Node]) -> N:
    """Return ``node`` with other children, the same object if they are the same objects."""
    old = node.children()
    if len(old) == len(new_children) and all(map(is_, new_children, old)):
        return node
    return node.with_children(new_children)


def post_order(*roots: Node) -> Iterator[Node]:
    """Yield each distinct node object once, children before parents."""
    seen: set[int] = set()
    stack: list[Any] = [*reversed(roots)]  # None: the node below is next
    pop, see = stack.pop, seen.add
    while stack:
        node = pop()
        if node is None:
            yield pop()
        elif not node.child_fields:  # half of all nodes
            if (key := id(node)) not in seen:
                see(key)
                yield node
        elif (key := id(node)) not in seen:
            see(key)
            stack += (node, None)
            stack += node.children()[::-1]


def statements(root: Node) -> Iterator[Node]:
    """Yield each distinct statement once, those inside of it before it; no expressions."""
    seen: set[int] = set()
    stack: list[Any] = [root]
    pop, see = stack.pop, seen.add
    while stack:
        node = pop()
        if node is None:
            yield pop()
        elif (key := id(node)) not in seen:
            see(key)
            if inside := [c for c in node.children() if not isinstance(c, Expr)]:
                stack += (node, None)
                stack += inside[::-1]
            else:
                yield node


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
    pop = stack.pop
    while stack:
        node = pop()
        if node is None:
            node, old = pop(), pop()
            new = [done[id(child)] for child in old]
            same = all(map(is_, new, old))
            done[id(node)] = rule(node if same else node.with_children(new))
        elif id(node) in done:
            continue
        elif leaves_expr and isinstance(node, Expr):
            done[id(node)] = node
        elif not node.child_fields:  # half of all nodes
            done[id(node)] = rule(node)
        else:
            old = node.children()
            stack += (old, node, None)
            stack += old[::-1]
    return cast("list[N]", [done[id(root)] for root in roots])


def sharing(rule: Callable[[Node], Node]) -> Callable[[N], N]:
    """Return what rewrites one root after the other, which go on sharing what they share."""
    done: dict[int, Node] = {}
    seen: list[Node] = []  # kept, and so are their identities

    def rewritten(root: N) -> N:
        seen.append(root)
        return rewrite_all((root,), rule, done)[0]

    return rewritten


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
    known: frozenset[Var] | None = getattr(root, "_variables", None)
    if known is not None:
        return known
    stack = [root]
    while stack:
        node, size = stack[-1], len(stack)
        found = frozenset((node,)) if isinstance(node, Var) else _NONE
        for child in node.children():
            own = getattr(child, "_variables", None)
            if own is None:
                stack.append(child)
            elif not own <= found:  # most nodes have the variables of one child, and share its set
                found = own if found <= own else found | own
        if len(stack) == size:
            stack.pop()
            object.__setattr__(node, "_variables", found)
    return root._variables  # type: ignore[attr-defined, no-any-return]


_NONE: Final[frozenset[Var]] = frozenset()


def uses(root: Node, searched: AbstractSet[Var]) -> bool:
    """Return whether any of the variables ``searched`` occurs."""
    return not variables(root).isdisjoint(searched)
