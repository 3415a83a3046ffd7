# SPDX-License-Identifier: Apache-2.0
"""Banks: rows of shared memory are padded where the lanes of a warp would walk down a column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import environment
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import post_order, substitute
from axisfold.lower.regions import Region, StageBounds, enclosing_domains
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.tensor import TensorLoad

BANKS: Final = 32
BANK_BYTES: Final = 4
VECTOR_BYTES: Final = 16
# Lanes of a warp that meet in one bank before a row is padded.
MOST_LANES: Final = 2


def padded_strides(
    schedule: Schedule,
    stage: Stage,
    region: Region,
    bounds: Mapping[Stage, StageBounds],
    itemsize: int,
) -> tuple[Expr, ...]:
    """Return the strides of a stage's shared memory, () if compact rows are as good.

    Before, 32 lanes read ``T[lane, k]`` of 32 columns, all from one bank::

        allocate(T: Pointer(shared float32), float32, [1024]) … T[lane*32 + k]

    After::

        allocate(T: Pointer(shared float32), float32, [1056]) … T[lane*33 + k]

    Where vectors are moved along rows, these stay multiples of 16 bytes.
    """
    shape = [build.as_int(extent) for _, extent in region]
    if len(shape) < 2 or stage.alignments or None in shape:
        return ()
    extents = [extent or 0 for extent in shape]
    rows = _compact(extents)
    worst, has_vectors = 1, _moves_vectors(stage)
    for reader in consumers(schedule, stage):
        has_vectors = has_vectors or _moves_vectors(reader)
        for steps in _lane_steps(stage, reader, bounds):
            if any(steps[:-1]):
                words = sum(s * r for s, r in zip(steps, rows, strict=True)) * itemsize
                worst = max(worst, math.gcd(words // BANK_BYTES, BANKS))
    if worst <= MOST_LANES:
        return ()
    row = extents[-1] + _padding(extents[-1], itemsize, has_vectors=has_vectors)
    dtype = region[0][1].dtype
    return tuple(build.const(stride, dtype) for stride in _compact([*extents[:-1], row]))


def _compact(extents: Sequence[int]) -> list[int]:
    return [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]


def _padding(row: int, itemsize: int, *, has_vectors: bool) -> int:
    """Return the elements to add to a row: to an odd number of banks, or of vectors."""
    unit = VECTOR_BYTES if has_vectors and row * itemsize % VECTOR_BYTES == 0 else BANK_BYTES
    units = -(-row * itemsize // unit)
    units += 1 - units % 2
    return units * unit // itemsize - row if itemsize <= unit else 1 - row % 2


def _moves_vectors(stage: Stage) -> bool:
    return "vectorized" in stage.loop_kinds.values()


def _lane_steps(
    stage: Stage, reader: Stage, bounds: Mapping[Stage, StageBounds]
) -> Iterator[list[int]]:
    """Yield by how much each index of a read moves from lane to lane."""
    domains = {**enclosing_domains(reader, bounds), **bounds[reader].loops}
    lane = _lane(reader)
    if lane is None or lane not in domains:
        return
    tensors = {id(t) for t in (*stage.op.outputs, *stage.origin_op.outputs)}
    for node in (n for e in reader.op.body for n in post_order(e)):
        if isinstance(node, TensorLoad) and id(node.tensor) in tensors:
            places = [substitute(i, bounds[reader].values) for i in node.indices]
            forms = [linear_form(place, [lane], environment(domains)) for place in places]
            yield [build.as_int(f[0][lane]) or 0 if f else 0 for f in forms]


def _lane(stage: Stage) -> Var | None:
    """Return the index that numbers neighbouring threads, if a stage or one around it uses it."""
    place: Stage | None = stage
    while place is not None:
        for thread in place.bindings.values():
            if thread.tag == "threadIdx.x":
                return thread.var
        place = None if place.attachment is None else place.attachment.stage
    return None
