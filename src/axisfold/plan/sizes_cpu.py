# SPDX-License-Identifier: Apache-2.0
"""Size classes of CPUs: which extents make another kernel worth compiling."""

from __future__ import annotations

import math
from typing import Final

from axisfold.plan.canonical import Problem

# Rows with this many elements are shared by threads, in chunks that several streams read.
LONG_ROW: Final = 1 << 18
# Up to here rows are folded by a short loop around each vector of columns.
SHALLOW: Final = 16
# With at least this many rows, parts of the rows are worth a fold of their own.
DEEP: Final = 2048
# Columns of a tile, and tiles that are enough for all threads.
TILE: Final = 8192
ENOUGH: Final = 16
# Fewer columns than this do not fill the vectors of a tile.
THIN: Final = 64


def cpu_sizes(problem: Problem, kind: str) -> tuple[str, str]:
    """Return run and outputs of a layout class (:class:`axisfold.plan.compose.LayoutClass`).

    Parameters
    ----------
    problem
        The canonical problem.
    kind
        What its innermost axis is, ``kept`` or ``reduced``.
    """
    last = problem.reduced[-1].extent
    if kind == "reduced":
        return ("long" if last >= LONG_ROW else "row"), ""
    *others, inner = problem.kept
    if last <= SHALLOW:
        return "shallow", ""
    tiles = math.prod(a.extent for a in others) * math.ceil(inner.extent / TILE)
    if tiles >= ENOUGH or last < DEEP:
        return "deep", "many"
    return "deep", "thin" if inner.extent < THIN else "few"
