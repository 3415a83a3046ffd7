# SPDX-License-Identifier: Apache-2.0
"""The statements of loop IR and the kernel that holds them: nodes and nothing else.

::

    Stmt = For | Store | If | Seq | Allocate | Let | Attr | AllReduce | ThreadStmt
    ThreadStmt = Launch | Shuffle | Barrier | Ticket

The second row exists in programs for threads only: what a bound loop and an AllReduce become.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias

from axisfold.ir.buffer import Buffer
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import CacheHint, Expr, Node, Var

LoopKind = Literal["serial", "rolled", "parallel", "vectorized", "unrolled", "bound"]
Level = Literal["warp", "block", "cluster", "grid"]
ShuffleMode = Literal["down", "xor", "index"]
WARP = 32
# Bytes of the shortest vector that a CPU writes past its caches ("stream"), and its alignment.
STREAMED = 16
# Key of the hint around a parallel loop: what a round of it costs, in nanoseconds or about.
WORK = "work"


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """``for var in [min, min + extent)``; leaves early once ``stop`` holds before a round.

    Threads that share the rounds of a ``parallel`` loop leave out those before which ``stop`` holds
    for them; the first round is over before they start, as often it decides.
    The rounds of a ``bound`` loop are the threads or blocks of the hardware index ``thread``.  A
    ``rolled`` loop is a serial one that runs rarely: no compiler below shall unroll it.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("min", "extent", "stop", "body")
    var: Var
    min: Expr
    extent: Expr
    kind: LoopKind
    body: Stmt
    stop: Expr | None = None
    thread: str = ""

    def children(self) -> tuple[Node, ...]:
        if self.stop is None:
            return self.min, self.extent, self.body
        return self.min, self.extent, self.stop, self.body

    def with_children(self, new: Sequence[Any]) -> Self:
        stop = None if self.stop is None else new[2]
        return type(self)(self.var, new[0], new[1], self.kind, new[-1], stop, self.thread)


@dataclass(frozen=True, slots=True, eq=False)
class Store(Node):
    """Write ``value`` to ``buffer`` at a flat offset; masked-out lanes are untouched."""

    child_fields: ClassVar[tuple[str, ...]] = ("index", "value", "mask")
    buffer: Buffer
    index: Expr
    value: Expr
    mask: Expr | None = None
    align: int = 0
    cache: CacheHint = ""

    def children(self) -> tuple[Node, ...]:
        if self.mask is None:
            return self.index, self.value
        return self.index, self.value, self.mask

    def with_children(self, new: Sequence[Any]) -> Self:
        mask = None if self.mask is None else new[2]
        return type(self)(self.buffer, new[0], new[1], mask, self.align, self.cache)


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """Run ``then`` where the condition holds, else ``otherwise`` if there is one."""

    child_fields: ClassVar[tuple[str, ...]] = ("condition", "then", "otherwise")
    condition: Expr
    then: Stmt
    otherwise: Stmt | None = None

    def children(self) -> tuple[Node, ...]:
        if self.otherwise is None:
            return self.condition, self.then
        return self.condition, self.then, self.otherwise

    def with_children(self, new: Sequence[Any]) -> Self:
        return type(self)(*new)


@dataclass(frozen=True, slots=True, eq=False)
class Seq(Node):
    """Statements in order; never nested and never of one."""

    child_fields: ClassVar[tuple[str, ...]] = ("body",)
    body: tuple[Stmt, ...]

    def children(self) -> tuple[Node, ...]:
        return self.body

    def with_children(self, new: Sequence[Any]) -> Self:
        return type(self)(tuple(new))


