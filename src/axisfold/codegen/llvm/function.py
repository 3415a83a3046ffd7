# SPDX-License-Identifier: Apache-2.0
"""A kernel as an LLVM function: parameters, loops, branches and allocations.

It returns 0, or an error: 1 if memory could not be allocated, or what threads report.  Parameters
are a pointer for each buffer, then an i64 for each of what ``scalar_parameters`` returns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, assert_never

from axisfold.codegen.llvm import arithmetic, memory, places, tails
from axisfold.codegen.llvm.calls import emit_call
from axisfold.codegen.llvm.held import Holding, held_places, round_of
from axisfold.codegen.llvm.induction import Induction
from axisfold.codegen.llvm.outline import (
    PARALLEL,
    Outlined,
    chunk_text,
    context_type,
    outline,
)
from axisfold.codegen.llvm.ports import Machine
from axisfold.codegen.llvm.types import constant, memory_type, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.codegen.signature import scalar_parameters
from axisfold.dtypes import INT64, DType
from axisfold.errors import InternalError
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
)
from axisfold.ir.stmt import (
    WORK,
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


def symbol(kernel: Kernel) -> str:
    """Return the name of a kernel's LLVM function; the prefix keeps it apart from C's."""
    return f"axisfold.{kernel.name}"


def emit_kernel(kernel: Kernel, machine: Machine | None = None, *, fuses: bool = True) -> str:
    """Return the LLVM IR of a kernel whose indices are int64, for any machine that ``fuses``."""
    module = _Module(kernel, machine, fuses)
    main = _Function(module, kernel.params, scalar_parameters(kernel))
    text = main.text(f'define i32 @"{symbol(kernel)}"', kernel.body)
    return "\n".join([text, *module.functions, *module.declarations.values(), ""])


class _Module:
    """What the functions of one kernel share: its loops as functions, and declarations."""

    def __init__(self, kernel: Kernel, machine: Machine | None, fuses: bool) -> None:
        self.symbol, self.machine, self.fuses = symbol(kernel), machine, fuses
        self.readonly = frozenset(kernel.params) - frozenset(kernel.outputs)
        self.functions: list[str] = []
        self.declarations: dict[str, str] = {}
        self.loops = 0

    def name_loop(self) -> tuple[str, str]:
        """Return names for the two functions of a parallel loop."""
        self.loops += 1
        return f"{self.symbol}.chunk.{self.loops}", f"{self.symbol}.rounds.{self.loops}"


class _Function:
    """Emits one function: a kernel, or the rounds of a parallel loop in it.

    Parameters
    ----------
    module, buffers, variables
        The kernel's module, and the function's parameters.
    """

    def __init__(
        self, module: _Module, buffers: Sequence[Buffer], variables: Sequence[Var]
    ) -> None:
        self.module = module
        self.w = Writer(module.declarations, fuses=module.fuses)
        self.parameters: tuple[Buffer | Var, ...] = (*buffers, *variables)
        self.pointers = {b: self.w.fresh(b.name) for b in buffers}
        self.values: dict[Var, str] = {v: self.w.fresh(v.name) for v in variables}
        self.own: dict[Buffer, str] = {}
        self.heap: list[str] = []
        self.steps: dict[tuple[Var, int], str] = {}
        self.shared = frozenset(buffers)
        self.work = "0"
        self.places = places.Places(self.own)

    def text(self, head: str, body: Stmt) -> str:
        """Return the function with ``body``, which returns 0 where nothing fails."""
        w = self.w
        self.stmt(body)
        if w.streams:  # nothing else orders these writes before what tells other threads of them
            w.emit("fence seq_cst")
        w.emit("ret i32 0")
        params = ", ".join(self._parameter(p) for p in self.parameters)
        lines = [line for line in (*w.entry, *w.lines) if line]
        return "\n".join([f"{head}({params}) nounwind {{", "entry:", *lines, "}", ""])

    def _parameter(self, item: Buffer | Var) -> str:
        if isinstance(item, Var):
            return f"{value_type(item.dtype)} {self.values[item]}"
        access = "readonly " if item in self.module.readonly else ""
        return f"ptr noalias {access}{self.pointers[item]}"

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case For(kind="parallel"):
                self.parallel(stmt)
            case For():
                self.loop(stmt)
            case Store():
                self.store(stmt)
            case If():
                self.branch(stmt)
            case Seq():
                for part in stmt.body:
                    self.stmt(part)
            case Allocate():
                self.allocate(stmt)
            case Let():
                self.values[stmt.var] = self.expr(stmt.value)
                self.stmt(stmt.body)
            case Attr() if stmt.key == WORK:
                self.work = self.expr(stmt.value)
                self.stmt(stmt.body)
            case Attr() | AllReduce() | Launch() | Shuffle() | Barrier() | Ticket():
                raise InternalError(f"{type(stmt).__name__} is no statement of a CPU program")
            case _:
                assert_never(stmt)

    def store(self, stmt: Store) -> None:
        split = self.places.split(stmt)
        operands = [self.expr(part) for part in split.operands]
        pointer = split.pointer or self.pointers[stmt.buffer]
        place = places.place(self.w, stmt.buffer, pointer, split, operands)
        value = self.expr(stmt.value)
        mask = None if stmt.mask is None else self.expr(stmt.mask)
        is_shared = stmt.buffer in self.shared
        memory.emit_store(self.w, stmt, place, value, mask, is_shared=is_shared)

    def loop(self, loop: For) -> None:
        w = self.w
        low, extent = self.expr(loop.min), self.expr(loop.extent)
        end = w.let(f"add nsw i64 {low}, {extent}")
        head, body, after = w.label("loop"), w.label("body"), w.label("after")
        own, before = round_of(loop), w.block
        holding = Holding(w, held_places(own, self.own, self.places.offset, self.expr))
        moved = Induction(w, loop, own, self.places, self.pointers, self.expr)
        w.branch(head)
        w.start(head)
        counter, following = w.fresh(loop.var.name), w.fresh(f"{loop.var.name}.next")
        phi = len(w.lines)
        w.emit("")
        moved.begin_head()
        holding.begin_head()
        more = w.let(f"icmp slt i64 {counter}, {end}")
        w.branch_if(more, body, after)
        w.start(body)
        self.values[loop.var] = w.opaque(counter) if loop.kind == "rolled" else counter
        with w.scope(), w.within(is_cold=tails.is_rest(loop), calls=own.calls):
            if loop.stop is not None:
                inside = w.label("go")
                w.branch_if(self.expr(loop.stop), after, inside)
                w.start(inside)
            moved.begin_round()
            holding.begin_round()
            self.stmt(loop.body)
            holding.end_round(self.module.machine)
            moved.end_round()
        w.emit(f"{following} = add nsw i64 {counter}, 1")
        w.lines[phi] = f"  {counter} = phi i64 [ {low}, %{before} ], [ {following}, %{w.block} ]"
        w.branch(head)
        w.start(after)
        holding.leave()

    def parallel(self, loop: For) -> None:
        """Share the rounds among threads, and return what went wrong in them."""
        w, outlined = self.w, outline(loop)
        chunk, rounds = self.module.name_loop()
        variables = (*outlined.variables, outlined.begin, outlined.end)
        inside = _Function(self.module, outlined.buffers, variables)
        text = inside.text(f'define internal i32 @"{rounds}"', outlined.rounds)
        self.module.functions += [text, chunk_text(outlined, chunk, rounds)]
        context = self._context(outlined)
        extent = self.expr(outlined.extent)
        if loop.stop is not None:
            end = arithmetic.intrinsic(w, "smin", INT64, extent, "0")
            self._run(w.let(f'call i32 @"{chunk}"(ptr {context}, i64 -1, i64 {end})', "status"))
            extent = w.let(f"select i1 {self.expr(loop.stop)}, i64 0, i64 {extent}")
        w.declarations[PARALLEL] = f"declare i32 @{PARALLEL}(ptr, ptr, i64, i64)"
        args = f'ptr @"{chunk}", ptr {context}, i64 {extent}, i64 {self.work}'
        self._run(w.let(f"call i32 @{PARALLEL}({args})", "status"))

    def _context(self, outlined: Outlined) -> str:
        """Put what a loop captures on the stack and return its address."""
        w, kind = self.w, context_type(outlined)
        context = w.fresh("context")
        w.entry.append(f"  {context} = alloca {kind}")
        held = [f"ptr {self.pointers[b]}" for b in outlined.buffers]
        held += [f"{value_type(v.dtype)} {self.values[v]}" for v in outlined.variables]
        for n, value in enumerate(held):
            place = w.let(f"getelementptr {kind}, ptr {context}, i32 0, i32 {n}")
            w.emit(f"store {value}, ptr {place}")
        return context

    def branch(self, stmt: If) -> None:
        w = self.w
        then, after = w.label("then"), w.label("endif")
        otherwise = after if stmt.otherwise is None else w.label("else")
        w.branch_if(self.expr(stmt.condition), then, otherwise)
        w.start(then)
        with w.scope():
            self.stmt(stmt.then)
        w.branch(after)
        if stmt.otherwise is not None:
            w.start(otherwise)
            with w.scope():
                self.stmt(stmt.otherwise)
            w.branch(after)
        w.start(after)

    def allocate(self, stmt: Allocate) -> None:
        """Local memory is on the stack, everything else on the heap; both aligned to 64 bytes."""
        w, buffer = self.w, stmt.buffer
        if buffer.is_on_stack:
            count = math.prod(
                int(e.value) for e in buffer.allocated_extents if isinstance(e, Const)
            )
            place = w.fresh(buffer.name)
            w.entry.append(f"  {place} = alloca [{count} x {memory_type(buffer.dtype)}], align 64")
            self.pointers[buffer] = self.own[buffer] = place
            self.stmt(stmt.body)
            return
        w.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
        w.declarations["free"] = "declare void @free(ptr)"
        extents = [self.expr(extent) for extent in buffer.allocated_extents]
        size = memory.heap_bytes(w, buffer.dtype.itemsize, extents)
        held = w.let(f"call noalias ptr @malloc(i64 {size})", "heap")
        self._leave_if(w.let(f"icmp eq ptr {held}, null"), "1", "nomemory")
        after = w.let(f"getelementptr i8, ptr {held}, i64 63")
        w.declarations["ptrmask"] = "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)"
        place = w.let(f"call ptr @llvm.ptrmask.p0.i64(ptr {after}, i64 -64)", buffer.name)
        self.pointers[buffer] = place
        self.heap.append(held)
        self.stmt(stmt.body)
        self.heap.pop()
        w.emit(f"call void @free(ptr {held})")

    def _run(self, status: str) -> None:
        self._leave_if(self.w.let(f"icmp ne i32 {status}, 0"), status, "failed")

    def _leave_if(self, condition: str, status: str, name: str) -> None:
        """Give all memory back and return ``status`` where a condition holds."""
        w, failed, go_on = self.w, self.w.label(name), self.w.label("fine")
        w.branch_if(condition, failed, go_on)
        w.start(failed)
        for held in reversed(self.heap):
            w.emit(f"call void @free(ptr {held})")
        w.emit(f"ret i32 {status}")
        w.start(go_on)

    def expr(self, root: Expr) -> str:
        return self._leaf(root) if not root.child_fields else self._expr(root, {})

    def _leaf(self, node: Any) -> str:
        is_const = isinstance(node, Const)
        return constant(node.value, node.dtype) if is_const else self.values[node]

    def _expr(self, root: Node, done: dict[int, str]) -> str:
        """Emit an expression bottom-up; a node that occurs twice is computed once."""
        stack: list[Any] = [root]  # None: the node below is next, of the operands below it
        while stack:
            node = stack.pop()
            if node is None:
                node, needs = stack.pop(), stack.pop()
                done[id(node)] = self._node(node, [done[id(need)] for need in needs])
            elif (key := id(node)) in done:
                continue
            elif not node.child_fields:
                done[key] = self._leaf(node)
            elif isinstance(node, IfThenElse):
                done[key] = self._lazy(node, done)
            else:
                needs = self._operands(node)
                stack += (needs, node, None)
                stack += needs[::-1]
        return done[id(root)]

    def _operands(self, node: Node) -> Sequence[Node]:
        if isinstance(node, Load):
            offset = self.places.split(node).operands
            return offset if node.mask is None else (*offset, node.mask)
        if isinstance(node, Not):
            return arithmetic.denied(node).children()
        if isinstance(node, Cast) and (count := arithmetic.counted(node)) is not None:
            return count[:1]
        return (isinstance(node, Compare) and tails.long_tail(node)) or node.children()

    def _node(self, node: Node, args: list[str]) -> str:
        w = self.w
        match node:
            case Binary():
                return arithmetic.emit_binary(w, node, args[0], args[1])
            case Load():
                split = self.places.split(node)
                pointer = split.pointer or self.pointers[node.buffer]
                place = places.place(w, node.buffer, pointer, split, args)
                if tails.is_shared(node):
                    return tails.emit_shared(w, node, place, args[-1])
                return memory.emit_load(w, node, place, None if node.mask is None else args[-1])
            case Cast():
                return arithmetic.emit_cast(w, node, args[0])
            case Broadcast():
                return w.broadcast(args[0], node.dtype)
            case Compare() if tails.long_tail(node) is not None:
                return tails.emit_tail(w, node.dtype.lanes, args[0], args[1])
            case Compare():
                return arithmetic.emit_compare(w, node, args[0], args[1])
            case Not():
                return arithmetic.emit_not(w, node, args)
            case Select():
                return w.select(args[0], node.dtype, args[1], args[2])
            case Call():
                return emit_call(w, node, args)
            case Ramp():
                return self._ramp(node, args)
            case _:
                raise TypeError(f"{type(node).__name__} is no node of a device program")

    def _ramp(self, node: Ramp, args: list[str]) -> str:
        w, dtype = self.w, node.dtype
        if isinstance(node.stride, Var) and node.stride in self.parameters:
            # The same in every loop; vector products of int64 are slow.
            key = (node.stride, node.lanes)
            if key not in self.steps:
                with w.at_entry():
                    self.steps[key] = self._steps(dtype, args[1])
            steps = self.steps[key]
        else:
            steps = self._steps(dtype, args[1])
        return w.binary("add", dtype, w.broadcast(args[0], dtype), steps)

    def _steps(self, dtype: DType, stride: str) -> str:
        """Append the distances of lanes from the first one."""
        lanes = ", ".join(f"{value_type(dtype.element)} {i}" for i in range(dtype.lanes))
        if stride == "1":
            return f"<{lanes}>"
        return self.w.binary("mul", dtype, self.w.broadcast(stride, dtype), f"<{lanes}>")

    def _lazy(self, node: IfThenElse, done: dict[int, str]) -> str:
        """Emit a choice whose other side is not evaluated (vectors: both, loads masked before)."""
        w = self.w
        condition = self._expr(node.condition, done)
        if node.dtype.lanes > 1:
            values = [self._expr(e, done) for e in (node.true_value, node.false_value)]
            return w.select(condition, node.dtype, values[0], values[1])
        then, otherwise, after = map(w.label, ("yes", "no", "either"))
        w.branch_if(condition, then, otherwise)
        incoming = []
        for label, value in ((then, node.true_value), (otherwise, node.false_value)):
            w.start(label)
            with w.scope():
                result = self._expr(value, dict(done))
            incoming.append(f"[ {result}, %{w.block} ]")
            w.branch(after)
        w.start(after)
        return w.let(f"phi {value_type(node.dtype)} {', '.join(incoming)}")
