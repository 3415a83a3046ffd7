# SPDX-License-Identifier: Apache-2.0
"""Timing of a fold and of its parts: the call, the kernel, its threads, and data in cache."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np

from axisfold.api.calls import host_entry, result_count
from axisfold.api.fold import Planned, host_scalars, input_offsets, part_offsets
from axisfold.interop.numpy import address_of
from axisfold.interop.views import View
from axisfold.ir.expr import Var
from axisfold.plan.canonical import LoopAxis, Problem
from axisfold.plan.read_limit import using_threads
from axisfold.runtime.threads import check_status

# A sample is at least this long, so that the clock does not count; and all of them together.
_SAMPLE_SECONDS: Final = 50e-6
_MOST_SECONDS: Final = 2.0
_FEWEST: Final = 3
# What stands in results before a run whose values are looked at.
POISON: Final = 0x55
# What the second-level cache of a core surely holds.
_CACHE_BYTES: Final = 192 << 10


@dataclass(frozen=True, slots=True)
class Times:
    """What was measured, in seconds; medians of repeats.

    Attributes
    ----------
    call
        A call of the function, with everything that it does.
    kernel
        The compiled code alone, into results that exist.
    one_thread
        The same on one thread; None if it was not needed.
    cached
        For each byte of the elements, on one thread and data in its cache; None likewise.
    repeats
        How many calls were timed.
    threads
        How many threads a loop may use; 0 on a GPU, where ``kernel`` is the time between two
        events on the stream around a call, and ``call`` that until the call returns.
    """

    call: float
    kernel: float
    one_thread: float | None
    cached: float | None
    repeats: int
    threads: int

    @property
    def seconds(self) -> float:
        """What a user waits for: a call, or on a GPU what it puts on the stream."""
        return self.call if self.threads else self.kernel


def median_seconds(repeats: int, *functions: Callable[[], object]) -> list[float]:
    """Return the median time of a call of each function, which take turns."""
    counts = [_calls(function) for function in functions]
    samples: list[list[float]] = [[] for _ in functions]
    begin = time.perf_counter()
    for done in range(repeats):
        if done >= _FEWEST and time.perf_counter() - begin > _MOST_SECONDS:
            break
        for function, calls, mine in zip(functions, counts, samples, strict=True):
            start = time.perf_counter()
            for _ in range(calls):
                function()
            mine.append((time.perf_counter() - start) / calls)
    return [statistics.median(mine) for mine in samples]


def _calls(function: Callable[[], object]) -> int:
    """Return how many calls make a sample; the first one is not like those that follow."""
    function()
    start = time.perf_counter()
    function()
    return max(1, round(_SAMPLE_SECONDS / max(time.perf_counter() - start, 1e-9)))


class KernelCall:
    """A plan's kernel bound to arrays, and to results that exist; call it to run it.

    Parameters
    ----------
    planned
        The fold.
    arrays
        Its inputs.
    """

    def __init__(self, planned: Planned, arrays: Sequence[View]) -> None:
        self.planned = planned
        count = result_count(planned)
        self.results = [np.empty(count, r.dtype.to_numpy()) for r in planned.traced.results]
        # Which values results start from does not matter to the time.
        self.initial = [np.ones(1, v.form.dtype.to_numpy()) for v in planned.traced.initial]
        self.addresses = addresses_of(
            planned,
            arrays,
            [address_of(v) for v in self.initial],
            list(map(address_of, self.results)),
        )
        self.arrays = arrays  # the addresses are theirs
        self.entry, self.scalars = host_entry(planned), host_scalars(planned)

    def __call__(self) -> None:
        """Run the kernel."""
        status = self.entry(*self.addresses, *self.scalars)
        if status:
            check_status(status, "fold")

    def poison(self) -> None:
        """Fill the results with nonsense, so that what is not written shows."""
        for result in self.results:
            result.reshape(-1).view(np.uint8).fill(POISON)

    def read(self) -> list[np.ndarray[Any, Any]]:
        """Return copies of the results."""
        return [result.copy() for result in self.results]

    def whole(self) -> tuple[Callable[[], None], int]:
        """Return the call on all data, and the number of elements of each result."""
        return self, result_count(self.planned)

    def odd_part(self) -> tuple[Callable[[], None], int]:
        """Return a call on a part of the data that fits no tile, and the number of results."""
        problem = odd_problem(self.planned)
        return self._part(problem), prod(axis.extent for axis in problem.kept)

    def within(self, most_bytes: int) -> tuple[Callable[[], None], int] | None:
        """Return a call on a part of the data, and the bytes of its elements.

        The part is a box of the same strides, which has all of those axes that the kernel was
        made for; None if there is no smaller one.
        """
        problem = _box(self.planned, most_bytes)
        if problem is None:
            return None
        return self._part(problem), _element_bytes(self.planned, problem)

    def _part(self, problem: Problem) -> Callable[[], None]:
        scalars = host_scalars(replace(self.planned, problem=problem))

        def run() -> None:
            status = self.planned.plan.host.entry(*self.addresses, *scalars)
            if status:
                check_status(status, "fold")

        return run


def addresses_of(
    planned: Planned, arrays: Sequence[View], initial: Sequence[int], results: Sequence[int]
) -> list[int]:
    """Return what a kernel is called with before its extents and strides.

    Parameters
    ----------
    planned
        The fold.
    arrays
        Its inputs.
    initial, results
        Addresses of initial values, and of memory for the results.
    """
    pointers = [*(a.address for a in arrays), *initial]
    addresses = [pointers[which] + offset for which, offset in input_offsets(planned, arrays)]
    addresses += [0] * planned.traced.uses_index
    for result, base in zip(planned.traced.results, results, strict=True):
        addresses += [base + part for part in part_offsets(result)]
    return addresses


def odd_problem(planned: Planned) -> Problem:
    """Return the problem on a part of the data that fits no tile."""
    return _cut(planned, lambda extent: min(5 * extent // 8 | 1, extent))


def _is_free(planned: Planned) -> list[bool]:
    """Return for each axis whether the kernel takes any extent of it."""
    shapes = [t.shape for parts in planned.plan.graph.inputs for t in parts]
    return [isinstance(extent, Var) for extent in shapes[0]]


def _cut(planned: Planned, cut: Callable[[int], int]) -> Problem:
    """Return the problem with other extents of those axes that may have any."""
    problem = planned.problem
    axes = [
        replace(axis, extent=cut(axis.extent)) if is_free else axis
        for axis, is_free in zip((*problem.kept, *problem.reduced), _is_free(planned), strict=True)
    ]
    kept = len(problem.kept)
    return replace(problem, kept=tuple(axes[:kept]), reduced=tuple(axes[kept:]))


def _box(planned: Planned, most_bytes: int) -> Problem | None:
    """Return the problem on a part of the data: the longest axes are cut."""
    problem, free = planned.problem, _is_free(planned)
    axes = [*problem.kept, *problem.reduced]
    while _bytes(planned, axes) > most_bytes:
        longest = max(
            (n for n, is_free in enumerate(free) if is_free and axes[n].extent > 1),
            key=lambda n: axes[n].extent,
            default=None,
        )
        if longest is None:
            return None
        axes[longest] = replace(axes[longest], extent=-(-axes[longest].extent // 2))
    if axes == [*problem.kept, *problem.reduced]:
        return None
    kept = len(problem.kept)
    return replace(problem, kept=tuple(axes[:kept]), reduced=tuple(axes[kept:]))


def _element_bytes(planned: Planned, problem: Problem) -> int:
    return _bytes(planned, [*problem.kept, *problem.reduced])


def _bytes(planned: Planned, axes: Sequence[LoopAxis]) -> int:
    size = sum(v.dtype.itemsize for parts in planned.traced.elements for v in parts)
    return size * prod(axis.extent for axis in axes)


def take_times(
    call: Callable[[], Any],
    kernel: KernelCall,
    threads: int,
    repeats: int,
    is_fast: Callable[[float], bool],
) -> Times:
    """Return times of a call; of its parts too unless it is fast.

    Parameters
    ----------
    call
        Calls the function.
    kernel
        Its kernel.
    threads
        How many threads a loop may use.
    repeats
        How many calls are timed.
    is_fast
        Whether there is nothing to explain about a time.
    """
    whole, alone = median_seconds(repeats, call, kernel)
    if is_fast(whole):
        return Times(whole, alone, None, None, repeats, threads)
    one = alone
    with using_threads(1):
        if threads > 1:
            (one,) = median_seconds(repeats, kernel)
        cached = _cached_seconds(kernel, repeats)
    return Times(whole, alone, one, cached, repeats, threads)


def _cached_seconds(kernel: KernelCall, repeats: int) -> float | None:
    """Return the time for each byte in cache: of two sizes, so that a call's own time is none."""
    small, large = (kernel.within(size) for size in (_CACHE_BYTES // 4, _CACHE_BYTES))
    if small is None or large is None or small[1] >= large[1]:
        return None
    short, long = median_seconds(repeats, small[0], large[0])
    return (long - short) / (large[1] - small[1]) if long > short else None