@dataclass(frozen=True, slots=True, eq=False)
class Allocate(Node):
    """Memory that lives for ``body``; its contents start undefined.

    ``zeroed``: they start as zeros, and the program leaves zeros behind, so that the memory may
    serve the next call.  ``offset``: first byte within the shared memory of the block, once placed.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("body",)
    buffer: Buffer
    body: Stmt
    zeroed: bool = False
    offset: int | None = None

    def children(self) -> tuple[Node, ...]:
        return (self.body,)

    def with_children(self, new: Sequence[Any]) -> Self:
        return type(self)(self.buffer, new[0], self.zeroed, self.offset)


@dataclass(frozen=True, slots=True, eq=False)
class Let(Node):
    """Name a value for ``body``."""

    child_fields: ClassVar[tuple[str, ...]] = ("value", "body")
    var: Var
    value: Expr
    body: Stmt

    def children(self) -> tuple[Node, ...]:
        return self.value, self.body

    def with_children(self, new: Sequence[Any]) -> Self:
        return type(self)(self.var, new[0], new[1])


@dataclass(frozen=True, slots=True, eq=False)
class Attr(Node):
    """A hint about a loop variable or a buffer, for the passes; it holds inside ``body``."""

    child_fields: ClassVar[tuple[str, ...]] = ("value", "body")
    node: Var | Buffer
    key: str
    value: Expr
    body: Stmt

    def children(self) -> tuple[Node, ...]:
        return self.value, self.body

    def with_children(self, new: Sequence[Any]) -> Self:
        return type(self)(self.node, self.key, new[0], new[1])


@dataclass(frozen=True, slots=True, eq=False)
class AllReduce(Node):
    """Combine ``values`` of all threads that differ in ``threads`` only.

    Threads for which ``condition`` is false take part with the identity.  Afterwards the first of
    them, or with ``broadcast`` each, finds the results in its ``targets``, local buffers of one
    element.  At level ``grid`` that is a thread of the last block to arrive, and the other blocks
    skip the statements that follow in the sequence.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("values", "condition")
    combiner: Combiner
    values: tuple[Expr, ...]
    condition: Expr
    targets: tuple[Buffer, ...]
    threads: tuple[Var, ...]
    level: Level = "block"
    style: str = ""
    broadcast: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Launch(Node):
    """Run ``body`` in each thread of a grid of blocks: one kernel of the device.

    Parameters
    ----------
    name
        Symbol of the kernel.
    tags, vars, extents
        The hardware indices in use: ``blockIdx.*``, ``clusterCtaIdx.*`` (the block within its
        cluster; blockIdx then counts clusters) and ``threadIdx.*``, x before y before z, each with
        the variable that holds it and its extent.  Only extents of blocks may be variable.
    body
        What one thread does.
    shared_bytes
        Shared memory of one block, once placed.
    resident
        Blocks that a multiprocessor should have registers for at once; 0 leaves it open.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("extents", "body")
    name: str
    tags: tuple[str, ...]
    vars: tuple[Var, ...]
    extents: tuple[Expr, ...]
    body: Stmt
    shared_bytes: int = 0
    resident: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Shuffle(Node):
    """Store the ``value`` of another lane of the warp in ``target[0]``; all lanes take part.

    The lanes of a warp form segments of ``width`` of them.  ``down`` reads from ``lane`` places
    further, and from the own lane beyond the segment; ``xor`` from the lane whose number differs
    in the bits of ``lane``; ``index`` from the given place of the segment.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("value", "lane")
    target: Buffer
    value: Expr
    mode: ShuffleMode
    lane: Expr
    width: int = WARP


@dataclass(frozen=True, slots=True, eq=False)
class Barrier(Node):
    """Wait for all threads of the warp, block or cluster; they see each other's writes then."""

    level: Level = "block"


@dataclass(frozen=True, slots=True, eq=False)
class Ticket(Node):
    """Take one of ``total`` tickets at ``counter[index]``; ``target[0]``: was it the last one.

    The last one sets the counter back to 0.  What the takers of the others knew of, by barriers of
    their blocks, may be read by the taker of the last.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("index", "total")
    target: Buffer
    counter: Buffer
    index: Expr
    total: Expr


ThreadStmt: TypeAlias = Launch | Shuffle | Barrier | Ticket
Stmt: TypeAlias = For | Store | If | Seq | Allocate | Let | Attr | AllReduce | ThreadStmt


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One function: its parameters, in the caller's order, and a body.

    Parameters
    ----------
    name
        Symbol of the function.
    params
        Buffers that the caller binds.  Extents and strides that are variables are bound from
        the arrays, so they are parameters of the machine code but not of this list.
    outputs
        The buffers among ``params`` that the body writes.
    body
        The program.
    """

    name: str
    params: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt

    def __str__(self) -> str:
        from axisfold.ir.printer import print_kernel  # noqa: PLC0415  (the printer knows all nodes)

        return print_kernel(self)
