# SPDX-License-Identifier: Apache-2.0
"""The statements of loop IR and the kernel that holds them: nodes and nothing else.

::

    Stmt = For | Store | If | Seq | Allocate | Let | Attr | AllReduce
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from axisfold.ir.buffer import Buffer
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import CacheHint, Expr, Node, Var

LoopKind = Literal["serial", "parallel", "vectorized", "unrolled", "bound"]
Level = Literal["warp", "block", "cluster", "grid"]


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """``for var in [min, min + extent)``; leaves early once ``stop`` holds before a round.

    The rounds of a ``bound`` loop are the threads or blocks of the hardware index ``thread``.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("min", "extent", "stop", "body")
    var: Var
    min: Expr
    extent: Expr
    kind: LoopKind
    body: Stmt
    stop: Expr | None = None
    thread: str = ""


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


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """Run ``then`` where the condition holds, else ``otherwise`` if there is one."""

    child_fields: ClassVar[tuple[str, ...]] = ("condition", "then", "otherwise")
    condition: Expr
    then: Stmt
    otherwise: Stmt | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Seq(Node):
    """Statements in order; never nested and never of one."""

    child_fields: ClassVar[tuple[str, ...]] = ("body",)
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Allocate(Node):
    """Memory that lives for ``body``; its contents start undefined."""

    child_fields: ClassVar[tuple[str, ...]] = ("body",)
    buffer: Buffer
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Let(Node):
    """Name a value for ``body``."""

    child_fields: ClassVar[tuple[str, ...]] = ("value", "body")
    var: Var
    value: Expr
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Attr(Node):
    """A hint about a loop variable or a buffer, for the passes; it holds inside ``body``."""

    child_fields: ClassVar[tuple[str, ...]] = ("value", "body")
    node: Var | Buffer
    key: str
    value: Expr
    body: Stmt


@dataclass(frozen=True, slots=True, eq=False)
class AllReduce(Node):
    """Combine ``values`` of all threads that differ in ``threads`` only.

    Threads for which ``condition`` is false take part with the identity.  Afterwards each thread
    finds the results in its ``targets``, local buffers of one element.
    """

    child_fields: ClassVar[tuple[str, ...]] = ("values", "condition")
    combiner: Combiner
    values: tuple[Expr, ...]
    condition: Expr
    targets: tuple[Buffer, ...]
    threads: tuple[Var, ...]
    level: Level = "block"
    style: str = ""


Stmt: TypeAlias = For | Store | If | Seq | Allocate | Let | Attr | AllReduce


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
