# SPDX-License-Identifier: Apache-2.0
"""The terminal: colours where it has them, plain text in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text


def make_console() -> Console:
    """Return the console of stdout; rich looks at the terminal, NO_COLOR and FORCE_COLOR."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print a table, the first column left and the others right; plain columns in a pipe."""
    if not console.is_terminal:
        _print_plain(console, title, columns, rows)
        return
    heading = Text(title, style="bold") if title else None
    table = Table(title=heading, title_justify="left", box=SIMPLE_HEAD)
    for position, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if position else "left", no_wrap=True)
    for row in rows:
        table.add_row(Text(row[0], style="cyan"), *(Text(cell) for cell in row[1:]))
    console.print(table, soft_wrap=False)


def _print_plain(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    if title:
        console.print(title)
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        console.print("  ".join(cells).rstrip())


def print_heading(console: Console, text: str) -> None:
    """Print a heading between sections."""
    if console.is_terminal:
        console.rule(Text(text, style="bold cyan"), align="left", style="cyan")
    else:
        console.print(f"# {text}")


def print_code(console: Console, code: str, language: str) -> None:
    """Print code, with syntax colours on a terminal, never wrapped or cut."""
    if not console.is_terminal or console.no_color:
        console.out(code.rstrip("\n"), highlight=False)
        return
    syntax = Syntax("", language, theme="ansi_dark", background_color="default")
    console.print(syntax.highlight(code.rstrip("\n")), soft_wrap=True, end="")
