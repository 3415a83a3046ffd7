# SPDX-License-Identifier: Apache-2.0
"""Why a plan is what it is: the canonical problem in words, and the rules that were passed over."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Var
from axisfold.plan.canonical import LoopAxis, Problem
from axisfold.plan.compose import LayoutClass
from axisfold.plan.rule import Rule
from axisfold.plan.sizes_cpu import HELD, THIN
from axisfold.tensor.tile_pass import Search
from axisfold.tensor.trace import TilePass, Traced

# Facts that are changed together at most to find out what a rule is waiting for.
_MOST_CHANGES: Final = 3
_STEPS: Final = {
    "unit": "one element", "two": "two elements", "zero": "nothing", "any": "any stride",
}  # fmt: skip
_FEW_PASSES: Final = 2
# Names of size classes, of CPUs.
_RUNS: Final = ("brief", "row", "long", "huge", "single", "shallow", "deep", "tall")
_OUTPUTS: Final = ("cached", "thin", "one", "few", "shared", "many", "wide")
_OTHERS: Final = {
    HELD: "columns of one folded axis in a cache, of a reducer that holds functions of elements",
    "streams": "many rows, which blocks of a few runs take",
    "outer_streams": "many rows inside of a folded axis",
}


@dataclass(frozen=True, slots=True)
class Passed:
    """A rule that does not plan a kernel.

    Attributes
    ----------
    name
        The rule.
    why
        What it needs, or that it stands further down.
    """

    name: str
    why: str


def problem_lines(problem: Problem, layout: LayoutClass) -> list[str]:
    """Return the canonical problem in words, a line for each fact."""
    lines = [f"kept    {_axis(axis)}" for axis in problem.kept] or ["kept    nothing: one result"]
    lines += [f"folded  {_axis(axis)}" for axis in problem.reduced]
    steps = ", ".join(_STEPS.get(step, step) for step in layout.inner_steps)
    kind = "folded" if layout.inner_kind == "reduced" else "kept"
    lines.append(f"the innermost axis in memory is {kind}; a step along it moves by {steps}")
    if problem.flipped or any(problem.offsets):
        lines.append("axes of negative stride are walked backwards")
    return lines


def _axis(axis: LoopAxis) -> str:
    steps = " and ".join(f"{stride:,}" for stride in axis.strides)
    return f"{axis.extent:,} elements, {steps} bytes apart"


def layout_text(layout: LayoutClass) -> str:
    """Return a layout class in one line: what a kernel is compiled for."""
    facts = [f"{layout.kept} kept and {layout.reduced} folded axes"]
    facts += [f"innermost {layout.inner_kind}: {', '.join(layout.inner_steps)}"]
    facts += [f"runs: {layout.run}"] * bool(layout.run)
    facts += [f"results: {layout.outputs}"] * bool(layout.outputs)
    facts += [f"stores: {layout.stores}"] * bool(layout.stores)
    facts += [f"loads: {layout.loads}"] * bool(layout.loads)
    facts += [f"at least {layout.least} columns"] * bool(layout.least)
    if layout.gpu is not None:
        gpu = layout.gpu
        facts.append(f"loads of {gpu.lanes} elements, {gpu.team} threads and {gpu.parts} blocks")
        if gpu.rows > 1:
            facts.append(f"{gpu.rows} rows at once for each team of threads")
        facts += [f"constant extents: {gpu.fixed}"] * bool(gpu.fixed)
    return "; ".join(facts)


def passed_over(
    rules: Sequence[Rule], chosen: str, layout: LayoutClass, traced: Traced
) -> tuple[Passed, ...]:
    """Return the other rules of a table and why none of them plans the kernel.

    Parameters
    ----------
    rules
        The table, read from the top.
    chosen
        Name of the rule that plans it.
    layout, traced
        What is planned.
    """
    found = []
    for rule in rules:
        if rule.name == chosen:
            continue
        if rule.applies(layout, traced):
            why = f"applies too, but stands below {chosen}"
        elif layout.gpu is not None:  # each form has one rule, whose reason begins with the form
            why = f"is for another form: {rule.reason.partition(':')[0]}"
        else:
            why = _needs(rule, layout, traced)
        found.append(Passed(rule.name, why))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Change:
    """Another value of one fact, and how to say it."""

    field: str
    value: Any
    words: str


def _needs(rule: Rule, layout: LayoutClass, traced: Traced) -> str:
    """Return the fewest facts that would have to be otherwise for a rule to apply."""
    changes = list(_changes(layout, traced))
    for count in range(1, _MOST_CHANGES + 1):
        hits: dict[frozenset[str], str] = {}
        for group in combinations(changes, count):
            fields = frozenset(change.field for change in group)
            if len(fields) == count and rule.applies(*_changed(layout, traced, group)):
                hits.setdefault(fields, " and ".join(change.words for change in group))
        if hits:
            return "needs " + ", or ".join(list(hits.values())[:2])
    return "takes problems of quite another kind"


def _changes(layout: LayoutClass, traced: Traced) -> Iterator[_Change]:
    if layout.inner_kind == "kept":
        yield _Change("inner_kind", "reduced", "a folded axis innermost in memory")
    else:
        yield _Change("inner_kind", "kept", "a kept axis innermost in memory")
    unit = ("unit",) * len(layout.inner_steps)
    if layout.inner_steps != unit:
        yield _Change("inner_steps", unit, "inputs that lie without gaps along it")
    if layout.kept:
        yield _Change("kept", 0, "no kept axis")
    else:
        yield _Change("kept", 1, "a kept axis")
    if layout.reduced > 1:
        yield _Change("reduced", 1, "one folded axis")
    else:
        yield _Change("reduced", 2, "folded axes with gaps between them")
    for field, names, what in (("run", _RUNS, "folds"), ("outputs", _OUTPUTS, "results")):
        mine = getattr(layout, field)
        for name in names:
            if name != mine:
                here = f" (these are {mine})" if mine else ""
                yield _Change(field, name, f"{name} {what}{here}")
    for name, words in _OTHERS.items():
        if layout.outputs != name:
            yield _Change("outputs", name, words)
    if layout.width:
        words = f"an innermost axis of no constant extent (this one has {layout.width} elements)"
        yield _Change("width", 0, words)
    else:
        words = f"an innermost axis of at most {THIN} elements in a large array without gaps"
        yield _Change("width", 1, words)
    if traced.combiner.absorbing:
        yield _Change("absorbing", (), "a reducer whose state always depends on later elements")
    else:
        words = "a reducer that has a state which no element changes"
        yield _Change("absorbing", traced.combiner.identity, words)
    if not traced.combiner.keeps_first:
        indices = tuple(Var(v.name, INT64) for v in traced.combiner.lhs)
        yield _Change("first", indices, "a reducer that keeps the first state of all")
    if not traced.tile_later:
        yield _Change("later", traced.lifted, "a reducer of the place of the best element")
    if any(v.dtype.is_float for parts in traced.elements for v in parts):
        integers = tuple(tuple(Var(v.name, INT64) for v in parts) for parts in traced.elements)
        yield _Change("elements", integers, "integers")
    if traced.combiner.is_ordered:
        yield _Change("ordered", False, "a reducer that may be folded in any order")
    if "exact" not in traced.combiner.facts:
        yield _Change("exact", True, "a reducer whose merges round nothing")
    yield from _tile_changes(traced)


def _tile_changes(traced: Traced) -> Iterator[_Change]:
    if traced.narrowing is None:
        yield _Change("narrowing", traced, "sums of 16-bit floats, or means of short integers")
    narrow = all(tile_pass.narrow for tile_pass in traced.tile_passes)
    if traced.tile_passes:
        yield _Change("tiles", (), "a reducer without a form for short runs")
    if narrow or not traced.tile_passes:
        plain = _one_pass(traced, is_narrow=False)
        form = "a reducer that has a form for short runs"
        words = "sums that no narrower dtype holds" if traced.tile_passes else form
        yield _Change("tiles", plain, words)
    if all(tile_pass.search is None for tile_pass in traced.tile_passes):
        (one,) = _one_pass(traced, is_narrow=False)
        found = replace(one, search=Search(traced.combiner, build.TRUE))
        yield _Change("tiles", (found,), "a reducer that finds the place of the best element")
    if len(traced.tile_passes) < _FEW_PASSES:
        several = _one_pass(traced, is_narrow=False) * _FEW_PASSES
        yield _Change("tiles", several, "a reducer whose form for short runs has several passes")
    if not narrow or not traced.tile_passes:
        short = _one_pass(traced, is_narrow=True)
        yield _Change("tiles", short, "sums of short runs that fit a narrower dtype")


def _one_pass(traced: Traced, *, is_narrow: bool) -> tuple[TilePass, ...]:
    """Return a form for short runs such as another reducer may have."""
    combiner = traced.combiner
    value = combiner.lhs[0]
    return (TilePass((value,), combiner, (value,), narrow=(value,) * is_narrow),)


def _changed(
    layout: LayoutClass, traced: Traced, changes: Sequence[_Change]
) -> tuple[LayoutClass, Traced]:
    other = copy.copy(traced)
    for change in changes:
        match change.field:
            case "ordered":
                facts = other.combiner.facts - {"ordered"}
                other.combiner = replace(other.combiner, facts=facts)
            case "exact":
                facts = other.combiner.facts | {"exact"}
                other.combiner = replace(other.combiner, facts=facts)
            case "first":
                facts = other.combiner.facts | {"first"}
                other.combiner = replace(other.combiner, facts=facts, lhs=change.value)
            case "absorbing":
                other.combiner = replace(other.combiner, absorbing=change.value)
            case "elements":
                other.elements = change.value
            case "narrowing":
                other.narrowing = change.value
            case "later":
                other.tile_later = change.value
            case "tiles":
                other.tile_passes = change.value
            case _:
                layout = replace(layout, **{change.field: change.value})
    return layout, other
