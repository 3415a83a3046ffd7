# SPDX-License-Identifier: Apache-2.0
"""A launch as one ``__global__`` function: what a single thread does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

from axisfold.analysis.bounds import Bounds
from axisfold.codegen.control import Control
from axisfold.codegen.cuda.expressions import Expressions, pointer_to
from axisfold.codegen.cuda.helpers import Helpers
from axisfold.codegen.cuda.lanes import move_of, moved_registers, split_lanes
from axisfold.codegen.cuda.shape import BlockShape
from axisfold.codegen.cuda.spelling import RESERVED, memory_type, value_type
from axisfold.codegen.text import Code, Lines, Names, call, cast
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Expr, Load, Node, Var
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
from axisfold.ir.walk import post_order, statements, variables
from axisfold.passes.narrow_indices import hardware_extent

# A loop over the elements of registers is written out up to this many rounds.
_MOST_UNROLLED = 256


def emit_launch(
    launch: Launch,
    symbol: str,
    parameters: tuple[Sequence[Buffer], Sequence[Var]],
    inputs: frozenset[Buffer],
    bounds: Bounds,
    helpers: Helpers,
) -> str:
    """Return the function of a launch.

    Parameters
    ----------
    launch
        With narrow indices; its vectors are taken apart here.
    symbol
        Name of the function.
    parameters
        Buffers and scalars.
    inputs
        The buffers that nothing writes while the launch runs.
    bounds
        What is known of the scalars.
    helpers
        Of the program; those that the function calls are added.
    """
    return _Launch(launch, symbol, parameters, inputs, bounds, helpers).text()


class _Launch(Control[Expressions]):
    """Writes one function."""

    def __init__(
        self,
        launch: Launch,
        symbol: str,
        parameters: tuple[Sequence[Buffer], Sequence[Var]],
        inputs: frozenset[Buffer],
        bounds: Bounds,
        helpers: Helpers,
    ) -> None:
        self.launch, self.symbol = launch, symbol
        self.body = split_lanes(launch.body)
        nodes = self.nodes = list(post_order(self.body))
        self.shape = BlockShape(launch)
        self.mask = self.shape.mask()
        self.indices: dict[str, str] = {}
        self.helpers, self.lines = helpers, Lines()
        self.names = Names(RESERVED | helpers.all_names())
        self.x = Expressions(self.names, self.lines, helpers)
        self.buffers, self.scalars = parameters
        self.x.bytewise = _bytewise(nodes, self.buffers)
        self.x.bounds = bounds
        self.inputs = inputs
        self.moved = moved_registers(nodes)
        self.guarding = _guarding(nodes, frozenset(launch.vars))
        self.choosing = _choosing(nodes)
        self.computing: tuple[Buffer, ...] = ()
        for buffer in self.buffers:
            self.x.pointers[buffer] = self.names.fresh(buffer.name)
        for var in self.scalars:
            self.x.declare_counter(var, self.names.fresh(var.name))

    def text(self) -> str:
        lines = self.lines
        params = [self._parameter(b) for b in self.buffers]
        params += [f"{value_type(v.dtype)} {self.x.variables[v]}" for v in self.scalars]
        attributes = f"__launch_bounds__({self.shape.bounds})"
        if self.shape.has_clusters:
            attributes = f"__cluster_dims__({self.shape.cluster_text}) {attributes}"
        lines.emit(f'extern "C" __global__ void {attributes}')
        with lines.block(f"{self.symbol}({', '.join(params)})"):
            if self._allocates("shared", "cluster"):
                lines.emit("extern __shared__ __align__(16) unsigned char shared[];")
            self._indices()
            self._lanes()
            self._whole_cluster("the first block's shared memory is there once it has started ...")
            self.stmt(self.body, is_top=True)
            self._whole_cluster("... and until it ends")
        self._forget_unused()
        return lines.text()

    def _whole_cluster(self, why: str) -> None:
        """Wait for the other blocks if memory of the first one is read or written."""
        if self._allocates("cluster"):
            self.lines.comment(why)
            self.lines.emit(f"{self.helpers.named('cluster_barrier')};")

    def _allocates(self, *scopes: str) -> bool:
        return any(isinstance(n, Allocate) and n.buffer.scope in scopes for n in self.nodes)

    def _parameter(self, buffer: Buffer) -> str:
        name = self.x.pointers[buffer]
        kind = "u8" if buffer in self.x.bytewise else memory_type(buffer.dtype)
        if buffer in self.inputs:
            return f"const {kind} *__restrict__ {name}"
        return f"{kind} *{name}"

    def _indices(self) -> None:
        """Name the hardware indices after the axes that are bound to them."""
        launch, used = self.launch, {n for n in self.nodes if isinstance(n, Var)}
        for tag, var, extent in zip(launch.tags, launch.vars, launch.extents, strict=True):
            name = self.names.fresh(var.name)
            known = extent if isinstance(extent, Const) else None
            self.x.declare_counter(var, name, extent=known)
            self.x.counters[var] = min(self.x.counters[var], 31)
            most = build.cast(var.dtype, hardware_extent(extent, self.x.bounds))
            self.x.bounds = self.x.bounds.extended(var, build.const(0, var.dtype), most)
            if var in used:
                value = Code(self.shape.index(tag))
                self.lines.assign(f"const {value_type(var.dtype)} {name}", value)
                self.indices[name] = self.lines.lines[-1]
                if var in self.guarding and known is not None:
                    self.lines.emit(f"__builtin_assume({name} >= 0 && {name} < {known.value});")

    def _lanes(self) -> None:
        """Name the lanes of the warp, where they differ between warps."""
        waits = any(
            isinstance(n, Shuffle) or (isinstance(n, Barrier) and n.level == "warp")
            for n in self.nodes
        )
        if waits and self.shape.last_lanes:
            self.lines.comment(f"the last warp has {self.shape.last_lanes} lanes")
            self.lines.assign(f"const u32 {(name := self.names.fresh('lanes'))}", Code(self.mask))
            self.mask = name

    def _forget_unused(self) -> None:
        """Remove the names of indices that occurred only in what holds anyway."""
        text = "\n".join(self.lines.lines)
        for name, line in self.indices.items():
            if len(re.findall(rf"\b{name}\b", text)) == 1:
                self.lines.lines.remove(line)

    def stmt(self, stmt: Stmt, *, is_top: bool = False) -> None:
        x = self.x
        if is_top and isinstance(stmt, (For, If)):
            self.announce(stmt)
        match stmt:
            case For():
                self.loop(stmt)
            case Store():
                move = move_of(stmt)
                if move is None:
                    x.store(stmt)
                else:
                    x.move(move)
            case If():
                self.branch(stmt)
            case Seq():
                for part in stmt.body:
                    self.stmt(part, is_top=is_top)
            case Allocate():
                self.allocate(stmt, is_top=is_top)
            case Let():
                self.let(stmt, is_top=is_top)
            case Shuffle():
                self.shuffle(stmt)
            case Barrier():
                self.barrier(stmt)
            case Ticket():
                self.ticket(stmt)
            case Attr() | AllReduce() | Launch():
                raise InternalError(f"{type(stmt).__name__} is no statement of a thread")
            case _:
                assert_never(stmt)

    def announce(self, stmt: For | If) -> None:
        """Say which tensors a part of the launch computes, and along which axis."""
        written = tuple(_written(stmt))
        if written and written != self.computing:
            axis = ""
            if isinstance(stmt, For) and stmt.kind in ("serial", "rolled"):
                axis = f" over {stmt.var.name}"
            self.lines.comment(f"{', '.join(b.name for b in written)}{axis}")
            self.computing = written

    def loop(self, loop: For) -> None:
        start, end = self.ends(loop)
        if loop.kind == "unrolled" or self._indexes_registers(loop):
            self.lines.emit("#pragma unroll")
        elif loop.kind == "rolled":
            self.lines.emit("#pragma unroll 1")
        self.rounds(loop, start, end)

    def _indexes_registers(self, loop: For) -> bool:
        """Whether registers are chosen by a loop's variable: only constants can choose one."""
        rounds = build.as_int(loop.extent)
        return rounds is not None and rounds <= _MOST_UNROLLED and loop.var in self.choosing

    def allocate(self, stmt: Allocate, *, is_top: bool) -> None:
        """Place memory: registers, or a part of the block's shared memory."""
        buffer, x = stmt.buffer, self.x
        if buffer.scope == "local":
            x.declare_local(buffer, _count(buffer), is_moved=buffer in self.moved)
        else:
            place = Code(f"shared + {stmt.offset}" if stmt.offset else "shared")
            if buffer.scope == "cluster":
                place = self.helpers.named("of_first_block", place)
            kind, name = memory_type(buffer.dtype), self.names.fresh(buffer.name)
            x.pointers[buffer] = name
            self.lines.assign(f"{kind} *const {name}", pointer_to(kind, place))
        self.stmt(stmt.body, is_top=is_top)

    def shuffle(self, stmt: Shuffle) -> None:
        """Read another lane's value; narrow values travel as int."""
        x, dtype = self.x, stmt.value.dtype
        value, lane = x.value(stmt.value), x.value(stmt.lane)
        is_narrow = not dtype.is_float and dtype.bits < 32
        mode = {"down": "down_", "xor": "xor_", "index": ""}[stmt.mode]
        sent = cast("int", value) if is_narrow else value
        found = call(f"__shfl_{mode}sync", Code(self.mask), sent, lane, Code(str(stmt.width)))
        if is_narrow:
            found = cast(value_type(dtype), found)
        x.put_first(stmt.target, found)

    def barrier(self, stmt: Barrier) -> None:
        match stmt.level:
            case "warp":
                self.lines.emit(f"__syncwarp({self.mask});")
            case "block":
                self.lines.emit("__syncthreads();")
            case "cluster":
                self.lines.emit(f"{self.helpers.named('cluster_barrier')};")
            case "grid":
                raise InternalError("a grid has no barrier")
            case _:
                assert_never(stmt.level)

    def ticket(self, stmt: Ticket) -> None:
        x = self.x
        index, total = x.offset(stmt.index), x.value(build.cast("uint32", stmt.total))
        counter = Code(f"&{x.pointers[stmt.counter]}[{index}]")
        taken = self.helpers.named("is_last_ticket", counter, total)
        x.put_first(stmt.target, taken)


