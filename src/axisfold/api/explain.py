# SPDX-License-Identifier: Apache-2.0
"""explain(): how a fold is computed and why, and how near it comes to the speed of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from axisfold.api.dispatch import all_inputs, plan_request
from axisfold.api.explain_cuda import gpu_facts, measured_on_device, with_arch
from axisfold.api.explain_time import GOOD, time_notes
from axisfold.api.explanation import Explanation
from axisfold.api.fold import Layout, Planned
from axisfold.api.measure import KernelCall, take_times
from axisfold.api.options import Request
from axisfold.api.patterns import apply_pattern
from axisfold.api.places import call_of, fill_of, locate, request_of, views_of
from axisfold.codegen.c import emit_kernel as emit_c
from axisfold.config import config
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError
from axisfold.interop.views import View
from axisfold.plan.explain import passed_over, problem_lines
from axisfold.plan.planner import HOST, rules_of
from axisfold.plan.read_limit import read_limit
from axisfold.plan.script import schedule_source, te_source
from axisfold.plan.traffic import LINE_BYTES, SECTOR_BYTES, Traffic, traffic
from axisfold.plan.writing import loops
from axisfold.target import Target
from axisfold.target import parse as parse_target

REPEATS: Final = 15
_FASTER: Final = (
    "faster than memory was when that was measured: the data are in a cache, or other work slowed "
    "the machine then (refresh=True measures it anew)"
)
# How each kind of target calls its source, and where a compiled plan has it.
_SOURCES: Final[dict[str, tuple[str, Callable[[Any], str]]]] = {
    "llvm": ("LLVM IR", lambda compiled: str(compiled.source())),
    "c": ("C source", lambda compiled: emit_c(compiled.device)),
    "cuda": ("CUDA C++", lambda compiled: str(compiled.source)),
    "sim": ("device program", lambda compiled: str(compiled.device)),
}


def explain(
    x: Any,
    reducer: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    target: Target | str | None = None,
    measure: bool | None = None,
    repeats: int = REPEATS,
    refresh: bool = False,
    **options: Any,
) -> Explanation:
    """Explain how a fold is computed: which rule plans it and why, its program, and its speed.

    Parameters
    ----------
    x : array_like, ArraySpec, or tuple of these
        Input; an :class:`axisfold.ArraySpec` stands for an array that need not exist.
    reducer : str, Reducer, or list of these
        What :func:`axisfold.fold` takes.
    axis, keepdims
        As :func:`axisfold.fold`'s.
    target : str, optional
        What to compile for: by default what runs the array, else ``"llvm"``; another one, such as
        ``"cuda -arch=sm_90"``, is explained and not measured.
    measure : bool, optional
        Call the function and take times: by default of arrays, and not of an ArraySpec.  Of that
        an array is made.
    repeats : int
        Calls that are timed, of which the median counts.
    refresh : bool
        Measure anew how fast this machine reads memory.  Otherwise that is done once, for about
        two seconds, and kept in the cache folder.
    **options
        Other arguments of the function, such as ``correction=1``.

    Returns
    -------
    Explanation
        ``print`` it; a notebook draws its loops.

    Raises
    ------
    ArgumentError
        ``A424``: ``repeats`` is not a positive integer; and what :func:`axisfold.fold` raises.
    ResourceError
        ``A423``: an array to measure would not fit in memory.

    Examples
    --------
    >>> import axisfold
    >>> e = axisfold.explain(axisfold.ArraySpec((512, 512), "float32"), "sum", axis=1)
    >>> e.layout.inner_kind, e.traffic.read_bytes
    ('reduced', 1048576)
    """
    if repeats < 1:
        raise ArgumentError(
            f"explain: repeats={repeats!r} is not a number of calls.",
            code="A424",
            hint="Use 1 or more.",
        )
    inputs = x if isinstance(x, tuple) else (x,)
    if isinstance(axis, str):
        inputs, recipe = apply_pattern(axis, inputs, options)
        axis, options = recipe.axes, {}
    request, operands = request_of("explain", reducer, axis, keepdims, options)
    place = locate(all_inputs(request, inputs, operands))
    goal = with_arch(place.target if target is None else parse_target(target))
    planned = plan_request(request, place.arrays, goal if goal.has_threads else HOST, place.library)
    explanation = _explanation(request, planned, place.arrays, goal, refresh)
    wanted = place.is_real if measure is None else measure
    if not wanted or goal != place.target:
        return explanation
    real = place.allocated(fill_of(request))
    call = call_of(reducer, real, axis, keepdims, options)
    if goal.has_threads:
        return measured_on_device(explanation, call, place, repeats, refresh=refresh)
    return _measured(explanation, planned, views_of(real), call, repeats)


def _explanation(
    request: Request, planned: Planned, arrays: Sequence[Layout], target: Target, refresh: bool
) -> Explanation:
    plan = planned.plan
    is_host = not target.has_threads
    language, source = _SOURCES[target.kind]
    rules = rules_of(target, is_spread=planned.traced.is_spread)
    used, notes = gpu_facts(planned) if target.kind == "cuda" else ((), ())
    return Explanation(
        title=_title(request, arrays),
        target=str(target),
        problem=tuple(problem_lines(planned.problem, plan.layout)),
        layout=plan.layout,
        rule=plan.rule.name,
        reason=plan.rule.reason,
        parameters={
            name: plan.rule.values.get(name, plan.rule.default(name))
            for name in plan.rule.parameters
        },
        is_tuned=bool(plan.rule.values),
        passed=passed_over(rules, plan.rule.name, plan.layout, planned.traced),
        te=te_source(plan.graph),
        schedule=schedule_source(plan),
        loops=loops(planned.traced, plan, target),
        language=language,
        source=source(plan.compiled),
        traffic=_traffic(planned, arrays, LINE_BYTES if is_host else SECTOR_BYTES),
        limit=read_limit(config.threads, refresh=refresh) if is_host else None,
        times=None,
        resources=used,
        notes=notes,
    )


def _title(request: Request, arrays: Sequence[Layout]) -> str:
    names = [i.row.name if i.row is not None else i.reduction.name for i in request.items]
    inputs = ", ".join(f"{parse(a.dtype)} {tuple(a.shape)}" for a in arrays)
    over = "all axes" if request.axis is None else f"axis {request.axis}"
    return f"{', '.join(names)} of {inputs} over {over}"


def _traffic(planned: Planned, arrays: Sequence[Layout], line_bytes: int) -> Traffic:
    results = [r.dtype.itemsize for r in planned.traced.results]
    sizes = [a.itemsize for a in arrays]
    is_spread = planned.traced.is_spread
    return traffic(planned.problem, sizes, results, line_bytes, is_spread=is_spread)


def _measured(
    explanation: Explanation,
    planned: Planned,
    arrays: Sequence[View],
    call: Callable[[], Any],
    repeats: int,
) -> Explanation:
    """Return the explanation with times, and with what makes it slow if it is."""
    limit, one = explanation.limit, read_limit(1)
    predicted = explanation.predicted
    if limit is None or predicted is None:
        return explanation
    kernel = KernelCall(planned, arrays)
    times = take_times(call, kernel, config.threads, repeats, lambda t: predicted >= GOOD * t)
    notes: tuple[str, ...] = ()
    if predicted < GOOD * times.call:
        notes = time_notes(times, explanation.traffic, limit, one)
    elif predicted > times.call / GOOD:
        notes = (_FASTER,)
    return replace(explanation, times=times, notes=notes)
