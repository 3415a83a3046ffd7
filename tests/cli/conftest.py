# SPDX-License-Identifier: Apache-2.0
"""Running the command line, in this process or in one of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def command(capsys):
    """Run the command line in this process."""
    from axisfold.cli.app import run

    def call(*args):
        code = run([str(a) for a in args])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def process():
    """Run the command line as a program."""

    def call(*args, program=("-m", "axisfold.cli"), **environment):
        done = subprocess.run(
            [sys.executable, *program, *(str(a) for a in args)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def refused(command):
    """Run what must be refused: exit code 2 and one line; return the line."""

    def call(*args):
        outcome = command(*args)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.startswith("axisfold: ")
        assert outcome.err.count("\n") == 1
        assert "Traceback" not in outcome.err
        return outcome.err.removeprefix("axisfold: ").rstrip("\n")

    return call
