# SPDX-License-Identifier: Apache-2.0
"""Size classes of CPUs: which extents make another kernel worth compiling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from axisfold.plan.canonical import Inner, Problem

# Rows with this many elements are shared by threads, in chunks that several streams read.
LONG_ROW: Final = 1 << 18
# Up to here rows and columns are compiled for their very width.
SHORT_ROW: Final = 64
NARROW: Final = 1024
# Fewer rows than this are folded by a short loop around each vector of columns.
SHALLOW: Final = 16
# With at least this many rows, parts of the rows are worth a fold of their own.
DEEP: Final = 2048
# Columns of a tile, and tiles that are enough for all threads.
TILE: Final = 8192
ENOUGH: Final = 16


def cpu_sizes(
    problem: Problem, kind: str, steps: Sequence[Inner], itemsizes: Sequence[int]
) -> tuple[str, str, int]:
    """Return run, outputs and width of a layout class (:class:`axisfold.plan.compose`).

    Parameters
    ----------
    problem
        The canonical problem.
    kind, steps
        What its innermost axis is, and how the inputs step along it.
    itemsizes
        Bytes of the inputs' elements.
    """
    last = problem.reduced[-1].extent
    if kind == "reduced":
        if _is_dense(problem, kind, itemsizes) and last <= SHORT_ROW:
            return "short", "", last
        return ("long" if last >= LONG_ROW else "row"), "", 0
    *others, inner = problem.kept
    if _is_dense(problem, kind, itemsizes) and inner.extent <= NARROW:
        return ("long" if last * inner.extent >= LONG_ROW else "row"), "narrow", inner.extent
    if last <= SHALLOW:
        return "shallow", "", 0
    tiles = math.prod(a.extent for a in others) * math.ceil(inner.extent / TILE)
    return "deep", "few" if tiles < ENOUGH and last >= DEEP else "many", 0


def _is_dense(problem: Problem, kind: str, itemsizes: Sequence[int]) -> bool:
    """Return whether there are one kept and one folded axis, and memory has no gaps."""
    if len(problem.kept) != 1 or len(problem.reduced) != 1:
        return False
    kept, folded = problem.kept[0], problem.reduced[0]
    outer, inner = (kept, folded) if kind == "reduced" else (folded, kept)
    return all(
        step == size and far == size * inner.extent
        for step, far, size in zip(inner.strides, outer.strides, itemsizes, strict=True)
    )
