# SPDX-License-Identifier: Apache-2.0
"""The rules for CPUs: which schedule for which layout class, and why.

The table is read from the top; the first rule that applies plans the kernel.
"""

from __future__ import annotations

from typing import Final

from axisfold.plan import rules_cpu_columns as columns
from axisfold.plan import rules_cpu_rows as rows
from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.rule import Rule
from axisfold.plan.schedules_cpu import share
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.trace import Traced

ROW_RUN: Final = 512

# What axisfold.tune() tries; the defaults are those of the schedules.
_CHUNKS: Final = (1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17)
_CHUNK_ROWS: Final = (8, 32, 128)
_TILES: Final = (1 << 13, 1 << 15, 1 << 16, 1 << 17)
_FEW: Final = (1, 2, 4, 8)


def _general(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """One element after the other; correct for every layout and every reducer."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, share(result, result.op.axis))


def _is_vectorizable(layout: LayoutClass, traced: Traced) -> bool:
    return not traced.combiner.is_ordered


def _is_row(layout: LayoutClass, traced: Traced) -> bool:
    return _is_vectorizable(layout, traced) and layout.inner_kind == "reduced"


def _is_column(layout: LayoutClass, traced: Traced) -> bool:
    return _is_vectorizable(layout, traced) and layout.inner_kind == "kept"


RULES: Final = (
    Rule(
        "tiled_row",
        lambda c, t: _is_row(c, t) and bool(t.tile_passes),
        "the folded axis is contiguous and the reducer has a form for short runs: each run is "
        "read from the first-level cache by plain vector reductions",
        rows.tiled_row,
        ROW_RUN,
        parameters={"tile_rows": (128, 256, 512, 1024, 2048), "chunk_rows": _CHUNK_ROWS},
    ),
    Rule(
        "long_row",
        lambda c, t: _is_row(c, t) and c.run == "long",
        "a long contiguous run is folded: threads share chunks of it, and a chunk is read in "
        "several places at once, because one stream of loads does not reach the speed of memory",
        rows.long_row,
        parameters={"chunk": _CHUNKS, "streams": _FEW},
    ),
    Rule(
        "full",
        lambda c, t: _is_row(c, t) and c.kept == 0,
        "everything is folded and memory is contiguous: several vectors of partial states in "
        "registers read one row, in chunks that threads share",
        rows.full,
        parameters={"chunk": _CHUNKS, "chunk_rows": _CHUNK_ROWS, "vectors": _FEW},
    ),
    Rule(
        "row",
        _is_row,
        "the folded axis is contiguous: a few rows are folded at a time, each by vectors of "
        "partial states in registers; threads share the rows",
        rows.rows,
        parameters={"rows": _FEW},
    ),
    Rule(
        "shallow_column",
        lambda c, t: _is_column(c, t) and c.run == "shallow",
        "the kept axis is contiguous and few rows are folded: the states of a few vectors of "
        "columns stay in registers; threads share the columns",
        columns.shallow_column,
        parameters={"vectors": _FEW},
    ),
    Rule(
        "column_parts",
        lambda c, t: _is_column(c, t) and c.run == "deep" and c.outputs == "few",
        "the kept axis is contiguous, and there are many more rows than columns: threads share "
        "parts of the rows, each folded into a tile of states in cache, and fold the parts",
        columns.column_parts,
        parameters={"parts": (4, 16, 64), "tile_bytes": _TILES, "streams": _FEW},
    ),
    Rule(
        "column",
        _is_column,
        "the kept axis is contiguous: lanes stand for columns, and a tile of states stays in "
        "cache while rows stream past it; threads share the tiles",
        columns.column,
        parameters={"tile_bytes": _TILES, "streams": _FEW},
    ),
    Rule(
        "general",
        lambda c, t: True,
        "the reducer is ordered: elements are folded one by one, in the order that it asks for",
        _general,
    ),
)
