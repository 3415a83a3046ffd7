# SPDX-License-Identifier: Apache-2.0
"""Rules for CPUs where all is folded into one result, over axes with gaps between them: a block."""

from __future__ import annotations

from typing import Final

from axisfold.plan import rules_cpu_rows as rows
from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.compose_places import places_graph
from axisfold.plan.merging import is_dear
from axisfold.plan.rule import Rule
from axisfold.plan.runs_cpu import is_long
from axisfold.plan.schedules_cpu import (
    FEW_VECTORS,
    accumulators,
    fold_by_lanes,
    lanes,
    narrowest_bytes,
)
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
from axisfold.tensor.tile_pass import in_two_steps
from axisfold.tensor.trace import Traced

# Rows of a part whose fold may end others, if they are not brief.
STOP_ROWS: Final = 8
# Bytes of the index of an element.
PLACE_BYTES: Final = 8

# What axisfold.tune() tries.
CHUNK_ROWS: Final = (4, 8, 32, 128)
FEW: Final = (1, 2, 4, 8)


def _is_block(layout: LayoutClass, traced: Traced) -> bool:
    """Return whether all is folded into one result over axes with gaps between them."""
    is_split = layout.kept == 0 and layout.reduced > 1 and not is_long(layout)
    return is_split and layout.inner_kind == "reduced" and not traced.combiner.is_ordered


def _is_search(traced: Traced) -> bool:
    """Return whether the place of the best element is wanted, which a state has beside it."""
    passes = traced.tile_passes
    has_both = len(passes) == 1 and not traced.combiner.keeps_first
    return has_both and passes[0].search is not None


def _is_cheap(traced: Traced) -> bool:
    """Return whether elements are merged one by one at no more cost than those of a short run."""
    return not is_dear(traced) and not _is_search(traced)


def _stopping_block(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, chunk_rows: int | None = None
) -> None:
    """Lanes along the rows of a part, until one is absorbing: no later part is begun."""
    if chunk_rows is None:
        is_brief = graph.layout is not None and graph.layout.run == "brief"
        chunk_rows = rows.CHUNK_ROWS if is_brief else STOP_ROWS
    tensors, part, _ = rows.parts(s, graph, chunk_rows)
    width, many = lanes(traced.combiner, target), accumulators(traced.combiner, target)
    fold_by_lanes(s, tensors, part, None, width, many, axis=part.op.reduce_axis[-2])
    part.stop(part.leaf_axes[0], s[graph.state[0]])


def _best_then_place(
    s: Schedule, graph: Graph, traced: Traced, target: Target, *, chunk_rows: int = rows.CHUNK_ROWS
) -> None:
    """Fold all elements to the best one, then the places of those that equal it, by lanes."""
    result, state = s[graph.results[0]], s[graph.state[0]]
    state.compute_at(result, result.op.axis[-1])
    narrowest = target.vector_bytes // narrowest_bytes(graph)
    for (tensor,), tile_pass in zip(graph.tiles, in_two_steps(traced.tile_passes[0]), strict=True):
        part, _ = s[tensor].split(s[tensor].op.reduce_axis[0], factor=chunk_rows)
        partial = s.rfactor(tensor, part)
        width, many = lanes(tile_pass.combiner, target), FEW_VECTORS
        if tile_pass.places:
            # Their int64 fill a few vectors for one of elements.
            width, many = min(narrowest, FEW_VECTORS * target.vector_bytes // PLACE_BYTES), 1
        row = s[partial].op.reduce_axis[-2]
        fold_by_lanes(s, partial, s[partial], None, width, many, axis=row)


BLOCK_RULES: Final = (
    Rule(
        "stopping_block",
        lambda c, t: _is_block(c, t) and bool(t.combiner.absorbing),
        "everything is folded, over axes with gaps between them, and the reducer has a state that "
        "no element changes: threads share parts of a few rows, and no part is begun once one has "
        "reached it",
        _stopping_block,
        parameters={"chunk_rows": CHUNK_ROWS},
    ),
    Rule(
        "best_then_place",
        lambda c, t: c.run == "brief" and _is_search(t),
        "everything is folded, over axes with gaps between short rows, and the place of the best "
        "element is wanted: all elements are folded to the best one, and then the places of those "
        "that equal it, so that rows have no places and elements to be merged",
        _best_then_place,
        compose=places_graph,
        parameters={"chunk_rows": CHUNK_ROWS},
    ),
    Rule(
        "block",
        lambda c, t: _is_block(c, t) and bool(t.tile_passes) and (c.run == "brief" or _is_cheap(t)),
        "everything is folded, over axes with gaps between them: rows have no state of their own, "
        "as several vectors of partial states in registers go over all rows of a chunk",
        rows.full,
        parameters={"chunk_rows": CHUNK_ROWS, "vectors": FEW},
    ),
)
