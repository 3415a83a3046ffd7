# SPDX-License-Identifier: Apache-2.0
"""Parallel loops as functions of their own, and what these capture.

The threads know one kind of function, ``i32 chunk(ptr context, i64 begin, i64 end)``, which runs
some neighbouring rounds and returns 0 or an error.  The context is a struct on the stack of the
kernel.  A chunk only unpacks it and calls the function that holds the loop: there the buffers are
parameters again, which can promise that they do not overlap.  Where no pass asks for that, the
chunk holds the loop itself: a function costs as much as fifty lines.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from axisfold.codegen.llvm.types import value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import INT64
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Load, Var
from axisfold.ir.stmt import (
    Allocate,
    For,
    Let,
    Stmt,
    Store,
)
from axisfold.ir.walk import post_order

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
        if not node.child_fields:
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


def context_type(outlined: Outlined) -> str:
    """Return the LLVM type of the struct that carries what a loop captures."""
    return "{ " + ", ".join(_kinds(outlined)) + " }"


def _kinds(outlined: Outlined) -> list[str]:
    return ["ptr" for _ in outlined.buffers] + [value_type(v.dtype) for v in outlined.variables]


def pack(
    w: Writer, outlined: Outlined, pointers: Mapping[Buffer, str], values: Mapping[Var, str]
) -> str:
    """Append a context on the stack with what a loop captures, and return its address."""
    kind, context = context_type(outlined), w.fresh("context")
    w.entry.append(f"  {context} = alloca {kind}")
    held = [pointers[b] for b in outlined.buffers] + [values[v] for v in outlined.variables]
    for n, (own, value) in enumerate(zip(_kinds(outlined), held, strict=True)):
        place = w.let(f"getelementptr {kind}, ptr {context}, i32 0, i32 {n}")
        w.emit(f"store {own} {value}, ptr {place}")
    return context


class Taken(NamedTuple):
    """What a function takes: where buffers are, what variables are, and its parameters."""

    pointers: dict[Buffer, str]
    values: dict[Var, str]
    parameters: str


def take(
    w: Writer, buffers: Sequence[Buffer], variables: Sequence[Var], readonly: Container[Buffer]
) -> Taken:
    """Return what a function has as its parameters, some buffers for reading only."""
    pointers = {b: w.fresh(b.name) for b in buffers}
    values = {v: w.fresh(v.name) for v in variables}
    parameters = [
        f"ptr noalias {'readonly ' if buffer in readonly else ''}{name}"
        for buffer, name in pointers.items()
    ]
    parameters += [f"{value_type(var.dtype)} {name}" for var, name in values.items()]
    return Taken(pointers, values, ", ".join(parameters))


def unpack(w: Writer, outlined: Outlined) -> Taken:
    """Append at the head of a chunk the reads of what its loop captures."""
    kind, context = context_type(outlined), w.fresh("context")
    captured: tuple[Buffer | Var, ...] = (*outlined.buffers, *outlined.variables)
    names: dict[Buffer | Var, str] = {}
    with w.at_entry():
        for n, (own, item) in enumerate(zip(_kinds(outlined), captured, strict=True)):
            place = w.let(f"getelementptr {kind}, ptr {context}, i32 0, i32 {n}")
            names[item] = w.let(f"load {own}, ptr {place}", item.name)
    pointers = {b: names[b] for b in outlined.buffers}
    values = {v: names[v] for v in outlined.variables}
    values |= {v: w.fresh(v.name) for v in (outlined.begin, outlined.end)}
    parameters = f"ptr {context}, i64 {values[outlined.begin]}, i64 {values[outlined.end]}"
    return Taken(pointers, values, parameters)


def chunk_text(outlined: Outlined, chunk: str, rounds: str) -> str:
    """Return the function ``chunk``, which unpacks a context and calls ``rounds``."""
    kind, lines, args = context_type(outlined), [], []
    for n, own in enumerate(_kinds(outlined)):
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
