# SPDX-License-Identifier: Apache-2.0
"""A trace as text: a row for each step, a column for each thread or warp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from axisfold.ir.stmt import WARP
from axisfold.sim.styles import describe, merges, ranges
from axisfold.sim.trace_rows import Step

if TYPE_CHECKING:
    from axisfold.sim.tracing import LaunchTrace, Trace

# Up to this many threads a cell has room for a number.
NUMBERED: Final = 16


def write(trace: Trace, lanes: int) -> str:
    """Return a trace as text."""
    parts = [_launch(trace.kernel, launch, lanes) for launch in trace.launches]
    return "\n".join(parts)


def shown_lanes(threads: int, lanes: int) -> int:
    """Return how many threads get a column of their own: whole warps, all if they are few."""
    wanted = max(1, -(-lanes // WARP)) * WARP
    return min(threads, wanted)


def summary(kernel: str, launch: LaunchTrace) -> list[str]:
    """Return the title of a launch and a line about its extents."""
    style = launch.style or "threads do not combine"
    x, y, z = (str(n) for n in launch.block_extents)
    grid = " x ".join(str(n) for n in launch.grid)
    name = kernel if kernel == launch.name else f"{kernel}, launch {launch.name}"
    return [
        f"{name}: {style}",
        f"block {launch.block} of {grid}, {launch.threads} threads ({x} x {y} x {z})",
    ]


def shown_steps(launch: LaunchTrace) -> tuple[Step, ...]:
    """Return the steps as they are drawn.

    Where the first one combines already, a row before it shows the elements in memory.
    """
    if not launch.steps or not merges(launch.steps[0]):
        return launch.steps
    active = tuple(range(launch.threads))
    masks = tuple(1 << thread for thread in active)
    start = Step((), active, (), masks, (True,) * len(active), (), (), (), ())
    return (start, *launch.steps)


def _launch(kernel: str, launch: LaunchTrace, lanes: int) -> str:
    shown, steps = shown_lanes(launch.threads, lanes), shown_steps(launch)
    rows = [["step", "lines", "active", "banks", _head(launch, shown), "what"]]
    first = 1 - (len(steps) - len(launch.steps))
    rows += [_row(n, step, launch, shown) for n, step in enumerate(steps, first)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = []
    for row, barrier in zip(rows, ("", *(step.barrier for step in steps)), strict=True):
        cells = [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        cells[0], cells[2] = row[0].rjust(widths[0]), row[2].rjust(widths[2])
        lines.append("  ".join(cells).rstrip())
        if barrier:
            lines.append(" " * widths[0] + f"  -- {barrier} barrier --")
    return "\n".join([*summary(kernel, launch), "", *lines, "", *_legend(launch, shown), ""])


def _row(number: int, step: Step, launch: LaunchTrace, shown: int) -> list[str]:
    """Return the cells of a step."""
    is_numbered = launch.threads <= NUMBERED
    cells = _numbers(step, launch) if is_numbered else _symbols(step, launch, shown)
    active = f"{len(step.active)}/{launch.threads}" if step.lines else ""
    return [str(number), ranges(step.lines), active, banks(step), cells, describe(step)]


def banks(step: Step) -> str:
    """Return the worst conflict of a step in a word."""
    return "" if not step.degree else "free" if step.degree == 1 else f"{step.degree}-way"


def _head(launch: LaunchTrace, shown: int) -> str:
    if launch.threads <= NUMBERED:
        width = len(str(launch.threads))
        return " ".join(str(n).rjust(width) for n in range(launch.threads))
    head = _grouped([str(n % 10) for n in range(shown)])
    if launch.threads > shown:
        head += "  |  " + _grouped([str(w % 10) for w in _warps(launch, shown)])
    return head


def _warps(launch: LaunchTrace, shown: int) -> range:
    return range(shown // WARP, -(-launch.threads // WARP))


def _grouped(symbols: Sequence[str]) -> str:
    return " ".join("".join(symbols[n : n + 8]) for n in range(0, len(symbols), 8))


def _numbers(step: Step, launch: LaunchTrace) -> str:
    """Return for each thread how many threads' elements it holds."""
    width = len(str(launch.threads))
    cells = dict.fromkeys(range(launch.threads), ".")
    for thread, mask, is_used in zip(step.active, step.masks, step.used, strict=True):
        cells[thread] = str(mask.bit_count()) if is_used else "-"
    return " ".join(text.rjust(width) for text in cells.values())


def _symbols(step: Step, launch: LaunchTrace, shown: int) -> str:
    pairs = zip(step.active, step.used, strict=True)
    kinds = {thread: "o" if is_used else "-" for thread, is_used in pairs}
    for c in step.combines:
        if c.is_used:
            kinds[c.thread] = "<" if c.is_copy else "#"
    text = _grouped([kinds.get(thread, ".") for thread in range(shown)])
    if launch.threads <= shown:
        return text
    symbols = []
    for warp in _warps(launch, shown):
        inside = {kinds.get(t, ".") for t in range(warp * WARP, (warp + 1) * WARP)}
        symbols.append(next(s for s in "#<o-." if s in inside))
    return f"{text}  |  {_grouped(symbols)}"


def _legend(launch: LaunchTrace, shown: int) -> list[str]:
    if launch.threads <= NUMBERED:
        return [
            "number: of how many threads the elements are in what the thread holds;",
            ". idle; - the result is not used; banks: conflicts in shared memory.",
        ]
    lines = ["# combines with another thread; < copies; o works alone; - not used; . idle"]
    if launch.threads > shown:
        warps = _warps(launch, shown)
        lines.append(
            f"threads 0..{shown - 1} one by one, then warps {warps[0]}..{warps[-1]}, a column each."
        )
    return lines
