# SPDX-License-Identifier: Apache-2.0
"""Traces as text and as pictures: what is written, what is elided, the same each time."""

import importlib.util
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from sim_support.strategies import STRATEGIES, block_sum

from axisfold import sim
from axisfold.sim.styles import ranges

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location(
    "draw_traces", ROOT / "examples" / "simulator" / "draw_traces.py"
)
DRAWN = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = DRAWN
SPEC.loader.exec_module(DRAWN)
PROGRAMS = DRAWN.programs()
SVG = "{http://www.w3.org/2000/svg}"

ADJACENT = """\
adjacent_tree, launch threads: adjacent tree in shared memory
block (1, 0, 0) of 3 x 1 x 1, 8 threads (8 x 1 x 1)

step  lines  active  banks  0 1 2 3 4 5 6 7  what
   1  8         8/8  free   1 1 1 1 1 1 1 1  read x; write s
      -- block barrier --
   2  12        4/8  free   2 . 2 . 2 . 2 .  i ← i+1, i = 0,2..6; write s
      -- block barrier --
   3  12        2/8  free   4 . . . 4 . . .  i ← i+2, i = 0, 4; write s
      -- block barrier --
   4  12        1/8  free   8 . . . . . . .  0 ← 4; write s
      -- block barrier --
   5  17        1/8  free   8 . . . . . . .  read s; write out

number: of how many threads the elements are in what the thread holds;
. idle; - the result is not used; banks: conflicts in shared memory.
"""

SHUFFLES = """\
   1  10     1024/1024         oooooooo oooooooo oooooooo oooooooo  |  oooooooo oooooooo oooooooo ooooooo  read x
   2  11,12  1024/1024         ######## ######## -------- --------  |  ######## ######## ######## #######  i ← i+16, i = 0..15, 32..47, 64..79, …, 992..1007
"""  # noqa: E501


def trace(strategy, block, which=1):
    arrays = [np.arange(3 * block), np.zeros(3, int)]
    return sim.trace(block_sum(strategy, block), arrays, block=(which, 0, 0))


def boxes(root, kind):
    return [r for r in root.iter(f"{SVG}rect") if r.get("class") == kind]


@pytest.mark.parametrize("stem", PROGRAMS)
def test_committed_picture_is_current(stem):
    drawn = DRAWN.trace(PROGRAMS[stem]).svg()
    ET.fromstring(drawn)
    assert (DRAWN.OUTPUT / f"{stem}.svg").read_text(encoding="utf-8") == drawn


def test_no_picture_is_left_over():
    assert {path.stem for path in DRAWN.OUTPUT.iterdir()} == set(PROGRAMS)


def test_text():
    assert trace("adjacent", 8).text() == ADJACENT


def test_text_of_wide_blocks_is_elided():
    text = trace("shuffle", 1024).text()
    assert SHUFFLES in text
    assert text.endswith("threads 0..31 one by one, then warps 1..31, a column each.\n")
    assert "warps 2..31, a column each" in trace("shuffle", 1024).text(lanes=33)
    assert "a column each" not in trace("shuffle", 64).text(lanes=64)
    table = text.split("\n\n")[1]
    assert max(map(len, table.splitlines())) < 170


def test_text_of_a_tree_in_place_begins_with_the_elements():
    lines = trace("global", 8).text().splitlines()
    assert lines[4] == "   0                        1 1 1 1 1 1 1 1  elements in memory"
    assert lines[5].startswith("   1  9         4/8         2 2 2 2 . . . .  i ← i+4, i = 0..3")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("block", [2, 32, 128, 1024])
def test_pictures_are_well_formed_and_the_same_each_time(strategy, block):
    if strategy == "shuffle" and block == 2:
        block = 64
    drawn = trace(strategy, block).svg()
    assert drawn == trace(strategy, block).svg()
    root = ET.fromstring(drawn)
    *_, width, height = (float(n) for n in root.get("viewBox").split())
    assert width <= 2200
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width
        assert float(box.get("y", 0)) + float(box.get("height")) <= height
    assert not re.search(r"(href|src|url\((?!#tip\)))", drawn)
    assert "prefers-color-scheme: dark" in drawn


def test_a_picture_shows_the_tree():
    root = ET.fromstring(trace("adjacent", 8).svg())
    assert len(boxes(root, "busy")) == 4 + 2 + 1
    assert len(boxes(root, "idle")) == 4 + 6 + 7 + 7
    arrows = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("class") == "merge"]
    ends = [re.match(r"M([\d.]+) \d+ L([\d.]+) \d+$", d).groups() for d in arrows]
    far = [(float(a) - float(b)) / 40 for a, b in ends]
    assert far == [1, 1, 1, 1, 2, 2, 4]
    texts = [t.text for t in root.iter(f"{SVG}text")]
    assert "adjacent_tree, launch threads: adjacent tree in shared memory" in texts
    assert texts.count("no bank conflict") == 5
    assert len([p for p in root.iter(f"{SVG}path") if p.get("class") == "barrier"]) == 4


def test_a_picture_marks_conflicts_and_collapses_warps():
    root = ET.fromstring(DRAWN.trace(PROGRAMS["bank_conflicts"]).svg())
    bad = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "bad"]
    assert bad == [f"{n}-way bank conflict" for n in (2, 4, 8, 8, 8, 4, 2)]
    heads = [t.text for t in root.iter(f"{SVG}text") if (t.get("class") or "").startswith("head")]
    assert heads == [*map(str, range(32)), *(f"w{n}" for n in range(1, 8))]
    assert "warps 1..7 are a column each" in "".join(root.itertext())


def test_boxes_tell_whose_elements_they_hold():
    root = ET.fromstring(trace("adjacent", 8).svg())
    titles = [box.find(f"{SVG}title").text for box in boxes(root, "busy")]
    assert titles[4:] == [
        "thread 0 holds the elements of 0..3",
        "thread 4 holds the elements of 4..7",
        "thread 0 holds the elements of 0..7",
    ]


def test_names_are_escaped():
    kernel = block_sum("adjacent", 8)
    named = type(kernel)('a<b&"c"', kernel.params, kernel.outputs, kernel.body)
    drawn = sim.trace(named, [np.arange(8), np.zeros(1, int)]).svg()
    assert ET.fromstring(drawn).get("aria-label").startswith('a<b&"c", launch threads: ')


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([3, 4], "3,4"),
        ([3, 9], "3, 9"),
        ([0, 1, 2, 3], "0..3"),
        ([0, 2, 4], "0,2..4"),
        ([0, 1, 2, 8, 9], "0..2, 8,9"),
        ([0, 1, 5, 6, 10, 11, 20, 21, 30], "0,1, 5,6, 10,11, …, 30"),
    ],
)
def test_ranges(numbers, text):
    assert ranges(numbers) == text


def test_the_page_shows_what_its_example_prints(capsys):
    page = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for block in blocks[:2]:
        exec(block, names)  # noqa: S102 - the block is an example
    [shown] = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out == shown + "\n"
    pictures = set(re.findall(r"\(img/simulator/(\w+)\.svg\)", page))
    assert pictures == set(PROGRAMS)
