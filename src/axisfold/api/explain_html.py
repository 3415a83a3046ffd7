# SPDX-License-Identifier: Apache-2.0
"""An explanation as HTML, for notebooks: its figures, its loops as a picture, its texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from axisfold.api.explain_text import gpu_lines, numbers, rule_lines
from axisfold.api.loop_svg import draw_loops

if TYPE_CHECKING:
    from axisfold.api.explanation import Explanation


def page(e: Explanation) -> str:
    """Return an explanation as HTML; every text in it is escaped."""
    parts = [
        f"<h4>{escape(e.title)}, for {escape(e.target)}</h4>",
        _paragraphs("rule", rule_lines(e)),
        _paragraphs("memory and time", numbers(e)),
        _paragraphs("GPU", gpu_lines(e)),
        _paragraphs("where the time goes", e.notes),
        _paragraphs("problem", e.problem),
        draw_loops(e.loops),
        *_folded({"Python": e.python, "loop IR": str(e.loops), e.language: e.source}),
    ]
    return "<div>\n" + "\n".join(part for part in parts if part) + "\n</div>\n"


def _paragraphs(heading: str, lines: Iterable[str]) -> str:
    body = "<br>\n".join(
        "&nbsp;" * (len(line) - len(line.lstrip())) + escape(line.lstrip()) for line in lines
    )
    return f"<p><b>{escape(heading)}</b><br>\n{body}</p>" if body else ""


def _folded(texts: dict[str, str]) -> Iterator[str]:
    for heading, text in texts.items():
        yield (f"<details><summary>{escape(heading)}</summary><pre>{escape(text)}</pre></details>")
