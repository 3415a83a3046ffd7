# SPDX-License-Identifier: Apache-2.0
"""launch_threads: each nest with bound loops becomes one launch of a grid of threads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from axisfold.analysis.simplify import can_prove, simplify
from axisfold.dtypes import INT32
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Const, Expr, Load, Var
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Seq,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import post_order, rebuild, statements, substitute, uses
from axisfold.passes.apply_pragmas import RESIDENT
from axisfold.passes.rewriter import StmtRewriter, with_body
from axisfold.passes.threads import TAGS, UNITS, first_of, is_block_tag, is_cooperative


def launch_threads(kernel: Kernel) -> Kernel:
    """Start the threads of a nest once, outside of it.

    Before::

        attr [IterVar(blockIdx.x, …)] "thread_extent" = n {
          attr [IterVar(threadIdx.x, …)] "thread_extent" = 64 { S }
          attr [IterVar(threadIdx.x, …)] "thread_extent" = 32 { T }
        }

    After::

        launch main_kernel0(blockIdx.x < n, threadIdx.x < 64) {
          S
          if (threadIdx.x < 32) { T }
        }

    Loops bound to one tag share its threads; a loop of fewer rounds leaves the others idle.  Where
    a nest is not bound to an index that others of the launch use, one thread of that index writes.
    Idle threads still reach what threads do together.

    Raises
    ------
    UnsupportedError
        ``X121``: nothing of a nest is bound; ``X122``: the extent of a thread index is not
        constant, or that of a block index depends on the nest; ``X123``: memory of the wrong
        scope, or of an extent that is not constant.
    """
    launcher = _Host(kernel.name)
    return with_body(kernel, launcher.visit(kernel.body))


class _Host:
    """Walks what is outside of all launches."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def visit(self, stmt: Stmt) -> Stmt:
        if not any(isinstance(node, (For, Allocate)) for node in statements(stmt)):
            return self.launch(stmt)
        match stmt:
            case Allocate():
                if stmt.buffer.scope != "global":
                    raise UnsupportedError(
                        f"stage {stmt.buffer.name!r} is computed at the top level, where memory "
                        f"of scope {stmt.buffer.scope!r} would have to outlive a launch.",
                        code="X123",
                        hint="Use compute_at to compute it inside a bound loop, or scope 'global'.",
                    )
                return replace(stmt, body=self.visit(stmt.body))
            case Seq():
                return build.seq(*(self.visit(part) for part in stmt.body))
            case Let() | Attr() if not _is_for_launch(stmt):
                return replace(stmt, body=self.visit(stmt.body))
            case _:
                return self.launch(stmt)

    def launch(self, nest: Stmt) -> Launch:
        found: dict[str, list[For]] = {}
        for node in statements(nest):
            if isinstance(node, For) and node.kind == "bound":
                found.setdefault(node.thread, []).append(node)
        if not found and any(isinstance(node, For) for node in statements(nest)):
            raise UnsupportedError(
                f"nothing of the nest that writes {_written(nest)} is bound to threads.",
                code="X121",
                hint='Bind one of its axes, as in s[B].bind(axis, te.thread_axis("blockIdx.x")).',
            )
        _check_memory(nest)
        tags = tuple(tag for tag in TAGS if tag in found)
        indices = {tag: _Index.of(tag, found[tag], nest) for tag in tags}
        index_of = {loop.var: indices[tag].var for tag in tags for loop in found[tag]}
        same = {var: build.cast(var.dtype, index) for var, index in index_of.items()}
        body = _Threads(indices, index_of).visit(substitute(nest, same))
        hints = (n.value for n in statements(nest) if isinstance(n, Attr) and _is_for_launch(n))
        resident = max((build.as_int(value) or 0 for value in hints), default=0)
        name = f"{self.name}_kernel{self.count}"
        self.count += 1
        variables = tuple(i.var for i in indices.values())
        extents = tuple(i.extent for i in indices.values())
        return Launch(name, tags, variables, extents, body, resident=resident)


def _is_for_launch(stmt: Stmt) -> bool:
    return isinstance(stmt, Attr) and stmt.key == RESIDENT


@dataclass(frozen=True, slots=True)
class _Index:
    """A hardware index of a launch."""

    var: Var
    extent: Expr

    @staticmethod
    def of(tag: str, loops: list[For], nest: Stmt) -> _Index:
        extents = [simplify(loop.extent) for loop in loops]
        inner = frozenset(n.var for n in statements(nest) if isinstance(n, (For, Let)))
        for extent in extents:
            is_known = isinstance(extent, Const) or is_block_tag(tag)
            if not is_known or uses(extent, inner):
                what = "depends on a loop" if uses(extent, inner) else "is not constant"
                raise UnsupportedError(
                    f"the extent {extent} of {tag} {what}, but threads are started once, as many "
                    "for every call.",
                    code="X122",
                    hint="Split the axis by a constant factor and bind the inner part.",
                )
        largest = extents[0]
        for extent in extents[1:]:
            if not can_prove(extent <= largest):
                largest = build.maximum(*build.match_pair(largest, extent))
        return _Index(Var(loops[0].var.name, INT32), build.cast(INT32, simplify(largest)))


