# SPDX-License-Identifier: Apache-2.0
"""split: one loop becomes two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from axisfold.dtypes import highest
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Const, Expr
from axisfold.schedule.checks import check_no_place, check_serial, leaf_position
from axisfold.schedule.relations import split_extents
from axisfold.schedule.stage import Split, Stage
from axisfold.tensor.axis import Axis, make_axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def split(
    schedule: Schedule, stage: Stage, parent: Axis, factor: Any = None, nparts: Any = None
) -> tuple[Axis, Axis]:
    """Split a leaf into an outer and an inner loop.

    Before::

        for (k: int32, 0, m) { … k … }

    After ``split(k, factor=16)``::

        for (k.outer: int32, 0, floordiv((m + 15), 16)) {
          for (k.inner: int32, 0, 16) {
            if @tir.likely((((k.outer*16) + k.inner) < m), dtype=bool) { … k.outer*16 + k.inner … }
          }
        }

    The guard is absent where the factor is known to divide the extent.

    Preconditions
    -------------
    1. ``parent`` is a leaf of the stage (S101, S102, S103).
    2. Exactly one of ``factor`` (extent of the inner loop) and ``nparts`` (extent of the outer
       loop) is given (S111).
    3. It is a positive integer that the axis' dtype holds, or an expression of it (S112).
    4. No stage is computed at ``parent`` (S113), and it is neither vectorized, unrolled,
       parallel nor bound (S114): that would be lost with the loop.

    Returns
    -------
    (Axis, Axis)
        ``parent.outer`` and ``parent.inner``.
    """
    position = leaf_position(stage, parent, "split")
    if (factor is None) == (nparts is None):
        given = "both were" if factor is not None else "neither was"
        raise ScheduleError(
            f"split of axis {parent.name!r} needs either factor= or nparts=, but {given} given.",
            code="S111",
        )
    if factor is not None:
        relation = _relation(parent, factor=_positive(parent, "factor", factor))
    else:
        relation = _relation(parent, nparts=_positive(parent, "nparts", nparts))
    hint = "Split first, then {} one of the parts."
    check_no_place(schedule, stage, parent, "split", "S113", hint.format("compute_at"))
    check_serial(stage, parent, "split", "S114", hint.format("vectorize or unroll"))
    outer, inner = relation.outer, relation.inner
    stage.relations.append(relation)
    stage.leaf_axes[position : position + 1] = [outer, inner]
    return outer, inner


def _relation(parent: Axis, factor: Expr | None = None, nparts: Expr | None = None) -> Split:
    extents = split_extents(parent.extent, factor, nparts)
    zero = build.const(0, parent.extent.dtype)
    outer, inner = (
        make_axis(f"{parent.name}.{part}", zero, extent, parent.kind)
        for part, extent in zip(("outer", "inner"), extents, strict=True)
    )
    return Split(parent, outer, inner, factor, nparts)


def _positive(parent: Axis, what: str, value: Any) -> Expr:
    dtype = parent.extent.dtype
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_number and 0 < int(value) <= highest(dtype):
        return build.const(int(value), dtype)
    if isinstance(value, Expr) and value.dtype.is_integer and not isinstance(value, Const):
        return build.cast(dtype, value)
    if isinstance(value, Const) and value.dtype.is_integer:
        return _positive(parent, what, int(value.value))
    raise ScheduleError(
        f"split of axis {parent.name!r}: {what}={value!r} is not a positive {dtype}.",
        code="S112",
    )
