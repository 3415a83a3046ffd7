# SPDX-License-Identifier: Apache-2.0
"""Where a statement stands in the printed program, for messages and traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from axisfold.ir.printer import statement_lines
from axisfold.ir.stmt import Kernel, Stmt
from axisfold.ir.walk import rebuild


class Source:
    """A kernel whose statements are distinct objects, and its text.

    Attributes
    ----------
    kernel
        The same program; a statement that occurs several times is as many objects.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = replace(kernel, body=_distinct(kernel.body))
        self._lines: Mapping[int, int] | None = None
        self._text: list[str] = []

    def line(self, stmt: Stmt) -> int:
        """Return the number of a statement's first line in ``str(kernel)``, counted from 1."""
        if self._lines is None:
            text, self._lines = statement_lines(self.kernel)
            self._text = text.splitlines()
        return self._lines[id(stmt)]

    def quote(self, stmt: Stmt) -> str:
        """Return a statement's first line and its number."""
        number = self.line(stmt)
        return f"line {number}: `{self._text[number - 1].strip()}`"


def _distinct(stmt: Stmt) -> Stmt:
    """Copy the statements of a program, but not its expressions."""
    new = [_distinct(c) if isinstance(c, Stmt) else c for c in stmt.children()]
    changed = rebuild(stmt, new)
    return replace(stmt) if changed is stmt else changed
