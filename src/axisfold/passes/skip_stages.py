# SPDX-License-Identifier: Apache-2.0
"""skip_stages: what is only used where a condition holds is only computed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, IfThenElse, Load, Node, Select
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Seq, Stmt, Store
from axisfold.ir.walk import children, free_vars, post_order
from axisfold.passes.rewriter import StmtRewriter


def skip_stages(kernel: Kernel) -> Kernel:
    """Compute a stage under the condition that all its readers have in common.

    Before::

        allocate(P) { P[0] = far  for (r, 0, n) { P[0] = min(P[0], …) }  y = select(c, P[0], y) }

    After::

        allocate(P) { if (c) { P[0] = far  for (r, 0, n) { … } }  y = select(c, P[0], y) }

    Notes
    -----
    The idea is that of Halide's pass of this name.  A condition counts if it depends on nothing
    that is written between the stage and its reader.
    """
    return _Skipper().run(kernel)


class _Skipper(StmtRewriter):
    def visit(self, stmt: Stmt) -> Stmt:
        result = super().visit(stmt)  # the last stage first: those before it are read there
        return _skipping(result) if isinstance(result, Allocate) else result


def _skipping(allocation: Allocate) -> Allocate:
    """Return an allocation whose stage is computed where it is used."""
    buffer, body = allocation.buffer, allocation.body
    if not (buffer.is_on_stack and isinstance(body, Seq)):
        return allocation
    last = max((n for n, s in enumerate(body.body) if buffer in _written(s)), default=-1)
    stage, readers = body.body[: last + 1], body.body[last + 1 :]
    if not any(isinstance(n, For) for s in stage for n in post_order(s)):
        return allocation
    if any(_written(s) - {buffer} for s in stage):
        return allocation
    condition = _condition(readers, buffer)
    if condition is None:
        return allocation
    guarded = build.seq(*stage)
    for part in reversed(build.conjuncts(condition)):
        guarded = If(part, guarded)
    return replace(allocation, body=build.seq(guarded, *readers))


def _condition(readers: Sequence[Stmt], buffer: Buffer) -> Expr | None:
    """Return what holds wherever the buffer is read, None if it is not known before that."""
    found = list(_reads(readers, buffer))
    conditions, written = found[0] if found else ((), frozenset())
    if not conditions or any(set(c) != set(conditions) for c, _ in found):
        return None
    written = written.union(*(w for _, w in found))
    inside = {n.var for s in readers for n in post_order(s) if isinstance(n, (For, Let))}
    for condition in conditions:
        loads = (n.buffer for n in post_order(condition) if isinstance(n, Load))
        if inside.intersection(free_vars(condition)) or written.intersection(loads):
            return None
    return build.all_of(conditions)


def _reads(
    readers: Sequence[Stmt], buffer: Buffer
) -> Iterator[tuple[tuple[Expr, ...], frozenset[Buffer]]]:
    """Yield for each read under which conditions it stands, and what is written before it."""
    written: set[Buffer] = set()
    waiting: list[tuple[Node | Buffer, tuple[Expr, ...]]] = [(s, ()) for s in reversed(readers)]
    while waiting:
        node, under = waiting.pop()
        match node:
            case Buffer():
                written.add(node)
                continue
            case (
                If(condition, yes, no) | Select(condition, yes, no) | IfThenElse(condition, yes, no)
            ):
                if no is not None:
                    waiting.append((no, _with(under, build.logical_not(condition))))
                waiting += [(yes, _with(under, condition)), (condition, under)]
                continue
            case Load() if node.buffer == buffer:
                yield under, frozenset(written)
            case Store():
                waiting.append((node.buffer, ()))  # once its value has been read
            case For():
                written |= _written(node)  # by the rounds before
            case _:
                pass
        waiting += [(child, under) for child in reversed(children(node))]


def _with(conditions: tuple[Expr, ...], more: Expr) -> tuple[Expr, ...]:
    return tuple(dict.fromkeys((*conditions, *build.conjuncts(more))))


def _written(stmt: Stmt) -> set[Buffer]:
    return {n.buffer for n in post_order(stmt) if isinstance(n, Store)}
