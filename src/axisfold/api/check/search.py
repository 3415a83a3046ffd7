# SPDX-License-Identifier: Apache-2.0
"""What is drawn, and how the smallest failure is found: the module that needs Hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from axisfold.api.check.states import numbers, stored
from axisfold.dtypes import DType, finite_range, highest, lowest

WIDTHS: Final[Mapping[int, Literal[16, 32, 64]]] = {16: 16, 32: 32, 64: 64}


def elements(dtype: DType, *, is_wild: bool) -> Any:
    """Return a strategy for elements of a dtype.

    Parameters
    ----------
    dtype
        Their dtype.
    is_wild
        Whether all values are drawn, infinities, NaN and the largest integers too.  Else floats
        are multiples of 1/8 up to 64: on these the laws of inexact reducers hold closely.
    """
    if dtype.is_bool:
        return st.booleans()
    if dtype.is_integer:
        least, most = int(lowest(dtype)), int(highest(dtype))
        near = st.integers(max(least, -64), min(most, 64))
        return near | st.sampled_from([least, most]) | st.integers(least, most) if is_wild else near
    if dtype.is_complex:
        part = elements(DType("float", dtype.bits // 2), is_wild=is_wild)
        # An infinite part makes a NaN in products of complex numbers, also with 1.
        return st.builds(complex, *[part.filter(math.isfinite)] * 2)
    if not is_wild:
        return st.integers(-512, 512).map(lambda n: n / 8)
    largest = float(finite_range(dtype)[1])
    ends = st.sampled_from([math.inf, -math.inf, largest, -largest, math.nan])
    # Thirds are what sums of a few elements round.
    thirds = st.integers(-512, 512).map(lambda n: numbers(stored([n / 3], dtype), dtype).item())
    return thirds | st.floats(width=WIDTHS[dtype.bits]) | ends


def parts(each: Sequence[Any], count: int) -> Any:
    """Return a strategy for ``count`` parts of an array, of elements of several inputs."""
    part = st.lists(st.tuples(*each), min_size=1, max_size=4)
    return st.tuples(*[part] * count)


def runs(each: Sequence[Any]) -> Any:
    """Return a strategy for elements, the length of the array to fill with them, and a mask."""
    lengths = st.integers(2, 40) | st.sampled_from([0, 63, 64, 65, 513, 1100])
    mask = st.lists(st.booleans(), min_size=1, max_size=9)
    return st.tuples(st.lists(st.tuples(*each), min_size=1, max_size=6), lengths, mask)


def smallest_failure(strategy: Any, failure: Callable[[Any], Any], examples: int) -> Any:
    """Return what ``failure`` gives for the simplest of the drawn values that have one, or None.

    Parameters
    ----------
    strategy
        Draws values.
    failure
        Returns None for a value that is all right.
    examples
        How many values are drawn.
    """
    found: list[Any] = []

    class Found(Exception):
        pass

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(strategy)
    def holds(value: Any) -> None:
        broken = failure(value)
        if broken is not None:
            found.append(broken)
            raise Found

    try:
        holds()
    except Found:
        return found[-1]
    return None
