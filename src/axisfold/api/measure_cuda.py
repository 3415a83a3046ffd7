# SPDX-License-Identifier: Apache-2.0
"""Timing of a fold's kernels on a GPU, by events on its stream."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import numpy as np

from axisfold.api.calls import result_count
from axisfold.api.fold import Planned, scalar_values
from axisfold.api.measure import POISON, addresses_of, odd_problem
from axisfold.api.places import Place
from axisfold.interop.views import View
from axisfold.runtime.cuda.driver import device
from axisfold.runtime.cuda.memory import DeviceArray, synchronize
from axisfold.runtime.cuda.timing import seconds_on_device

# A sample is at least this long, so that what the host does in front of it does not count.
_SAMPLE_SECONDS: Final = 300e-6


class DeviceCall:
    """A plan's kernels bound to arrays of a GPU, and to results that exist; call it to run it.

    Parameters
    ----------
    planned
        The fold.
    arrays
        Its inputs.
    place
        Where they are.
    """

    def __init__(self, planned: Planned, arrays: Sequence[View], place: Place) -> None:
        self.planned, self.place = planned, place
        shape = (result_count(planned),)
        dtypes = [r.dtype.to_numpy() for r in planned.traced.results]
        self.results = [DeviceArray(shape, dtype, place.device) for dtype in dtypes]
        # Which values results start from does not matter to the time.
        forms = [value.form.dtype.to_numpy() for value in planned.traced.initial]
        self.initial = [DeviceArray((1,), dtype, place.device) for dtype in forms]
        for value in self.initial:
            value.write(np.ones(1))
        self.addresses = addresses_of(
            planned, arrays, [v.base for v in self.initial], [r.base for r in self.results]
        )
        self._run = self._bound(planned)

    def __call__(self) -> None:
        """Put the kernels on the stream."""
        self._run()

    def poison(self) -> None:
        """Fill the results with nonsense, so that what is not written shows."""
        for result in self.results:
            result.write(np.full(result.nbytes, POISON, np.uint8).view(result.dtype))

    def read(self) -> list[np.ndarray[Any, Any]]:
        """Return copies of the results, once they are there."""
        synchronize(self.place.device)
        return [result.read() for result in self.results]

    def whole(self) -> tuple[Callable[[], None], int]:
        """Return the call on all data, and the number of elements of each result."""
        return self, prod(axis.extent for axis in self.planned.problem.kept)

    def odd_part(self) -> tuple[Callable[[], None], int]:
        """Return a call on a part of the data that fits no tile, and the number of results."""
        problem = odd_problem(self.planned)
        return (
            self._bound(replace(self.planned, problem=problem)),
            prod(axis.extent for axis in problem.kept),
        )

    def _bound(self, planned: Planned) -> Callable[[], None]:
        binary = planned.plan.binary
        bound = binary.configure(scalar_values(planned, binary.kernel), device(self.place.device))
        addresses, stream = self.addresses, self.place.stream  # no cycle: results are freed at once
        return lambda: bound.run(addresses, stream())


def median_seconds_on_device(
    place: Place, repeats: int, *functions: Callable[[], object]
) -> list[float]:
    """Return the median time that a device takes for a call of each function; they take turns."""
    card, stream = device(place.device), place.stream()

    def sample(function: Callable[[], object], calls: int) -> float:
        def run() -> None:
            for _ in range(calls):
                function()

        return seconds_on_device(run, card, stream, 1)[0] / calls

    counts = [max(1, round(_SAMPLE_SECONDS / sample(f, 1))) for f in functions]
    rounds = [
        [sample(f, n) for f, n in zip(functions, counts, strict=True)] for _ in range(repeats)
    ]
    return [statistics.median(mine) for mine in zip(*rounds, strict=True)]
