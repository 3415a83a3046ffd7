# SPDX-License-Identifier: Apache-2.0
"""The machine code of a planned fold as one function, also where it is called twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from axisfold.api.fold import Planned, host_scalars


def result_count(planned: Planned) -> int:
    """Return how many elements each result has."""
    return prod(n for axis, n in enumerate(planned.shape) if axis not in planned.reduced)


def host_entry(planned: Planned) -> Callable[..., int]:
    """Return a callable of addresses, and of :func:`axisfold.api.fold.host_scalars`.

    Where the problem leaves a rest, a second call computes that.
    """
    entry, rest = planned.plan.host.entry, planned.rest
    if rest is None:
        return entry
    traced, start = planned.traced, planned.problem.offsets
    steps = [
        end - begin
        for begin, end, parts in zip(start, rest.offsets, traced.elements, strict=True)
        for _ in parts
    ]
    steps += [0 for value in traced.initial for _ in value.variables]
    steps += [0] * traced.uses_index
    first = result_count(planned) - prod(axis.extent for axis in rest.kept)
    steps += [first * r.dtype.itemsize for r in traced.results for _ in r.parts]
    scalars = host_scalars(replace(planned, problem=rest))

    def both(*arguments: int) -> int:
        status = entry(*arguments)
        if status:
            return status
        addresses = (a + step for a, step in zip(arguments, steps, strict=False))
        return entry(*addresses, *scalars)

    return both
