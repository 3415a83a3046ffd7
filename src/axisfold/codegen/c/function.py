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

from axisfold.analysis.simplify import simplify
from axisfold.codegen.c.expressions import Expressions
from axisfold.codegen.c.helpers import Helpers
from axisfold.codegen.c.lanes import scalarize_lanes
from axisfold.codegen.c.scan import bytewise_buffers, loaded_buffers, partly_started, stored_buffers
from axisfold.codegen.c.spelling import RESERVED, memory_type, value_type
from axisfold.codegen.c.usage import usage
from axisfold.codegen.signature import scalar_parameters
from axisfold.codegen.text import Code, Lines, Names, cast, legal_name, subscript
from axisfold.codegen.writing import Writing
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Expr
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    Fence,
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

# Longer ends of loops are computed once, before the loop.
_LONG_END = 24


def symbol(kernel: Kernel) -> str:
    """Return the name of a kernel's C function; a word that C knows gets a prefix."""
    name = legal_name(kernel.name)
    return f"axisfold_{name}" if name in RESERVED else name


def emit_kernel(kernel: Kernel) -> str:
    """Return the C11 source of a kernel whose indices are int64."""
    return _Function(kernel).text()


class _Function:
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
                self.let(stmt)
            case Attr() | AllReduce() | Launch() | Shuffle() | Barrier() | Fence() | Ticket():
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
        x, lines = self.x, self.lines
        low = self._named(loop, "start", x.bound(loop.min))
        end = x.bound(build.binary("add", loop.min, loop.extent))
        end = self._named(loop, "end", end)
        if loop.kind == "parallel":
            lines.comment(f"{loop.kind}: the rounds do not depend on each other")
        outer = x.bounds
        with self.names.block():
            var = self.names.fresh(loop.var.name)
            x.declare_counter(loop.var, var, extent=loop.extent)
            x.bounds = outer.extended(loop.var, loop.min, loop.extent)
            with lines.block(f"for (int64_t {var} = {low}; {var} < {end}; ++{var})"):
                if loop.stop is not None:
                    with lines.block(f"if ({x.value(loop.stop)})"):
                        lines.emit("break;")
                self.stmt(loop.body)
        x.bounds = outer

    def _named(self, loop: For, what: str, code: Code) -> Code:
        """Compute an end of a loop before it, unless it is short."""
        if "(" not in code.text and len(code.text) <= _LONG_END:
            return code
        name = self.names.fresh(f"{loop.var.name}.{what}")
        self.lines.assign(f"const int64_t {name}", code)
        return Code(name)

    def branch(self, stmt: If) -> None:
        lines, bare = self.lines, build.bare(stmt.condition)
        if bare is stmt.condition:
            condition = self.x.value(bare)
        else:
            if build.is_const(simplify(bare, self.x.bounds), True):
                self.stmt(stmt.then)
                return
            condition = self.x.bound(bare)
            lines.comment("tail")
        lines.emit(f"if ({condition}) {{")
        self._inside(stmt.then)
        if stmt.otherwise is not None:
            lines.emit("} else {")
            self._inside(stmt.otherwise)
        lines.emit("}")

    def _inside(self, stmt: Stmt) -> None:
        self.lines.depth += 1
        with self.names.block():
            self.stmt(stmt)
        self.lines.depth -= 1

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
        self.lines.assign(subscript(x.pointers[buffer], index).text, value)

    def let(self, stmt: Let) -> None:
        """Name values; names that follow each other share what they compute on the way."""
        chain = [stmt]
        while isinstance(chain[-1].body, Let):
            chain.append(chain[-1].body)
        writing = Writing(self.x, *(named.value for named in chain))
        for named in chain:
            value = writing.code(named.value)
            name = self.names.fresh(named.var.name)
            self.x.variables[named.var] = name
            self.lines.assign(f"const {value_type(named.var.dtype)} {name}", value)
            if not uses(named.body, {named.var}):
                self.lines.emit(f"(void){name};")
        self.stmt(chain[-1].body)

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
