# SPDX-License-Identifier: Apache-2.0
"""The text form of loop IR: TVM's ``primfn`` notation of 2020 to 2023, which te users know.

Names become unique when they are printed, so the text of a program is always the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, assert_never

from axisfold.dtypes import DType, Scalar
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Load,
    Node,
    Not,
    Ramp,
    Select,
    Var,
    separated,
)
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
from axisfold.ir.walk import post_order

_INFIX: Final[dict[str, str]] = {
    "add": " + ", "sub": " - ", "mul": "*", "div": " / ", "and": " && ", "or": " || ",
    "bitand": " & ", "bitor": " | ", "bitxor": " ^ ", "shl": " << ", "shr": " >> ",
    "lt": " < ", "le": " <= ", "gt": " > ", "ge": " >= ", "eq": " == ", "ne": " != ",
}  # fmt: skip


def print_kernel(kernel: Kernel) -> str:
    """Return the text of a kernel."""
    return _Printer().kernel(kernel)


def statement_lines(kernel: Kernel) -> tuple[str, dict[int, int]]:
    """Return a kernel's text, and for each statement by ``id`` the line it begins on, from 1."""
    printer = _MarkingPrinter()
    lines = printer.kernel(kernel).split("\n")
    found: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        found.update((int(mark), number) for mark in _MARK.findall(line))
    return "\n".join(_MARK.sub("", line) for line in lines), found


def print_expr(expr: Expr) -> str:
    """Return the text of an expression, as te prints one that is not lowered.

    Variables stand without their types, and constants as in C (``2f``).
    """
    printer = _Printer(constant=te_constant_text)
    for node in post_order(expr):
        if isinstance(node, Var):
            printer.vars[node] = node.name
    return printer.expr(expr)


def print_stmt(stmt: Stmt) -> str:
    """Return the text of a statement."""
    return "\n".join(_Printer().stmt(stmt))


def constant_text(value: Scalar, dtype: DType) -> str:
    """Return a constant with its dtype's suffix (int32 and bool have none)."""
    if dtype.is_bool:
        return str(bool(value))
    if dtype.is_float:
        text = "inf" if value == math.inf else f"{float(value):g}"
        return f"{text}{'bf' if dtype.kind == 'bfloat' else 'f'}{dtype.bits}"
    suffix = "" if dtype.name == "int32" else f"{dtype.kind[0]}{dtype.bits}"
    return f"{int(value)}{suffix}"


def te_constant_text(value: Scalar, dtype: DType) -> str:
    """Return a constant as te prints it in an expression that is not lowered."""
    if dtype.is_float:
        suffix = {"float16": "h", "bfloat16": "bf", "float32": "f", "float64": ""}[str(dtype)]
        return f"{float(value):g}{suffix}"
    return f"{int(value)}" if dtype.name == "int32" else f"({dtype}){int(value)}"


