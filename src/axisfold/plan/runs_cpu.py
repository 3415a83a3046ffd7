# SPDX-License-Identifier: Apache-2.0
"""The runs of rows that a CPU's computations go by: how long they are."""

from __future__ import annotations

from typing import Final

from axisfold.plan.compose import Composer, Graph, LayoutClass
from axisfold.plan.rules_cpu_rows import CHUNK_BYTES
from axisfold.plan.schedules_cpu import FEW_VECTORS, STREAMS
from axisfold.plan.sizes_cpu import LONG
from axisfold.tensor.trace import Traced

# Elements of a run that several passes read from the first-level cache.
RUN: Final = 4096
# Bytes of a run whose best element is found first, and its place if it is needed.
SEARCHED_BYTES: Final = 4096
# The same where a fold may end after it: so long that reading it takes longer than its end.
STOP_BYTES: Final = 1 << 13
LONG_RUN: Final = 1 << 15
# Bytes that each place of a run is read for, where a fold may end after it.
STREAM_BYTES: Final = 1 << 13
HUGE_STREAM_BYTES: Final = 1 << 14
LANES: Final = 64
# Rows of a run of columns, of which threads have parts, each about as many.
PART_ROWS, DEEP_PART_ROWS = 128, 256


def is_long(layout: LayoutClass) -> bool:
    """Return whether rows are so long that threads share the elements of one."""
    return layout.run in LONG


def ends_early(traced: Traced) -> bool:
    """Return whether a fold may be over before all of its elements are read."""
    return bool(traced.combiner.absorbing) and len(traced.tile_passes) == 1


def searched_runs(composer: Composer) -> Graph:
    """Return the computation by runs whose places are found apart from their best elements."""
    width = sum(v.dtype.itemsize for parts in composer.traced.elements for v in parts)
    rows = LONG_RUN if is_long(composer.layout) else SEARCHED_BYTES // width
    return composer.tiled_graph(rows)


def short_runs(composer: Composer) -> Graph:
    """Return the computation by runs of some KiB, after each of which a fold may end."""
    width = sum(v.dtype.itemsize for parts in composer.traced.elements for v in parts)
    if not is_long(composer.layout):
        return composer.tiled_graph(max(STOP_BYTES // width, 1))
    # Whole vectors, and places that are no multiple of 4 KiB apart: these share a set of the cache.
    is_huge = composer.layout.run == "huge"
    size = HUGE_STREAM_BYTES if is_huge else STREAM_BYTES
    vectors = max(size // width // LANES - 1, 1)
    places = STREAMS if ends_early(composer.traced) else FEW_VECTORS
    return composer.tiled_graph(places * vectors * LANES)


def part_runs(composer: Composer) -> Graph:
    """Return the computation by runs of rows of which threads have parts."""
    return composer.tiled_graph(DEEP_PART_ROWS if composer.layout.outputs == "few" else PART_ROWS)


def long_runs(composer: Composer) -> Graph:
    """Return the computation by runs that several places are read in."""
    return composer.tiled_graph(2 * LONG_RUN if composer.layout.run == "huge" else LONG_RUN)


def narrow_runs(composer: Composer) -> Graph:
    """Return the computation by runs of narrow sums."""
    if composer.layout.run != "huge":
        return composer.tiled_graph(LONG_RUN)
    widest = max(v.dtype.itemsize for parts in composer.traced.elements for v in parts)
    return composer.tiled_graph(CHUNK_BYTES // widest)
