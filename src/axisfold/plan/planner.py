# SPDX-License-Identifier: Apache-2.0
"""From a layout class and traced reducers to a compiled kernel, at most once for each."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from axisfold.config import config
from axisfold.ir.node import forget_shared
from axisfold.plan import rules_cpu, rules_cuda, rules_spread_cpu, rules_spread_cuda
from axisfold.plan.graph import Graph, LayoutClass
from axisfold.plan.rule import Rule
from axisfold.plan.store import (
    Interface,
    find,
    find_binary,
    interface_of,
    keep,
    keep_binary,
    plan_key,
)
from axisfold.plan.tuned import tuned_rule
from axisfold.runtime.cpu import host_vector_bytes, load_object, stored_object
from axisfold.runtime.threads import pool
from axisfold.target import Target
from axisfold.tensor.key import expression_key
from axisfold.tensor.trace import Traced

if TYPE_CHECKING:
    from axisfold.build import Compiled
    from axisfold.plan.writing import Written
    from axisfold.runtime.cuda.program import Binary
    from axisfold.schedule.schedule import Schedule

HOST: Final = Target("llvm")

_plans: dict[Hashable, Plan] = {}
_lock = threading.RLock()


@contextmanager
def _alone() -> Iterator[None]:
    """Let one thread make a kernel, without looking for cycles among what it makes meanwhile.

    Tens of thousands of nodes would have every object of the process looked through several times,
    a tenth of a first call and more where much is imported.
    """
    with _lock:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                forget_shared()
                if not gc.get_freeze_count():  # else the process keeps objects apart by itself
                    # What was made is old now: the next collection of young objects leaves it.
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()


class Plan:
    """A planned kernel; what a rule writes is written when somebody asks for it.

    Parameters
    ----------
    traced
        What is folded.
    layout
        The layout class it serves.
    rule
        The rule that writes the schedule.
    target
        What it is for.
    fold
        What :func:`traced_key` tells of ``traced``, if that is known.
    """

    def __init__(
        self,
        traced: Traced,
        layout: LayoutClass,
        rule: Rule,
        target: Target,
        fold: Hashable = None,
    ) -> None:
        self.traced, self.layout, self.rule, self.target = traced, layout, rule, target
        self.fold = traced_key(traced) if fold is None else fold

    @cached_property
    def _written(self) -> Written:
        with _alone():
            if (found := self.__dict__.get("_written")) is not None:
                return cast("Written", found)  # by another thread, meanwhile
            from axisfold.plan.writing import write

            made = self.__dict__["_written"] = write(self)
            return made

    @property
    def graph(self) -> Graph:
        """The te computation."""
        return self._written.graph

    @property
    def schedule(self) -> Schedule:
        """The schedule."""
        return self._written.schedule

    @property
    def compiled(self) -> Any:
        """The kernel: machine code of the host, or a program of launches for a GPU."""
        return self._written.compiled

    @cached_property
    def host(self) -> HostCode:
        """The machine code of a plan for this machine, from the disk if it is there."""
        with _alone():
            if (found := self.__dict__.get("host")) is not None:
                return cast("HostCode", found)
            made = self.__dict__["host"] = _host_code(self)
            return made

    @cached_property
    def binary(self) -> Binary:
        """The machine code of a plan for a GPU, from the disk if it is there."""
        with _alone():
            if (found := self.__dict__.get("binary")) is not None:
                return cast("Binary", found)
            made = self.__dict__["binary"] = _binary(self)
            return made


@dataclass(frozen=True, slots=True)
class HostCode:
    """Machine code of this machine.

    Attributes
    ----------
    entry
        A callable of addresses, extents and strides.
    interface
        Which extents and strides these are.
    """

    entry: Callable[..., int]
    interface: Interface


def _key(plan: Plan) -> str | None:
    values = tuple(sorted(plan.rule.values.items()))
    return plan_key(plan.target, plan.fold, plan.layout, plan.rule.name, values)


def _binary(plan: Plan) -> Binary:
    key = _key(plan)
    found = find_binary(key, plan.target.arch)
    if found is None:
        found = plan.compiled.binary
        keep_binary(key, plan.compiled)
    return found


def _host_code(plan: Plan) -> HostCode:
    key = _key(plan)
    interface = find(key)
    code = None if interface is None else stored_object(interface.code)
    if interface is None or code is None:
        compiled: Compiled = plan.compiled
        interface = interface_of(compiled.ir, compiled.object_key(), compiled.source())
        entry = compiled.entry
        keep(key, interface)
        return HostCode(entry, interface)
    if interface.is_parallel:
        pool()
    loaded = load_object(code, interface.symbol)
    return HostCode(loaded.function(interface.pointers, len(interface.scalars)), interface)


def traced_key(traced: Traced) -> Hashable:
    """Return what two traces share when the same kernel serves both."""
    results = [p for r in traced.results for p in r.parts]
    roots = [
        *(v for parts in traced.elements for v in parts), *traced.combiner.lhs,
        *traced.combiner.rhs, traced.index, traced.run.place, traced.run.count, traced.count,
        *(v for head in traced.tile_heads for v in head),
        *traced.combiner.result, *traced.combiner.identity, *traced.combiner.absorbing,
        *traced.lifted, *traced.absorb,
        *(v for value in traced.initial for v in value.variables),
        *results, *(v for share in traced.shares for v in share),
        *(e for p in traced.tile_passes for e in (*p.expressions, *p.results)), *traced.tile_state,
        *traced.tile_later,
        *(e for p in traced.tile_passes for e in (*p.combiner.result, *p.combiner.identity)),
        *(e for p in traced.tile_passes for e in p.narrow),
        *(e for p in traced.tile_passes if p.search is not None for e in p.search.expressions),
        *(v for h in traced.holds for v in (h.variable, h.held)),
        *(v for once in traced.onces for v in once),
    ]  # fmt: skip
    # Two real numbers and one complex one have the same expressions but not the same strides.
    shape = (
        tuple(len(parts) for parts in traced.elements), len(traced.combiner.lhs),
        bool(traced.combiner.absorbing), bool(traced.tile_later),
        tuple(len(value.variables) for value in traced.initial),
        tuple(len(r.parts) for r in traced.results), traced.is_spread,
        tuple(
            (len(p.narrow), p.terms, len(p.sources), p.places, p.loses_nan, p.is_seldom,
             p.search is not None)
            for p in traced.tile_passes
        ),
    )  # fmt: skip
    own = (shape, traced.uses_index, traced.combiner.facts, expression_key(roots))
    forms = (traced.holding, traced.skipping, traced.narrowing)
    return (own, *(None if form is None else traced_key(form) for form in forms))


def plan(traced: Traced, layout: LayoutClass, target: Target = HOST) -> Plan:
    """Return the plan of a layout class; the same class is planned once."""
    fold = traced_key(traced)
    key = (fold, layout, target, config.tuned)
    found = _plans.get(key)
    if found is None:
        with _lock:
            found = _plans.get(key)
            if found is None:
                found = _plans[key] = make_plan(traced, layout, target, None, fold)
    return found


def forget_plan(traced: Traced, layout: LayoutClass, target: Target = HOST) -> None:
    """Plan a class anew when it is met again."""
    with _lock:
        _plans.pop((traced_key(traced), layout, target, config.tuned), None)


def make_plan(
    traced: Traced,
    layout: LayoutClass,
    target: Target = HOST,
    rule: Rule | None = None,
    fold: Hashable = None,
) -> Plan:
    """Plan a class by a rule, by default the target's first one that applies.

    The parameters are those of :class:`Plan`.
    """
    target = with_vectors(target)
    fold = traced_key(traced) if fold is None else fold
    if rule is None:
        rules = rules_of(target, is_spread=traced.is_spread)
        rule = next(r for r in rules if r.applies(layout, traced))
        rule = tuned_rule(rule, fold, layout, target)
    return Plan(traced, layout, rule, target, fold)


def with_vectors(target: Target) -> Target:
    """Return a target with the vectors that this machine has, if it stands for that."""
    return replace(target, vector_bytes=host_vector_bytes()) if target == HOST else target


def rules_of(target: Target, *, is_spread: bool = False) -> tuple[Rule, ...]:
    """Return a target's table of rules, also that for results of the inputs' shape.

    It is read from the top.
    """
    if is_spread:
        return rules_spread_cuda.RULES if target.has_threads else rules_spread_cpu.RULES
    return rules_cuda.RULES if target.has_threads else rules_cpu.RULES
