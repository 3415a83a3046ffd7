# SPDX-License-Identifier: Apache-2.0
"""Parallel loops as functions of their own: what they capture, and what a round costs.

The threads know one kind of function, ``i32 chunk(ptr context, i64 begin, i64 end)``, which runs
some neighbouring rounds and returns 0 or an error.  The context is a struct on the stack of the
kernel.  A chunk only unpacks it and calls the function that holds the loop: there the buffers are
parameters again, which can promise that they do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, assert_never

from axisfold.codegen.llvm.types import value_type
from axisfold.dtypes import INT64
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Call, Expr, IfThenElse, Load, Node, Ramp, Var
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import children, post_order, substitute

# Name of the function that shares rounds among threads (the runtime has it): i32 (ptr chunk,
# ptr context, i64 rounds, i64 work of one round in about nanoseconds).  Kernels' names have a dot.
PARALLEL: Final = "axisfold_parallel"


@dataclass(frozen=True, slots=True)
class Outlined:
    """A parallel loop made ready to be a function.

    Attributes
    ----------
    rounds
        Runs the rounds from ``begin`` to ``end``.
    begin, end
        Variables of ``rounds``; they count from 0.
    extent
        How many rounds threads share.
    buffers, variables
        What ``rounds`` takes from outside.
    """

    rounds: Stmt
    begin: Var
    end: Var
    extent: Expr
    buffers: tuple[Buffer, ...]
    variables: tuple[Var, ...]


def outline(loop: For) -> Outlined:
    """Return the function that a parallel loop becomes.

    Memory that every round allocates alike is allocated once for all rounds of a call.  The first
    round of a loop that may end early comes before those that are shared: it has the number -1.
    """
    if loop.stop is not None:
        loop = replace(loop, min=loop.min + 1, extent=loop.extent - 1)
    begin, end = Var("begin", INT64), Var("end", INT64)
    own: list[Buffer] = []
    body = loop.body
    while isinstance(body, Allocate) and not _mentions(body.buffer, loop.var):
        own.append(body.buffer)
        body = body.body
    first = loop.min + begin
    rounds: Stmt = For(loop.var, first, end - begin, "serial", body, loop.stop)
    for buffer in reversed(own):
        rounds = Allocate(buffer, rounds)
    buffers, variables = _captured(rounds)
    outside = tuple(v for v in variables if v is not begin and v is not end)
    return Outlined(rounds, begin, end, loop.extent, buffers, outside)


def _mentions(buffer: Buffer, var: Var) -> bool:
    return any(node is var for extent in buffer.allocated_extents for node in post_order(extent))


def _captured(root: Stmt) -> tuple[tuple[Buffer, ...], tuple[Var, ...]]:
    """Return the buffers and variables that a statement uses and does not make."""
    buffers: dict[Buffer, None] = {}
    variables: dict[Var, None] = {}
    made: set[Buffer | Var] = set()
    for node in post_order(root):
        if isinstance(node, Var):
            variables[node] = None
        elif isinstance(node, (Load, Store)):
            buffers[node.buffer] = None
        elif isinstance(node, Allocate):
            made.add(node.buffer)
            sizes = (n for extent in node.buffer.allocated_extents for n in post_order(extent))
            variables.update((n, None) for n in sizes if isinstance(n, Var))
        elif isinstance(node, (For, Let)):
            made.add(node.var)
    return tuple(b for b in buffers if b not in made), tuple(v for v in variables if v not in made)


# Bounds that keep a product of work and rounds in 64 bits.
_MOST_ROUNDS = 1 << 20
_MOST_WORK = 1 << 40
# What is assumed of a loop whose number of rounds cannot be told before it starts.
_TYPICAL_ROUNDS = 16
# Work of a call (a function such as exp), of an allocation, and bytes of a vector done at once.
_CALL = 8
_ALLOCATION = 64
_VECTOR_BYTES = 32


def round_work(loop: For) -> Expr:
    """Return an estimate of the work of one round, in loads and operations of about 1 ns.

    It only decides whether threads are worth their start and how many rounds they take at a
    time, so it is the same for every number of threads.
    """
    return _work(loop.body, {loop.var: _middle(loop.min, loop.extent)})


def _work(stmt: Stmt, known: dict[Var, Expr]) -> Expr:
    match stmt:
        case Store():
            return build.const(1 + _operations(stmt.value, stmt.index, stmt.mask), INT64)
        case For():
            low, extent = _told(stmt.min, known), _told(stmt.extent, known)
            inside = {**known, stmt.var: _middle(low, extent)}
            rounds = build.minimum(build.maximum(extent, 0), _MOST_ROUNDS)
            return build.minimum(rounds * (_work(stmt.body, inside) + 1), _MOST_WORK)
        case If():
            parts = [stmt.then] if stmt.otherwise is None else [stmt.then, stmt.otherwise]
            own = _operations(stmt.condition)
        case Seq():
            parts, own = list(stmt.body), 0
        case Allocate():
            parts, own = [stmt.body], 0 if stmt.buffer.is_on_stack else _ALLOCATION
        case Let():
            if stmt.var.dtype.is_integer and stmt.var.dtype.lanes == 1:
                known = {**known, stmt.var: build.const(_TYPICAL_ROUNDS, stmt.var.dtype)}
            parts, own = [stmt.body], _operations(stmt.value)
        case Attr() | AllReduce() | Launch() | Shuffle() | Barrier() | Ticket():
            raise InternalError(f"{type(stmt).__name__} is no statement of a CPU program")
        case _:
            assert_never(stmt)
    total: Expr = build.const(own, INT64)
    for part in parts:
        total = total + _work(part, known)
    return total


def _middle(low: Expr, extent: Expr) -> Expr:
    half = build.binary("floordiv", extent, build.const(2, extent.dtype))
    return build.binary("add", low, half)


def _told(extent: Expr, known: dict[Var, Expr]) -> Expr:
    """Return a bound of an inner loop in the middle round of the loops around it."""
    told: Expr = substitute(extent, known)
    reads = any(isinstance(n, (Load, Call, IfThenElse)) for n in post_order(told))
    if reads:
        return build.const(_TYPICAL_ROUNDS, extent.dtype)
    return told


def _operations(*roots: Expr | None) -> int:
    """Return how many loads, operations and calls expressions take; index arithmetic is free."""
    total = 0
    for root in roots:
        seen: set[int] = set()
        stack: list[Node] = [] if root is None else [root]
        while stack:
            node = stack.pop()
            if not node.child_fields or id(node) in seen:
                continue
            seen.add(id(node))
            stack += children(node)
            if isinstance(node, Expr) and _has_price(node):
                size = node.dtype.lanes * node.dtype.itemsize
                price = _CALL if isinstance(node, Call) else 1
                total += price * max(1, size // _VECTOR_BYTES)
    return total


def _has_price(node: Expr) -> bool:
    if isinstance(node, Load):
        return True
    dtype = node.dtype
    return not (isinstance(node, Ramp) or (dtype.kind == "int" and dtype.bits == INT64.bits))


def context_type(outlined: Outlined) -> str:
    """Return the LLVM type of the struct that carries what a loop captures."""
    kinds = ["ptr"] * len(outlined.buffers) + [value_type(v.dtype) for v in outlined.variables]
    return "{ " + ", ".join(kinds) + " }" if kinds else "{}"


def chunk_text(outlined: Outlined, chunk: str, rounds: str) -> str:
    """Return the function ``chunk``, which unpacks a context and calls ``rounds``."""
    kind = context_type(outlined)
    kinds = ["ptr"] * len(outlined.buffers) + [value_type(v.dtype) for v in outlined.variables]
    lines, args = [], []
    for n, own in enumerate(kinds):
        lines.append(f"  %p{n} = getelementptr {kind}, ptr %context, i32 0, i32 {n}")
        lines.append(f"  %v{n} = load {own}, ptr %p{n}")
        args.append(f"{own} %v{n}")
    call = ", ".join([*args, "i64 %begin", "i64 %end"])
    return "\n".join(
        [
            f'define internal i32 @"{chunk}"(ptr %context, i64 %begin, i64 %end) nounwind {{',
            *lines,
            f'  %status = tail call i32 @"{rounds}"({call})',
            "  ret i32 %status",
            "}",
            "",
        ]
    )
