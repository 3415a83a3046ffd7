# SPDX-License-Identifier: Apache-2.0
"""A trace as a picture: threads from left to right, steps from top to bottom, arrows between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Final

from axisfold.ir.stmt import WARP
from axisfold.sim.styles import describe, ranges
from axisfold.sim.trace_rows import Step, members
from axisfold.sim.trace_text import shown_lanes, shown_steps, summary

if TYPE_CHECKING:
    from axisfold.sim.tracing import LaunchTrace, Trace

LEFT: Final = 84  # room for step and lines
RIGHT: Final = 370  # room for what a step does
WORDS: Final = 56  # as many letters of it
BOX: Final = 20  # height of a box
RISE: Final = 62  # from one row to the next
GAP: Final = 4
TITLE: Final = 76  # from the top of a launch to its first row
LEGEND: Final = (
    "Numbers: of how many threads the elements are in what a thread holds. Solid arrows combine,",
    "dashed ones copy. Grey: idle; a dashed box: not used; a violet line: a barrier.",
)

STYLE: Final = """
  .ground { fill: #ffffff; }
  text { font: 12px sans-serif; fill: #1f2328; }
  .title { font-weight: bold; font-size: 15px; }
  .note, .head { fill: #57606a; }
  .head, .value { text-anchor: middle; font-size: 11px; }
  .small { font-size: 8px; }
  .label { text-anchor: end; fill: #57606a; }
  .bad { fill: #cf222e; font-weight: bold; }
  .box { fill: #ffffff; stroke: #8c959f; }
  .busy { fill: #ddf4ff; stroke: #0969da; }
  .copy { fill: #fff8c5; stroke: #9a6700; }
  .unused { fill: #ffffff; stroke: #8c959f; stroke-dasharray: 2 2; }
  .idle { fill: #d0d7de; stroke: none; }
  .merge { stroke: #0969da; fill: none; stroke-width: 1.3; }
  .take { stroke: #9a6700; fill: none; stroke-dasharray: 4 3; }
  .keep { stroke: #8c959f; fill: none; }
  .barrier { stroke: #8250df; stroke-dasharray: 7 4; }
  .warp { stroke: #8c959f; stroke-dasharray: 1 4; }
  .tip { fill: context-stroke; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; }
    text { fill: #e6edf3; }
    .note, .head, .label { fill: #9198a1; }
    .bad { fill: #ff7b72; }
    .box, .unused { fill: #151b23; stroke: #656c76; }
    .busy { fill: #121d2f; stroke: #4493f8; }
    .copy { fill: #272115; stroke: #d29922; }
    .idle { fill: #2d333b; }
    .merge { stroke: #4493f8; }
    .take { stroke: #d29922; }
    .barrier { stroke: #ab7df8; }
  }
"""


def draw(trace: Trace, lanes: int) -> str:
    """Return a trace as SVG."""
    panels = [_Panel(trace, launch, lanes) for launch in trace.launches]
    width = max((panel.width for panel in panels), default=LEFT + RIGHT)
    body: list[str] = []
    top = 0
    for panel in panels:
        body += panel.lines(top)
        top += panel.height
    title = escape("; ".join(panel.title for panel in panels))
    lines = "\n".join(f"  {line}" for line in body)
    # The tip takes the colour of its arrow where a viewer knows context-stroke, else black.
    marker = (
        '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" '
        'orient="auto"><path class="tip" d="M0 0 L6 3 L0 6 z"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" role="img" '
        f'aria-label="{title}">\n  <style>{STYLE}  </style>\n  <defs>{marker}</defs>\n'
        f'  <rect class="ground" width="{width}" height="{top}"/>\n{lines}\n</svg>\n'
    )


class _Panel:
    """One launch.  Columns are threads, then warps of which each is one column."""

    def __init__(self, trace: Trace, launch: LaunchTrace, lanes: int) -> None:
        self.launch = launch
        self.steps = shown_steps(launch)
        self.source = trace.source.splitlines()
        self.shown = shown_lanes(launch.threads, lanes)
        self.warps = -(-launch.threads // WARP) if launch.threads > self.shown else 0
        self.columns = self.shown + max(0, self.warps - self.shown // WARP)
        self.pitch = 40 if self.columns <= 16 else 28 if self.columns <= 40 else 24
        self.title, self.extents = summary(trace.kernel, launch)
        self.width = self._x(self.columns) + RIGHT
        self.height = TITLE + RISE * len(self.steps) + 20

    def column(self, thread: int) -> int:
        """Return the column of a thread."""
        return thread if thread < self.shown else self.shown + thread // WARP - self.shown // WARP

    def _x(self, column: int) -> int:
        """Return the left edge of a column; warps of one column stand apart."""
        return LEFT + column * self.pitch + (16 if column >= self.shown else 0)

    def centre(self, column: int) -> float:
        """Return the middle of a column."""
        return self._x(column) + (self.pitch - GAP) / 2

    def lines(self, top: int) -> Iterator[str]:
        """Return the picture of the launch, which begins at a height."""
        yield f'<text class="title" x="16" y="{top + 24}">{escape(self.title)}</text>'
        note = self.extents
        if self.warps:
            first = self.shown // WARP
            note += (
                f". Threads 0..{self.shown - 1} one by one; warps {first}..{self.warps - 1} are "
                "a column each, with the number of threads at work"
            )
        yield f'<text class="note" x="16" y="{top + 42}">{escape(note)}</text>'
        for column in range(self.columns):
            name = str(column)
            if column >= self.shown:
                name = f"w{column - self.shown + self.shown // WARP}"
            yield self._centred("head", column, top + 66, name)
        yield from self._borders(top)
        for number, step in enumerate(self.steps):
            yield from self._row(number, step, top + TITLE + number * RISE)
        for line, text in enumerate(LEGEND):
            y = top + self.height - 28 + 16 * line
            yield f'<text class="note" x="16" y="{y}">{text}</text>'

    def _centred(self, kind: str, column: int, y: int, text: str) -> str:
        """Return text in the middle of a column, small if it is as wide."""
        size = " small" if 7 * len(text) > self.pitch - GAP else ""
        x = self.centre(column)
        return f'<text class="{kind}{size}" x="{x:g}" y="{y}">{text}</text>'

    def _borders(self, top: int) -> Iterator[str]:
        """Draw lines between warps."""
        for column in [*range(WARP, self.shown, WARP), *([self.shown] if self.warps else [])]:
            x = self._x(column) - (GAP // 2 if column < self.shown else 10)
            yield (
                f'<path class="warp" d="M{x} {top + 56} V{top + self.height - 50}">'
                "<title>end of a warp</title></path>"
            )

    def _row(self, number: int, step: Step, y: int) -> Iterator[str]:
        if number:
            yield from self._arrows(step, y)
        if step.lines:
            quoted = escape("\n".join(self.source[line - 1].strip() for line in step.lines))
            yield (
                f'<text class="label" x="{LEFT - 10}" y="{y + 14}">line {ranges(step.lines, 2)}'
                f"<title>{quoted}</title></text>"
            )
        yield from self._boxes(step, y)
        yield from self._margin(step, y)

    def _margin(self, step: Step, y: int) -> Iterator[str]:
        """Draw what happens, who is active, what the banks do, and the barrier."""
        end = self._x(self.columns) + 8
        what = describe(step)
        shown = what if len(what) <= WORDS else f"{what[: WORDS - 1]}…"
        yield f'<text x="{end}" y="{y + 6}">{escape(shown)}<title>{escape(what)}</title></text>'
        if step.lines:
            active = f"{len(step.active)} of {self.launch.threads} active"
            yield f'<text class="note" x="{end}" y="{y + 22}">{active}</text>'
        if step.degree:
            kind, text = "note", "no bank conflict"
            if step.degree > 1:
                kind, text = "bad", f"{step.degree}-way bank conflict"
            accesses = "\n".join(
                f"{a.kind} {a.buffer}, line {a.line}: {a.threads} threads, {a.degree}-way"
                for a in step.shared
            )
            yield (
                f'<text class="{kind}" x="{end + 130}" y="{y + 22}">{text}'
                f"<title>{escape(accesses)}</title></text>"
            )
        if step.barrier:
            at = y + BOX + 9
            yield (
                f'<path class="barrier" d="M{LEFT} {at} H{end - 8 - GAP}">'
                f"<title>barrier of the {step.barrier}</title></path>"
            )

    def _boxes(self, step: Step, y: int) -> Iterator[str]:
        found = dict(zip(step.active, step.masks, strict=True))
        kinds = _kinds(step)
        width = self.pitch - GAP
        for column in range(self.columns):
            kind, text, title = self._box(column, found, kinds)
            x = self._x(column)
            if kind == "idle":
                yield f'<rect class="idle" x="{x}" y="{y + 7}" width="{width}" height="6" rx="3"/>'
                continue
            yield (
                f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{BOX}" rx="3">'
                f"<title>{title}</title></rect>"
            )
            if text:
                yield self._centred("value", column, y + 14, text)

    def _box(
        self, column: int, masks: Mapping[int, int], kinds: Mapping[int, str]
    ) -> tuple[str, str, str]:
        """Return the kind of a box, its text and its title."""
        if column < self.shown:
            if column not in masks:
                return "idle", "", ""
            kind = kinds[column]
            owners = ranges(sorted(members(masks[column])), 8)
            text = "" if kind == "unused" else str(masks[column].bit_count())
            what = f"holds the elements of {owners}" if owners else "holds none of the elements"
            return kind, text, f"thread {column} {what}"
        warp = column - self.shown + self.shown // WARP
        inside = range(warp * WARP, min((warp + 1) * WARP, self.launch.threads))
        active = [t for t in inside if t in masks]
        if not active:
            return "idle", "", ""
        found = {kinds[t] for t in active}
        kind = next(k for k in ("busy", "copy", "box", "unused") if k in found)
        return kind, str(len(active)), f"warp {warp}: {ranges(active)} at work"

    def _arrows(self, step: Step, y: int) -> Iterator[str]:
        """Draw where states come from, each way between two columns once."""
        above = y - RISE + BOX
        drawn: dict[tuple[int, int, str], None] = {}
        for combine in step.combines:
            if not combine.is_used:
                continue
            column = self.column(combine.thread)
            kind = "take" if combine.is_copy else "merge"
            for source in combine.sources:
                drawn[self.column(source), column, kind] = None
            if combine.keeps:
                drawn[column, column, "keep"] = None
        for source, column, kind in drawn:
            if kind != "keep" and source == column:
                continue  # within a warp of one column
            tip = "" if kind == "keep" else ' marker-end="url(#tip)"'
            start, end = self.centre(source), self.centre(column)
            yield f'<path class="{kind}" d="M{start:g} {above} L{end:g} {y - 1}"{tip}/>'


def _kinds(step: Step) -> dict[int, str]:
    """Return the kind of the box of each active thread."""
    pairs = zip(step.active, step.used, strict=True)
    kinds = {thread: "box" if is_used else "unused" for thread, is_used in pairs}
    for combine in step.combines:
        if combine.is_used:
            kinds[combine.thread] = "copy" if combine.is_copy else "busy"
    return kinds