class _Printer:
    """Prints, and remembers which names and declarations have been used."""

    def __init__(self, constant: Callable[[Scalar, DType], str] = constant_text) -> None:
        self.constant = constant
        self.used: set[str] = set()
        self.vars: dict[Var, str] = {}
        self.data: dict[Buffer, str] = {}

    def unique(self, name: str) -> str:
        candidate, count = name, 0
        while candidate in self.used:
            count += 1
            candidate = f"{name}_{count}"
        self.used.add(candidate)
        return candidate

    def declare(self, var: Var) -> str:
        self.vars[var] = self.unique(var.name)
        return self.vars[var]

    def var(self, var: Var) -> str:
        """Return a variable's name, with its type at first sight."""
        if var in self.vars:
            return self.vars[var]
        return f"{self.declare(var)}: {var.dtype}"

    def kernel(self, kernel: Kernel) -> str:
        names = {b: (self.unique(b.name), self.unique(b.name)) for b in kernel.params}
        for buffer in kernel.params:
            self.data[buffer] = self.unique(buffer.name)
        handles = ", ".join(f"{names[b][1]}: handle" for b in kernel.params)
        ordered = [*kernel.outputs, *(b for b in kernel.params if b not in kernel.outputs)]
        buffers = [f"{names[b][0]}: {self.buffer(b)}" for b in ordered]
        mapping = ", ".join(f"{names[b][1]}: {names[b][0]}" for b in kernel.params)
        symbol = f'"global_symbol": "{kernel.name}"'
        lines = [
            f"primfn({handles}) -> ()",
            f'  attr = {{"from_legacy_te_schedule": True, {symbol}, "tir.noalias": True}}',
            "  buffers = {" + (",\n" + " " * 13).join(buffers) + "}",
            f"  buffer_map = {{{mapping}}} {{",
        ]
        lines += [f"  {line}" for line in self.stmt(kernel.body)]
        return "\n".join([*lines, "}", ""])

    def buffer(self, buffer: Buffer) -> str:
        shape = ", ".join(self.expr(e) for e in buffer.shape)
        strides = ", ".join(self.expr(e) for e in buffer.strides)
        text = (
            f"Buffer({self.data[buffer]}: Pointer({buffer.dtype}), {buffer.dtype}, "
            f"[{shape}], [{strides}]"
        )
        if buffer.unit == "byte":
            text += ', unit="byte"'
        if buffer.strides and all(isinstance(s, Var) for s in buffer.strides):
            text += ', type="auto"'
        return text + ")"

    def stmt(self, stmt: Stmt) -> list[str]:
        match stmt:
            case For():
                return self.loop(stmt)
            case Store():
                target = f"{self.name(stmt.buffer)}[{self.expr(stmt.index)}]"
                return [f"{target} = {self.expr(stmt.value)}{self.mask(stmt.mask)}"]
            case If():
                lines = [f"if {self.expr(stmt.condition)} {{", *self.block(stmt.then)]
                if stmt.otherwise is not None:
                    lines += ["} else {", *self.block(stmt.otherwise)]
                return [*lines, "}"]
            case Seq():
                return [line for part in stmt.body for line in self.stmt(part)]
            case Allocate():
                return self.allocate(stmt)
            case Attr():
                head = f'attr [{self.about(stmt.node)}] "{stmt.key}" = {self.expr(stmt.value)}'
                return self.headed(head, stmt.body)
            case AllReduce():
                return self.all_reduce(stmt)
            case Let():
                value = self.expr(stmt.value)
                return [f"let {self.var(stmt.var)} = {value}", *self.stmt(stmt.body)]
            case Launch():
                return self.launch(stmt)
            case Shuffle():
                where = f"{self.expr(stmt.value)}, {self.expr(stmt.lane)}, width={stmt.width}"
                return [f"{self.name(stmt.target)}[0] = @shuffle_{stmt.mode}({where})"]
            case Barrier():
                return [f"@barrier({stmt.level})"]
            case Ticket():
                counter = f"{self.name(stmt.counter)}[{self.expr(stmt.index)}]"
                ticket = f"@ticket({counter}, {self.expr(stmt.total)})"
                return [f"{self.name(stmt.target)}[0] = {ticket}"]
            case _:
                assert_never(stmt)

    def block(self, stmt: Stmt) -> Iterator[str]:
        return (f"  {line}" for line in self.stmt(stmt))

    def headed(self, head: str, body: Stmt) -> list[str]:
        """Return a head and its body: in braces if it is a sequence, else below."""
        if isinstance(body, Seq):
            return [head + " {", *self.block(body), "}"]
        return [head + ";", *self.stmt(body)]

    def about(self, node: Var | Buffer) -> str:
        """Return what an attribute is attached to."""
        if isinstance(node, Buffer):
            return self.name(node)
        return f'IterVar({self.var(node)}, (nullptr), "DataPar", "")'

    def all_reduce(self, stmt: AllReduce) -> list[str]:
        values = ", ".join(self.expr(e) for e in stmt.values)
        targets = ", ".join(self.name(b) for b in stmt.targets)
        threads = ", ".join(self.expr(v) for v in stmt.threads)
        condition = self.expr(stmt.condition)
        operands = f"{len(stmt.values)}u32, {values}, {condition}, {targets}, {threads}"
        scope = "@tir.reinterpret(0u64, dtype=handle)"
        return [
            f'attr [meta[tir.CommReducer][0]] "reduce_scope" = {scope};',
            f"@tir.tvm_thread_allreduce({operands}, dtype=handle)",
        ]

    def launch(self, stmt: Launch) -> list[str]:
        """Print a kernel: its indices with their extents, and what a thread does."""
        indices = [
            f"{self.var(var)} < {self.expr(extent)}"
            for var, extent in zip(stmt.vars, stmt.extents, strict=True)
        ]
        shared = f", shared = {stmt.shared_bytes} bytes" if stmt.shared_bytes else ""
        held = f", resident = {stmt.resident} blocks" if stmt.resident else ""
        head = f"launch {stmt.name}({', '.join(indices)}){shared}{held} {{"
        return [head, *self.block(stmt.body), "}"]

    def bound(self, loop: For) -> list[str]:
        """Print a loop over threads as te's attribute."""
        about = f'IterVar({self.var(loop.var)}, (nullptr), "ThreadIndex", "{loop.thread}")'
        return self.headed(f'attr [{about}] "thread_extent" = {self.expr(loop.extent)}', loop.body)

    def loop(self, loop: For) -> list[str]:
        if loop.kind == "bound":
            return self.bound(loop)
        low = self.expr(loop.min)
        name = self.var(loop.var)
        end = self.expr(_end(loop))
        kind = "" if loop.kind == "serial" else f' "{loop.kind}"'
        stop = "" if loop.stop is None else f" until {self.expr(loop.stop)}"
        return [f"for ({name}, {low}, {end}){kind}{stop} {{", *self.block(loop.body), "}"]

    def allocate(self, stmt: Allocate) -> list[str]:
        buffer = stmt.buffer
        name = self.name(buffer)
        head = (
            f"allocate({name}: Pointer({buffer.scope} {buffer.dtype}), {buffer.dtype}, "
            f"[{self.expr(_elements(buffer))}]), storage_scope = {buffer.scope}"
        )
        head += ", zeroed" if stmt.zeroed else ""
        head += "" if stmt.offset is None else f", offset = {stmt.offset}"
        return self.headed(head, stmt.body)

    def name(self, buffer: Buffer) -> str:
        if buffer not in self.data:
            self.data[buffer] = self.unique(buffer.name)
        return self.data[buffer]

    def mask(self, mask: Expr | None) -> str:
        return "" if mask is None else f", mask = {self.expr(mask)}"

    def expr(self, root: Expr) -> str:
        """Return an expression's text; iterative, so that any depth prints."""
        written: list[str] = []
        waiting: list[str | Node] = [root]
        while waiting:
            piece = waiting.pop()
            if isinstance(piece, str):
                written.append(piece)
            else:
                waiting.extend(reversed(self.pieces(piece)))
        return "".join(written)

    def pieces(self, node: Node) -> list[str | Node]:
        """Return a node's text in order, children not yet printed."""
        match node:
            case Var():
                return [self.var(node)]
            case Const():
                return [self.constant(node.value, node.dtype)]
            case Cast():
                return [f"cast({node.dtype}, ", node.value, ")"]
            case Binary(op) if op not in _INFIX:
                return [f"{op}(", node.a, ", ", node.b, ")"]
            case Binary(op) | Compare(op):
                return ["(", node.a, _INFIX[op], node.b, ")"]
            case Not():
                return ["!", node.a]
            case Select() | IfThenElse():
                return _call("if_then_else", node.children(), node.dtype)
            case Call():
                return _call(node.name, node.args, node.dtype)
            case Load():
                mask: list[str | Node] = [] if node.mask is None else [", mask = ", node.mask]
                return [f"({node.dtype}*){self.name(node.buffer)}[", node.index, *mask, "]"]
            case Ramp():
                return ["ramp(", node.base, ", ", node.stride, f", {node.lanes})"]
            case Broadcast():
                return ["broadcast(", node.value, f", {node.lanes})"]
            case _:
                return node.pieces()


