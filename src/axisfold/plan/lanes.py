# SPDX-License-Identifier: Apache-2.0
"""The lanes of a load as an axis of a problem."""

from __future__ import annotations

from dataclasses import replace

from axisfold.plan.canonical import LoopAxis, Problem


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
