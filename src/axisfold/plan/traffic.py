# SPDX-License-Identifier: Apache-2.0
"""How many bytes a fold moves: memory is read by whole lines, also where strides skip elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, gcd, prod
from typing import Final

from axisfold.plan.canonical import LoopAxis, Problem

# What is read at once: a line of a CPU's cache, a sector of a GPU's.
LINE_BYTES: Final = 64
SECTOR_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that a fold moves between memory and the processor, each once.

    Attributes
    ----------
    element_bytes
        Bytes of the elements that are folded, where they lie in memory: broadcast ones count once.
    read_bytes
        Bytes of the lines that hold them.
    written_bytes
        Bytes of the results.
    line_bytes
        Bytes of a line or sector.
    """

    element_bytes: int
    read_bytes: int
    written_bytes: int
    line_bytes: int

    @property
    def moved_bytes(self) -> int:
        """All bytes."""
        return self.read_bytes + self.written_bytes

    @property
    def lines(self) -> int:
        """How many lines are read."""
        return self.read_bytes // self.line_bytes


def traffic(
    problem: Problem,
    itemsizes: Sequence[int],
    result_sizes: Sequence[int],
    line_bytes: int,
    *,
    is_spread: bool = False,
) -> Traffic:
    """Return the bytes that a fold moves.

    Parameters
    ----------
    problem
        The fold.
    itemsizes, result_sizes
        Bytes of an element of each input and of each result.
    line_bytes
        What is read at once.
    is_spread
        Whether results have the inputs' shape.
    """
    axes = [*problem.kept, *problem.reduced]
    if prod(axis.extent for axis in axes) == 0:
        return Traffic(0, 0, 0, line_bytes)
    lines = elements = 0
    for which, itemsize in enumerate(itemsizes):
        lines += touched_lines(axes, which, itemsize, line_bytes)
        elements += itemsize * prod(axis.extent for axis in axes if axis.strides[which])
    outputs = prod(axis.extent for axis in (axes if is_spread else problem.kept))
    return Traffic(elements, lines * line_bytes, outputs * sum(result_sizes), line_bytes)


def touched_lines(axes: Sequence[LoopAxis], which: int, itemsize: int, line_bytes: int) -> int:
    """Return how many lines hold the elements of an input.

    Axes are taken from the smallest stride on.  While less than a line lies between one run of
    bytes and the next, every line between them is touched, and they are one longer run; from then
    on runs share no line.  Where runs begin within a line is counted over the whole pattern that
    their strides make, from an input that begins a line.
    """
    steps = sorted((abs(a.strides[which]), a.extent) for a in axes if a.strides[which])
    run, count, spread = itemsize, 1, line_bytes
    for stride, extent in steps:
        if count == 1 and stride - run < line_bytes:
            run += stride * (extent - 1)
        else:
            count *= extent
            spread = gcd(spread, stride)
    starts = range(0, line_bytes, spread)
    touched = sum((start + run - 1) // line_bytes + 1 for start in starts)
    return ceil(count * touched / len(starts))
