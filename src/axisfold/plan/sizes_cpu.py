# SPDX-License-Identifier: Apache-2.0
"""Size classes of CPUs: which extents make another kernel worth compiling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from axisfold.ir.stmt import STREAMED
from axisfold.plan.canonical import Inner, LoopAxis, Problem
from axisfold.runtime.cpu import WIDE_VECTOR

# Rows with this many elements are shared by threads, in chunks that several streams read.
LONG_ROW: Final = 1 << 18
# The same from so many bytes on: larger chunks, of which the last one may be read slowly.
HUGE_ROW: Final = 1 << 25
# The names of such runs.
LONG: Final = ("long", "huge")
# Rows with fewer elements, of several axes that are folded into one result, are each too short for
# a state of their own.
BRIEF: Final = 1 << 9
# Places of memory that rows are read at, where there are at least so many of them, and how far
# these places are apart: much farther, and they are in each other's way in caches and in memory.
ROW_STREAMS: Final = 8
MANY_ROWS: Final = 1 << 10
APART: Final = 1 << 16
# Blocks of such rows that there are at least.
FEWEST_BLOCKS: Final = 16
# The same for rows inside of a folded axis: each of its steps reads them again.
MANY_INNER_ROWS: Final = 1 << 7
FEWEST_INNER_BLOCKS: Final = 8
# Up to here rows are folded by a short loop around each vector of columns.
SHALLOW: Final = 16
# The names of such runs: of one row, whose elements are states already, and of more.
FEW_ROWS: Final = ("single", "shallow")
# Up to here memory is asked for ahead, where results are large: as many bytes are written as read.
# By vectors of 64 bytes all shallow ones are: few of their loads fit in a processor's window.
FLAT: Final = 4
# With at least this many rows, parts of the rows are worth a fold of their own, and rows of a run
# may be read that are far apart, since few runs are not whole.
DEEP: Final = 2048
# The same where one tile has all columns, so that only parts give work to other threads.
DEEP_TILE: Final = 512
# Fewer elements are folded before other threads have begun.
WORTH_PARTS: Final = 1 << 21
# The same of columns that do not fill a tile's vectors.
WORTH_THIN_PARTS: Final = 1 << 19
# Columns of a tile, and tiles that are enough for all threads.
TILE: Final = 8192
ENOUGH: Final = 16
# Columns of a tile, of 4 bytes, where wider ones leave threads without work.
SHARED_TILE: Final = 2048
# Fewer columns than this do not fill the vectors of a tile.
THIN: Final = 64
# Results are written past the caches from so many bytes on, if they are no smaller a part of what
# is read: what is left in the caches of others is gone before somebody reads it.
LARGE_RESULTS: Final = 1 << 24
SMALLEST_PART: Final = 16
# The same for short rows by vectors of 64 bytes: smaller parts come in less than whole lines, and
# are as fast through the caches, wherever their memory begins.
SMALLEST_WIDE_PART: Final = 4
# Bytes of rows from memory that are worth reading in several places, for each field of a state.
WIDE_ROW: Final = 128
# Elements from which on a short innermost axis, of up to THIN elements, is worth a kernel.
LARGE: Final = 1 << 13

# The name of outputs whose columns are held in cache, a tile of them at a time; elements of such an
# array, and of each of its columns.
HELD: Final = "held"
HELD_ELEMENTS: Final = 1 << 20
HELD_ROWS: Final = 1 << 14


def cpu_sizes(problem: Problem, kind: str, *, has_tiles: bool) -> tuple[str, str]:
    """Return run and outputs of a layout class (:class:`axisfold.plan.compose.LayoutClass`).

    Parameters
    ----------
    problem
        The canonical problem.
    kind
        What its innermost axis is, ``kept`` or ``reduced``.
    has_tiles
        Whether the reducer has a form for short runs.
    """
    last = problem.reduced[-1].extent
    if kind == "reduced":
        is_huge = last * max(*(abs(s) for s in problem.reduced[-1].strides), 1) >= HUGE_ROW
        if has_tiles and not problem.kept and len(problem.reduced) > 1 and last < BRIEF:
            return "brief", ""
        return ("row" if last < LONG_ROW else "huge" if is_huge else "long"), ""
    *others, inner = problem.kept
    if all(a.extent == 1 for a in problem.reduced):
        return "single", ""
    if last <= SHALLOW:
        return "shallow", ""
    tiles = math.prod(a.extent for a in others) * math.ceil(inner.extent / TILE)
    run = "tall" if has_tiles and last >= DEEP and inner.extent < TILE else "deep"
    is_split = tiles > 1 or (has_tiles and inner.extent >= 2 * SHARED_TILE)
    is_even = inner.extent % (2 * TILE) == 0  # each thread of two has as many tiles
    if tiles >= ENOUGH or last < (DEEP if is_split else DEEP_TILE):
        if tiles < ENOUGH // 2 and not is_even:
            return run, "shared"
        return run, "many" if inner.extent < TILE else "wide"
    if inner.extent < THIN:
        return run, "thin"
    if last * inner.extent < WORTH_PARTS:
        return run, "shared"
    if has_tiles and is_even:
        return run, "wide"  # no parts are to be merged
    return run, "one" if last < 2 * DEEP else "few"


def plain_outputs(problem: Problem, outputs: str, *, is_plain: bool) -> str:
    """Return the class of outputs where no kernel knows how many columns there are.

    Parts of few elements take longer than a tile of all of them.

    Parameters
    ----------
    problem
        The canonical problem.
    outputs
        Its class as :func:`cpu_sizes` tells it.
    is_plain
        Whether the reducer has no form for short runs and is not ordered.
    """
    if outputs == "thin":
        elements = problem.reduced[-1].extent * problem.kept[-1].extent
        outputs = "shared" if elements < WORTH_THIN_PARTS else outputs
    size = math.prod(a.extent for a in (*problem.kept, *problem.reduced))
    is_cached = is_plain and size < WORTH_PARTS and outputs in ("many", "shared")
    return "cached" if is_cached else outputs


def cpu_width(problem: Problem, kind: str, steps: Sequence[Inner], fields: int) -> int:
    """Return the constant extent of the innermost axis, 0 where it stays an argument.

    A short axis is worth a kernel of its own where memory is one run of it and the array is large,
    but rows of a few lines that come from memory are read in several places.

    Parameters
    ----------
    problem, kind
        As :func:`cpu_sizes` has them.
    steps
        How each input steps along the innermost axis.
    fields
        Of a state; 0 where the reducer has a form for short runs, or is ordered.
    """
    if not problem.kept or not set(steps) <= {"unit", "two"}:
        return 0
    inner, outer = problem.kept[-1], problem.reduced[-1]
    if kind == "reduced":
        inner, outer = outer, inner
        is_wide = min(map(abs, outer.strides), default=0) >= WIDE_ROW * fields > 0
        if is_wide and len(problem.kept) == 1 and _is_far(problem):
            return 0
    elif outer.extent <= _few_rows(inner.extent):
        return 0
    size = math.prod(a.extent for a in (*problem.kept, *problem.reduced))
    is_run = all(o == inner.extent * i for o, i in zip(outer.strides, inner.strides, strict=True))
    return inner.extent if is_run and inner.extent <= THIN and size >= LARGE else 0


def _few_rows(columns: int) -> int:
    """Return how many rows are too few to be folded side by side, until they fill whole vectors."""
    if columns % SHALLOW == 0:
        return SHALLOW
    return THIN if columns < SHALLOW else DEEP


def least_columns(problem: Problem) -> int:
    """Return how many columns there are at least, in the classes that rules tell apart."""
    return THIN if problem.kept[-1].extent >= THIN else 0


def cpu_stores(problem: Problem, read: Sequence[int], written: int, vectors: int) -> str:
    """Return how results are written: ``stream`` for past the caches, or "".

    Parameters
    ----------
    problem
        The canonical problem.
    read, written
        Bytes of an element of each input, and of the widest result.
    vectors
        Bytes of the vectors that short rows are read by; 0 if rows are not folded.
    """
    smallest = SMALLEST_WIDE_PART if vectors >= WIDE_VECTOR else SMALLEST_PART
    kept = math.prod(a.extent for a in problem.kept)
    folded = math.prod(a.extent for a in problem.reduced)
    if written * kept < max(LARGE_RESULTS, sum(read) * kept * folded / smallest):
        return ""
    has_whole_rows = len(problem.kept) == 1 or problem.kept[-1].extent % STREAMED == 0
    return "stream" if has_whole_rows else ""


def cpu_loads(problem: Problem, sizes: tuple[str, str], *, is_short: bool) -> str:
    """Return how rows are read: ``ahead`` where they come from memory, or "".

    Asking for them costs a sixth of the time where they are in a cache.

    Parameters
    ----------
    problem
        The canonical problem.
    sizes
        Run and outputs of its layout class.
    is_short
        Whether rows are so short that their length is a constant.
    """
    if not is_short and sizes[0] != "huge" and not sizes[1].endswith("streams"):
        return ""
    return "ahead" if _is_far(problem) else ""


def _is_far(problem: Problem) -> bool:
    """Return whether inputs are too large for caches."""
    axes = (*problem.kept, *problem.reduced)
    return max(a.extent * max(map(abs, a.strides), default=0) for a in axes) >= HUGE_ROW


def is_flat(problem: Problem, vectors: int) -> bool:
    """Return whether few rows are asked for ahead, by vectors of so many bytes (0: by passes)."""
    return problem.reduced[-1].extent <= (SHALLOW if vectors >= WIDE_VECTOR else FLAT)


def held_sizes(
    problem: Problem, kind: str, sizes: tuple[str, str], written: int
) -> tuple[tuple[str, str], str]:
    """Return sizes and stores of a class where what is read of an element several times is held.

    Outputs are ``held`` where an array of columns fits in a cache.  Those from memory are read row
    by row, as a tile of a few columns has short parts of rows.

    Parameters
    ----------
    problem, kind
        As :func:`cpu_sizes` has them; the last strides are the result's, by rows.
    sizes
        Run and outputs, as that tells them.
    written
        Bytes of an element of the result.
    """
    if kind == "reduced":
        return sizes, _row_stores(problem, written) if sizes[0] == "row" else ""
    rows = problem.reduced[-1].extent
    size = math.prod(a.extent for a in (*problem.kept, *problem.reduced))
    # Masked stores of 16 bits go one by one.
    fewest = THIN if written < 4 else SHALLOW if sizes[1] == "thin" else 1
    is_wide = problem.kept[-1].extent >= fewest and sizes[0] != "single"
    is_held = is_wide and len(problem.reduced) == 1 and rows <= HELD_ROWS and size < HELD_ELEMENTS
    return (sizes[0], HELD if is_held else sizes[1]), ""


def _row_stores(problem: Problem, written: int) -> str:
    """Return how results of the inputs' shape are written: ``stream``, or ""."""
    size = math.prod(a.extent for a in (*problem.kept, *problem.reduced))
    *outer, inner = (a.strides[-1] for a in (*problem.kept, *problem.reduced))
    has_whole_rows = inner == written and all(s % STREAMED == 0 for s in outer)
    return "stream" if has_whole_rows and written * size >= LARGE_RESULTS else ""


