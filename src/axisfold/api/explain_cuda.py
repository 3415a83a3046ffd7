# SPDX-License-Identifier: Apache-2.0
"""What can be said of a fold on a GPU, with or without one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any, Final

from axisfold.api.explain_time import GOOD
from axisfold.api.explanation import Explanation, Resources
from axisfold.api.fold import Planned, scalar_values
from axisfold.api.measure import Times, median_seconds
from axisfold.api.places import Place
from axisfold.api.quantities import bytes_text, count_text, seconds_text
from axisfold.errors import MissingDependencyError
from axisfold.plan.occupancy import occupancy
from axisfold.plan.read_limit_cuda import cuda_read_limit
from axisfold.runtime.cuda.driver import Device, count, device
from axisfold.runtime.cuda.hostplan import plan_host
from axisfold.runtime.cuda.program import Program
from axisfold.runtime.cuda.timing import seconds_on_device
from axisfold.target import Target

# What programs are compiled for where neither an architecture is named nor a GPU is at hand.
_DEFAULT_ARCH: Final = "sm_90"
# With fewer of its warps than this a multiprocessor may not have enough loads under way.
_LOW_OCCUPANCY: Final = 0.25


def with_arch(target: Target) -> Target:
    """Return a target that names an architecture: that of the first GPU, or a usual one."""
    if target.kind != "cuda" or target.arch:
        return target
    return target.with_arch(device(0).arch if count() else _DEFAULT_ARCH)


def gpu_facts(planned: Planned) -> tuple[tuple[Resources, ...], tuple[str, ...]]:
    """Return what each launch uses, and what is not known here."""
    notes = ["no GPU here: nothing is measured"] if not count() else []
    try:
        return _resources(planned), tuple(notes)
    except MissingDependencyError as error:
        return (), (*notes, f"no registers: {error.message}")


def _resources(planned: Planned) -> tuple[Resources, ...]:
    program: Program = planned.plan.compiled
    host = plan_host(program.kernel, program.entries, scalar_values(planned, program.kernel))
    found = program.sass_info()
    rows = []
    for launch in host.launches:
        info = found[launch.entry.symbol]
        x, y, z = launch.block
        shared = info.shared_bytes + launch.shared_bytes
        full = occupancy(program.arch, x * y * z, info.registers, shared)
        spilled = info.spilled_bytes
        row = Resources(
            launch.entry.symbol, launch.grid, launch.block, info.registers, spilled, shared, full
        )
        rows.append(row)
    return tuple(rows)


def measured_on_device(
    explanation: Explanation, call: Callable[[], Any], place: Place, repeats: int, *, refresh: bool
) -> Explanation:
    """Return the explanation of a fold of device arrays with times.

    Parameters
    ----------
    explanation
        What is known without measuring.
    call
        Calls the function.
    place
        Where its arrays are.
    repeats
        How many calls are timed.
    refresh
        Measure anew how fast the device reads its memory.
    """
    card = device(place.device)
    limit = cuda_read_limit(card, refresh=refresh)
    kernel = statistics.median(seconds_on_device(call, card, place.stream(), repeats))
    (host,) = median_seconds(repeats, call)
    found = replace(explanation, limit=limit, times=Times(host, kernel, None, None, repeats, 0))
    return replace(found, notes=(*found.notes, *_notes(found, card)))


def _notes(e: Explanation, card: Device) -> Iterator[str]:
    size = card.attribute("L2_CACHE_SIZE")
    if e.traffic.read_bytes < size:
        yield (
            f"cache: repeated calls find {bytes_text(e.traffic.read_bytes)} in the second-level "
            f"cache of {bytes_text(size)}; the first call has to read memory"
        )
    if e.times is None or e.predicted is None or e.predicted >= GOOD * e.times.kernel:
        return
    if e.times.call > e.times.kernel:
        yield (
            f"call overhead: the host needs {seconds_text(e.times.call)} for a call, longer than "
            "the device; a CUDA graph does without"
        )
    processors = card.attribute("MULTIPROCESSOR_COUNT")
    for r in e.resources:
        blocks = prod(r.grid)
        if blocks < processors:
            number = count_text(blocks, "block")
            yield f"{r.symbol}: {number} for {processors} multiprocessors"
        if r.spilled_bytes:
            yield f"{r.symbol}: a thread keeps {bytes_text(r.spilled_bytes)} in memory"
        if r.occupancy is not None and r.occupancy.share < _LOW_OCCUPANCY:
            yield f"{r.symbol}: few warps on a multiprocessor, limited by {r.occupancy.limit}"
