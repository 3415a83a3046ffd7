# SPDX-License-Identifier: Apache-2.0
"""tune(): finds the parameters of a rule that are fastest for a layout class, by measuring."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

import numpy as np

from axisfold.api.dispatch import plan_request
from axisfold.api.fold import Planned
from axisfold.api.launches import forget
from axisfold.api.measure import KernelCall, median_seconds
from axisfold.api.measure_cuda import DeviceCall, median_seconds_on_device
from axisfold.api.options import Request
from axisfold.api.places import Place, fill_of, locate, request_of, views_of
from axisfold.api.progress import Step, progress
from axisfold.api.quantities import seconds_text
from axisfold.api.spec import ArraySpec
from axisfold.errors import AxisfoldError
from axisfold.interop.views import HOST, View
from axisfold.plan.planner import Plan, forget_plan, make_plan, rules_of, traced_key
from axisfold.plan.rule import Rule
from axisfold.plan.script import schedule_source, te_source
from axisfold.plan.tuned import keep_tuned
from axisfold.runtime.cuda.memory import synchronize
from axisfold.target import Target

Values = dict[str, int]
Kernel = KernelCall | DeviceCall

# How much faster a candidate has to be: less may be chance.
_GAIN: Final = 0.97
_REPEATS: Final = 7
# Rounding errors of another order of summation, in units in the last place of the largest result.
_ULPS: Final = 64


@dataclass(frozen=True, slots=True)
class Trial:
    """One set of parameters that was tried.

    Attributes
    ----------
    values
        The parameters that are not the defaults.
    seconds
        Its median time; None if it did not give the default's results or could not be built.
    best
        The median time of the best one so far, which took turns with it.
    """

    values: Values
    seconds: float | None
    best: float | None


@dataclass(frozen=True, slots=True)
class Tuning:
    """What tune() found; ``print`` it.

    Attributes
    ----------
    rule
        The rule that plans the layout class.
    values
        The parameters that won over the defaults; empty if none did.
    speedup
        Time of the defaults by that of the winner, taken in turns.
    trials
        All that was tried, in order.
    is_kept
        Whether the cache folder took the result, for other processes.
    """

    rule: str
    values: Values
    speedup: float
    trials: tuple[Trial, ...]
    is_kept: bool

    def __str__(self) -> str:
        lines = [f"rule {self.rule}: {len(self.trials)} candidates"]
        for trial in self.trials:
            if trial.seconds is None or trial.best is None:
                result = "refused: wrong results, or it cannot be built"
            else:
                result = f"{seconds_text(trial.seconds)}, the best {seconds_text(trial.best)}"
            lines.append(f"  {values_text(trial.values)}: {result}")
        if self.values:
            lines.append(f"winner: {values_text(self.values)}, {self.speedup:.2f} times as fast")
        else:
            lines.append("winner: the defaults")
        if not self.is_kept:
            lines.append("not kept for other processes: no cache folder to write, or time ran out")
        return "\n".join(lines) + "\n"


def values_text(values: Values) -> str:
    """Return parameters as text."""
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "the defaults"


def tune(
    x: Any,
    reducer: Any,
    axis: Any = None,
    *,
    seconds: float = 60.0,
    progress_bar: bool = True,
    **options: Any,
) -> Tuning:
    """Search the parameters of the rule that plans a fold, by measuring on this machine.

    The rule's parameters are varied one after the other.  A candidate has to give the results of
    the defaults, and to be 3 % faster than the best so far in alternating runs.  The winner is kept
    in the cache folder, and from then on plans every fold of the layout class, in this process and
    in others; ``axisfold.config.tuned = False`` or ``AXISFOLD_TUNED=0`` ignores it.  Ctrl-C keeps
    the best so far before it ends the search.

    Parameters
    ----------
    x : array_like, ArraySpec, or tuple of these
        Input in the host's memory or on a CUDA device, where events take the times; in the place
        of an :class:`axisfold.ArraySpec` an array is made on the host.
    reducer : str, Reducer, or list of these
        What :func:`axisfold.fold` takes.
    axis
        As :func:`axisfold.fold`'s.
    seconds : float
        Begin no candidate after this time.
    progress_bar : bool
        Draw progress on a terminal.
    **options
        Other arguments of the function.

    Returns
    -------
    Tuning
        What was tried and what won.
    """
    inputs = x if isinstance(x, tuple) else (x,)
    request, _ = request_of("tune", reducer, axis, False, options)
    place = locate(inputs)
    planned = _default(request, place)
    if place.device == HOST:
        arrays = place.allocated(fill_of(request))
        _vary(arrays, inputs, request)
        search = _Search(
            planned,
            place.target,
            partial(KernelCall, arrays=views_of(arrays)),
            median_seconds,
        )
    else:
        synchronize(place.device)
        search = _Search(
            planned,
            place.target,
            partial(DeviceCall, arrays=cast("tuple[View, ...]", place.arrays), place=place),
            partial(median_seconds_on_device, place),
        )
    try:
        with progress("tuning", max(search.total, 1), is_shown=progress_bar) as step:
            search.run(time.perf_counter() + seconds, step)
    finally:
        found = search.finish()
    return found


def _default(request: Request, place: Place) -> Planned:
    """Return the plan with the defaults, whatever was found before."""
    planned = plan_request(request, place.arrays, place.target, place.library)
    plan = planned.plan
    rules = rules_of(plan.target, is_spread=planned.traced.is_spread)
    rule = next(r for r in rules if r.name == plan.rule.name)
    return replace(planned, plan=make_plan(planned.traced, plan.layout, place.target, rule))


def _vary(arrays: Sequence[Any], given: Sequence[Any], request: Request) -> None:
    """Give arrays that were made here numbers by which wrong results show, or stop early."""
    draw = np.random.default_rng(0)
    names = {item.row.name for item in request.items if item.row is not None}
    for array, source in zip(arrays, given, strict=True):
        if isinstance(source, ArraySpec) and not names & {"any", "all"}:
            array[...] = draw.integers(0, 7, array.shape, np.int8)


class _Search:
    """The state of a search: what is known of the default's results, and the best so far."""

    def __init__(
        self,
        planned: Planned,
        target: Target,
        bind: Callable[[Planned], Kernel],
        medians: Callable[..., list[float]],
    ) -> None:
        self.planned, self.target, self.bind, self.medians = planned, target, bind, medians
        self.rule: Rule = planned.plan.rule
        self.total = sum(len(values) for values in self.rule.parameters.values())
        self.default = self.best = bind(planned)
        self.wanted = list(_outcomes(self.default))
        self.values: Values = {}
        self.trials: list[Trial] = []
        self.is_complete = False

    def run(self, deadline: float, step: Step) -> None:
        """Vary the parameters one after the other, from the best of those before."""
        seen = {_text(self.planned.plan)}
        for name, candidates in self.rule.parameters.items():
            for value in candidates:
                if time.perf_counter() > deadline:
                    return
                values = {**self.values, name: value}
                plan = self.planned.plan
                rule = self.rule.with_values(values)
                plan = make_plan(plan.traced, plan.layout, self.target, rule)
                self._try(values, plan, seen)
                step(values_text(values))
        self.is_complete = True

    def _try(self, values: Values, plan: Plan, seen: set[str]) -> None:
        """Measure a candidate, if it is another program and gives the default's results."""
        try:
            text = _text(plan)
            if text in seen:
                return
            seen.add(text)
            kernel = self.bind(replace(self.planned, plan=plan))
        except AxisfoldError:
            self.trials.append(Trial(values, None, None))
            return
        if not all(map(_agree, self.wanted, _outcomes(kernel))):
            self.trials.append(Trial(values, None, None))
            return
        mine, best = self.medians(_REPEATS, kernel, self.best)
        self.trials.append(Trial(values, mine, best))
        if mine < _GAIN * best:
            self.best, self.values = kernel, values

    def finish(self) -> Tuning:
        """Compare the best with the default once more, and keep what won."""
        speedup = 1.0
        if self.values:
            mine, default = self.medians(_REPEATS, self.best, self.default)
            speedup = default / mine
            if mine > _GAIN * default:
                self.values, speedup = {}, 1.0
        plan, is_kept = self.planned.plan, False
        if self.values or self.is_complete:
            key = traced_key(plan.traced)
            is_kept = keep_tuned(self.rule, key, plan.layout, self.target, self.values)
            forget_plan(plan.traced, plan.layout, self.target)
            forget()
        return Tuning(self.rule.name, self.values, speedup, tuple(self.trials), is_kept)


def _text(plan: Plan) -> str:
    return te_source(plan.graph) + schedule_source(plan)


def _outcomes(kernel: Kernel) -> Iterator[list[np.ndarray[Any, Any]]]:
    """Return the results of all elements, and of a part that fits no tile."""
    for run, count in (kernel.whole(), kernel.odd_part()):
        kernel.poison()
        run()
        yield [result.ravel()[:count] for result in kernel.read()]


def _agree(a: Sequence[np.ndarray[Any, Any]], b: Sequence[np.ndarray[Any, Any]]) -> bool:
    return all(_close(x, y) for x, y in zip(a, b, strict=True))


def _close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return whether results are the same up to the rounding of sums in another order."""
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    largest = np.abs(a[finite]).max(initial=0)
    return bool((np.abs(a[finite] - b[finite]) <= _ULPS * np.finfo(a.dtype).eps * largest).all())