class _Threads(StmtRewriter):
    """Walks a nest whose threads have been started."""

    def __init__(self, indices: dict[str, _Index], index_of: dict[Var, Var]) -> None:
        super().__init__()
        self.indices, self.index_of = indices, index_of
        self.seen: frozenset[str] = frozenset()
        for index in indices.values():
            self.bounds = self.bounds.extended(
                index.var, build.const(0, index.var.dtype), index.extent
            )

    def visit_for(self, loop: For) -> Stmt:
        if loop.kind != "bound":
            return super().visit_for(loop)
        index = self.indices[loop.thread]
        outer, self.seen = self.seen, self.seen | {loop.thread}
        body = self.visit(loop.body)
        self.seen = outer
        enough = index.var < build.cast(index.var.dtype, loop.extent)
        if can_prove(enough, self.bounds):
            return body
        return predicated(body, build.likely(enough))

    def visit(self, stmt: Stmt) -> Stmt:
        match stmt:
            case AllReduce():
                return replace(stmt, threads=tuple(self.index_of[v] for v in stmt.threads))
            case Ticket():
                return self.by_one(stmt, UNITS)
            case Attr() if _is_for_launch(stmt):
                return self.visit(stmt.body)
            case _ if units := _units_written_for(stmt):
                return self.by_one(stmt, units)
            case _:
                return super().visit(stmt)

    def by_one(self, stmt: Stmt, units: Collection[str]) -> Stmt:
        """Let one thread of each index of some units that the nest does not use write."""
        unused = [
            index.var
            for tag, index in self.indices.items()
            if tag not in self.seen
            and tag.partition(".")[0] in units
            and not build.is_const(index.extent, 1)
        ]
        return If(first_of(unused), stmt) if unused else stmt


# The threads that see the same memory.
_SEEN_BY: Final = {
    "global": frozenset(UNITS),
    "cluster": frozenset({"clusterCtaIdx", "threadIdx"}),
    "shared": frozenset({"threadIdx"}),
    "warp": frozenset({"threadIdx"}),
}


def _units_written_for(stmt: Stmt) -> Collection[str]:
    """Return the units whose threads all see what a statement writes, if it does nothing else."""
    own: set[Buffer] = set()
    written: set[Buffer] = set()
    for node in statements(stmt):
        match node:
            case Allocate():
                own.add(node.buffer)
            case Store():
                written.add(node.buffer)
            case For(kind="bound"):
                return ()
            case _:
                pass
    seen_by = {_SEEN_BY.get(buffer.scope, frozenset()) for buffer in written - own}
    return seen_by.pop() if len(seen_by) == 1 and not is_cooperative(stmt) else ()


def predicated(stmt: Stmt, guard: Expr) -> Stmt:
    """Run a statement in the threads for which a guard holds.

    What threads do together stays outside of the branch, so that all of them reach it.
    """
    if not is_cooperative(stmt):
        return If(guard, stmt)
    match stmt:
        case Seq():
            return build.seq(*(predicated(part, guard) for part in stmt.body))
        case AllReduce():
            condition = build.if_then_else(build.bare(guard), stmt.condition, build.FALSE)
            return replace(stmt, condition=condition)
        case Let() if any(isinstance(node, Load) for node in post_order(stmt.value)):
            nothing = build.const(0, stmt.value.dtype)
            value = build.if_then_else(build.bare(guard), stmt.value, nothing)
            return Let(stmt.var, value, predicated(stmt.body, guard))
        case Let() | Allocate() | Attr() | For():
            return replace(stmt, body=predicated(stmt.body, guard))
        case If():
            parts = [stmt.then] if stmt.otherwise is None else [stmt.then, stmt.otherwise]
            return rebuild(stmt, [stmt.condition, *(predicated(p, guard) for p in parts)])
        case _:
            return If(guard, stmt)


def _check_memory(stmt: Stmt) -> None:
    """Refuse memory of all blocks, and memory of any size, that is made inside a launch."""
    match stmt:
        case Allocate() if stmt.buffer.scope == "global":
            raise UnsupportedError(
                f"stage {stmt.buffer.name!r} is computed inside a loop over blocks, and its memory "
                "is global, or is local with extents that are not small constants.",
                code="X123",
                hint="Use set_scope('shared') or 'local' with constant extents, or compute it at "
                "the top level.",
            )
        case Allocate() if not _is_constant(stmt.buffer):
            extents = " x ".join(map(str, stmt.buffer.shape))
            raise UnsupportedError(
                f"stage {stmt.buffer.name!r} is computed inside a loop over blocks or threads in "
                f"{stmt.buffer.scope} memory, whose size is fixed when a kernel is compiled, but "
                f"its extents are {extents}.",
                code="X123",
                hint="Split the loop that it is computed at by a constant and compute it further "
                "inside, or compute it at the top level.",
            )
        case For():
            _check_memory(stmt.body)
        case If():
            _check_memory(stmt.then)
        case Seq():
            for part in stmt.body:
                _check_memory(part)
        case Let() | Attr() | Allocate():
            _check_memory(stmt.body)
        case _:
            return


def _is_constant(buffer: Buffer) -> bool:
    return all(build.as_int(extent) is not None for extent in buffer.allocated_extents)


def _written(stmt: Stmt) -> str:
    names = {n.buffer.name: None for n in statements(stmt) if isinstance(n, Store)}
    return ", ".join(map(repr, names))
