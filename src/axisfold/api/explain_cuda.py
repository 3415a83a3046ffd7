# SPDX-License-Identifier: Apache-2.0
"""What can be said of a fold on a GPU, with or without one."""

from __future__ import annotations

from typing import Final

from axisfold.api.explanation import Resources
from axisfold.api.fold import Planned, scalar_values
from axisfold.errors import MissingDependencyError
from axisfold.plan.occupancy import occupancy
from axisfold.runtime.cuda.driver import count, device
from axisfold.runtime.cuda.hostplan import plan_host
from axisfold.runtime.cuda.program import Program
from axisfold.target import Target

# What programs are compiled for where neither an architecture is named nor a GPU is at hand.
_DEFAULT_ARCH: Final = "sm_90"


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
