# SPDX-License-Identifier: Apache-2.0
"""Kernels of a reducer by every rule that takes it, against its states merged one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np

from axisfold.api.check.comparison import Tolerance, results_agree
from axisfold.api.check.states import Array, States, numbers
from axisfold.api.fold import plan_fold
from axisfold.api.host import bind_host
from axisfold.interop import numpy
from axisfold.interop.views import HOST as HOST_DEVICE
from axisfold.interop.views import View
from axisfold.plan.planner import HOST, Plan, make_plan
from axisfold.plan.rule import Rule
from axisfold.plan.rules_cpu import RULES


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A way to lay a few folds of equal length out in memory.

    Attributes
    ----------
    name
        As the report shows it.
    axis
        The folded axis.
    rows
        How many folds there are; None folds everything.
    view
        From an array of shape (rows, elements) to a view of larger memory, all else of which is
        poisoned.
    """

    name: str
    axis: int | None
    rows: int | None
    view: Callable[[Array], Array]


def _poisoned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    memory = np.zeros(shape, dtype)
    memory.view(np.uint8)[...] = 1 if dtype.kind == "b" else 0xFF  # a NaN, or an integer that shows
    return memory


def _rows(x: Array) -> Array:
    memory = _poisoned((x.shape[0], x.shape[1] + 3), x.dtype)
    memory[:, : x.shape[1]] = x
    return memory[:, : x.shape[1]]


def _columns(x: Array) -> Array:
    return _rows(np.ascontiguousarray(x.T))


def _stepped(x: Array) -> Array:
    memory = _poisoned((x.shape[0], x.shape[1] * 2), x.dtype)
    memory[:, ::2] = x
    return memory[:, ::2]


ARRANGEMENTS: Final = (
    Arrangement("all of a contiguous array", None, None, lambda x: _rows(x)[0]),
    Arrangement("contiguous rows", 1, 3, _rows),
    Arrangement("columns of a contiguous array", 0, 3, _columns),
    Arrangement("every other element of rows", 1, 3, _stepped),
)


# Lengths of folds by which rules are found.
LENGTHS: Final = (2, 64, 1100)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A way to fold arrays.

    Attributes
    ----------
    arrangement
        How the arrays lie in memory.
    rule
        The rule that plans the kernel; None for the first one that applies.
    is_masked
        Whether elements are masked.
    """

    arrangement: Arrangement
    rule: Rule | None = None
    is_masked: bool = False

    @property
    def name(self) -> str:
        """The kernel in messages."""
        how = " with masked elements" if self.is_masked else ""
        rule = f"{self.rule.name!r} " if self.rule is not None else ""
        return f"kernel {rule}over {self.arrangement.name}{how}"

    def mismatch(
        self,
        states: States,
        values: Sequence[Array],
        length: int,
        folded: Sequence[bool],
        ulps: float,
        plans: Plans,
    ) -> str:
        """Return how the kernel differs from the merged states, "" if it does not.

        Parameters
        ----------
        states
            The reducer.
        values
            Elements for each input, repeated in this order until there are enough.
        length
            How many elements there are for each result.
        folded
            Which of them are folded where elements are masked, repeated in this order; the
            others are poisoned.
        ulps
            As :class:`Tolerance` takes it.
        plans
            The kernels that there are.
        """
        rows = self.arrangement.rows or 1
        whole = [np.resize(v, (rows, length)) for v in values]
        chosen = np.resize(np.array(folded if self.is_masked else [True]), (rows, length))
        for x in whole:
            x[~chosen] = _poisoned((1,), x.dtype)
        arrays = [self.arrangement.view(x) for x in whole]
        if self.is_masked:
            arrays.append(self.arrangement.view(chosen))
        got = plans.run(self, arrays)
        sizes = [abs(numbers(v, d)) for v, d in zip(values, states.dtypes, strict=True)]
        largest = max(float(v[np.isfinite(v)].max(initial=0)) for v in sizes)
        for row in range(rows):
            lifted = [field[chosen[row]] for field in states.lift([x[row] for x in whole])]
            wanted = states.results(states.fold(lifted), int(chosen[row].sum()))
            here = {name: result[row] for name, result in got.items()}
            if not results_agree(states, here, wanted, Tolerance(ulps, largest)):
                shown = {n: v.reshape(-1)[0] for n, v in wanted.items()}
                return f"result {row} is {_text(here)}, the merged states give {_text(shown)}"
        return ""


def _text(results: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in results.items())


class Plans:
    """The kernels of one reducer, each compiled once."""

    def __init__(self, states: States) -> None:
        self.states = states
        self._made: dict[Any, Plan] = {}

    def run(self, kernel: Kernel, arrays: Sequence[Array]) -> dict[str, Array]:
        """Return what a kernel gives, or the planned one where its rule does not apply."""
        rule, axis, member = kernel.rule, kernel.arrangement.axis, self.states.member
        views = self._views(arrays)
        planned = plan_fold(views, [member], axis, is_masked=kernel.is_masked)
        if rule is None or not rule.applies(planned.plan.layout, planned.traced):
            rule = planned.plan.rule
        key = (rule.name, planned.plan.layout, kernel.is_masked)
        plan = self._made.get(key)
        if plan is None:
            plan = self._made[key] = make_plan(planned.traced, planned.plan.layout, HOST, rule)
        launch = bind_host(views, replace(planned, plan=plan), numpy.NAME)
        found = launch.results(arrays[0], [view.address for view in views], launch.outputs)
        return {
            result.name: numbers(np.reshape(values, -1), result.dtype)
            for result, values in zip(planned.traced.results, found, strict=True)
        }

    def _views(self, arrays: Sequence[Array]) -> list[View]:
        """Return arrays with the dtypes that they stand for; a mask may come after the inputs."""
        dtypes = [*map(str, self.states.dtypes), "bool"]
        return [
            View(x.ctypes.data, x.shape, x.strides, dtype, x.itemsize, HOST_DEVICE)
            for x, dtype in zip(arrays, dtypes, strict=False)
        ]

    def by_rule(self) -> dict[str, Kernel]:
        """Return a kernel by each rule that takes the reducer, on an arrangement that it is for."""
        chosen: dict[str, Kernel] = {}
        others: dict[str, Kernel] = {}
        for arrangement, length in product(ARRANGEMENTS, LENGTHS):
            shape = (arrangement.rows or 1, length)
            arrays = [arrangement.view(np.zeros(shape, d.stored)) for d in self.states.dtypes]
            planned = plan_fold(self._views(arrays), [self.states.member], arrangement.axis)
            for rule in RULES:
                if rule.applies(planned.plan.layout, planned.traced):
                    found = chosen if rule is planned.plan.rule else others
                    found[rule.name] = Kernel(arrangement, rule)
        return others | chosen

    @staticmethod
    def masked() -> list[Kernel]:
        """Return kernels that pass over masked elements."""
        return [Kernel(arrangement, is_masked=True) for arrangement in ARRANGEMENTS[1:3]]
