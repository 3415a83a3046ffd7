# SPDX-License-Identifier: Apache-2.0
"""A kernel as one C11 function: parameters, loops, branches and allocations.

The function returns 0, or 1 if memory could not be allocated.  Its parameters are one pointer
for each buffer and then one int64_t for each extent and stride
(:func:`axisfold.codegen.signature.scalar_parameters`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from axisfold.codegen.c.expressions import Expressions
from axisfold.codegen.c.helpers import Helpers
from axisfold.codegen.c.lanes import scalarize_lanes
from axisfold.codegen.c.scan import bytewise_buffers, loaded_buffers, partly_started, stored_buffers
from axisfold.codegen.c.spelling import RESERVED, memory_type
from axisfold.codegen.c.usage import usage
from axisfold.codegen.control import Control
from axisfold.codegen.signature import scalar_parameters
from axisfold.codegen.text import Code, Lines, Names, cast, legal_name, subscript, volatile
from axisfold.errors import InternalError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Expr
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import uses


def symbol(kernel: Kernel) -> str:
    """Return the name of a kernel's C function; a word that C knows gets a prefix."""
    name = legal_name(kernel.name)
    return f"axisfold_{name}" if name in RESERVED else name


def emit_kernel(kernel: Kernel) -> str:
    """Return the C11 source of a kernel whose indices are int64."""
    return _Function(kernel).text()


