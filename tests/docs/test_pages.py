# SPDX-License-Identifier: Apache-2.0
"""What the pages show runs, what they name exists, and what scripts write is current."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")
FILE = re.compile(r"`((?:src|tests|tools|examples|docs|\.ci)/[^` ]+|Makefile|pyproject\.toml)`")


# Its examples need a GPU; tests/header compiles what it shows.
NOT_RUN = {"docs/kernel-primitives.md"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_RUN])
def test_python_blocks_run(name, monkeypatch, capsys):
    page = ROOT / name
    monkeypatch.chdir(ROOT)
    names = {"__name__": page.stem}
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text[: found.start(1)].count("\n")
        code = compile("\n" * line + found.group(1), str(page), "exec")
        exec(code, names)  # noqa: S102 - the block is an example
    capsys.readouterr()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_named_exist(page):
    for name in FILE.findall(page.read_text(encoding="utf-8")):
        pattern = re.sub(r"<[a-z]+>", "*", name)
        assert list(ROOT.glob(pattern.rstrip("/"))) or "<" in name, name


@pytest.mark.parametrize("script", ["cases_page", "errors_page", "life_of_a_sum"])
def test_generated_pages_are_current(script):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / f"{script}.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_every_error_code_has_a_row():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([A-Z]\d{3}) \| (.*?) \|", page, re.MULTILINE)
    used = set()
    for path in (ROOT / "src").rglob("*.py"):
        if path.name != "errors.py":
            used |= set(re.findall(r'"([A-Z]\d{3})"', path.read_text(encoding="utf-8")))
    assert {code for code, _ in listed} == used
    assert all(raised for _, raised in listed), "a code without a class"


def test_the_readme_names_the_two_commands_first():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.split("```")[1].startswith("sh\nmake demo")
    assert "\nmake test" in text.split("```")[1]


def test_the_readmes_commands_run(monkeypatch, capsys, tmp_path):
    """Every `axisfold …` line of the README is a command that works."""
    pytest.importorskip("typer")
    from axisfold.cli.app import run

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^axisfold ((?:fold|show) .*)$", text, re.MULTILINE)
    assert len(commands) >= 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in commands:
        assert run(command.split("#")[0].split()) == 0, command
    capsys.readouterr()


def test_the_demo_runs(capsys):
    pytest.importorskip("rich")
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "Niño 3.4" in out
    assert "largest difference from NumPy" in out
