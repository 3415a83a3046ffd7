# SPDX-License-Identifier: Apache-2.0
"""The two pipelines, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from axisfold.config import config
from axisfold.ir.stmt import Kernel
from axisfold.ir.verify import verify
from axisfold.lower.program import lower_schedule
from axisfold.passes.align_accesses import align_accesses
from axisfold.passes.apply_pragmas import apply_pragmas
from axisfold.passes.hoist_allocations import hoist_allocations
from axisfold.passes.partition_loops import partition_loops
from axisfold.passes.serialize_nested import serialize_nested
from axisfold.passes.simplify_program import simplify_program
from axisfold.passes.unroll_loops import unroll_loops
from axisfold.passes.vectorize_loops import vectorize_loops
from axisfold.passes.widen_indices import widen_indices
from axisfold.schedule.schedule import Schedule
from axisfold.tensor.tensor import Tensor

Pass = Callable[[Kernel], Kernel]

LEGIBLE: Final[tuple[Pass, ...]] = (
    # Guards that hold, loops of one round and arithmetic that people need not read go away.
    simplify_program,
    # After that, since a parallel loop of one round has given way to the loops in it.
    serialize_nested,
)

DEVICE: Final[tuple[Pass, ...]] = (
    # Hints first: everything below sees loop kinds only.
    apply_pragmas,
    # Before loops are copied: each allocation is still written once.
    hoist_allocations,
    # While guards still name one loop each: a full-speed interior and a guarded rest.
    partition_loops,
    # Then lanes, so that what is left of a guard inside a vector becomes a mask.
    vectorize_loops,
    # Addresses of vectors are known now, and their index arithmetic is still that of te.
    align_accesses,
    # Nothing above needs to know that offsets are wider than the variables declared.
    widen_indices,
    # Before bodies multiply: each is simplified once.
    simplify_program,
    # Last: written-out rounds differ in constants only, which fold as they are put in.
    unroll_loops,
)


def legible(
    schedule: Schedule,
    args: Sequence[Any],
    name: str = "main",
    *,
    any_layout: bool = False,
    compact: Collection[Tensor] = (),
) -> Kernel:
    """Return the loop nest of a schedule as people read it: what ``lower`` prints.

    The parameters are those of :func:`axisfold.lower.program.lower_schedule`.
    """
    kernel = lower_schedule(schedule, args, name, any_layout=any_layout, compact=compact)
    return _run(LEGIBLE, kernel, "loops")


def device(kernel: Kernel) -> Kernel:
    """Return the program that code generation takes."""
    return _run(DEVICE, kernel, "device")


def _run(passes: Sequence[Pass], kernel: Kernel, level: Any) -> Kernel:
    for transform in passes:
        kernel = transform(kernel)
        if config.verify:
            verify(kernel, after=transform.__name__)
    if config.verify:
        verify(kernel, after="the pipeline", level=level)
    return kernel
