# SPDX-License-Identifier: Apache-2.0
"""`axisfold show --target sim`: the program of threads, and traces of it."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

SUM = ("show", "--op", "sum", "--dtype", "float32", "--axis", "1", "--target", "sim")
TRACED = (*SUM, "--shape", "64,256", "--trace")

INTERLEAVED = """\
threads_fold, launch threads_fold_kernel0: interleaved tree in shared memory
block (0, 0, 0) of 2 x 1 x 1, 4 threads (4 x 1 x 1)

step  lines   active  banks  0 1 2 3  what
"""


def test_the_program(command):
    out = command(*SUM, "--shape", "4,600").out
    marks = [
        "# plan\nrule short_row: ",
        "# schedule\n",
        "# loop IR\n",
        "# device program\n",
        "launch ",
    ]
    places = [out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "LLVM" not in out


@pytest.mark.parametrize(
    ("style", "name"),
    [
        ("two-level", "two-level warp shuffles"),
        ("interleaved", "interleaved tree in shared memory"),
        ("adjacent", "adjacent tree in shared memory"),
    ],
)
def test_styles(command, style, name):
    out = command(*TRACED, "--style", style).out
    assert out.startswith(f"threads_fold, launch threads_fold_kernel0: {name}\n")
    assert "block (0, 0, 0) of 64 x 1 x 1, 256 threads (256 x 1 x 1)\n" in out


def test_threads_are_as_many_as_elements_unless_said(command):
    options = ("--style", "interleaved", "--trace")
    assert command(*SUM, "--shape", "2,4", *options).out.startswith(INTERLEAVED)
    four = command(*SUM, "--shape", "2,30", *options, "--threads", "4").out
    assert four.startswith(INTERLEAVED.split("\n\n")[0])
    assert ", 32 threads " in command(*SUM, "--shape", "2,30", *options).out


def test_the_planners_own_schedule(command):
    out = command(*SUM, "--shape", "16,100", "--trace").out
    assert out.startswith("short_row_fold, launch short_row_fold_kernel0: warp shuffles\n")
    assert "256 threads (16 x 16 x 1)" in out


@pytest.mark.parametrize("op", ["mean", "argmax", "var", "min,max", "norm"])
@pytest.mark.parametrize("more", [("--axis", "0", "--order", "F"), ("--dtype", "complex64")])
def test_operations(command, op, more):
    if "complex64" in more and op in ("argmax", "min,max"):
        op = "mean,prod"
    outcome = command(
        "show", "--op", op, "--shape", "7,12", "--target", "sim", "--trace", "--threads", "8", *more
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert ": warp shuffles\n" in outcome.out


def test_a_picture(command, tmp_path):
    target = tmp_path / "tree.svg"
    outcome = command(*TRACED, "-o", target)
    assert (outcome.code, outcome.out) == (0, f"wrote {target}\n")
    first = target.read_bytes()
    assert ET.fromstring(first).tag == "{http://www.w3.org/2000/svg}svg"
    command(*TRACED, "-o", target)
    assert target.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["tree.svg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--style", "x"), "--style 'x' is no style. Use shuffle, two-level, interleaved, adj"),
        (("--threads", "0"), "--threads 0: a block has 1 to 1024 threads."),
        (("--threads", "1025"), "--threads 1025: a block has 1 to 1024 threads."),
        (
            ("--style", "two-level", "--threads", "16"),
            "style 'two-level' does not fit a team of 16",
        ),
        (("--trace", "--only", "te"), "--trace shows a run and --only te a program."),
        (("-o", "x.svg"), "-o x.svg is where a trace is drawn. Add --trace."),
        (("--trace", "-o", "x.png"), "-o x.png: a trace is drawn as SVG."),
        (("--trace", "-o", "/no/folder/x.svg"), "cannot write /no/folder/x.svg: folder "),
        (("--trace", "--target", "llvm"), "--trace is about simulated threads. Add --target sim."),
        (("--style", "shuffle", "--target", "c"), "--style is about simulated threads."),
        (("--threads", "8", "--target", "cuda"), "--threads is about simulated threads."),
        (("--only", "llvm"), "--only 'llvm' is no section of target sim."),
    ],
)
def test_refused(refused, options, message):
    assert refused(*SUM, "--shape", "4,64", *options).startswith(message)


def test_shapes_that_are_not_traced(refused):
    assert refused(*SUM, "--shape", "1024,1025", "--trace").startswith("--trace runs every thread")
    assert refused(*SUM, "--shape", "0,4", "--trace").startswith("nothing is launched")


def test_the_commands_of_the_page_run(command, tmp_path, monkeypatch):
    page = Path(__file__).resolve().parents[2] / "docs" / "simulator.md"
    commands = re.findall(r"^axisfold (show .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    assert [command(*line.split()).code for line in commands] == [0, 0]
    assert (tmp_path / "tree.svg").exists()
