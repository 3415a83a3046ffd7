# SPDX-License-Identifier: Apache-2.0
"""The rules for CPUs: which schedule for which layout class, and why.

The table is read from the top; the first rule that applies plans the kernel.
"""

from __future__ import annotations

from typing import Final

from axisfold.plan import rules_cpu_columns as columns
from axisfold.plan import rules_cpu_narrow as narrow
from axisfold.plan import rules_cpu_passes as passes
from axisfold.plan import rules_cpu_rows as rows
from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.rule import Rule
from axisfold.plan.rules_cpu_blocks import BLOCK_RULES, CHUNK_ROWS, FEW
from axisfold.plan.runs_cpu import (
    RUN,
    ends_early,
    is_long,
    long_runs,
    narrow_runs,
    part_runs,
    searched_runs,
    short_runs,
)
from axisfold.plan.schedules_cpu import share
from axisfold.plan.sizes_cpu import FEW_ROWS
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.tile_pass import is_truth
from axisfold.tensor.trace import Traced

WIDE: Final = 8
# Sums of float64 are plain within a run that passes read from the first-level cache.
SHORT_RUN: Final = 512
STOP_RUN: Final = 1024
# Rows of a tile of columns; narrow sums hold more.  Those of a part are few enough for all parts.
TILE_ROWS: Final = 16
PASS_ROWS: Final = 512
NARROW_TILE_ROWS: Final = 128

# Rows up to this length are folded by lanes that are merged, if merging is dear.
LONGEST: Final = 16

# What axisfold.tune() tries; the defaults are those of the schedules.
_CHUNKS: Final = (1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18)
_RUNS: Final = (256, 512, 1024, 2048, 4096, 8192)
_LONG_RUNS: Final = (1 << 13, 1 << 14, 1 << 15, 1 << 16)
_TILES: Final = (1 << 13, 1 << 15, 1 << 16, 1 << 17)