class _Function(Control[Expressions]):
    """Emits one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = scalarize_lanes(kernel)
        self.zeroed = partly_started(self.kernel)
        self.loaded = loaded_buffers(self.kernel)
        self.helpers, self.lines = Helpers(), Lines()
        self.names = Names(RESERVED | {symbol(kernel), *self.helpers.all_names()})
        self.x = Expressions(self.names, self.lines, self.helpers)
        self.x.bytewise = bytewise_buffers(self.kernel)
        self.heap: list[str] = []
        self.computing: tuple[Buffer, ...] = ()
        for buffer in kernel.params:
            self.x.pointers[buffer] = self.names.fresh(buffer.name)
        self.scalars = scalar_parameters(kernel)
        extents = {e for b in kernel.params for e in b.shape}
        for var in self.scalars:
            self.x.declare_counter(var, self.names.fresh(var.name), is_extent=var in extents)

    def text(self) -> str:
        kernel, lines = self.kernel, self.lines
        params = [self._parameter(b) for b in kernel.params]
        params += [f"int64_t {self.x.variables[v]}" for v in self.scalars]
        with lines.block(self._head(params)):
            self._mark_unused()
            self.stmt(kernel.body, is_top=True)
            lines.emit("return 0;")
        head = Lines()
        usage(head, kernel, symbol(kernel), self.x, self.scalars)
        for header in sorted(self.helpers.headers):
            head.emit(f"#include <{header}>")
        head.emit()
        for source in self.helpers.functions.values():
            head.statements([*source.split("\n"), ""])
        return "\n".join([*head.lines, lines.text()])

    def _head(self, params: Sequence[str]) -> str:
        return f"int32_t {symbol(self.kernel)}({', '.join(params) or 'void'})"

    def _parameter(self, buffer: Buffer) -> str:
        is_input = buffer not in self.kernel.outputs
        const = "const " if is_input else ""
        return f"{const}{self._stored(buffer)} *restrict {self.x.pointers[buffer]}"

    def _stored(self, buffer: Buffer) -> str:
        """Return the type that a pointer to a buffer's elements points to."""
        return "unsigned char" if buffer in self.x.bytewise else memory_type(buffer.dtype)

    def _mark_unused(self) -> None:
        """Tell compilers that a parameter without use is no mistake."""
        body = self.kernel.body
        touched = self.loaded | frozenset(stored_buffers(body))
        unused = [self.x.pointers[b] for b in self.kernel.params if b not in touched]
        unused += [self.x.variables[v] for v in self.scalars if not uses(body, {v})]
        for name in unused:
            self.lines.emit(f"(void){name};")

    def stmt(self, stmt: Stmt, *, is_top: bool = False) -> None:
        match stmt:
            case For():
                self.announce(stmt, is_top=is_top)
                self.loop(stmt)
            case Store():
                self.announce(stmt, is_top=is_top)
                self.store(stmt)
            case If():
                self.announce(stmt, is_top=is_top)
                self.branch(stmt)
            case Seq():
                for part in stmt.body:
                    self.stmt(part, is_top=is_top)
            case Allocate():
                self.allocate(stmt, is_top=is_top)
            case Let():
                self.let(stmt, is_top=is_top)
            case Attr() | AllReduce() | Launch() | Shuffle() | Barrier() | Ticket():
                raise InternalError(f"{type(stmt).__name__} is no statement of a CPU program")
            case _:
                assert_never(stmt)

    def announce(self, stmt: Stmt, *, is_top: bool) -> None:
        """Say which tensors a part of the whole program computes, where it has several."""
        written = tuple(b for b in stored_buffers(stmt) if b.name)
        if is_top and isinstance(self.kernel.body, (Seq, Allocate)) and written != self.computing:
            self.lines.comment(", ".join(b.name for b in written))
            self.computing = written

    def loop(self, loop: For) -> None:
        if loop.kind == "parallel" and isinstance(loop.body, Allocate):
            allocation = loop.body
            if not allocation.buffer.is_on_stack and not _moves(allocation, loop):
                # Rounds that follow each other may share the memory.
                self.allocate(Allocate(allocation.buffer, replace(loop, body=allocation.body)))
                return
        start, end = self.ends(loop)
        if loop.kind == "parallel" and loop.stop is None:
            self.lines.comment(f"{loop.kind}: the rounds do not depend on each other")
        self.rounds(loop, start, end)

    def store(self, stmt: Store) -> None:
        x, buffer, dtype = self.x, stmt.buffer, stmt.buffer.dtype
        index, value = x.stored(stmt.index, stmt.value)
        if dtype.is_half:
            value = self.helpers.half("bits", dtype, value)
        if buffer in x.bytewise and dtype.itemsize > 1:
            self.lines.emit(f"{self.helpers.call('store', dtype, x.place(buffer, index), value)};")
            return
        if buffer in x.bytewise and dtype.kind == "int":
            value = cast("unsigned char", value)
        place = subscript(x.pointers[buffer], index)
        if stmt.cache == "volatile":
            place = volatile(memory_type(dtype), place)
        self.lines.assign(place.text, value)

    def after_name(self, stmt: Let, name: str) -> Sequence[str]:
        """Tell compilers that a name without use is no mistake."""
        return () if uses(stmt.body, {stmt.var}) else (f"(void){name};",)

    def allocate(self, stmt: Allocate, *, is_top: bool = False) -> None:
        """Put small local memory on the stack, everything else on the heap."""
        lines, buffer = self.lines, stmt.buffer
        kind = memory_type(buffer.dtype)
        extents = [self.x.bound(e) for e in buffer.allocated_extents]
        name = self.names.fresh(buffer.name)
        self.x.pointers[buffer] = name
        if buffer.is_on_stack:
            start = " = {0}" if buffer in self.zeroed else ""
            lines.emit(f"{kind} {name}[{_product(buffer.allocated_extents)}]{start};")
            if buffer not in self.loaded:
                lines.emit(f"(void){name};")
            self.stmt(stmt.body, is_top=is_top)
            return
        shape = f"(const int64_t[]){{{', '.join(e.text for e in extents) or '1'}}}"
        call = f"{self.helpers.allocate()}(sizeof({kind}), {len(extents) or 1}, {shape})"
        lines.assign(f"{kind} *{name}", Code(call))
        with lines.block(f"if ({name} == NULL)"):
            for held in reversed(self.heap):
                lines.emit(f"free({held});")
            lines.emit("return 1;")
        self.heap.append(name)
        self.stmt(stmt.body, is_top=is_top)
        self.heap.pop()
        lines.emit(f"free({name});")


def _moves(allocation: Allocate, loop: For) -> bool:
    return any(uses(e, {loop.var}) for e in allocation.buffer.allocated_extents)


def _product(shape: Sequence[Expr]) -> str:
    """Return the number of elements as a product of constants; an array has one at least."""
    extents = [int(e.value) for e in shape if isinstance(e, Const)]
    if 0 in extents or not extents:
        return "1"
    return " * ".join(str(e) for e in extents if e != 1) or "1"
