# SPDX-License-Identifier: Apache-2.0
"""Size classes of columns: which give all threads as much work."""

from __future__ import annotations

import pytest

from axisfold.plan.canonical import LoopAxis, Problem
from axisfold.plan.sizes_cpu import (
    DEEP,
    DEEP_TILE,
    ENOUGH,
    HELD,
    HELD_ELEMENTS,
    HELD_ROWS,
    SHALLOW,
    SHARED_TILE,
    THIN,
    TILE,
    cpu_sizes,
    held_sizes,
)


def columns(rows: int, count: int, *outer: int) -> Problem:
    """Return a fold of float32 rows of ``count`` columns, ``outer`` times."""
    size = 4 * count
    kept = [LoopAxis(count, (4,))]
    for extent in reversed(outer):
        kept.insert(0, LoopAxis(extent, (size * rows,)))
    return Problem(tuple(kept), (LoopAxis(rows, (size,)),), (0,), tuple(range(len(kept))), ())


@pytest.mark.parametrize(
    ("problem", "outputs"),
    [
        (columns(2 * DEEP, TILE), "few"),  # one whole tile, which one thread would have
        (columns(2 * DEEP, TILE + 1), "few"),
        (columns(2 * DEEP, 2 * TILE), "wide"),
        (columns(2 * DEEP, 3 * TILE), "few"),
        (columns(2 * DEEP, (ENOUGH - 1) * TILE), "few"),
        (columns(2 * DEEP, ENOUGH * TILE), "wide"),
        (columns(2 * DEEP - 1, 2 * SHARED_TILE), "one"),
        (columns(DEEP - 1, 2 * SHARED_TILE - 1), "one"),
        (columns(DEEP - 1, 2 * SHARED_TILE), "shared"),
        (columns(DEEP - 1, TILE), "shared"),
        (columns(DEEP - 1, 2 * TILE), "wide"),
        (columns(DEEP - 1, (ENOUGH // 2 - 1) * TILE), "shared"),
        (columns(DEEP - 1, (ENOUGH // 2 - 1) * TILE + 1), "wide"),
        (columns(DEEP - 1, 100, ENOUGH), "many"),
    ],
)
def test_passes_have_parts_or_tiles_for_all_threads(problem, outputs):
    assert cpu_sizes(problem, "kept", has_tiles=True)[1] == outputs


@pytest.mark.parametrize(
    ("problem", "outputs"),
    [
        (columns(DEEP_TILE - 1, TILE), "shared"),
        (columns(DEEP - 1, TILE), "one"),
        (columns(DEEP - 1, TILE + 1), "shared"),
        (columns(2 * DEEP, 2 * TILE), "few"),
    ],
)
def test_one_tile_of_plain_columns_has_parts(problem, outputs):
    assert cpu_sizes(problem, "kept", has_tiles=False)[1] == outputs


@pytest.mark.parametrize(
    ("problem", "written", "is_held"),
    [
        (columns(1000, HELD_ELEMENTS // 1000), 4, True),
        (columns(1000, HELD_ELEMENTS // 1000 + 1), 4, False),  # read row by row, from memory
        (columns(HELD_ROWS, THIN - 1), 4, True),
        (columns(HELD_ROWS + 1, THIN - 1), 4, False),
        (columns(DEEP_TILE, SHALLOW), 4, True),
        (columns(DEEP_TILE, SHALLOW - 1), 4, False),  # most lanes would be empty
        (columns(DEEP_TILE - 1, SHALLOW - 1), 4, True),
        (columns(10, THIN), 2, True),
        (columns(10, THIN - 1), 2, False),  # masked stores go one by one
        (columns(1, THIN), 4, False),
        (columns(10, 3, 5), 4, True),
    ],
)
def test_columns_in_a_cache_are_held(problem, written, is_held):
    sizes = cpu_sizes(problem, "kept", has_tiles=True)
    (_, outputs), stores = held_sizes(problem, "kept", sizes, written)
    assert ((outputs == HELD), stores) == (is_held, "")
