# SPDX-License-Identifier: Apache-2.0
"""create_group: stages that are attached together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from axisfold.errors import ScheduleError
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis
from axisfold.tensor.tensor import Operation, Tensor

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Group:
    """Stages between given outputs and inputs, consumers last."""

    stages: tuple[Stage, ...]

    def compute_at(self, parent: Stage, axis: Axis) -> None:
        """Attach every stage of the group that is at the top level; see ``compute_at``."""
        for stage in reversed(self.stages):
            if stage.attachment is None and not stage.is_inlined:
                stage.compute_at(parent, axis)


def create_group(
    schedule: Schedule, outputs: Any, inputs: Any, include_inputs: bool = False
) -> Group:
    """Return the stages on the ways from ``inputs`` to ``outputs`` as a group.

    Before::

        s[T].compute_at(s[B], i)
        s[U].compute_at(s[B], i)

    With a group::

        s.create_group(outputs=T, inputs=A).compute_at(s[B], i)

    Preconditions
    -------------
    1. Outputs and inputs are stages of the schedule (S002).
    2. There is a way from some input to every output (S271).
    """
    ends = [schedule[t] for t in _listed(outputs)]
    starts = [schedule[t] for t in _listed(inputs)]
    below = _readers(schedule, starts)
    members = {s for s in _producers(schedule, ends) if s in below}
    if include_inputs:
        members |= {s for s in starts if s.op.body}
    for end in ends:
        if end not in members:
            raise ScheduleError(
                f"create_group: no way leads from {[s.name for s in starts]} to {end.name!r}.",
                code="S271",
            )
    return Group(tuple(s for s in schedule.stages if s in members))


def _listed(given: Any) -> list[Tensor | Operation]:
    return list(given) if isinstance(given, (tuple, list)) else [given]


def _producers(schedule: Schedule, ends: list[Stage]) -> set[Stage]:
    """Return stages that ``ends`` depend on, themselves included."""
    found: set[Stage] = set()
    waiting = list(ends)
    while waiting:
        stage = waiting.pop()
        if stage not in found:
            found.add(stage)
            waiting += [schedule[t] for t in stage.op.input_tensors]
    return found


def _readers(schedule: Schedule, starts: list[Stage]) -> set[Stage]:
    """Return stages that depend on ``starts``."""
    found: set[Stage] = set()
    for stage in schedule.stages:
        sources = {schedule[t] for t in stage.op.input_tensors}
        if sources & (found | set(starts)):
            found.add(stage)
    return found
