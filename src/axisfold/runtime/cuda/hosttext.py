# SPDX-License-Identifier: Apache-2.0
"""What the host does for a program, as JSON values, and back.

Of a launch only its sizes and arguments are kept: its body is machine code by then.  Expressions
are rows of one table; a row names earlier rows, so that shared parts are written once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from axisfold.dtypes import BOOL, parse
from axisfold.errors import InternalError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Node,
    Not,
    Reciprocal,
    Select,
    Var,
)
from axisfold.ir.stmt import Allocate, Attr, If, Kernel, Launch, Let, Seq, Stmt
from axisfold.ir.walk import post_order
from axisfold.runtime.cuda.hostplan import Entry

# From a row's words and operands to the node.
_NODES: Final[dict[str, Callable[[Sequence[Any], Sequence[Any]], Expr]]] = {
    "var": lambda words, _: Var(words[0], parse(words[1])),
    "const": lambda words, _: Const(words[0], parse(words[1])),
    "cast": lambda words, parts: Cast(parts[0], parse(words[0])),
    "reciprocal": lambda words, parts: Reciprocal(words[0], parts[0], parse(words[1])),
    "binary": lambda words, parts: Binary(words[0], *parts),
    "compare": lambda words, parts: Compare(words[0], *parts),
    "not": lambda words, parts: Not(*parts),
    "select": lambda words, parts: Select(*parts),
    "likely": lambda words, parts: Call("likely", tuple(parts), BOOL),
}


def _words(node: Node) -> list[Any]:
    match node:
        case Var(name, dtype):
            return ["var", name, str(dtype)]
        case Const(value, dtype):
            return ["const", value, str(dtype)]
        case Cast(_, dtype):
            return ["cast", str(dtype)]
        case Reciprocal():
            return ["reciprocal", node.part, str(node.dtype)]
        case Binary(op=op):
            return ["binary", op]
        case Compare(op=op):
            return ["compare", op]
        case Not():
            return ["not"]
        case Select() | IfThenElse():
            return ["select"]
        case Call(name="likely"):
            return ["likely"]
        case _:
            raise InternalError(f"{node} is no value that the host knows before a launch")


class _Writer:
    """Fills the tables of a program."""

    def __init__(self, entries: Mapping[Launch, Entry]) -> None:
        self.entries = entries
        self.rows: list[Any] = []
        self.buffers: list[Any] = []
        self._row_of: dict[int, int] = {}
        self._buffer_of: dict[Buffer, int] = {}
        self._alive: list[Node] = []  # so that no id is given twice

    def expr(self, root: Expr) -> int:
        for node in post_order(root):
            if id(node) not in self._row_of:
                parts = [self._row_of[id(part)] for part in node.children()]
                self._row_of[id(node)] = len(self.rows)
                self.rows.append([_words(node), parts])
                self._alive.append(node)
        return self._row_of[id(root)]

    def exprs(self, roots: Sequence[Expr]) -> list[int]:
        return [self.expr(root) for root in roots]

    def buffer(self, buffer: Buffer) -> int:
        if buffer not in self._buffer_of:
            layout = [self.exprs(buffer.shape), self.exprs(buffer.strides)]
            self._buffer_of[buffer] = len(self.buffers)
            self.buffers.append([buffer.name, str(buffer.dtype), *layout])
        return self._buffer_of[buffer]

    def stmt(self, stmt: Stmt) -> list[Any]:
        match stmt:
            case Seq(body=body):
                return ["seq", *map(self.stmt, body)]
            case Let(var=var, value=value, body=inner):
                return ["let", self.expr(var), self.expr(value), self.stmt(inner)]
            case If(condition=condition, then=then, otherwise=otherwise):
                other = [] if otherwise is None else [self.stmt(otherwise)]
                return ["if", self.expr(condition), self.stmt(then), *other]
            case Attr(body=inner):
                return self.stmt(inner)
            case Allocate(buffer=buffer, body=inner, zeroed=zeroed):
                return ["allocate", self.buffer(buffer), self.stmt(inner), zeroed]
            case Launch():
                entry = self.entries[stmt]
                buffers = [self.buffer(b) for b in entry.buffers]
                sizes = [list(stmt.tags), self.exprs(stmt.extents), stmt.shared_bytes]
                return ["launch", entry.symbol, *sizes, buffers, self.exprs(entry.scalars)]
            case _:
                raise InternalError(
                    f"the host of a program for threads cannot run {type(stmt).__name__}",
                    code="I204",
                )


def save(kernel: Kernel, entries: Mapping[Launch, Entry]) -> dict[str, Any]:
    """Return the host's part of a program as JSON values.

    Raises
    ------
    InternalError
        ``I204``: the host was to do something else than allocate, compute and launch.
    """
    writer = _Writer(entries)
    params = [writer.buffer(b) for b in kernel.params]
    body = writer.stmt(kernel.body)
    return {
        "name": kernel.name, "params": params, "body": body,
        "rows": writer.rows, "buffers": writer.buffers,
    }  # fmt: skip


class _Reader:
    """Makes nodes of tables."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.nodes: list[Expr] = []
        for (kind, *words), parts in document["rows"]:
            self.nodes.append(_NODES[kind](words, [self.nodes[part] for part in parts]))
        self.buffers = [
            Buffer(name, parse(dtype), self.exprs(shape), self.exprs(strides))
            for name, dtype, shape, strides in document["buffers"]
        ]
        self.entries: dict[Launch, Entry] = {}

    def exprs(self, rows: Sequence[int]) -> tuple[Expr, ...]:
        return tuple(self.nodes[row] for row in rows)

    def variables(self, rows: Sequence[int]) -> tuple[Var, ...]:
        found = tuple(e for e in self.exprs(rows) if isinstance(e, Var))
        if len(found) != len(rows):
            raise ValueError("a variable is wanted")
        return found

    def stmt(self, row: Sequence[Any]) -> Stmt:
        match row:
            case ["seq", *parts]:
                return Seq(tuple(map(self.stmt, parts)))
            case ["let", var, value, body]:
                (name,) = self.variables([var])
                return Let(name, self.nodes[value], self.stmt(body))
            case ["if", condition, then]:
                return If(self.nodes[condition], self.stmt(then))
            case ["if", condition, then, other]:
                return If(self.nodes[condition], self.stmt(then), self.stmt(other))
            case ["allocate", buffer, body, zeroed]:
                return Allocate(self.buffers[buffer], self.stmt(body), zeroed=bool(zeroed))
            case ["launch", symbol, tags, extents, shared_bytes, buffers, scalars]:
                # Without their bodies launches differ in nothing else for sure.
                sizes, nothing = self.exprs(extents), Seq(())
                launch = Launch(symbol, tuple(tags), (), sizes, nothing, int(shared_bytes))
                own = tuple(self.buffers[b] for b in buffers)
                self.entries[launch] = Entry(symbol, own, self.variables(scalars))
                return launch
            case _:
                raise ValueError(f"no statement of a host: {row!r:.60}")


def load(document: Mapping[str, Any]) -> tuple[Kernel, dict[Launch, Entry]]:
    """Return a program whose launches have no bodies, and how they are called.

    Raises
    ------
    ValueError, TypeError, LookupError
        :func:`save` did not write this.
    """
    reader = _Reader(document)
    params = tuple(reader.buffers[b] for b in document["params"])
    body = reader.stmt(document["body"])
    return Kernel(document["name"], params, (), body), reader.entries