def _general(s: Schedule, graph: Graph, traced: Traced, target: Target) -> None:
    """One element after the other; correct for every layout and every reducer."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, share(result, result.op.axis))


def _is_vectorizable(layout: LayoutClass, traced: Traced) -> bool:
    return not traced.combiner.is_ordered


def _keeps_first(layout: LayoutClass, traced: Traced) -> bool:
    """Return whether later elements change nothing once one has counted; they come in order."""
    return traced.combiner.keeps_first and len(traced.tile_passes) == 1 and layout.reduced == 1


def _is_searched(layout: LayoutClass, traced: Traced) -> bool:
    """Return whether runs come in order, and places in one are needed where it is better.

    Floats that fill their lanes have their places folded beside them at no more cost.
    """
    values = [v.dtype for parts in traced.elements for v in parts]
    is_short = not any(d.is_float and not d.is_half for d in values)
    return bool(traced.tile_later) and layout.reduced == 1 and is_short


def _has_tiles(traced: Traced) -> bool:
    return bool(traced.tile_passes)


def _is_narrow(traced: Traced) -> bool:
    return _has_tiles(traced) and all(p.narrow for p in traced.tile_passes)


def _is_counted(traced: Traced) -> bool:
    """Return whether all sums are of truth values."""
    return _is_narrow(traced) and all(is_truth(e) for p in traced.tile_passes for e in p.narrow)


def _is_one_run(layout: LayoutClass) -> bool:
    """Return whether all that is folded lies side by side."""
    return layout.reduced == 1 and set(layout.inner_steps) == {"unit"}


def sums_are_wide(traced: Traced) -> bool:
    """Return whether plain sums of a longer run lose nothing that results hold."""
    is_short = all(v.dtype.itemsize < WIDE for parts in traced.elements for v in parts)
    return is_short or "exact" in traced.combiner.facts


def _is_dear(traced: Traced) -> bool:
    """Return whether states are merged at more cost than short runs are folded by their form."""
    return len(traced.tile_passes) == 1 and len(traced.combiner.lhs) > 1


def _is_row(layout: LayoutClass, traced: Traced) -> bool:
    return _is_vectorizable(layout, traced) and layout.inner_kind == "reduced"


def _is_column(layout: LayoutClass, traced: Traced) -> bool:
    return _is_vectorizable(layout, traced) and layout.inner_kind == "kept"


RULES: Final = (
    Rule(
        "short_row",
        lambda c, t: _is_row(c, t) and 0 < c.width <= (LONGEST if _is_dear(t) else c.width),
        "short rows are folded and memory is one run of them: a few are read by vectors without a "
        "loop, and the lanes of all are folded at once; threads share the rows, and each reads "
        "them in several places",
        narrow.short_rows,
        parameters={"parts": (15, 63, 255), "streams": FEW},
    ),
    *BLOCK_RULES,
    Rule(
        "stopping_row",
        lambda c, t: _is_row(c, t) and ends_early(t) and (is_long(c) or c.kept == 0),
        "the folded axis is contiguous and the reducer has a state that no element changes: a loop "
        "over runs ends when it is reached, in all parts that threads share",
        rows.stopping_row,
        parameters={"chunk_rows": CHUNK_ROWS},
        compose=short_runs,
    ),
    Rule(
        "first_row",
        lambda c, t: _is_row(c, t) and c.kept == 0 and _keeps_first(c, t),
        "the folded axis is contiguous and the first element that counts is wanted: threads share "
        "parts of it, and once one has such an element the parts after it end",
        rows.stopping_row,
        skips=True,
        compose=short_runs,
    ),
    Rule(
        "stopping_rows",
        lambda c, t: _is_row(c, t) and (ends_early(t) or (c.kept > 0 and _keeps_first(c, t))),
        "the folded axis is contiguous and the reducer has a state that no later element changes: "
        "runs of a few rows are read at a time, until all of these have reached it",
        rows.stopping_rows,
        STOP_RUN,
        parameters={"tile_rows": _RUNS, "rows": FEW},
    ),
    Rule(
        "searched_row",
        lambda c, t: _is_row(c, t) and c.kept == 0 and _is_searched(c, t),
        "everything is folded, memory is contiguous, and the place of the best of integers or of "
        "short floats is wanted: a run is searched for it only where it has a better one than the "
        "runs before it",
        rows.tiled_row,
        skips=True,
        compose=searched_runs,
        parameters={"chunk_rows": CHUNK_ROWS},
    ),
    Rule(
        "narrow_row",
        lambda c, t: (
            _is_row(c, t)
            and _is_narrow(t)
            and (is_long(c) or (c.kept == 0 and (_is_one_run(c) or _is_counted(t))))
        ),
        "the folded axis is contiguous and sums of short runs fit a narrower dtype: a vector holds "
        "more of them, and is widened once for each run",
        rows.tiled_row,
        parameters={"tile_rows": _LONG_RUNS},
        compose=narrow_runs,
    ),
    Rule(
        "narrowed_row",
        lambda c, t: _is_row(c, t) and is_long(c) and t.narrowing is not None,
        "a long contiguous run is folded, and sums of 16-bit floats or of short integers fit a "
        "dtype for a while that is narrower than their result: a vector holds more of them, and is "
        "widened once for each run",
        rows.tiled_row,
        parameters={"tile_rows": _LONG_RUNS},
        narrows=True,
        compose=narrow_runs,
    ),
    Rule(
        "single_pass_row",
        lambda c, t: _is_row(c, t) and len(t.tile_passes) == 1 and sums_are_wide(t) and is_long(c),
        "the folded axis is contiguous and the reducer has a form of one pass for short runs: "
        "each run is read in several places at once",
        rows.tiled_row,
        parameters={"tile_rows": _LONG_RUNS},
        compose=long_runs,
    ),
    Rule(
        "row_of_passes",
        lambda c, t: (
            _is_row(c, t)
            and len(t.tile_passes) > 1
            and sums_are_wide(t)
            and c.kept > 0
            and not is_long(c)
        ),
        "the folded axis is contiguous and the reducer has a form for short runs, of several "
        "passes: the first reads a run, the others have it in the first-level cache and ask for "
        "the next one",
        rows.row_of_passes,
        RUN,
        parameters={"tile_rows": _RUNS},
    ),
    Rule(
        "tiled_rows",
        lambda c, t: (
            _is_row(c, t)
            and _has_tiles(t)
            and sums_are_wide(t)
            and not _is_narrow(t)
            and c.kept > 0
            and not is_long(c)
        ),
        "the folded axis is contiguous and the reducer has a form for short runs, which lose "
        "nothing: runs of a few rows are read at a time, each a stream of its own",
        rows.tiled_rows,
        RUN,
        parameters={"tile_rows": _RUNS, "rows": FEW},
    ),
    Rule(
        "tiled_long_row",
        lambda c, t: _is_row(c, t) and _has_tiles(t) and sums_are_wide(t) and not _is_narrow(t),
        "the folded axis is contiguous and the reducer has a form for short runs, which lose "
        "nothing: each run is read from the first-level cache by plain vector reductions",
        rows.tiled_row,
        RUN,
        parameters={"tile_rows": _RUNS, "chunk_rows": CHUNK_ROWS},
    ),
    Rule(
        "tiled_row",
        lambda c, t: _is_row(c, t) and _has_tiles(t) and not _is_narrow(t),
        "the folded axis is contiguous and the reducer has a form for short runs: each run is "
        "read from the first-level cache by plain vector reductions",
        rows.tiled_row,
        SHORT_RUN,
        parameters={"tile_rows": _RUNS, "chunk_rows": CHUNK_ROWS},
    ),
    Rule(
        "long_row",
        lambda c, t: _is_row(c, t) and is_long(c),
        "a long contiguous run is folded: threads share chunks of it, and a chunk is read in "
        "several places at once, because one stream of loads does not reach the speed of memory",
        rows.long_row,
        parameters={"chunk": _CHUNKS, "streams": FEW},
    ),
    Rule(
        "full",
        lambda c, t: _is_row(c, t) and c.kept == 0,
        "everything is folded and memory is contiguous: several vectors of partial states in "
        "registers read one row, in chunks that threads share",
        rows.full,
        parameters={"chunk": _CHUNKS, "chunk_rows": CHUNK_ROWS, "vectors": FEW},
    ),
    Rule(
        "row_streams",
        lambda c, t: _is_row(c, t) and c.outputs == "streams",
        "the folded axis is contiguous and there are many rows: they are cut into a few runs, of "
        "which one row each is folded at a time, because one stream of loads does not reach the "
        "speed of memory",
        rows.row_streams,
    ),
    Rule(
        "outer_row_streams",
        lambda c, t: _is_row(c, t) and c.outputs == "outer_streams",
        "folded axes are on both sides of many rows: these are cut into blocks of a few runs, and "
        "for each step of the outer axis a block is read as it lies in memory, one row of each run "
        "at a time, into states that stay in cache",
        rows.outer_row_streams,
    ),
    Rule(
        "row",
        _is_row,
        "the folded axis is contiguous: a few rows are folded at a time, each by vectors of "
        "partial states in registers; threads share the rows",
        rows.rows,
        parameters={"rows": FEW},
    ),
    Rule(
        "few_columns",
        lambda c, t: (
            _is_column(c, t) and c.width > 0 and (not _has_tiles(t) or c.outputs == "thin")
        ),
        "a few columns are kept and memory is one run of rows: lanes stand for the elements of a "
        "few rows side by side, which fill whole vectors, and are folded by rows at the end",
        narrow.few_columns,
        parameters={"parts": (4, 16, 64), "streams": FEW},
    ),
    Rule(
        "narrow_column",
        lambda c, t: (
            _is_column(c, t) and _is_narrow(t) and c.outputs != "thin" and c.run != "single"
        ),
        "the kept axis is contiguous and sums of a few rows fit a narrower dtype: a vector holds "
        "more columns, and is widened once for each tile",
        passes.tiled_column,
        NARROW_TILE_ROWS,
    ),
    Rule(
        "column_of_passes",
        lambda c, t: (
            _is_column(c, t)
            and c.outputs != "thin"
            and c.run != "single"
            and (len(t.tile_passes) > 1 or (_has_tiles(t) and c.run == "shallow"))
        ),
        "the kept axis is contiguous and the reducer has a form for short runs, of several passes: "
        "a few rows of a vector of columns at a time are read once and passed over in registers",
        passes.column_of_passes,
        TILE_ROWS,
        parameters={"tile_rows": (8, 16, 32), "pass_columns": (1024, 2048, 4096, 8192)},
    ),
    Rule(
        "tiled_column_parts",
        lambda c, t: (
            _is_column(c, t) and _has_tiles(t) and c.kept == 1 and c.outputs in ("one", "few")
        ),
        "the kept axis is contiguous, a few tiles have all columns, and the reducer has a form for "
        "short runs: threads share parts of the rows, each folded into a tile of columns, "
        "which stays in cache, and fold the parts",
        passes.tiled_column_parts,
        compose=part_runs,
        parameters={"parts": (4, 8, 16), "pass_columns": (1024, 2048, 4096, 8192)},
    ),
    Rule(
        "tiled_column",
        lambda c, t: (
            _is_column(c, t) and _has_tiles(t) and c.outputs != "thin" and c.run != "single"
        ),
        "the kept axis is contiguous and the reducer has a form for short runs: plain vector "
        "reductions fold rows into a tile of columns, which stays in cache",
        passes.tiled_column,
        PASS_ROWS,
        parameters={"tile_rows": (64, 128, 256, 512), "pass_columns": (1024, 2048, 4096, 8192)},
    ),
    Rule(
        "shallow_column",
        lambda c, t: _is_column(c, t) and c.run in FEW_ROWS,
        "the kept axis is contiguous and few rows are folded: the states of a few vectors of "
        "columns stay in registers; threads share the columns",
        columns.shallow_column,
        parameters={"vectors": FEW},
    ),
    Rule(
        "column_parts",
        lambda c, t: (
            _is_column(c, t) and c.run in ("deep", "tall") and c.outputs in ("thin", "one", "few")
        ),
        "the kept axis is contiguous, and there are many more rows than columns: threads share "
        "parts of the rows, each folded into a tile of states in cache, and fold the parts",
        columns.column_parts,
        parameters={"parts": (4, 16, 64), "tile_bytes": _TILES, "streams": FEW},
    ),
    Rule(
        "column_in_cache",
        lambda c, t: _is_column(c, t) and c.outputs == "cached",
        "the kept axis is contiguous and the array fits in a cache: lanes stand for columns, and "
        "a few rows of a tile of them are folded at a time, with no need to ask for memory ahead; "
        "threads share the tiles",
        columns.column_in_cache,
        parameters={"tile": (64, 128, 256), "streams": FEW},
    ),
    Rule(
        "column",
        _is_column,
        "the kept axis is contiguous: lanes stand for columns, and a tile of states stays in "
        "cache while rows stream past it; threads share the tiles",
        columns.column,
        parameters={"tile_bytes": _TILES, "streams": FEW},
    ),
    Rule(
        "general",
        lambda c, t: True,
        "the reducer is ordered: elements are folded one by one, in the order that it asks for",
        _general,
    ),
)
