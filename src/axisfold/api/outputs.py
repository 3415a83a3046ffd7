# SPDX-License-Identifier: Apache-2.0
"""How the results of a canonical problem lie in memory, in the caller's shape."""

from __future__ import annotations

from collections.abc import Sequence

from axisfold.interop.views import Form, compact_strides
from axisfold.plan.canonical import Problem


def result_form(
    problem: Problem, shape: Sequence[int], reduced: frozenset[int], keepdims: bool
) -> Form:
    """Return the form of the results of a canonical problem.

    Parameters
    ----------
    problem
        The canonical problem: kernels write its kept axes in order.
    shape, reduced
        Shape of the caller's inputs, and the folded axes.
    keepdims
        Whether folded axes stay with extent 1.
    """
    steps = compact_strides([shape[axis] for axis in problem.out_axes])
    own = dict(zip(problem.out_axes, steps, strict=True))
    first = 0
    for position in problem.flipped:
        axis = problem.out_axes[position]
        first += own[axis] * (shape[axis] - 1)
        own[axis] = -own[axis]
    axes = [axis for axis in range(len(shape)) if keepdims or axis not in reduced]
    extents = tuple(1 if axis in reduced else shape[axis] for axis in axes)
    in_c_order = compact_strides(extents)
    if 0 in extents:
        return Form(extents, in_c_order)
    # An axis of one element has no step: any will do.
    strides = tuple(own.get(axis, step) for axis, step in zip(axes, in_c_order, strict=True))
    return Form(extents, strides, first)
