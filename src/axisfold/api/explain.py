# SPDX-License-Identifier: Apache-2.0
"""explain(): how a fold is computed and why, and how near it comes to the speed of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from axisfold.api import functions
from axisfold.api.arguments import item_of
from axisfold.api.catalog import CATALOG
from axisfold.api.dispatch import fold, plan_request
from axisfold.api.explain_cuda import gpu_facts, with_arch
from axisfold.api.explain_time import GOOD, time_notes
from axisfold.api.explanation import Explanation
from axisfold.api.fold import Layout, Planned
from axisfold.api.measure import KernelCall, take_times
from axisfold.api.options import Request, checked_keepdims, named_request
from axisfold.api.patterns import apply_pattern
from axisfold.api.spec import ArraySpec
from axisfold.codegen.c import emit_kernel as emit_c
from axisfold.config import config
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError, KeywordError
from axisfold.interop import numpy
from axisfold.interop.numpy import Array
from axisfold.plan.explain import passed_over, problem_lines
from axisfold.plan.planner import HOST, loops, rules_of
from axisfold.plan.read_limit import read_limit
from axisfold.plan.script import schedule_source, te_source
from axisfold.plan.traffic import LINE_BYTES, SECTOR_BYTES, Traffic, traffic
from axisfold.target import Target
from axisfold.target import parse as parse_target

REPEATS: Final = 15
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
    request = _request(reducer, axis, keepdims, options)
    arrays = [v if isinstance(v, ArraySpec) else numpy.resolved("x", v) for v in inputs]
    are_arrays = not any(isinstance(v, ArraySpec) for v in arrays)
    goal = with_arch(HOST if target is None else parse_target(target))
    is_measured = goal == HOST and (are_arrays if measure is None else measure)
    planned = plan_request(request, arrays, goal if goal.has_threads else HOST)
    explanation = _explanation(request, planned, arrays, goal, refresh)
    if not is_measured:
        return explanation
    real = [v.allocate(_fill(request)) if isinstance(v, ArraySpec) else v for v in arrays]
    call = _call(reducer, real, axis, keepdims, options)
    return _measured(explanation, planned, real, call, repeats)


def _request(reducer: Any, axis: Any, keepdims: Any, options: dict[str, Any]) -> Request:
    if isinstance(reducer, str) and reducer in CATALOG:
        return named_request(CATALOG[reducer], (), axis, keepdims, options)
    unknown = next((name for name in options if name != "dtype"), None)
    if unknown is not None:
        raise KeywordError(
            f"explain has no argument {unknown!r} for this reducer.",
            code="A340",
            hint="Options belong to named reductions, one at a time.",
        )
    is_list = isinstance(reducer, list)
    items = tuple(item_of(item) for item in (reducer if is_list else [reducer]))
    keep = checked_keepdims("explain", keepdims)
    return Request("fold", items, is_list, axis, keep, options.get("dtype"))


def _call(
    reducer: Any, arrays: Sequence[Array], axis: Any, keepdims: bool, options: dict[str, Any]
) -> Callable[[], Any]:
    """Return the call that a user would write."""
    if isinstance(reducer, str) and reducer in CATALOG:
        function = getattr(functions, reducer)
        return partial(function, arrays[0], axis=axis, keepdims=keepdims, **options)
    x = arrays[0] if len(arrays) == 1 else tuple(arrays)
    return partial(fold, x, reducer, axis=axis, keepdims=keepdims, **options)


def _fill(request: Request) -> int:
    """Return elements of which ``any`` and ``all`` read every one."""
    return 0 if any(i.row is not None and i.row.name == "any" for i in request.items) else 1


def _explanation(
    request: Request, planned: Planned, arrays: Sequence[Layout], target: Target, refresh: bool
) -> Explanation:
    plan = planned.plan
    is_host = not target.has_threads
    language, source = _SOURCES[target.kind]
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
        passed=passed_over(rules_of(target), plan.rule.name, plan.layout, planned.traced),
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
    return traffic(planned.problem, [a.itemsize for a in arrays], results, line_bytes)


def _measured(
    explanation: Explanation,
    planned: Planned,
    arrays: Sequence[np.ndarray[Any, Any]],
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
        notes = tuple(time_notes(times, explanation.traffic, limit, one))
    return replace(explanation, times=times, notes=notes)
