# SPDX-License-Identifier: Apache-2.0
"""What was measured as a Markdown table and as a chart, in text and as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from benchmarks.cpu import OURS, Outcome

_BAR: Final = 40
_COLOURS: Final = (
    "#c0392b", "#2c3e50", "#16a085", "#8e44ad", "#f39c12", "#2980b9", "#7f8c8d", "#27ae60",
)  # fmt: skip


def libraries(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the libraries that took part, axisfold first."""
    return list(dict.fromkeys([OURS, *(n for o in outcomes for n in o.seconds)]))


def table(outcomes: Sequence[Outcome], counted: str = "input bytes") -> str:
    """Return the outcomes as Markdown: GB/s for large cases, microseconds for small ones."""
    lines = []
    for title, groups, unit in (
        (f"GB/s of {counted}", ("memory", "curve"), "GB/s"),
        ("Microseconds per call", ("small",), "us"),
    ):
        chosen = [o for o in outcomes if o.group in groups]
        if chosen:
            lines += [f"{title}:", "", *_rows(chosen, unit), ""]
    return "\n".join(lines)


def _rows(outcomes: Sequence[Outcome], unit: str) -> list[str]:
    names = libraries(outcomes)
    heads = ["case", *(["sweep"] if unit == "GB/s" else []), *names]
    heads += ["of limit", "best peer / limit"] if unit == "GB/s" else ["ours / best peer"]
    has_results = unit == "GB/s" and any(o.written for o in outcomes)
    heads += ["of limit, with results"] * has_results
    heads.append("first call, ms")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for o in outcomes:
        cells = [o.name]
        if unit == "GB/s":
            cells.append(_number(o.nbytes / o.limit / 1e9))
        cells += [_cell(o, n, unit) for n in names]
        peers = [s for n, s in o.seconds.items() if n != OURS]
        own = o.seconds.get(OURS)
        if unit == "GB/s":
            cells.append("" if own is None else f"{o.limit / own:.2f}")
            cells.append(f"{o.limit / min(peers):.2f}" if peers else "")
            if has_results:
                cells.append("" if own is None else f"{o.moved(OURS):.2f}")
        else:
            cells.append(f"{own / min(peers):.2f}" if peers and own is not None else "")
        cells.append(f"{o.first * 1e3:.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _cell(outcome: Outcome, name: str, unit: str) -> str:
    seconds = outcome.seconds.get(name)
    if seconds is None:
        return ""
    value = outcome.nbytes / seconds / 1e9 if unit == "GB/s" else seconds * 1e6
    return _number(value) + (" (wrong)" if name in outcome.wrong else "")


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def chart(outcomes: Sequence[Outcome]) -> str:
    """Return a bar for each case: ours up to the share of the limit, ``|`` the best peer's."""
    lines = []
    for o in (o for o in outcomes if o.limit):
        peers = [o.limit / s for n, s in o.seconds.items() if n != OURS]
        own = o.share(OURS) if OURS in o.seconds else 0.0
        bar = list("#" * min(round(own * _BAR), _BAR + 4)) + [" "] * _BAR
        if peers:
            bar[min(round(max(peers) * _BAR), _BAR + 3)] = "|"
        mark = " " if own >= o.goal else "<"
        lines.append(f"{o.name:44.44} {own:5.2f} {mark} {''.join(bar).rstrip()}")
    return "\n".join(lines)


def svg(outcomes: Sequence[Outcome]) -> str:
    """Return the chart as SVG: a mark for each library at its share of the limit."""
    chosen = [o for o in outcomes if o.limit]
    names = libraries(chosen)
    left, width, step = 330, 560, 18
    height = 60 + step * len(chosen)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 40}" height="{height}"',
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for n, name in enumerate(names):
        x = left + n * 80
        parts.append(f'<circle cx="{x}" cy="14" r="4" fill="{_COLOURS[n]}"/>')
        parts.append(f'<text x="{x + 8}" y="18">{name}</text>')
    for percent in range(0, 101, 20):
        x = left + width * percent / 100
        parts.append(f'<line x1="{x}" y1="30" x2="{x}" y2="{height - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{x - 10}" y="{height - 6}">{percent} %</text>')
    for row, o in enumerate(chosen):
        y = 42 + row * step
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{escape(o.name)}</text>')
        for n, name in reversed(list(enumerate(names))):
            if name in o.seconds:
                x = left + width * min(o.share(name), 1.05)
                radius = 5 if name == OURS else 3
                parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="{radius}" fill="{_COLOURS[n]}"/>')
    return "\n".join([*parts, "</svg>", ""])


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the geometric means over the cases that memory limits."""
    chosen = [o for o in outcomes if o.group == "memory" and o.goal >= 0.75 and OURS in o.seconds]
    if not chosen:
        return ""
    own = math.exp(sum(math.log(o.share(OURS)) for o in chosen) / len(chosen))
    return f"Geometric mean of the share of the limit over {len(chosen)} cases: {own:.2f}"


_ABOUT: Final = (
    "Each library folds the same arrays in one process, in turn, and its best time of all rounds "
    "counts. The limit is a sweep that only reads the same bytes with as many threads, in the way "
    "that is the fastest of four in a trial, timed in every round as each library is; the share "
    "with results counts their bytes as well, which the sweep does not write. Results that are "
    "not right to a few units in the last place of the elements' dtype are marked. First calls are "
    "those of processes of their own, without other libraries, with large arrays of at most an "
    "eighth, the median of five. This page is written by the command below."
)


def page(
    outcomes: Sequence[Outcome],
    about: Sequence[str],
    image: str,
    title: str = "Performance on CPUs",
    method: str = _ABOUT,
    counted: str = "input bytes",
) -> str:
    """Return the page of the documentation: what was measured where, table, chart and means.

    Parameters
    ----------
    outcomes
        What was measured.
    about
        Lines on the machine, the versions, the date and the command.
    image
        Where the page finds the chart; "" for none.
    title, method, counted
        Of the page, how it was measured, and which bytes a second the table has.
    """
    parts = [
        f"# {title}",
        method,
        "\n".join(f"- {line}" for line in about),
        summary(outcomes) + ".",
        *([f"![Share of the limit for each case and library]({image})"] if image else []),
        table(outcomes, counted),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"
