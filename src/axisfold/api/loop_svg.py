# SPDX-License-Identifier: Apache-2.0
"""Loops as a picture: a box for each, inside of which stands what it repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from axisfold.ir import build
from axisfold.ir.expr import Expr, Load
from axisfold.ir.printer import print_expr
from axisfold.ir.stmt import Allocate, AllReduce, Attr, For, If, Kernel, Let, Seq, Stmt, Store
from axisfold.ir.walk import post_order

LETTER: Final = 6.7  # width of a letter
LINE: Final = 22  # height of a line
PAD: Final = 10
WORDS: Final = 72  # letters of a line; its title has all of them

# What each kind of loop says of itself; a bound one names its hardware index.
MARKS: Final = {
    "serial": "", "rolled": "", "parallel": "shared by threads", "vectorized": "lanes of a vector",
    "unrolled": "written out", "bound": "",
}  # fmt: skip

STYLE: Final = """
  .af-ground { fill: #ffffff; }
  .af-svg text { font: 12px ui-monospace, monospace; fill: #1f2328; }
  .af-svg .af-mark { fill: #57606a; font-style: italic; }
  .af-loop { fill: #f6f8fa; stroke: #8c959f; }
  .af-parallel { fill: #fff8c5; stroke: #9a6700; }
  .af-vectorized { fill: #ddf4ff; stroke: #0969da; }
  .af-unrolled { fill: #ffffff; stroke: #8c959f; stroke-dasharray: 4 3; }
  .af-bound { fill: #fbefff; stroke: #8250df; }
  .af-svg .af-fold { fill: #0969da; font-weight: bold; }
  .af-svg .af-note { fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    .af-ground { fill: #0d1117; }
    .af-svg text { fill: #e6edf3; }
    .af-svg .af-mark, .af-svg .af-note { fill: #9198a1; }
    .af-loop, .af-unrolled { fill: #151b23; stroke: #656c76; }
    .af-parallel { fill: #272115; stroke: #d29922; }
    .af-vectorized { fill: #121d2f; stroke: #4493f8; }
    .af-bound { fill: #21162f; stroke: #ab7df8; }
    .af-svg .af-fold { fill: #4493f8; }
  }
"""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of text; ``kind`` is its style."""

    text: str
    kind: str = ""

    @property
    def width(self) -> float:
        return LETTER * min(len(self.text), WORDS)

    @property
    def height(self) -> int:
        return LINE


@dataclass(frozen=True, slots=True)
class _Box:
    """A loop around other parts."""

    title: str
    mark: str
    kind: str
    parts: tuple[_Box | _Line, ...]

    @property
    def width(self) -> float:
        letters = min(len(self.title), WORDS) + len(self.mark) + 3
        return max([LETTER * letters, *(part.width for part in self.parts)]) + 2 * PAD

    @property
    def height(self) -> int:
        return LINE + sum(part.height + 6 for part in self.parts) + 4


def draw_loops(kernel: Kernel) -> str:
    """Return the loops of a program as SVG: ``loops`` of an explanation.

    Parameters
    ----------
    kernel
        Loop IR as people read it.
    """
    parts = tuple(_parts(kernel.body))
    width = round(max((part.width for part in parts), default=0) + 2 * PAD)
    height = sum(part.height + 6 for part in parts) + 2 * PAD
    body: list[str] = []
    top = PAD
    for part in parts:
        body += _drawn(part, PAD, top, width - 2 * PAD)
        top += part.height + 6
    lines = "\n".join(f"  {line}" for line in body)
    label = escape(f"the loops of {kernel.name}")
    return (
        f'<svg class="af-svg" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" role="img" aria-label="{label}">\n  <style>{STYLE}  </style>\n'
        f'  <rect class="af-ground" width="{width}" height="{height}"/>\n{lines}\n</svg>\n'
    )


def _drawn(part: _Box | _Line, x: float, y: float, width: float) -> Iterator[str]:
    match part:
        case _Line(text=text, kind=kind):
            yield _text(text, kind, x, y + 15)
        case _Box(title=title, mark=mark, kind=kind, parts=parts):
            yield (
                f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" '
                f'height="{part.height}" rx="4"/>'
            )
            yield _text(title, "", x + PAD, y + 16)
            if mark:
                after = x + PAD + LETTER * (min(len(title), WORDS) + 3)
                yield _text(mark, "af-mark", after, y + 16)
            top = y + LINE + 2
            for inner in parts:
                yield from _drawn(inner, x + PAD, top, width - 2 * PAD)
                top += inner.height + 6


def _text(text: str, kind: str, x: float, y: float) -> str:
    shown = text if len(text) <= WORDS else f"{text[: WORDS - 1]}…"
    style = f' class="{kind}"' if kind else ""
    title = f"<title>{escape(text)}</title>" if shown != text else ""
    return f'<text{style} x="{x:g}" y="{y:g}">{escape(shown)}{title}</text>'


def _parts(stmt: Stmt) -> Iterator[_Box | _Line]:
    """Return the parts of a picture; statements that only name things have none of their own."""
    match stmt:
        case Seq(body=body):
            for each in body:
                yield from _parts(each)
        case For():
            mark = stmt.thread or MARKS[stmt.kind]
            kind = stmt.kind if stmt.kind in ("parallel", "vectorized", "unrolled", "bound") else ""
            title = f"for {stmt.var.name} < {_plain(stmt.extent)}"
            if stmt.stop is not None:
                mark = f"{mark}, until it is decided".removeprefix(", ")
            yield _Box(title, mark, f"af-{kind or 'loop'}", tuple(_parts(stmt.body)))
        case If(condition=condition, then=then, otherwise=otherwise):
            yield _Line(f"where {_plain(condition)}", "af-note")
            yield from _parts(then)
            if otherwise is not None:
                yield _Line("otherwise", "af-note")
                yield from _parts(otherwise)
        case Allocate(buffer=buffer, body=inner):
            extents = " x ".join(_plain(extent) for extent in buffer.allocated_extents)
            yield _Line(f"{buffer.name}: {extents} of {buffer.dtype}, {buffer.scope}", "af-note")
            yield from _parts(inner)
        case Let(body=inner) | Attr(body=inner):
            yield from _parts(inner)
        case Store():
            yield _stored(stmt)
        case AllReduce(targets=targets, level=level):
            names = ", ".join(target.name for target in targets)
            yield _Line(f"combine {names} of the threads of a {level}", "af-fold")
        case _:
            yield _Line(type(stmt).__name__.lower(), "af-note")


def _plain(expr: Expr) -> str:
    """Return an expression without what only a compiler needs to know."""
    text = print_expr(expr).replace("(int64)", "")
    text = re.sub(r"@tir\.likely\((.*), dtype=bool\)", r"\1", text)
    return re.sub(r"floordiv\(\((\w+) \+ (\d+)\), (\d+)\)", _rounded_up, text)


def _rounded_up(match: re.Match[str]) -> str:
    """Return a division that rounds up as people write it."""
    value, rest, divisor = match.groups()
    return f"⌈{value} / {divisor}⌉" if int(rest) + 1 == int(divisor) else match[0]


def _stored(stmt: Store) -> _Line:
    """Return what a store does: start a state, fold into it, or write what was folded."""
    name = stmt.buffer.name
    loads = [n.buffer.name for n in post_order(stmt.value) if isinstance(n, Load)]
    sources = ", ".join(dict.fromkeys(source for source in loads if source != name))
    if name in loads:
        return _Line(f"fold {sources or 'the index'} into {name}", "af-fold")
    if not sources:
        constant = build.as_int(stmt.value)
        return _Line(f"start {name}" + ("" if constant is None else f" with {constant}"))
    return _Line(f"{name} from {sources}")
