# SPDX-License-Identifier: Apache-2.0
"""Loops, branches and named values as C-like source, for the backends that print it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

from axisfold.analysis.simplify import simplify
from axisfold.codegen.text import Code, Lines, Names
from axisfold.codegen.writing import Context, Writing
from axisfold.ir import build
from axisfold.ir.stmt import For, If, Let, Stmt

# Longer ends of loops are computed once, before the loop.
_LONG_END: Final = 24


X = TypeVar("X", bound=Context)


class Control(ABC, Generic[X]):
    """Writes the statements that mean the same in every dialect of C.

    Attributes
    ----------
    names, lines, x
        Of the function being written: the names in scope, its source and its expressions.
    """

    names: Names
    lines: Lines
    x: X

    @abstractmethod
    def stmt(self, stmt: Stmt, *, is_top: bool = False) -> None:
        """Write a statement; ``is_top`` says that no loop is around it."""

    def ends(self, loop: For) -> tuple[Code, Code]:
        """Return the first round of a loop and the round after its last."""
        start = self._named(loop, "start", self.x.bound(loop.min))
        end = self.x.bound(build.binary("add", loop.min, loop.extent))
        return start, self._named(loop, "end", end)

    def _named(self, loop: For, what: str, code: Code) -> Code:
        """Compute an end of a loop before it, unless it is short."""
        if "(" not in code.text and len(code.text) <= _LONG_END:
            return code
        name = self.names.fresh(f"{loop.var.name}.{what}")
        self.lines.assign(f"const {self.x.kind(loop.var.dtype)} {name}", code)
        return Code(name)

    def rounds(self, loop: For, start: Code, end: Code) -> None:
        """Write a loop from ``start`` up to ``end``."""
        x, lines, outer = self.x, self.lines, self.x.bounds
        with self.names.block():
            var = self.names.fresh(loop.var.name)
            x.declare_counter(loop.var, var, extent=loop.extent)
            x.bounds = outer.extended(loop.var, loop.min, loop.extent)
            kind = x.kind(loop.var.dtype)
            with lines.block(f"for ({kind} {var} = {start}; {var} < {end}; ++{var})"):
                if loop.stop is not None:
                    with lines.block(f"if ({x.value(loop.stop)})"):
                        lines.emit("break;")
                self.stmt(loop.body)
        x.bounds = outer

    def branch(self, stmt: If) -> None:
        """Write a branch; one that only the last rounds of loops take is said to be a tail."""
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
        with self._inside():
            self.stmt(stmt.then)
        if stmt.otherwise is not None:
            lines.emit("} else {")
            with self._inside():
                self.stmt(stmt.otherwise)
        lines.emit("}")

    @contextmanager
    def _inside(self) -> Iterator[None]:
        self.lines.depth += 1
        with self.names.block():
            yield
        self.lines.depth -= 1

    def let(self, stmt: Let, *, is_top: bool = False) -> None:
        """Name values; names that follow each other share what they compute on the way."""
        chain = [stmt]
        while isinstance(chain[-1].body, Let):
            chain.append(chain[-1].body)
        writing = Writing(self.x, *(named.value for named in chain))
        for named in chain:
            value = writing.code(named.value)
            name = self.names.fresh(named.var.name)
            self.x.variables[named.var] = name
            self.lines.assign(f"const {self.x.kind(named.var.dtype)} {name}", value)
            self.lines.statements(self.after_name(named, name))
        self.stmt(chain[-1].body, is_top=is_top)

    def after_name(self, stmt: Let, name: str) -> Sequence[str]:
        """Return the statements that a declaration of a name needs after it."""
        return ()