def _written(stmt: Stmt) -> dict[Buffer, None]:
    """Return the buffers that a statement writes and does not allocate, in order."""
    found: dict[Buffer, None] = {}
    own: set[Buffer] = set()
    for node in statements(stmt):
        if isinstance(node, Store):
            found.setdefault(node.buffer)
        elif isinstance(node, (Shuffle, Ticket)):
            found.setdefault(node.target)
        elif isinstance(node, Allocate):
            own.add(node.buffer)
    return {buffer: None for buffer in found if buffer not in own}


def _choosing(nodes: Sequence[Node]) -> frozenset[Var]:
    """Return the variables that choose registers."""
    accesses = (n for n in nodes if isinstance(n, (Load, Store)) and n.buffer.scope == "local")
    return frozenset().union(*(variables(n.index) for n in accesses))


def _guarding(nodes: Sequence[Node], indices: frozenset[Var]) -> set[Var]:
    """Return the indices that guards inside unrolled loops ask for, and nothing but constants.

    Where the compiler knows how large they are, such a guard is left in the last rounds only.
    """
    loops = (n for n in nodes if isinstance(n, For) and n.kind == "unrolled")
    rounds = frozenset(loop.var for loop in loops)
    guards = [variables(n.condition) for n in nodes if isinstance(n, If)]
    found = [used & indices for used in guards if used & rounds and used <= indices | rounds]
    return set().union(*found)


def _bytewise(nodes: Sequence[Node], buffers: Sequence[Buffer]) -> frozenset[Buffer]:
    """Return the arguments that are not accessed as arrays of their element type.

    An element that is said to lie anywhere is read byte by byte.  Where nothing is said, one lies
    at a multiple of its size: the runtime refuses other arrays.
    """
    found = {b for b in buffers if b.unit == "byte"}
    found |= {
        n.buffer
        for n in nodes
        if isinstance(n, (Load, Store)) and n.align % n.buffer.dtype.itemsize
    }
    return frozenset(found)


def _count(buffer: Buffer) -> int:
    """Return the number of elements of local memory; an array has one at least."""
    count = 1
    for extent in buffer.allocated_extents:
        count *= _constant(extent)
    return max(count, 1)


def _constant(extent: Expr) -> int:
    value = build.as_int(extent)
    if value is None:
        raise InternalError(f"local memory has the extent {extent}, which is no constant")
    return value
