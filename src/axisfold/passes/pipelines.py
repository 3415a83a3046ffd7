# SPDX-License-Identifier: Apache-2.0
"""The pipelines, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from axisfold.config import config
from axisfold.ir.buffer import Facts
from axisfold.ir.expr import Expr
from axisfold.ir.stmt import Kernel
from axisfold.ir.verify import verify
from axisfold.lower.program import lower_schedule
from axisfold.passes.align_accesses import align_accesses
from axisfold.passes.apply_pragmas import apply_pragmas
from axisfold.passes.expand_all_reduce import expand_all_reduce
from axisfold.passes.fast_division import fast_division
from axisfold.passes.free_registers import free_registers
from axisfold.passes.hoist_allocations import hoist_allocations
from axisfold.passes.launch_threads import launch_threads
from axisfold.passes.leave_unrolled import leave_unrolled
from axisfold.passes.limits import check_limits
from axisfold.passes.merge_guards import merge_guards
from axisfold.passes.partition_loops import partition_loops
from axisfold.passes.place_barriers import place_barriers
from axisfold.passes.place_shared import place_shared
from axisfold.passes.serialize_nested import serialize_nested
from axisfold.passes.simplify_program import simplify_program
from axisfold.passes.skip_stages import skip_stages
from axisfold.passes.unguard_tiles import unguard_tiles
from axisfold.passes.unroll_loops import unroll_loops
from axisfold.passes.vectorize_loops import vectorize_loops
from axisfold.passes.widen_indices import widen_indices
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target
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
    # Before loops are copied: each stage is still written once.
    skip_stages,
    # While memory is where its elements are: their places are the same as long as it is there.
    unguard_tiles,
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
    # Last: written-out rounds differ in constants only, which fold as they are put in.
    unroll_loops,
)

THREADS: Final[tuple[Pass, ...]] = (
    apply_pragmas,
    # Threads are started around whole nests; what is left are loops of one thread.
    launch_threads,
    hoist_allocations,
    # While all-reduces are single steps, and an index is still one function of thread and loops.
    place_barriers,
    # While what is one stage of a row's stands under one guard.
    free_registers,
    # Now that nobody asks which stage a guard is of: all below has less to look at.
    merge_guards,
    # From here as for a CPU: the interior of a thread's loop, its lanes, their addresses.
    partition_loops,
    vectorize_loops,
    align_accesses,
    # Whole steps of all threads become shuffles and shared memory, with barriers of their own.
    expand_all_reduce,
    # All memory of the block is known now.
    place_shared,
    widen_indices,
    simplify_program,
    # Divisions that simplifying could not remove, while their indices are whole expressions.
    fast_division,
    # Their rounds differ in constants only, which the compiler of threads sees for itself.
    leave_unrolled,
)


def legible(
    schedule: Schedule,
    args: Sequence[Any],
    name: str = "main",
    *,
    any_layout: bool = False,
    layouts: Mapping[Tensor, tuple[Expr, ...]] = MappingProxyType({}),
    facts: Mapping[Tensor, Facts] = MappingProxyType({}),
    target: Target | None = None,
) -> Kernel:
    """Return the loop nest of a schedule as people read it: what ``lower`` prints.

    The parameters are those of :func:`axisfold.lower.program.lower_schedule`.
    """
    kernel = lower_schedule(
        schedule, args, name, any_layout=any_layout, layouts=layouts, facts=facts, target=target
    )
    return _run(LEGIBLE, kernel, "loops")


def device(kernel: Kernel) -> Kernel:
    """Return the program that code generation takes."""
    return _run(DEVICE, kernel, "device")


def threads(kernel: Kernel, target: Target) -> Kernel:
    """Return the program of launches that GPUs, and the simulator of one, take.

    Raises
    ------
    UnsupportedError
        What :func:`axisfold.passes.launch_threads.launch_threads`,
        :func:`axisfold.passes.place_barriers.place_barriers` and
        :func:`axisfold.passes.limits.check_limits` refuse.
    """
    result = _run(THREADS, kernel, "threads")
    check_limits(result, target)
    return result


def _run(passes: Sequence[Pass], kernel: Kernel, level: Any) -> Kernel:
    for transform in passes:
        kernel = transform(kernel)
        if config.verify:
            verify(kernel, after=transform.__name__)
    if config.verify:
        verify(kernel, after="the pipeline", level=level)
    return kernel