def with_streams(problem: Problem) -> tuple[Problem, Problem | None] | None:
    """Return the problem with its many rows in blocks of a few runs; None where they stay one.

    Kept axes are then blocks, the runs of a block, and the rows of a run.  Rows that fill no block
    are at the end of a second problem, of one block, which may begin with rows of the first; None
    if there are none.
    """
    if len(problem.kept) != 1 or problem.reduced[-1].extent >= LONG_ROW:
        return None
    (rows,) = problem.kept
    is_inner = stream_outputs(problem) == "outer_streams"
    if rows.extent < (MANY_INNER_ROWS if is_inner else MANY_ROWS):
        return None
    blocks = FEWEST_INNER_BLOCKS if is_inner else FEWEST_BLOCKS
    most = APART // max(*(abs(s) for s in rows.strides), 1)
    most = max(min(most, MANY_ROWS, rows.extent // (ROW_STREAMS * blocks)), 1)
    even = (n for n in range(most, most // 2, -1) if rows.extent % (ROW_STREAMS * n) == 0)
    run = next(even, most)
    blocks, left = divmod(rows.extent, ROW_STREAMS * run)
    if not left:
        return _blocks(problem, 0, blocks, run), None
    last = math.ceil(left / ROW_STREAMS)
    first = rows.extent - ROW_STREAMS * last
    return _blocks(problem, 0, blocks, run), _blocks(problem, first, 1, last)


def stream_outputs(problem: Problem) -> str:
    """Return the class of outputs of many rows, which :func:`with_streams` cuts into blocks.

    It is ``outer_streams`` where a folded axis is outside of the rows: its steps are larger.
    """
    outer, rows = (max(map(abs, a.strides)) for a in (problem.reduced[0], problem.kept[-1]))
    return "outer_streams" if outer > rows else "streams"


def _blocks(problem: Problem, first: int, blocks: int, run: int) -> Problem:
    (rows,) = problem.kept
    kept = (
        LoopAxis(blocks, tuple(s * run * ROW_STREAMS for s in rows.strides)),
        LoopAxis(ROW_STREAMS, tuple(s * run for s in rows.strides)),
        replace(rows, extent=run),
    )
    offsets = tuple(o + first * s for o, s in zip(problem.offsets, rows.strides, strict=True))
    return replace(problem, kept=kept, offsets=offsets)
