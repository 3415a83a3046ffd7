# SPDX-License-Identifier: Apache-2.0
"""The class of a problem for GPUs: the form of its kernel, and how many of everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

# Loads of a thread that are under way at once.
UNROLL: Final = 4

Form = Literal[
    "row", "row_split", "short_row", "column", "column_split", "thread_column",
    "narrow", "narrow_split", "tiled_row", "tiled_row_split", "tiled_column", "tiled_column_split",
    "ordered", "ordered_split", "whole_row",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class GpuClass:
    """What a kernel for GPUs is compiled for beside the kinds of its axes.

    Attributes
    ----------
    form
        Which rule takes it.
    lanes
        Elements of one load, side by side on the innermost axis.
    team
        Threads of a block that fold one element of the result together.
    parts
        Blocks that share one fold.
    steps
        Loads of a thread that are under way at once.
    fixed
        Constant extents of the last axes, 0 for those that are arguments.
    rows
        Rows that a team takes at once.
    cluster
        Blocks of a cluster, among which the threads of the team are shared out.
    overlaps
        Whether the last tiles of a row begin so early that they are whole, which folds some
        elements twice.
    """

    form: Form
    lanes: int = 1
    team: int = 1
    parts: int = 1
    steps: int = UNROLL
    fixed: tuple[int, ...] = ()
    rows: int = 1
    cluster: int = 1
    overlaps: bool = False

    @property
    def is_narrow(self) -> bool:
        """Whether a load goes on from one row to the next."""
        return self.form in ("narrow", "narrow_split")

    @property
    def is_held(self) -> bool:
        """Whether the team of a row holds it in registers, which it reads once."""
        is_one_axis = len(self.fixed) == (2 if self.lanes > 1 else 1)
        return self.form == "whole_row" and self.rows == 1 and is_one_axis and all(self.fixed)

    @property
    def axis_lanes(self) -> int:
        """Extent of the axis that the lanes of a load make; 1 for no such axis."""
        return 1 if self.is_narrow else self.lanes
