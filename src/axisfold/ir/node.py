# SPDX-License-Identifier: Apache-2.0
"""What all nodes of IR have in common: children, structural equality and hash.

Everything here is iterative; variables and buffers compare by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from typing import Any, ClassVar, Final, Self, TypeVar


class Node:
    """Base of every IR node: children by declaration, and what has been found out about it.

    That is its structural hash, its variables, that it is simple whatever these may be, and its
    normal forms.  Frequent classes write out what the methods here do for any class.
    """

    __slots__ = ("_expanded", "_hash", "_is_simple", "_linear", "_variables")
    child_fields: ClassVar[tuple[str, ...]] = ()

    def children(self) -> tuple[Node, ...]:
        """Return the child nodes in evaluation order."""
        found: list[Node] = []
        for name in self.child_fields:
            value = getattr(self, name)
            if isinstance(value, tuple):
                found.extend(value)
            elif value is not None:
                found.append(value)
        return tuple(found)

    def with_children(self, new: Sequence[Any]) -> Self:
        """Return a node like this one with other children, as many as it has."""
        fresh = iter(new)
        values: dict[str, object] = {}
        for name in self.child_fields:
            value = getattr(self, name)
            if isinstance(value, tuple):
                values[name] = tuple(islice(fresh, len(value)))
            else:
                values[name] = None if value is None else next(fresh)
        given = _fields(type(self)).given
        return type(self)(*[values[n] if n in values else getattr(self, n) for n in given])

    def own(self) -> object:
        """Return what a node is apart from its children; fields that are computed follow."""
        known = _fields(type(self))
        values = None if known.read is None else known.read(self)
        if not known.varying:
            return values
        return values, tuple([_count(getattr(self, name)) for name in known.varying])

    def pieces(self) -> list[str | Node]:
        """Return the text of a node that the printer does not know (te's own)."""
        raise NotImplementedError(type(self).__name__)

    def refuse(self, other: object) -> None:
        """Raise where a comparison with something else was meant to build one."""

    def __getnewargs__(self) -> tuple[object, ...]:
        """Return what copies and pickles of a node are made of."""
        return tuple(getattr(self, name) for name in _fields(type(self)).given)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node):
            self.refuse(other)
            return False
        return type(self) is type(other) and structural_equal(self, other)

    def __hash__(self) -> int:
        try:
            return self._hash  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            return structural_hash(self)


N = TypeVar("N", bound=Node)

# Shared nodes by what they are made of; operands by their identities, since nodes keep them alive.
shared: Final[dict[tuple[object, ...], Any]] = {}
# Those of a plan are forgotten once it is made, and others when there are so many.
_MOST_SHARED: Final = 1 << 15


def share(key: tuple[object, ...], node: N) -> N:
    """Return a new node, which is the one of its key from now on."""
    if len(shared) >= _MOST_SHARED:
        shared.clear()
    shared[key] = node
    return node


def made(cls: type[N], key: tuple[object, ...], values: tuple[object, ...]) -> N:
    """Return a new node with the values of its fields, which is the one of its key from now on."""
    node = object.__new__(cls)
    for put, value in zip(_fields(cls).setters, values, strict=True):
        put(node, value)
    return share(key, node)


def forget_shared() -> None:
    """Let go of all shared nodes; what is made from now on are other objects, equal to them."""
    shared.clear()


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a class of nodes.

    ``given`` are those that a node is made of, ``plain`` all that hold no children.  ``read`` reads
    the given ones of these, ``varying`` hold any number of children, ``setters`` put values into
    all of them.
    """

    given: tuple[str, ...]
    plain: tuple[str, ...]
    read: Callable[[Any], object] | None
    varying: tuple[str, ...]
    setters: tuple[Callable[[object, object], None], ...]


_classes: dict[type[Any], _Fields] = {}


def _fields(cls: type[Any]) -> _Fields:
    found = _classes.get(cls)
    if found is None:
        given = [f for f in fields(cls) if f.init]
        plain = [f.name for f in given if f.name not in cls.child_fields]
        varying = (f for f in given if f.name in cls.child_fields)
        found = _classes[cls] = _Fields(
            tuple(f.name for f in given),
            tuple(f.name for f in fields(cls) if f.name not in cls.child_fields),
            attrgetter(*plain) if plain else None,
            tuple(f.name for f in varying if str(f.type) not in ("Expr", "Stmt")),
            tuple(vars(cls)[f.name].__set__ for f in fields(cls)),
        )
    return found


def plain_fields(node: Node) -> tuple[str, ...]:
    """Return the names of the fields that are values rather than children."""
    return _fields(type(node)).plain


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
        if type(x) is not type(y) or x.own() != y.own():
            return False
        same.add((id(x), id(y)))
        stack.extend(zip(x.children(), y.children(), strict=True))
    return True


def structural_hash(root: Node) -> int:
    """Return a hash that equal trees share; cached in each node."""
    stack = [root]
    while stack:
        node = stack[-1]
        if hasattr(node, "_hash"):
            stack.pop()
            continue
        below = node.children()
        try:
            parts = [child._hash for child in below]  # type: ignore[attr-defined]
        except AttributeError:
            stack.extend([child for child in below if not hasattr(child, "_hash")])
            continue
        value = hash((type(node).__name__, node.own(), *parts))
        object.__setattr__(node, "_hash", value)
        stack.pop()
    return root._hash  # type: ignore[attr-defined, no-any-return]
