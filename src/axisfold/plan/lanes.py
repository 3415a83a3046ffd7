# SPDX-License-Identifier: Apache-2.0
"""The lanes of a load of a GPU: how many they are, and the axis of a problem that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from axisfold.plan.canonical import LoopAxis, Problem

# Bytes of the longest load of a thread, and of the states that its lanes may hold.
LOAD_BYTES: Final = 16
STATE_BYTES: Final = 96


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the lanes of a load depend on.

    Attributes
    ----------
    itemsizes
        Bytes of an element of each input.
    addresses
        Of the first elements, as far as alignment goes.
    is_split
        Whether an element has several real components.
    """

    itemsizes: tuple[int, ...]
    addresses: tuple[int, ...]
    is_split: tuple[bool, ...]


def lanes_of(problem: Problem, inputs: Inputs, state_bytes: int) -> int:
    """Return the elements of one load: a power of two that all of the layout divides by."""
    kind, steps = problem.inner(inputs.itemsizes)
    axis = (problem.kept if kind == "kept" else problem.reduced)[-1]
    if "unit" not in steps or "any" in steps:
        return 1
    units = [s for s, step in zip(inputs.itemsizes, steps, strict=True) if step == "unit"]
    lanes = most_lanes(units, state_bytes)
    while lanes > 1 and (axis.extent % lanes or not divides(lanes, (axis,), problem, inputs)):
        lanes //= 2
    return lanes


def most_lanes(itemsizes: Sequence[int], state_bytes: int) -> int:
    """Return the most elements that a load and the registers for their states hold."""
    states = max(STATE_BYTES // state_bytes, 1)
    return min(max(LOAD_BYTES // max(itemsizes), 1), 1 << states.bit_length() - 1)


def divides(lanes: int, inner: Sequence[LoopAxis], problem: Problem, inputs: Inputs) -> bool:
    """Return whether loads along the inner axes are aligned, wherever the others stand."""
    outer = [a for a in (*problem.kept, *problem.reduced) if a not in inner]
    for which, itemsize in enumerate(inputs.itemsizes):
        if inner[0].strides[which] == 0:
            continue
        starts = [inputs.addresses[which] + problem.offsets[which]]
        starts += [a.strides[which] for a in outer]
        if any(start % (lanes * itemsize) for start in starts):
            return False
    return True


def with_lanes(problem: Problem, kind: str, lanes: int) -> Problem:
    """Return the problem with ``lanes`` neighbours of its innermost axis as one axis more."""
    if lanes == 1:
        return problem
    axes = problem.kept if kind == "kept" else problem.reduced
    *others, last = axes
    outer = LoopAxis(
        last.extent // lanes, tuple(s * lanes for s in last.strides), last.index_stride * lanes
    )
    split = (*others, outer, LoopAxis(lanes, last.strides, last.index_stride))
    return replace(problem, kept=split) if kind == "kept" else replace(problem, reduced=split)


def without_lanes(problem: Problem, kind: str, lanes: int) -> Problem:
    """Return the problem that :func:`with_lanes` made this one of."""
    if lanes == 1:
        return problem
    *others, outer, inner = problem.kept if kind == "kept" else problem.reduced
    whole = (*others, outer.merged(inner))
    return replace(problem, kept=whole) if kind == "kept" else replace(problem, reduced=whole)
