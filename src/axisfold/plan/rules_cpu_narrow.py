# SPDX-License-Identifier: Apache-2.0
"""Schedules for CPUs where the innermost axis is short and memory is one run: constant extents."""

from __future__ import annotations

import math
from typing import Any, Final

from axisfold.ir import build
from axisfold.plan.compose import Graph
from axisfold.plan.schedules_cpu import STREAMS, accumulators, first, lanes, share
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.trace import Traced

# Parts that the rows are cut into where all of them are folded into few results.
PARTS: Final = 16


def few_columns(
    s: Schedule,
    graph: Graph,
    traced: Traced,
    target: Target,
    *,
    parts: int = PARTS,
    streams: int = STREAMS,
) -> None:
    """Whole rows side by side fill whole vectors: lanes stand for elements of a few rows.

    What the lanes hold is folded by rows at the end.
    """
    result, state = s[graph.results[0]], s[graph.state[0]]
    width = lanes(traced.combiner, target)
    group = _group(graph, traced, target)
    many, row = state.split(state.op.reduce_axis[-1], factor=group)
    if graph.layout is not None and graph.layout.outputs == "many" and graph.layout.kept > 1:
        run, _ = state.split(many, nparts=streams)
        tile: Any = s.rfactor(graph.state, row, factor_axis=-2)
        parent, kept = result, list(result.op.axis)
        state.compute_at(result, loop := share(result, kept[:-1]))
    else:
        run, _ = state.split(many, nparts=parts * streams)
        part, _ = state.split(run, factor=streams)
        partial: Any = s.rfactor(graph.state, part)
        parent = s[first(partial)]
        tile = s.rfactor(partial, parent.op.reduce_axis[-1], factor_axis=-2)
        loop = share(parent, parent.op.axis[:-1])
    inner = s[first(tile)]
    inner.compute_at(parent, loop)
    *others, run, rest = inner.op.reduce_axis
    vector, lane = inner.split(inner.fuse(*inner.op.axis[-2:]), factor=width)
    inner.reorder(*others, rest, vector, run, lane)
    if (build.as_int(vector.extent) or 0) <= accumulators(traced.combiner, target):
        inner.unroll(vector)
    inner.unroll(run)
    inner.vectorize(lane)


def _group(graph: Graph, traced: Traced, target: Target) -> int:
    """Return how many rows fill whole vectors, and at least two of them."""
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    width, columns = lanes(traced.combiner, target), graph.layout.width
    group = width // math.gcd(width, columns)
    return group if group * columns > width else 2 * group
