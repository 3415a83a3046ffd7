# SPDX-License-Identifier: Apache-2.0
"""The pictures of the reduction trees are those that the generator draws, and they add up."""

import importlib.util
import sys
import xml.etree.ElementTree as ET

import pytest
from header_support.paths import EXAMPLES

SPEC = importlib.util.spec_from_file_location("draw_trees", EXAMPLES / "draw_trees.py")
TREES = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = TREES  # dataclasses look their module up
SPEC.loader.exec_module(TREES)
PICTURES = TREES.pictures()


@pytest.mark.parametrize("stem", PICTURES)
def test_committed_picture_is_current(stem):
    drawn = TREES.draw(PICTURES[stem])
    ET.fromstring(drawn)
    assert (TREES.OUTPUT / f"{stem}.svg").read_text() == drawn


@pytest.mark.parametrize("stem", PICTURES)
def test_tree_loses_nothing(stem):
    first, last = PICTURES[stem].rows[0], PICTURES[stem].rows[-1]
    if stem == "softmax":
        assert last.values == {0: max(first.values.values())}
    elif stem == "higher_dim":
        columns = [sum(v for box, v in first.values.items() if box % 4 == c) for c in range(4)]
        assert list(last.values.values()) == columns
    else:
        assert set(last.values.values()) == {sum(first.values.values())}


def test_every_example_names_its_picture():
    for path in EXAMPLES.glob("*.cu"):
        line = next(x for x in path.read_text().splitlines() if x.startswith("// Picture: "))
        assert (EXAMPLES.parents[1] / line.removeprefix("// Picture: ")).is_file()
