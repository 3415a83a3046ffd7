# SPDX-License-Identifier: Apache-2.0
"""Copies of statements: other values for variables, and variables of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Compare, Expr, Load, Node, Var
from axisfold.ir.stmt import Allocate, For, Let, Seq, Shuffle, Stmt, Store, Ticket
from axisfold.ir.walk import post_order, rebuild, rewrite, statements

S = TypeVar("S", bound=Stmt | Expr)


def renamed_loops(stmt: S) -> S:
    """Return a copy whose loops and names have variables of their own."""
    fresh: dict[Var, Var] = {
        node.var: Var(node.var.name, node.var.dtype, node.var.is_size)
        for node in statements(stmt)
        if isinstance(node, (For, Let))
    }

    def rule(node: Node) -> Node:
        match node:
            case Var():
                return fresh.get(node, node)
            case For() | Let():
                return replace(node, var=fresh[node.var])
            case _:
                return node

    return _rewritten(stmt, rule)


def written_out(body: Stmt, var: Var, values: Iterable[Expr]) -> list[Stmt]:
    """Return a copy of a body for each value of a variable, with loops and names of its own.

    What does not depend on the variable is shared.
    """
    nodes = list(post_order(body))
    if any(isinstance(node, Allocate) for node in nodes):
        return [renamed_loops(fold_substitute(body, {var: value})) for value in values]
    names = [node.var for node in nodes if isinstance(node, (For, Let))]
    moving = {id(v) for v in (var, *names)}
    changed: list[tuple[Node, tuple[Node, ...]]] = []
    for node in nodes:
        parts = node.children()
        named = isinstance(node, (For, Let))
        if named or id(node) in moving or any(id(part) in moving for part in parts):
            moving.add(id(node))
            changed.append((node, parts))
    copies = []
    for value in values:
        fresh = {v: Var(v.name, v.dtype, v.is_size) for v in names}
        done: dict[int, Node] = {id(var): value, **{id(v): new for v, new in fresh.items()}}
        for node, parts in changed:
            if id(node) not in done:
                done[id(node)] = _copied(node, [done.get(id(p), p) for p in parts], fresh)
        copies.append(cast("Stmt", done.get(id(body), body)))
    return copies


def opened(stmt: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """Return what a statement allocates around all else, and its parts in order."""
    buffers: list[Buffer] = []
    parts: list[Stmt] = []
    waiting = [stmt]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Seq):
            waiting += reversed(part.body)
        elif isinstance(part, Allocate) and part.buffer.scope == "local":
            buffers.append(part.buffer)
            waiting.append(part.body)
        else:
            parts.append(part)
    return buffers, parts


def _copied(node: Node, parts: list[Node], fresh: Mapping[Var, Var]) -> Node:
    match node:
        case Binary():
            return build.binary(node.op, *cast("list[Expr]", parts))
        case Compare():
            return build.compare(node.op, *cast("list[Expr]", parts))
        case For() | Let():
            return replace(rebuild(node, parts), var=fresh[node.var])
        case _:
            return rebuild(node, parts)


def fold_substitute(stmt: S, mapping: Mapping[Var, Expr]) -> S:
    """Replace variables and fold what becomes constant by it."""

    def rule(node: Node) -> Node:
        match node:
            case Var():
                return mapping.get(node, node)
            case Binary():
                return build.binary(node.op, node.a, node.b)
            case Compare():
                return build.compare(node.op, node.a, node.b)
            case _:
                return node

    return _rewritten(stmt, rule)


def _rewritten(stmt: S, rule: Callable[[Node], Node]) -> S:
    """Rewrite a statement and the extents of what it allocates, which are no child nodes."""
    buffers: dict[Buffer, Buffer] = {}
    for node in statements(stmt):
        if isinstance(node, Allocate):
            old = (*node.buffer.shape, *node.buffer.strides)
            new = tuple(rewrite(extent, rule) for extent in old)
            if any(a is not b for a, b in zip(new, old, strict=True)):
                rank = len(node.buffer.shape)
                buffers[node.buffer] = replace(node.buffer, shape=new[:rank], strides=new[rank:])

    def whole(node: Node) -> Node:
        if isinstance(node, (Load, Store, Allocate)) and node.buffer in buffers:
            node = replace(node, buffer=buffers[node.buffer])
        if isinstance(node, (Shuffle, Ticket)) and node.target in buffers:
            node = replace(node, target=buffers[node.target])
        return rule(node)

    return rewrite(stmt, whole)
