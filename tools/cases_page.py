# SPDX-License-Identifier: Apache-2.0
"""Write docs/public-cases.md: what was reported of reductions, and what axisfold answers.

Usage: ``python tools/cases_page.py`` writes the page, ``--check`` says whether it is current.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "public-cases.md"
sys.path.insert(0, str(ROOT / "tests" / "support"))

from public_cases import REPORTS  # noqa: E402 - the table is among the tests
from public_cases.case import Report  # noqa: E402

HEAD = """\
# Public cases

Reductions that went wrong in other libraries, as reported in public, and what axisfold answers.
`tools/cases_page.py` writes this page from the table that the tests run: each row is a kind of
input, tried as machine code (`tests/numeric/test_public_cases.py`), by the plans for GPUs in the
simulator (`tests/sim/test_public_cases.py`) and on a GPU
(`tests/gpu/functions/test_public_cases.py`). The tests of a row begin with its name, as
`B003.0-float16-axis=0-steps`: the number of the case, dtype, axis, layout. CI runs each case on the
first two once; `pytest -m slow` adds all dtypes, axes and layouts, and arrays of billions of
elements.

| row | reported | in | axisfold | cases |
|---|---|---|---|---|
"""
WITHOUT = """
## Rows without a test

| row | reported | in | why |
|---|---|---|---|
"""


def row(report: Report) -> str:
    """Return the line of a report."""
    cells = [report.id, report.said, report.sources, report.answer]
    cells += [str(len(report.cases))] if report.cases else []
    return f"| {' | '.join(cells)} |\n"


def page() -> str:
    """Return the text of docs/public-cases.md."""
    tested = "".join(row(report) for report in REPORTS if report.cases)
    return HEAD + tested + WITHOUT + "".join(row(r) for r in REPORTS if not r.cases)


def main() -> int:
    """Write or check the page; return the exit status."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    print(f"docs/public-cases.md: {'current' if is_current else 'stale; run make docs'}")
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
