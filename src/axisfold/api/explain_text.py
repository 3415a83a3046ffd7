# SPDX-License-Identifier: Apache-2.0
"""An explanation as a text report."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from axisfold.api.quantities import bytes_text, count_text, seconds_text, speed_text
from axisfold.plan.explain import layout_text

if TYPE_CHECKING:
    from axisfold.api.explanation import Explanation, Resources

_WIDTH: Final = 96


def report(e: Explanation, *, full: bool = False) -> str:
    """Return the report; ``full`` prints the source too, and not only how long it is."""
    source = [] if not full else [(e.language, e.source.rstrip().splitlines())]
    sections = [
        ("problem", list(e.problem)),
        ("rule", list(rule_lines(e))),
        ("memory and time", list(numbers(e))),
        ("GPU", gpu_lines(e)),
        ("where the time goes", list(e.notes)),
        ("tensor expression and schedule", e.python.rstrip().splitlines()),
        ("loops", str(e.loops).rstrip().splitlines()),
        *source,
    ]
    lines = [f"{e.title}, for {e.target}"]
    for name, body in sections:
        if body:
            lines += ["", f"# {name}", *(_wrapped(body) if name in _PROSE else body)]
    if not full:
        count = len(e.source.splitlines())
        lines += ["", f"# {e.language}", f"{count:,} lines: print(….source)"]
    return "\n".join(lines) + "\n"


_PROSE: Final = frozenset({"problem", "rule", "memory and time", "GPU", "where the time goes"})


def _wrapped(lines: list[str]) -> Iterator[str]:
    for line in lines:
        indent = len(line) - len(line.lstrip()) + 2
        yield from textwrap.wrap(
            line, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False
        )


def rule_lines(e: Explanation) -> Iterator[str]:
    """Return the rule, its layout class and parameters, and the rules that were passed over."""
    yield f"{e.rule}: {e.reason}"
    yield f"layout class: {layout_text(e.layout)}"
    if e.parameters:
        values = ", ".join(
            f"{name} = {'by the problem' if value is None else value}"
            for name, value in e.parameters.items()
        )
        yield f"parameters: {values}" + (", found by tune()" if e.is_tuned else "")
    if e.passed:
        yield "passed over:"
        for passed in e.passed:
            yield f"  {passed.name}: {passed.why}"


def numbers(e: Explanation) -> Iterator[str]:
    """Return what is moved, predicted and measured, a line for each."""
    t = e.traffic
    unit = "lines" if t.line_bytes > 32 else "sectors"
    lines = f"{t.lines:,} {unit} of {t.line_bytes} bytes"
    waste = t.read_bytes / t.element_bytes if t.element_bytes else 1
    note = f", {waste:.1f} times its elements" if waste >= 1.05 else ""
    yield f"reads {bytes_text(t.read_bytes)} ({lines}{note}), writes {bytes_text(t.written_bytes)}"
    if e.limit is not None and e.predicted is not None:
        who = f"{count_text(e.limit.threads, 'thread')} of " if e.limit.threads else ""
        yield (
            f"predicted  {seconds_text(e.predicted)} at {speed_text(e.limit.bytes_per_second)}, "
            f"which {who}this machine ({e.limit.machine}) read at most"
        )
    if e.times is not None:
        rest = (
            f"; the kernel alone {seconds_text(e.times.kernel)}"
            if e.times.threads
            else f" on the device; the host returns after {seconds_text(e.times.call)}"
        )
        count = count_text(e.times.repeats, "call")
        yield f"measured   {seconds_text(e.times.seconds)}, the median of {count}{rest}"
    if e.percent is not None:
        yield f"limit      {e.percent:.0f} % of the speed of memory"


def gpu_lines(e: Explanation) -> list[str]:
    """Return what each launch uses of a GPU, a line for each."""
    return [_resources(r) for r in e.resources]


def _resources(r: Resources) -> str:
    text = (
        f"{r.symbol}: grid {r.grid}, block {r.block}, {r.registers} registers, "
        f"{bytes_text(r.spilled_bytes)} spilled, {bytes_text(r.shared_bytes)} shared memory"
    )
    if r.occupancy is None:
        return text
    o = r.occupancy
    return (
        f"{text}; {count_text(o.blocks, 'block')} on a multiprocessor, {o.share:.0%} of its "
        f"warps, limited by {o.limit}"
    )
