# SPDX-License-Identifier: Apache-2.0
"""When two states are the same: to the bit, or within some units in the last place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from axisfold.api.check.states import Array, State, States
from axisfold.dtypes import DType


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a law.

    Attributes
    ----------
    text
        How it is made, such as ``combine(a, b)``.
    state
        Its state.
    """

    text: str
    state: State


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far floats may be apart.

    Attributes
    ----------
    ulps
        Units in the last place of the accumulator, at the largest value that occurs; 0 for bits.
    largest
        Magnitude of the largest element.
    """

    ulps: float
    largest: float

    def allowed(self, values: Sequence[Array], unit: float) -> float | None:
        """Return the distance that is allowed between values, None for none."""
        if not self.ulps:
            return None
        parts = [p for v in values for p in (v.real, v.imag)]
        sizes = [float(abs(p[np.isfinite(p)]).max(initial=0)) for p in parts if p.dtype.kind != "b"]
        return self.ulps * unit * max([*sizes, self.largest])


def unit_of(dtype: DType) -> float:
    """Return the unit roundoff of a dtype, 0 for those without rounding."""
    bits = dtype.bits // 2 if dtype.is_complex else dtype.bits
    if not (dtype.is_float or dtype.is_complex):
        return 0.0
    digits = 8 if dtype.kind == "bfloat" else {16: 11, 32: 24, 64: 53}[bits]
    return 2.0**-digits


def is_close(a: Array, b: Array, allowed: float | None) -> bool:
    """Return whether numbers are as close as allowed, None for to the bit; NaN is NaN."""
    if a.dtype.kind == "c":
        return is_close(a.real, b.real, allowed) and is_close(a.imag, b.imag, allowed)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    if allowed is None:
        same = (a == b) & (np.signbit(a) == np.signbit(b))
    else:
        with np.errstate(invalid="ignore"):
            same = (a == b) | (abs(a - b) <= allowed)
    return bool((same | (np.isnan(a) & np.isnan(b))).all())


def are_same(
    states: States, left: State, right: State, others: Sequence[State], tolerance: Tolerance
) -> bool:
    """Return whether two states have the same fields."""
    a, b = states.fields(left), states.fields(right)
    more = [states.fields(state) for state in others]
    for name, form in states.forms.items():
        around = [a[name], b[name], *(fields[name] for fields in more)]
        if not is_close(a[name], b[name], tolerance.allowed(around, unit_of(form.dtype))):
            return False
    return True


def give_the_same(
    states: States, left: State, right: State, count: int, tolerance: Tolerance
) -> bool:
    """Return whether two states have the same results."""
    a, b = states.results(left, count), states.results(right, count)
    return results_agree(states, a, b, tolerance)


def results_agree(
    states: States, a: Mapping[str, Any], b: Mapping[str, Any], tolerance: Tolerance
) -> bool:
    """Return whether results are the same, up to the rounding to their dtype."""
    held = max((unit_of(form.dtype) for form in states.forms.values()), default=0.0)
    for result in states.traced.results:
        x, y = (np.atleast_1d(np.asarray(r[result.name])) for r in (a, b))
        allowed = tolerance.allowed([x, y], held)
        if allowed is not None and unit_of(result.dtype) > held:  # results are rounded once more
            allowed += Tolerance(2, tolerance.largest).allowed([x, y], unit_of(result.dtype)) or 0.0
        if not is_close(x, y, allowed):
            return False
    return True
