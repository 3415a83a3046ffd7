# SPDX-License-Identifier: Apache-2.0
"""free_registers: threads without a row compute as the others do, on zeros, and store nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from axisfold.ir import build
from axisfold.ir.expr import Expr, Load, Node
from axisfold.ir.stmt import (
    AllReduce,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import free_vars, post_order, rewrite, statements
from axisfold.passes.copying import renamed_loops
from axisfold.passes.rewriter import StmtRewriter
from axisfold.passes.threads import is_block_tag, is_thread_tag

# All-reduces of threads that pass several times over what they hold.
PASSES: Final = 2


def free_registers(kernel: Kernel) -> Kernel:
    """Take the guard of a row away from what reads and writes registers only.

    Before::

        if likely(row < n) { held = x[row] }  if likely(row < n) { top = max(top, held) }
        allreduce(top where row < n)  if likely(row < n) { y[row] = held - top }

    After::

        if (row < n) { held = x[row] } else { held = 0 }  top = max(top, held)
        allreduce(top)  if likely(row < n) { y[row] = held - top }

    What is computed under a guard in front of an all-reduce, the compiler computes again behind it.
    """
    return _FreeRegisters().run(kernel)


class _FreeRegisters(StmtRewriter):
    def visit_launch(self, launch: Launch) -> Stmt:
        meetings = [n for n in statements(launch.body) if isinstance(n, AllReduce)]
        if len(meetings) < PASSES or any(m.level == "grid" for m in meetings):
            return launch
        team = {thread for meeting in meetings for thread in meeting.threads}
        tagged = zip(launch.vars, launch.tags, strict=True)
        own = {v for v, tag in tagged if is_block_tag(tag) or is_thread_tag(tag)} - team
        inner = {n.var for n in statements(launch.body) if isinstance(n, For)}
        for guard in dict.fromkeys(build.bare(n.condition) for n in _tails(launch.body)):
            used = set(free_vars(guard))
            if used & own and not used & (team | inner) and _is_free(launch.body, guard):
                launch = replace(launch, body=_freed(launch.body, guard))
        return launch


def _tails(stmt: Stmt) -> Iterator[If]:
    """Yield what stands under guards of tails."""
    for node in statements(stmt):
        if isinstance(node, If) and build.bare(node.condition) is not node.condition:
            yield node


def _is_free(stmt: Stmt, guard: Expr) -> bool:
    """Return whether all under a guard either fills registers, or computes in them, or stores."""
    return all(
        (_fills(n.then) and build.bare(n.condition) == guard)
        or _is_in_registers(n.then)
        or not _writes(n.then, is_local=True)
        for n in statements(stmt)
        if isinstance(n, If) and _asks(n.condition, guard)
    )


def _asks(condition: Expr, guard: Expr) -> bool:
    return any(build.bare(c) == guard for c in build.conjuncts(condition))


def _beside(condition: Expr, guard: Expr) -> Expr:
    """Return what a condition asks for beside a guard."""
    return build.all_of([c for c in build.conjuncts(condition) if build.bare(c) != guard])


def _freed(stmt: Stmt, guard: Expr) -> Stmt:
    """Return a statement in which a guard stands in front of other memory only."""

    def rule(node: Node) -> Node:
        match node:
            case If(condition, then, None) if _asks(condition, guard):
                if _is_in_registers(then):
                    rest = _beside(condition, guard)
                    return If(rest, then) if build.conjuncts(rest) else then
                return If(guard, then, renamed_loops(_zeros(then))) if _fills(then) else node
            case AllReduce():
                return replace(node, condition=_beside(node.condition, guard))
            case Seq():
                return build.seq(*node.body)  # of a guard, several statements may be left
        return node

    return rewrite(stmt, rule)


def _fills(stmt: Stmt) -> bool:
    """Return whether a statement does nothing but to load into registers."""
    return (
        not _writes(stmt, is_local=False)
        and not _reads(stmt, is_local=True)
        and not _has_meeting(stmt)
    )


def _is_in_registers(stmt: Stmt) -> bool:
    """Return whether a statement reads and writes nothing but registers."""
    return not (_writes(stmt, is_local=False) or _reads(stmt, is_local=False) or _has_meeting(stmt))


def _writes(stmt: Stmt, *, is_local: bool) -> bool:
    stores = (n for n in statements(stmt) if isinstance(n, Store))
    return any((n.buffer.scope == "local") is is_local for n in stores)


def _reads(stmt: Stmt, *, is_local: bool) -> bool:
    loads = (n for n in post_order(stmt) if isinstance(n, Load))
    return any((n.buffer.scope == "local") is is_local for n in loads)


def _has_meeting(stmt: Stmt) -> bool:
    return any(isinstance(n, (AllReduce, Shuffle, Barrier, Ticket)) for n in statements(stmt))


def _zeros(stmt: Stmt) -> Stmt:
    """Return a statement that stores zeros where another one stores."""

    def rule(node: Node) -> Node:
        if not isinstance(node, Store):
            return node
        return replace(node, value=build.const(0, node.value.dtype))

    return rewrite(stmt, rule)
