# SPDX-License-Identifier: Apache-2.0
"""An explanation as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from axisfold.api.explain_text import report

if TYPE_CHECKING:
    from axisfold.api.explanation import Explanation


def page(e: Explanation) -> str:
    """Return the report as HTML."""
    return f"<pre>{escape(report(e))}</pre>"