_MARK: Final = re.compile("\0([0-9]+)\0")


class _MarkingPrinter(_Printer):
    """Marks the first line of each statement with the statement's ``id``."""

    def stmt(self, stmt: Stmt) -> list[str]:
        lines = super().stmt(stmt)
        return [f"\0{id(stmt)}\0{lines[0]}", *lines[1:]] if lines else lines


def _call(name: str, args: Sequence[Node], dtype: DType) -> list[str | Node]:
    return [f"@tir.{name}(", *separated(args), f", dtype={dtype})"]


def _end(loop: For) -> Expr:
    """Return ``min + extent``; an extent written ``end - min`` gives its end back."""
    extent = loop.extent
    if build.is_const(loop.min, 0):
        return extent
    if isinstance(extent, Binary) and extent.op == "sub" and extent.b == loop.min:
        return extent.a
    return build.binary("add", loop.min, extent)


def _elements(buffer: Buffer) -> Expr:
    """Return the number of elements, the constant factor last."""
    known = 1
    product: Expr | None = None
    for extent in buffer.allocated_extents:
        if isinstance(extent, Const):
            known *= int(extent.value)
        else:
            pair = None if product is None else build.match_pair(product, extent)
            product = extent if pair is None else build.binary("mul", *pair)
    if product is None:
        return build.as_expr(known)
    return product if known == 1 else build.binary("mul", *build.match_pair(product, known))
