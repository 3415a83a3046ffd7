# SPDX-License-Identifier: Apache-2.0
"""Rules for results of the inputs' shape, made from those of folds: what both targets share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from axisfold.plan.compose import Graph, LayoutClass
from axisfold.plan.rule import Rule, Scheduler
from axisfold.schedule.schedule import Schedule
from axisfold.tensor.axis import Axis
from axisfold.tensor.trace import Traced


def fold_of(graph: Graph) -> Graph:
    """Return the computation of what elements share, as that of a fold with these results."""
    return replace(graph, results=graph.shares)


def result_axes(s: Schedule, graph: Graph) -> tuple[list[Axis], list[Axis]]:
    """Return the kept and the folded axes of the result."""
    axes = list(s[graph.results[0]].op.axis)
    assert graph.layout is not None  # noqa: S101  (the composer says it)
    count = graph.layout.kept
    return axes[:count], axes[count:]


def spread_rules(
    folds: Sequence[Rule],
    at_each: Mapping[str, Scheduler],
    then_elements: Callable[[Scheduler], Scheduler],
    are_near: Callable[[LayoutClass], bool] = lambda layout: True,
) -> tuple[Rule, ...]:
    """Return the rules for the layout classes of the rules of folds, in their order.

    Parameters
    ----------
    folds
        The rules of folds.
    at_each
        By the name of such a rule, the schedule that computes the elements of each fold, or of
        each tile of folds, beside it; not for a single fold.
    then_elements
        From the schedule of folds to one that computes all elements after all folds.
    are_near
        Whether the elements of each fold, or of each tile of folds, are in cache after it.
    """
    rules: list[Rule] = []
    for fold in folds:
        if fold.name in at_each:
            rules.append(
                replace(
                    fold,
                    name=f"{fold.name}_elements",
                    applies=_at_each(fold, are_near),
                    reason=f"{fold.reason}; the elements of each fold are computed right after it, "
                    "while they are in cache",
                    schedule=at_each[fold.name],
                    skips=False,
                    parameters={},
                )
            )
        rules.append(
            replace(
                fold,
                name=f"{fold.name}_then_elements",
                reason=f"{fold.reason}; all elements are computed after that, in the order of "
                "memory, because they are not in cache or too few folds are shared by all threads",
                schedule=then_elements(fold.schedule),
                parameters={},
            )
        )
    return tuple(rules)


def _at_each(
    fold: Rule, are_near: Callable[[LayoutClass], bool]
) -> Callable[[LayoutClass, Traced], bool]:
    return lambda layout, traced: (
        layout.kept > 0 and are_near(layout) and fold.applies(layout, traced)
    )
