# SPDX-License-Identifier: Apache-2.0
"""What a GPU kernel is specialised for: lanes of a load, threads and blocks of a fold.

All of it is bounded in number: lanes are powers of two up to 16 bytes, threads of a row powers of
two up to a block, blocks powers of two up to one wave of the card; extents become constants only
in short rows and narrow columns, whose rules say so.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from axisfold.dtypes import FLOAT32
from axisfold.plan.canonical import Problem
from axisfold.plan.gpu_class import UNROLL as UNROLL
from axisfold.plan.gpu_class import Form
from axisfold.plan.gpu_class import GpuClass as GpuClass
from axisfold.plan.lanes import Inputs, divides, lanes_of, most_lanes
from axisfold.plan.merging import is_dear
from axisfold.target import Target
from axisfold.tensor.trace import Traced

# Threads of a block.
BLOCK: Final = 256
# Where a block takes so many turns of them, a thread has more loads under way.
MOST_LOADS: Final = 8
TURNS: Final = 2
WARP: Final = 32
# Blocks of BLOCK threads that a multiprocessor holds: of rows, and of columns with their registers.
RESIDENT: Final = 8
RESIDENT_COLUMNS: Final = 4
# Waves of blocks that share few long rows, or many; units that make a share of one worth it.
FEW_ROWS_WAVES: Final = 3
MANY_ROWS_WAVES: Final = 8
LONG_UNITS: Final = 8192
# Where more blocks than this share columns, a thread of theirs has more loads under way, too.
MANY_PARTS: Final = 16
# From so many parts of a column on they are a power of two, if that is most of them.
EVEN_PARTS: Final = 128
MOSTLY: Final = 0.9
# Rows up to this many elements are compiled for their length.
SHORT_ROW: Final = 4096
# Steps of a thread over a short row, all written out.
MOST_STEPS: Final = 16
# Rows of a thread whose loads are under way at once, up to so many bytes together.
MOST_ROWS: Final = 8
ROWS_BYTES: Final = 80
# Loads of a thread, and their elements, that it holds while it passes over a row several times.
HELD: Final = 8
HELD_ELEMENTS: Final = 32
# Terms up to this many are summed in float32 where elements share the sum: it is off by less than
# each of them.
SHORT_SUM: Final = 4
# Elements of a thread that also computes those of the result, in loads of several or of one, and
# threads that are neighbours at least.
SPREAD_ELEMENTS: Final = 16
SINGLE_ELEMENTS: Final = 24
LEAST_TEAM: Final = 4
# Longer rows that a block of so many threads, or a cluster of them, holds are compiled for their
# length, a multiple of this.
LONG_TEAM: Final = 512
LONG_MULTIPLE: Final = 128
# Threads of a multiprocessor whose rows are in the second-level cache, of which they fill a part.
HALF_FULL: Final = 1024
CACHED: Final = 0.7
MOST_THREADS: Final = 1024
# Where merging states is dear: columns of a thread, waves of blocks, and of half as many threads.
DEAR_LANES: Final = 2
DEAR_WAVES: Final = 4
FULL_WAVES: Final = 4
# Vectors of columns side by side in a block, and rows of threads.
TILE: Final = 32
# Columns up to this many are compiled for their number, where they fill less than this of tiles.
NARROW: Final = 1024
FULL_TILES: Final = 0.9
# Folds of columns up to this length are not shared by threads.
FEW_ROWS: Final = 16

TILED: Final[dict[Form, Form]] = {
    "row": "tiled_row", "short_row": "tiled_row", "row_split": "tiled_row_split",
    "column": "tiled_column", "column_split": "tiled_column_split",
}  # fmt: skip
# Rows of more elements are held while they are searched; shorter ones are a tile of one thread.
MOST_ROW_OF_TILES: Final = 24


def classify(
    problem: Problem, kind: str, inputs: Inputs, traced: Traced, target: Target
) -> GpuClass:
    """Return the class of a problem without lanes of its own."""
    outputs = math.prod(a.extent for a in problem.kept)
    folded = math.prod(a.extent for a in problem.reduced)
    wave = RESIDENT * target.multiprocessors
    if traced.combiner.is_ordered:
        return _ordered(outputs, folded, wave)
    state_bytes = sum(v.dtype.itemsize for v in traced.combiner.lhs)
    # Where no pass over a tile saves work, elements go into the state one by one as quickly.
    has_places = any(p.places for p in traced.tile_passes)
    has_tiles = (traced.reads_twice or has_places) and not (has_places and len(problem.reduced) > 1)
    # Sums of short integers are narrower in a tile, which pays where tiles are many.
    sums_short = not has_tiles and traced.sums_short
    has_tiles |= sums_short
    if traced.is_spread and kind == "kept":
        return _column(problem, 1, folded, wave)
    wave_of_columns = RESIDENT_COLUMNS * target.multiprocessors
    dear = has_tiles and is_dear(traced)
    # A tile has one state, and one that is as wide as its elements.
    lanes = lanes_of(problem, inputs, state_bytes if kind == "kept" or not has_tiles else 1)
    if any(inputs.is_split) and (has_tiles or traced.is_spread):
        lanes = 1  # what reads two elements at once, or writes them, takes parts one by one
    if dear and kind == "kept":
        lanes = min(lanes, DEAR_LANES)
    if kind == "reduced":
        has_waves = not (traced.is_spread or is_dear(traced))
        waves = (FEW_ROWS_WAVES, MANY_ROWS_WAVES) if has_waves else (1, 1)
        found = _row(problem, lanes, outputs, folded, wave, waves)
        if traced.is_spread and found.parts == 1:
            return _spread_row(problem, found, inputs, target) if has_tiles else found
    elif _is_narrow(problem, lanes, inputs):
        return _narrow(problem, inputs, state_bytes, folded, target)
    else:
        found = _column(problem, lanes, folded, (DEAR_WAVES if dear else 1) * wave_of_columns)
    if not has_tiles or found.form not in TILED or (sums_short and found.form == "short_row"):
        if found.form == "short_row":
            return _with_rows(found, outputs, inputs, wave)
        return _with_threads(found) if found.form == "column_split" else found
    # A tile is a whole short row where registers hold it.
    is_held = found.form == "short_row" and found.steps <= min(HELD, HELD_ELEMENTS // lanes)
    steps = found.steps if is_held else UNROLL if kind == "reduced" else 2 * UNROLL
    found = replace(found, form=TILED[found.form], steps=steps)
    if traced.is_search:
        found = _searched(found, kind, folded, inputs)
        is_held &= found.form == "tiled_row"
    if dear:
        found = _with_few_merges(found, problem, inputs, target)
        is_held = found.form == "whole_row" and lanes > 1
    return _with_rows(found, outputs, inputs, wave) if is_held else found


def _with_few_merges(tiled: GpuClass, problem: Problem, inputs: Inputs, target: Target) -> GpuClass:
    """Return the class with tiles twice as tall, and with the fewest threads that fill the card.

    The threads of a row merge their states in the end, each of them as often as a whole tile.
    """
    if tiled.form != "tiled_row":
        return replace(tiled, steps=2 * tiled.steps)
    outputs = math.prod(a.extent for a in problem.kept)
    folded = math.prod(a.extent for a in problem.reduced)
    if folded <= SHORT_ROW:
        return _held_row(tiled, folded // tiled.lanes, inputs)
    if (held := _long_row(tiled, problem, BLOCK, 1)) is not None:
        return held
    team = min(tiled.team, WARP)
    enough = FULL_WAVES * HALF_FULL * target.multiprocessors
    while team < tiled.team and outputs * team < enough:
        team *= 2
    return replace(tiled, team=team, steps=2 * UNROLL)


def _searched(tiled: GpuClass, kind: str, folded: int, inputs: Inputs) -> GpuClass:
    """Return the class of a search, which may find an element twice: a last tile begins early.

    Short rows are held where their elements, and so the registers of a thread, are not long.
    """
    if kind == "kept":
        return replace(tiled, overlaps=tiled.steps * tiled.team <= folded)
    units = folded // tiled.lanes
    if folded <= SHORT_ROW:
        is_held = folded > MOST_ROW_OF_TILES and max(inputs.itemsizes) <= FLOAT32.itemsize
        return _held_row(tiled, units, inputs) if is_held else tiled
    if tiled.parts > 1 or tiled.lanes == 1:
        return tiled
    team = tiled.team
    while team * tiled.steps > units:
        team //= 2
    return replace(tiled, team=team, overlaps=True)


def _held_row(row: GpuClass, units: int, inputs: Inputs) -> GpuClass:
    """Return the class of short rows that few threads hold."""
    row = _whole(row, units, inputs)
    return _few_threads(row, units, inputs, HELD_ELEMENTS) if row.lanes > 1 else row


def _ordered(outputs: int, folded: int, wave: int) -> GpuClass:
    """Return the class where states are folded in order: each thread has a run of its own."""
    if folded <= FEW_ROWS:
        return GpuClass("ordered")
    team = BLOCK if folded > SHORT_ROW else WARP
    parts = min(_power_up(-(-folded // SHORT_ROW)), _share(wave, outputs))
    return GpuClass("ordered_split" if parts > 1 else "ordered", 1, team, parts)


def _row(
    problem: Problem, lanes: int, outputs: int, folded: int, wave: int, waves: tuple[int, int]
) -> GpuClass:
    units = folded // lanes
    if folded <= SHORT_ROW:
        team = _team(units, lanes)
        if team < BLOCK and outputs * team < wave * WARP and units >= 4 * team:
            team = min(BLOCK, 1 << (units // 2).bit_length())
        fixed = tuple(a.extent for a in problem.reduced)
        if lanes > 1:
            fixed = (*fixed[:-1], fixed[-1] // lanes, lanes)
        return GpuClass("short_row", lanes, team, 1, max(-(-units // team), 1), fixed)
    fixed = (lanes,) if lanes > 1 else ()
    parts, loads = _row_parts(units, outputs, wave, waves), UNROLL
    is_one_turn = wave * BLOCK // 2 <= units <= wave * BLOCK * UNROLL
    if outputs == 1 and waves != (1, 1) and is_one_turn:
        # Each block is a state more for the last one to read: fewer of them, with more loads.
        loads = MOST_LOADS
        parts = min(parts, _power_up(-(-units // (BLOCK * loads))))
    form: Form = "row" if parts == 1 else "row_split"
    return GpuClass(form, lanes, BLOCK, parts, max(loads, _loads(units // parts)), fixed)


def _with_rows(row: GpuClass, outputs: int, inputs: Inputs, wave: int) -> GpuClass:
    """Return the class with several short rows for a team, while blocks still fill the card."""
    load_bytes = row.steps * row.lanes * max(inputs.itemsizes)
    most = min(ROWS_BYTES // load_bytes, outputs * row.team // (BLOCK * wave), MOST_ROWS)
    return replace(row, rows=1 << max(most, 1).bit_length() - 1)


def _row_parts(units: int, outputs: int, wave: int, waves: tuple[int, int]) -> int:
    """Return how many blocks share a long row.

    Blocks of several waves end at different times, so that none of the card waits for the last of
    them; that is worth the states of more blocks where each has enough to do.
    """
    parts = min(_power_up(-(-units // (BLOCK * UNROLL))), _share(wave, outputs))
    few, many = waves
    if outputs <= WARP // 2:
        more = _share(few * wave, outputs)
        return more if units >= more * LONG_UNITS else parts
    longest = max(2 * units // LONG_UNITS, 1)
    return max(parts, min(_share(many * wave, outputs), 1 << longest.bit_length() - 1))


def _loads(units: int) -> int:
    """Return the loads that a thread has under way where a block takes so many units."""
    return MOST_LOADS if units >= TURNS * MOST_LOADS * BLOCK else UNROLL


def _spread_row(problem: Problem, row: GpuClass, inputs: Inputs, target: Target) -> GpuClass:
    """Return the class where a team of threads holds a row while it passes over it."""
    if not problem.kept:
        return row
    folded = math.prod(a.extent for a in problem.reduced)
    if folded <= SHORT_ROW:
        units = folded // row.lanes
        row = _whole(row, units, inputs)
        if row.lanes > 1:
            return _few_threads(row, units, inputs, SPREAD_ELEMENTS)
        few = _few_threads(row, units, inputs, SINGLE_ELEMENTS)
        return few if few.team < WARP else row
    if (held := _long_row(row, problem, LONG_TEAM, target.max_cluster)) is not None:
        return held
    # Longer rows are read again from the second-level cache: fewer blocks at once, of more threads.
    row_bytes = folded * max(inputs.itemsizes)
    team = BLOCK
    threads = target.multiprocessors * HALF_FULL
    while team < MOST_THREADS and row_bytes * (threads // team) > CACHED * target.l2_bytes:
        team *= 2
    return replace(row, form="whole_row", team=team, steps=HELD if team > BLOCK else UNROLL)


def _long_row(row: GpuClass, problem: Problem, few: int, clusters: int) -> GpuClass | None:
    """Return the class of a long row that a block or a cluster holds, None if it is another.

    Blocks have ``few`` threads at least, and are ``clusters`` at most.
    """
    units = (folded := problem.reduced[-1].extent) // row.lanes
    held = min(HELD, max(HELD_ELEMENTS // row.lanes, 1))
    team = max(_power_up(-(-units // held)), few)
    cluster = max(team // (MOST_THREADS if clusters > 1 else few), 1)
    if len(problem.reduced) > 1 or folded % LONG_MULTIPLE or cluster > clusters:
        return None
    fixed, steps = (units, row.lanes)[: 2 if row.lanes > 1 else 1], -(-units // team)
    return replace(row, form="whole_row", team=team, steps=steps, fixed=fixed, cluster=cluster)


def _whole(row: GpuClass, units: int, inputs: Inputs) -> GpuClass:
    """Return the class of short rows that a team of threads holds while it passes over them."""
    is_single = row.lanes == 1 and max(inputs.itemsizes) <= FLOAT32.itemsize
    held = HELD_ELEMENTS if is_single else min(HELD, max(HELD_ELEMENTS // row.lanes, 1))
    team = row.team
    if team == BLOCK or units > held * team:
        team = min(max(_power_up(-(-units // held)), 1), BLOCK)
    if is_single and team == WARP and units > HELD * team:
        team *= 2  # one row for each block, so that no load waits for a guard
    return replace(row, form="whole_row", team=team, steps=max(-(-units // team), 1))


def _few_threads(row: GpuClass, units: int, inputs: Inputs, elements: int) -> GpuClass:
    """Return the class of short rows with so many elements for a thread: fewer exchange states.

    Some threads stay side by side, more where a load is one element, but each has two loads.
    """
    least = min(LEAST_TEAM if row.lanes > 1 else 2 * LEAST_TEAM, max(units // 2, 1))
    team = max(_power_up(-(-units // max(elements // row.lanes, 1))), least)
    team = 1 << team.bit_length() - 1
    if team >= row.team or max(inputs.itemsizes) > FLOAT32.itemsize:
        return row
    return replace(row, team=team, steps=-(-units // team))


def _column(problem: Problem, lanes: int, folded: int, wave: int) -> GpuClass:
    width = problem.kept[-1].extent
    others = math.prod(a.extent for a in problem.kept[:-1])
    fixed = (lanes,) if lanes > 1 else ()
    rest = (0,) * len(problem.reduced)
    if folded <= FEW_ROWS:
        rest = tuple(a.extent for a in problem.reduced)
        return GpuClass("thread_column", lanes, fixed=(*fixed, *rest))
    height = max(BLOCK // TILE, lanes)
    blocks = -(-width // (lanes * TILE)) * others
    useful = _power_up(-(-folded // (2 * height * 2 * UNROLL)))
    parts = min(useful, _share(wave, blocks))
    form: Form = "column" if parts == 1 else "column_split"
    many = parts > MANY_PARTS and folded >= TURNS * MOST_LOADS * height * parts
    loads = MOST_LOADS if many else UNROLL
    return GpuClass(form, lanes, height, parts, loads, (*fixed, *rest) if fixed else ())


def _with_threads(column: GpuClass) -> GpuClass:
    """Return the class with twice the threads where more loads of each lack registers.

    Many parts are then a power of two, which was measured to be up to 0.08 faster than as many as
    the card has places for, if few of these stay empty.
    """
    if column.steps == UNROLL or column.lanes > UNROLL:
        return column
    parts = column.parts
    if parts >= EVEN_PARTS:
        parts = 1 << parts.bit_length() - 1
        if parts < MOSTLY * column.parts:
            return replace(column, steps=UNROLL)
    return replace(column, team=2 * column.team, parts=parts // 2, steps=UNROLL)


def _is_narrow(problem: Problem, lanes: int, inputs: Inputs) -> bool:
    """Return whether rows follow each other without gaps, and do not fill tiles of columns."""
    inner, row = problem.kept[-1], problem.reduced[-1]
    width = inner.extent
    if width > NARROW or row.extent < FEW_ROWS:
        return False
    pairs = zip(inner.strides, row.strides, inputs.itemsizes, strict=True)
    if any(inputs.is_split) or any(s != i or r != i * width for s, r, i in pairs):
        return False
    tile = TILE * lanes
    return width > NARROW // 2 or width < FULL_TILES * (-(-width // tile) * tile)


def _narrow(
    problem: Problem, inputs: Inputs, state_bytes: int, folded: int, target: Target
) -> GpuClass:
    width = problem.kept[-1].extent
    others = math.prod(a.extent for a in problem.kept[:-1])
    lanes = most_lanes(inputs.itemsizes, state_bytes)
    row = problem.reduced[-1]
    while lanes > 1 and not divides(lanes, (problem.kept[-1], row), problem, inputs):
        lanes //= 2
    height = max(2 * BLOCK // width, 1)
    useful = _power_up(-(-folded // (height * lanes * UNROLL)))
    # As many blocks on each multiprocessor: one block more is a wave of its own.
    resident = max(round(RESIDENT_COLUMNS * BLOCK / max(height * width, BLOCK)), 1)
    parts = min(useful, _share(resident * target.multiprocessors, others))
    form: Form = "narrow" if parts == 1 else "narrow_split"
    return GpuClass(form, lanes, height, parts, fixed=(width, *(0,) * len(problem.reduced)))


def _team(units: int, lanes: int) -> int:
    """Return the threads that fold a short row with few of them idle.

    They are of one warp, or a few where loads of one element are so many, or the block.
    """
    limit = MOST_STEPS if lanes > 1 else 2 * MOST_STEPS
    if units > WARP * limit:
        return BLOCK if lanes > 1 else min(_power_up(-(-units // limit)), BLOCK)
    units = max(units, 1)
    best, most = 1, 0.0
    for team in (1, 2, 4, 8, 16, WARP):
        steps = -(-units // team)
        busy = units / (team * steps)
        if steps <= (limit if team == WARP else MOST_STEPS) and busy > most - 0.1:
            best, most = team, max(busy, most)
    return best


def _power_up(count: int) -> int:
    return 1 << max(count - 1, 0).bit_length()


def _share(wave: int, folds: int) -> int:
    """Return how many blocks of a wave each fold may have."""
    share = wave // max(folds, 1)
    # Exactly, where folds are few; else a power of two, so that kernels are few.
    return max(share if folds <= WARP // 2 else 1 << max(share, 1).bit_length() - 1, 1)
