# SPDX-License-Identifier: Apache-2.0
"""What the site is made of: its navigation, the pages of functions, and where links lead."""

import doctest
import re
import sys
from pathlib import Path

import pytest

import axisfold
from axisfold.api.catalog import CATALOG, SPREADS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hooks():
    sys.path.insert(0, str(ROOT / "tools"))
    import site_hooks

    yield site_hooks
    sys.path.remove(str(ROOT / "tools"))


def test_every_page_is_in_the_navigation(hooks):
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- .*: (.*\.md)$", text, re.MULTILINE))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert listed == pages | set(hooks.PAGES.values())


@pytest.mark.parametrize("name", [*CATALOG, *SPREADS])
def test_pages_of_functions(name, hooks):
    page = hooks.function_pages.page(hooks.function_pages.ROWS[name])
    (example,) = re.findall(r"^```pycon\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(example, {}, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert f"]({name}.md)" in hooks.function_pages.index()
    table = page.partition("## Dtypes")[2].partition("##")[0].partition("|---")[2]
    dtypes = re.findall(r"^\| (\w+) \| (.+?) \| (.*?) ?\|$", table, re.MULTILINE)
    shown = {element: result for element, result, _ in dtypes}
    assert list(shown) == list(hooks.function_pages.SHOWN)
    assert all(state for _, result, state in dtypes if "errors.md" not in result)


def test_a_page_of_a_function_says_what_is_accumulated(hooks):
    page = hooks.function_pages.page(CATALOG["sum"])
    assert "\naxisfold.sum(x, axis=None, dtype=None, out=None, " in page
    assert "| float32 | float32 | s: float64 |" in page
    assert "| float64 | float64 | s: float64 as a pair |" in page
    assert "A state takes 16 bytes, and one more float64 element 7 operations." in page
    assert "| complex64 | [D301](../errors.md) | |" in hooks.function_pages.page(
        CATALOG["logsumexp"]
    )
    assert "\nOne read of the input, whatever its strides; no copy of it. " in page
    spread = hooks.function_pages.page(SPREADS["softmax"])
    assert "\nOne read of the input, and one write of its size, whatever its strides; " in spread


@pytest.mark.parametrize(
    ("page", "link", "target"),
    [
        ("index.md", "docs/te.md", "te.md"),
        ("index.md", "CONTRIBUTING.md", "contributing.md"),
        ("contributing.md", "docs/errors.md", "errors.md"),
        ("architecture.md", "errors.md", "errors.md"),
        ("architecture.md", "../CONTRIBUTING.md", "contributing.md"),
        ("kernel-primitives.md", "../examples/header/kps.cu", "source/examples/header/kps.cu"),
        ("functions/sum.md", "../errors.md", "../errors.md"),
        ("functions/index.md", "sum.md", "sum.md"),
    ],
)  # fmt: skip
def test_links_follow_their_targets(hooks, page, link, target):
    assert hooks.target_on_site(link, page) == target


def test_names_on_the_page_for_newcomers_exist():
    text = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
    names = set(re.findall(r"axisfold\.(\w+)\(", text))
    for line in text.splitlines():
        cells = line.split(" | ")
        if line.startswith("| ") and len(cells) == 3:
            names |= set(re.findall(r"`(\w+)(?:`|\(x)", cells[1])) - {"fold", "x"}
    assert {"sum", "logsumexp", "var"} <= names
    assert names <= set(axisfold.__all__) | {"correction"}
