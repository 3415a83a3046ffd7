# SPDX-License-Identifier: Apache-2.0
"""The base of statement passes: visit every statement, keep what did not change."""

from __future__ import annotations

from typing import assert_never

from axisfold.analysis.bounds import Bounds, Domain, environment
from axisfold.dtypes import highest
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Var
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
from axisfold.ir.walk import rebuild

EMPTY = Seq(())


class StmtRewriter:
    """Rewrites a program top-down; override the cases that matter.

    Attributes
    ----------
    bounds
        Domains of the loops around the statement being visited.
    """

    def __init__(self) -> None:
        self.bounds = Bounds({})

    def run(self, kernel: Kernel) -> Kernel:
        """Return the rewritten kernel, the same object if nothing changed."""
        self.bounds = _extents(kernel.params)
        body = self.visit(kernel.body)
        return kernel if body is kernel.body else with_body(kernel, body)

    def expr(self, expr: Expr) -> Expr:
        """Rewrite an expression that a statement holds."""
        return expr

    def visit(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement; the empty ``Seq`` stands for nothing."""
        match stmt:
            case For():
                return self.visit_for(stmt)
            case If():
                return self.visit_if(stmt)
            case Store():
                return self.visit_store(stmt)
            case Let():
                return self.visit_let(stmt)
            case Allocate():
                return rebuild(stmt, [self.visit(stmt.body)])
            case Seq():
                parts = [self.visit(s) for s in stmt.body]
                same = all(new is old for new, old in zip(parts, stmt.body, strict=True))
                return stmt if same else build.seq(*parts)
            case Attr():
                return rebuild(stmt, [self.expr(stmt.value), self.visit(stmt.body)])
            case AllReduce():
                return rebuild(stmt, [self.expr(e) for e in (*stmt.values, stmt.condition)])
            case Launch():
                return self.visit_launch(stmt)
            case Shuffle():
                return rebuild(stmt, [self.expr(stmt.value), self.expr(stmt.lane)])
            case Ticket():
                return rebuild(stmt, [self.expr(stmt.index), self.expr(stmt.total)])
            case Barrier():
                return stmt
            case _:
                assert_never(stmt)

    def visit_for(self, loop: For) -> Stmt:
        """Rewrite a loop; its body is visited under the loop's domain."""
        low, extent = self.expr(loop.min), self.expr(loop.extent)
        stop = [] if loop.stop is None else [self.expr(loop.stop)]
        return rebuild(loop, [low, extent, *stop, self.visit_inside(loop, loop.body)])

    def visit_inside(self, loop: For, body: Stmt) -> Stmt:
        """Visit a body under the domain of ``loop``."""
        outer = self.bounds
        self.bounds = outer.extended(loop.var, loop.min, loop.extent)
        try:
            return self.visit(body)
        finally:
            self.bounds = outer

    def visit_launch(self, launch: Launch) -> Stmt:
        """Rewrite a kernel; its body is visited under the domains of its indices."""
        extents = [self.expr(e) for e in launch.extents]
        outer = self.bounds
        for var, extent in zip(launch.vars, extents, strict=True):
            self.bounds = self.bounds.extended(var, build.const(0, var.dtype), extent)
        try:
            return rebuild(launch, [*extents, self.visit(launch.body)])
        finally:
            self.bounds = outer

    def visit_if(self, stmt: If) -> Stmt:
        """Rewrite a conditional."""
        otherwise = [] if stmt.otherwise is None else [self.visit(stmt.otherwise)]
        return rebuild(stmt, [self.expr(stmt.condition), self.visit(stmt.then), *otherwise])

    def visit_store(self, stmt: Store) -> Stmt:
        """Rewrite a store."""
        mask = [] if stmt.mask is None else [self.expr(stmt.mask)]
        return rebuild(stmt, [self.expr(stmt.index), self.expr(stmt.value), *mask])

    def visit_let(self, stmt: Let) -> Stmt:
        """Rewrite a named value."""
        return rebuild(stmt, [self.expr(stmt.value), self.visit(stmt.body)])


def substatements(stmt: Stmt) -> tuple[Stmt, ...]:
    """Return the statements directly inside a statement."""
    match stmt:
        case For() | Let() | Allocate() | Attr() | Launch():
            return (stmt.body,)
        case If():
            return (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise)
        case Seq():
            return stmt.body
        case Store() | AllReduce() | Shuffle() | Barrier() | Ticket():
            return ()
        case _:
            assert_never(stmt)


def _extents(params: tuple[Buffer, ...]) -> Bounds:
    """Return what is known of the variables that arrays bind: an extent is never negative.

    That sizes are not is known anyway.
    """
    return environment(
        {
            extent: Domain(
                build.const(0, extent.dtype), build.const(highest(extent.dtype), extent.dtype)
            )
            for buffer in params
            for extent in buffer.shape
            if isinstance(extent, Var) and not extent.is_size
        }
    )


def with_body(kernel: Kernel, body: Stmt) -> Kernel:
    """Return the kernel with another body."""
    return Kernel(kernel.name, kernel.params, kernel.outputs, body)


def is_empty(stmt: Stmt) -> bool:
    """Return whether a statement does nothing."""
    return isinstance(stmt, Seq) and not stmt.body
