# SPDX-License-Identifier: Apache-2.0
"""Plans for GPUs where blocks have much to do: several waves of them, more loads, short sums."""

import re

import numpy as np
import pytest
from fold_support import agree, elements, expected, simulated
from fold_support.simulated import fold_in_sim

from axisfold.plan import planner, sizes_gpu
from axisfold.target import Target


@pytest.fixture(autouse=True)
def _small_card(monkeypatch):
    """Six blocks are a wave of this card, and their shares are soon long."""
    monkeypatch.setattr(simulated, "TARGET", Target("sim", multiprocessors=3))
    monkeypatch.setattr(sizes_gpu, "RESIDENT", 2)
    monkeypatch.setattr(sizes_gpu, "RESIDENT_COLUMNS", 2)
    monkeypatch.setattr(sizes_gpu, "LONG_UNITS", 512)
    monkeypatch.setattr(planner, "_plans", {})


def check(name, x, axis):
    found, [result] = fold_in_sim([x], [name], axis, seed=1)
    agree(name, result, expected(name, x, axis), x, axis)
    (made,) = planner._plans.values()
    planner._plans.clear()
    return found, made.layout.gpu


@pytest.mark.parametrize("name", ["sum", "argmax", "min", "var"])
def test_few_rows_are_shared_by_several_waves(name):
    found, gpu = check(name, elements((2, 19_003), "float32", name), 1)
    assert found == ("tiled_row_split" if name in ("argmax", "var") else "row_split")
    # To merge variances takes divisions: one wave.
    assert gpu.parts == (3 if name == "var" else 9)


LOADS = {
    "two elements": (lambda x: x, "float32x4"),
    "odd rows": (lambda x: x[:, 1:], "float32x2"),
    "steps": (lambda x: x[:, ::2], "float32x2"),
    "odd length": (lambda x: x[:, :101], "float32x2"),
}


@pytest.mark.parametrize("layout", LOADS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 9_004), 1), ((800, 102), 0), ((800, 102), 1), ((5, 202), 0)]
)
def test_parts_of_elements_are_loaded_at_once(layout, axis, shape):
    view, load = LOADS[layout]
    for name in ("sum", "norm"):
        x = view(elements(shape, "complex64", name))
        _, [result] = fold_in_sim([x], [name], axis, seed=1)
        agree(name, result, expected(name, x, axis), x, axis)
        ((key, made),) = planner._plans.items()
        planner._plans.clear()
        loads = set(re.findall(r"\((\w+)\*\)x0_\d", str(made.compiled.device)))
        assert loads == {load}, key


@pytest.mark.parametrize(("outputs", "parts"), [(17, 2), (40, 1)])
def test_many_rows_are_shared_by_more(outputs, parts):
    _, gpu = check("sum", elements((outputs, 5001), "float32", "sum"), 1)
    assert gpu.parts == parts


@pytest.mark.parametrize("shape", [(6, 16_384), (7, 16_388), (7, 20_001)])
def test_long_rows_have_more_loads_under_way(monkeypatch, shape):
    monkeypatch.setattr(sizes_gpu, "LONG_UNITS", 1 << 20)
    found, gpu = check("sum", elements(shape, "float32", "sum"), 1)
    assert (found, gpu.steps) == ("row", 2 * sizes_gpu.UNROLL)


@pytest.mark.parametrize(("width", "parts"), [(6, 3), (257, 6), (1023, 3)])
def test_few_columns_have_as_many_blocks_on_each_multiprocessor(width, parts):
    found, gpu = check("sum", elements((3001, width), "float32", "sum"), 0)
    assert (found, gpu.parts) == ("narrow_split", parts)


@pytest.mark.parametrize("extent", [1000, 1027])
def test_long_columns_have_more_loads_under_way(monkeypatch, extent):
    monkeypatch.setattr(sizes_gpu, "MANY_PARTS", 2)
    found, gpu = check("sum", elements((extent, 256), "float16", "sum"), 0)
    assert (found, gpu.steps, gpu.team) == ("column_split", 2 * sizes_gpu.UNROLL, 8)
    # Of longer elements a thread lacks registers for as many: twice the threads have them.
    found, gpu = check("sum", elements((extent, 128), "float32", "sum"), 0)
    assert (found, gpu.steps, gpu.team) == ("column_split", sizes_gpu.UNROLL, 16)


@pytest.mark.parametrize(("extent", "team"), [(997, 32), (1023, 32), (1025, 64), (2049, 128)])
def test_rows_of_odd_length_have_a_few_warps(extent, team):
    for name in ("sum", "max"):
        found, gpu = check(name, elements((9, extent), "float32", name), 1)
        assert (found, gpu.lanes, gpu.team) == ("short_row", 1, team)


@pytest.mark.parametrize(("extent", "dtype", "team"), [(997, "float32", 64), (1023, "float16", 64),
                                                       (1025, "float32", 64), (997, "float64", 128),
                                                       (255, "float32", 32)])  # fmt: skip
def test_whole_rows_of_odd_length(extent, dtype, team):
    for name in ("var", "logsumexp"):
        found, gpu = check(name, elements((9, extent), dtype, name), 1)
        assert (found, gpu.lanes, gpu.team) == ("whole_row", 1, team)


SHORT = {
    "tiled_row": ((48, 4131), 1),
    "tiled_row_split": ((2, 19_003), 1),
    "tiled_column": ((70, 1280), 0),
    "tiled_column_split": ((1001, 256), 0),
}


@pytest.mark.parametrize("rule", SHORT)
@pytest.mark.parametrize(("name", "dtype"), [("sum", "int8"), ("sum", "bool"), ("sum", "uint16"),
                                             ("count_nonzero", "float32")])  # fmt: skip
def test_sums_of_short_integers_go_by_tiles(rule, name, dtype):
    (outer, inner), axis = SHORT[rule]
    x = elements((outer, inner), dtype, name)
    found, _ = check(name, x, axis)
    assert found == rule


def test_extremes_of_short_integers_do_not_overflow_in_a_tile():
    for value in (-128, 127):
        x = np.full((2, 19_008), value, "i1")
        _, [result] = fold_in_sim([x], ["sum"], 1)
        assert result.tolist() == [19_008 * value] * 2
