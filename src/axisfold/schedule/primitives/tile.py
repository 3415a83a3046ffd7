# SPDX-License-Identifier: Apache-2.0
"""tile: two loops become blocks of rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axisfold.schedule.checks import leaf_position
from axisfold.schedule.primitives.reorder import reorder
from axisfold.schedule.primitives.split import split
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def tile(
    schedule: Schedule, stage: Stage, x: Axis, y: Axis, x_factor: Any, y_factor: Any
) -> tuple[Axis, Axis, Axis, Axis]:
    """Split two leaves and put both inner parts inside both outer ones.

    Before::

        for (x…) { for (y…) { … } }

    After ``tile(x, y, 4, 8)``::

        for (x.outer…) { for (y.outer…) { for (x.inner, 0, 4) { for (y.inner, 0, 8) { … } } } }

    Preconditions
    -------------
    1. Those of ``split`` for each axis and factor.
    2. Those of ``reorder`` for the four parts.

    Returns
    -------
    (Axis, Axis, Axis, Axis)
        ``x.outer, y.outer, x.inner, y.inner``.
    """
    for axis in (x, y):
        leaf_position(stage, axis, "tile")
    saved = list(stage.leaf_axes), list(stage.relations)
    try:
        x_outer, x_inner = split(schedule, stage, x, factor=x_factor)
        y_outer, y_inner = split(schedule, stage, y, factor=y_factor)
        reorder(schedule, stage, x_outer, y_outer, x_inner, y_inner)
    except Exception:
        stage.leaf_axes, stage.relations = saved  # a refused primitive changes nothing
        raise
    return x_outer, y_outer, x_inner, y_inner
