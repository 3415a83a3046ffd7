# SPDX-License-Identifier: Apache-2.0
"""A kernel as an LLVM function: parameters, loops, branches and allocations.

It returns 0, or an error: 1 if memory could not be allocated, or what threads report.  Parameters
are a pointer for each buffer, then an i64 for each of what ``scalar_parameters`` returns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, assert_never

from axisfold.codegen.llvm import arithmetic, fused, heap, memory, places, tails
from axisfold.codegen.llvm.calls import emit_call
from axisfold.codegen.llvm.held import Holding, held_places, round_of
from axisfold.codegen.llvm.induction import Induction
from axisfold.codegen.llvm.machine import ANY, Machine
from axisfold.codegen.llvm.outline import (
    PARALLEL,
    Taken,
    chunk_text,
    outline,
    pack,
    take,
    unpack,
)
from axisfold.codegen.llvm.types import constant, memory_type, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.codegen.signature import scalar_parameters
from axisfold.dtypes import INT64
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
from axisfold.ir.walk import substitute


def symbol(kernel: Kernel) -> str:
    """Return the name of a kernel's LLVM function; the prefix keeps it apart from C's."""
    return f"axisfold.{kernel.name}"


def emit_kernel(kernel: Kernel, machine: Machine = ANY, *, is_brief: bool = False) -> str:
    """Return the LLVM IR of a kernel whose indices are int64, for one machine or for any.

    If it is brief, it tells LLVM nothing that a brief compilation does not use.
    """
    module = _Module(kernel, machine, is_brief)
    w = module.writer()
    taken = take(w, kernel.params, scalar_parameters(kernel), module.readonly)
    main = _Function(module, w, taken)
    text = main.text(f'define i32 @"{symbol(kernel)}"', kernel.body)
    return "\n".join([text, *module.functions, *module.declarations.values(), ""])


class _Module:
    """What the functions of one kernel share: its loops as functions, and declarations."""

    def __init__(self, kernel: Kernel, machine: Machine, is_brief: bool) -> None:
        self.symbol, self.machine = symbol(kernel), machine
        self.is_brief = is_brief
        self.readonly = frozenset(kernel.params) - frozenset(kernel.outputs)
        self.functions: list[str] = []
        self.declarations: dict[str, str] = {}
        self.loops = 0

    def writer(self) -> Writer:
        """Return where a function is written."""
        return Writer(self.declarations, machine=self.machine)

    def name_loop(self) -> tuple[str, str]:
        """Return names for the two functions of a parallel loop."""
        self.loops += 1
        return f"{self.symbol}.chunk.{self.loops}", f"{self.symbol}.rounds.{self.loops}"


class _Function:
    """Emits one function: a kernel, or the rounds of a parallel loop in it.

    Parameters
    ----------
    module
        The kernel's module.
    w, taken
        Where it is written, and what it takes.
    """

    def __init__(self, module: _Module, w: Writer, taken: Taken) -> None:
        self.module, self.w = module, w
        self.pointers, self.values, self.parameters = taken
        self.given = frozenset(self.values)
        self.own: dict[Buffer, str] = {}
        self.heap: list[str] = []
        self.steps: dict[tuple[Var, int], str] = {}
        self.shared = frozenset(self.pointers)
        self.work = "0"
        self.places = places.Places(self.own)

    def text(self, head: str, body: Stmt) -> str:
        """Return the function with ``body``, which returns 0 where nothing fails."""
        w = self.w
        self.stmt(body)
        if w.streams:  # nothing else orders these writes before what tells other threads of them
            w.emit("fence seq_cst")
        w.emit("ret i32 0")
        lines = [line for line in (*w.entry, *w.lines) if line]
        return "\n".join([f"{head}({self.parameters}) nounwind {{", "entry:", *lines, "}", ""])

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
        memory.emit_store(self.w, stmt, place, value, mask, is_shared=stmt.buffer in self.shared)

    def loop(self, loop: For) -> None:
        w = self.w
        low, end = self._range(loop)
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
            holding.end_round()
            moved.end_round()
        w.emit(f"{following} = add nsw i64 {counter}, 1")
        w.lines[phi] = f"  {counter} = phi i64 [ {low}, %{before} ], [ {following}, %{w.block} ]"
        w.branch(head)
        w.start(after)
        holding.leave()

    def _range(self, loop: For) -> tuple[str, str]:
        """Append where a loop begins and ends."""
        low, extent = self.expr(loop.min), loop.extent
        if isinstance(extent, Binary) and extent.op == "sub" and extent.b == loop.min:
            return low, self.expr(extent.a)
        rounds = self.expr(extent)
        return low, rounds if low == "0" else self.w.let(f"add nsw i64 {low}, {rounds}")

    def parallel(self, loop: For) -> None:
        """Share the rounds among threads, and return what went wrong in them."""
        w, outlined = self.w, outline(loop)
        chunk, rounds = self.module.name_loop()
        own = self.module.writer()
        if self.module.is_brief:
            inside = _Function(self.module, own, unpack(own, outlined))
            texts = [inside.text(f'define internal i32 @"{chunk}"', outlined.rounds)]
        else:
            variables = (*outlined.variables, outlined.begin, outlined.end)
            taken = take(own, outlined.buffers, variables, self.module.readonly)
            inside = _Function(self.module, own, taken)
            texts = [inside.text(f'define internal i32 @"{rounds}"', outlined.rounds)]
            texts.append(chunk_text(outlined, chunk, rounds))
        self.module.functions += texts
        context = pack(w, outlined, self.pointers, self.values)
        extent = self.expr(outlined.extent)
        if loop.stop is not None:
            end = arithmetic.intrinsic(w, "smin", INT64, extent, "0")
            self._run(w.let(f'call i32 @"{chunk}"(ptr {context}, i64 -1, i64 {end})', "status"))
            stop = substitute(loop.stop, {loop.var: loop.min + 1})
            extent = w.let(f"select i1 {self.expr(stop)}, i64 0, i64 {extent}")
        w.declarations[PARALLEL] = f"declare i32 @{PARALLEL}(ptr, ptr, i64, i64)"
        args = f'ptr @"{chunk}", ptr {context}, i64 {extent}, i64 {self.work}'
        self._run(w.let(f"call i32 @{PARALLEL}({args})", "status"))

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
        buffers, body = heap.neighbours(stmt)
        w.declarations["malloc"] = "declare noalias ptr @malloc(i64)"
        w.declarations["free"] = "declare void @free(ptr)"
        sizes = heap.sizes(w, buffers, self.expr)
        held = w.let(f"call noalias ptr @malloc(i64 {heap.total(w, sizes)})", "heap")
        self._leave_if(w.let(f"icmp eq ptr {held}, null"), "1", "nomemory")
        self.pointers |= heap.begin(w, held, buffers, sizes)
        self.heap.append(held)
        self.stmt(body)
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
        return constant(node.value, node.dtype) if isinstance(node, Const) else self.values[node]

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
        if isinstance(node, Binary):
            return fused.operands(node)
        if isinstance(node, Load):
            offset = self.places.split(node).operands
            return offset if node.mask is None else (*offset, node.mask)
        if isinstance(node, Not):
            return arithmetic.denied(node).children()
        if isinstance(node, Cast) and (count := arithmetic.counted(node)):
            return count[:1]
        return tails.long_tail(node) or node.children()

    def _node(self, node: Node, args: list[str]) -> str:
        w = self.w
        match node:
            case Binary():
                return fused.emit_binary(w, node, args)
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
        if isinstance(node.stride, Var) and node.stride in self.given:
            # The same in every loop; vector products of int64 are slow.
            key = (node.stride, node.lanes)
            if key not in self.steps:
                with w.at_entry():
                    self.steps[key] = arithmetic.emit_steps(w, dtype, args[1])
            steps = self.steps[key]
        else:
            steps = arithmetic.emit_steps(w, dtype, args[1])
        return w.binary("add", dtype, w.broadcast(args[0], dtype), steps)

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
