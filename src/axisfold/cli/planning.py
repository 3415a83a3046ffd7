# SPDX-License-Identifier: Apache-2.0
"""The plan of a reduction on an array that need not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axisfold.api.arguments import member_of
from axisfold.api.fold import plan_fold
from axisfold.cli.errors import CommandError
from axisfold.dtypes import parse
from axisfold.plan.planner import HOST, Plan
from axisfold.target import parse as parse_target


def plan_of_shape(
    ops: Sequence[str],
    shape: tuple[int, ...],
    dtype: str,
    axis: int | tuple[int, ...] | None,
    layout: str,
    target: str,
) -> Plan:
    """Return the plan for arrays of a shape, dtype and order; no such array is made."""
    if layout not in ("C", "F"):
        raise CommandError(f"--layout {layout!r} is not an order. Use C or F.")
    chosen_target = parse_target(target)
    element = parse(dtype)
    like = _like(shape, element.to_numpy(), layout)
    chosen = [member_of(op, element, None) for op in ops]
    needs = [op for op, (_, needed) in zip(ops, chosen, strict=True) if needed]
    members = [member for member, _ in chosen]
    goal = chosen_target if chosen_target.kind == "cuda" else HOST
    return plan_fold([like], members, axis, needs, goal).plan


def _like(shape: tuple[int, ...], dtype: np.dtype[Any], layout: str) -> np.ndarray[Any, Any]:
    """Return one element under the shape and strides of a whole array; it is never read."""
    order = range(len(shape)) if layout == "F" else reversed(range(len(shape)))
    strides = [0] * len(shape)
    step = dtype.itemsize
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
    if step > np.iinfo(np.int64).max:
        raise CommandError(f"shape {shape} of {dtype} has more bytes than memory has addresses.")
    return as_strided(np.zeros(1, dtype), shape, strides, writeable=False)
