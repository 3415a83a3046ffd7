# SPDX-License-Identifier: Apache-2.0
"""skip_stages: what is only used where a condition holds is only computed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, IfThenElse, Load, Node, Select
from axisfold.ir.stmt import Allocate, For, If, Kernel, Let, Seq, Stmt, Store
from axisfold.ir.walk import post_order, statements, uses
from axisfold.passes.rewriter import StmtRewriter


def skip_stages(kernel: Kernel) -> Kernel:
    """Compute a stage under the condition that all its readers have in common.

    Before::

        allocate(P) { P[0] = far  for (r, 0, n) { P[0] = min(P[0], …) }  y = select(c, P[0], y) }

    After::

        allocate(P) { if (c) { P[0] = far  for (r, 0, n) { … } } else { P[0] = 0 }  y = … }

    A reader that does nothing else comes under the same condition.

    Notes
    -----
    The idea is that of Halide's pass of this name.  A condition counts if it depends on nothing
    that is written between the stage and its reader.
    """
    return _Skipper().run(kernel)


class _Skipper(StmtRewriter):
    def visit(self, stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Allocate):
            return super().visit(stmt)
        _, body = _fields(stmt)
        result = self.visit(body)  # the last stage first: those before it are read there
        return _skipping(stmt if result is body else _with_body(stmt, result))


def _skipping(allocation: Allocate) -> Allocate:
    """Return an allocation whose stage is computed where it is used."""
    fields, body = _fields(allocation)
    if not (isinstance(body, Seq) and all(b.is_on_stack for b in fields)):
        return allocation
    buffers, written = set(fields), [_written(s) for s in body.body]
    last = max((n for n, found in enumerate(written) if buffers & found), default=-1)
    stage, readers = body.body[: last + 1], body.body[last + 1 :]
    if any(found - buffers for found in written[: last + 1]):
        return allocation
    if not any(isinstance(n, For) for s in stage for n in statements(s)):
        return allocation
    found = _reads(readers, buffers)
    first = next(found, None)
    if first is None or not _own(first):  # as most are: the others need not be looked for
        return allocation
    reads = [first, *found]
    condition = _condition(readers, reads)
    if condition is None:
        return allocation
    if len(readers) == 1 and (rest := _under(readers[0], condition)) is not None:
        return _with_body(allocation, If(condition, build.seq(*stage, rest)))
    # What is evaluated without being used shall be written: of arrays that would take a loop.
    ones = [b for b in fields if all(build.as_int(e) == 1 for e in b.allocated_extents)]
    if len(ones) < len(fields) and any(r.is_evaluated for r in reads):
        return allocation
    zero = build.const(0, INT64)
    guarded = build.seq(*stage)
    for part in reversed(build.conjuncts(condition)):
        nothing = [Store(b, zero, build.const(0, b.dtype)) for b in ones]
        guarded = If(part, guarded, build.seq(*nothing) if nothing else None)
    return _with_body(allocation, build.seq(guarded, *readers))


def _under(reader: Stmt, condition: Expr) -> Stmt | None:
    """Return what a reader, or each round of it, does if a condition holds, None if more."""
    match reader:
        case For(body=body):
            inner = _under(body, condition)
            return None if inner is None else replace(reader, body=inner)
        case If(condition=own, then=then, otherwise=None) if own == condition:
            return then
        case _:
            return None


def _fields(allocation: Allocate) -> tuple[list[Buffer], Stmt]:
    """Return the buffers of a stage, one for each field of its state, and what they live for."""
    fields, body = [allocation.buffer], allocation.body
    while isinstance(body, Allocate):
        fields.append(body.buffer)
        body = body.body
    return fields, body


def _with_body(allocation: Allocate, body: Stmt) -> Allocate:
    inner = allocation.body
    return replace(
        allocation, body=_with_body(inner, body) if isinstance(inner, Allocate) else body
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A read: the conditions it is used under, what is written before, and whether it runs anyway.

    Both sides of a ``Select`` are evaluated.
    """

    conditions: tuple[Expr, ...]
    written: frozenset[Buffer]
    is_evaluated: bool


def _own(read: _Read) -> list[Expr]:
    """Return the conditions of a read but for guards of tails, which go where loops are cut."""
    return [c for c in read.conditions if build.bare(c) is c]


def _condition(readers: Sequence[Stmt], reads: Sequence[_Read]) -> Expr | None:
    """Return what holds wherever buffers are read, None if it is not known before that."""
    conditions = [c for c in _own(reads[0]) if all(c in r.conditions for r in reads)]
    if not conditions:
        return None
    written = frozenset().union(*(r.written for r in reads))
    inside = {n.var for s in readers for n in statements(s) if isinstance(n, (For, Let))}
    for condition in conditions:
        loads = (n.buffer for n in post_order(condition) if isinstance(n, Load))
        if uses(condition, inside) or written.intersection(loads):
            return None
    return build.all_of(conditions)


def _reads(readers: Sequence[Stmt], buffers: set[Buffer]) -> Iterator[_Read]:
    """Yield the reads of some buffers in order."""
    written: set[Buffer] = set()
    waiting: list[tuple[Node | Buffer, tuple[Expr, ...], bool]]
    waiting = [(s, (), False) for s in reversed(readers)]
    while waiting:
        node, under, runs = waiting.pop()
        match node:
            case Buffer():
                written.add(node)
                continue
            case If() | Select() | IfThenElse():
                condition, sides = node.condition, node.children()[1:]
                holds = (condition, build.logical_not(condition))
                for side, held in reversed(list(zip(sides, holds, strict=False))):
                    waiting.append((side, _with(under, held), runs or isinstance(node, Select)))
                waiting.append((condition, under, runs))
                continue
            case Load() if node.buffer in buffers:
                yield _Read(under, frozenset(written), runs)
            case Store():
                waiting.append((node.buffer, (), False))  # once its value has been read
            case For():
                written |= _written(node)  # by the rounds before
            case _:
                pass
        waiting += [(child, under, runs) for child in reversed(node.children())]


def _with(conditions: tuple[Expr, ...], more: Expr) -> tuple[Expr, ...]:
    return tuple(dict.fromkeys((*conditions, *build.conjuncts(more))))


def _written(stmt: Stmt) -> set[Buffer]:
    """Return what a statement leaves written."""
    nodes = list(statements(stmt))
    own = {n.buffer for n in nodes if isinstance(n, Allocate)}
    return {n.buffer for n in nodes if isinstance(n, Store)} - own
