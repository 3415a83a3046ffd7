# SPDX-License-Identifier: Apache-2.0
"""stop: a loop of a reduction ends early, once no further element can change the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.expr import Var
from axisfold.schedule.checks import check_serial, leaf_position
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import TensorLoad

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


def stop(schedule: Schedule, stage: Stage, axis: Axis, whole: Stage | None = None) -> None:
    """End the loop of a leaf before a round that could not change the state any more.

    That is a state which the reducer calls absorbing: True of a disjunction; or any but the
    identity if the reducer keeps the first one, the index of the first true element.  It is tested
    before each round, so a loop over runs of elements is better to stop than one over elements.

    Before::

        for (k.outer: int32, 0, n) { for (k.inner: int32, 0, 64) { B[0] = B[0] || A[…] } }

    After ``stop(k.outer)``::

        for (k.outer: int32, 0, n) until B[0] {
          for (k.inner: int32, 0, 64) { B[0] = B[0] || A[…] }
        }

    With ``whole``, the stage that folds the parts which rfactor made of it, the loop also ends once
    any part of the same element is absorbing, whichever thread folds that part::

        for (p: int32, 0, 16) "parallel" {
          B.rf[p] = False
          for (k: int32, 0, n) until B.rf[p] || B.stop[0] { B.rf[p] = B.rf[p] || A[…] }
          if B.rf[p] { B.stop[0] = True }
        }

    What parts hold then depends on which thread was first; the whole does not.  Where the whole has
    one element, the loop over the parts may be stopped too: parts that were not begun are not read,
    and the first one is folded before threads start, as they need longer for that::

        for (p: int32, 0, 16) "parallel" until B.stop[0] { … }
        if B.stop[0] { B[0] = True } else { B[0] = B[0] || B.rf[0] … }

    A part whose reduce axes are not stopped tells the others when it is folded.

    Of a reducer that keeps the first state, earlier parts still count: parts tell which of them has
    one, later parts end, and the whole is folded up to that::

        for (p: int32, 0, 16) "parallel" until B.stop[0] < p { … }
        for (p.v: int32, 0, 16) until B[0] != 99 { B[0] = min(B[0], B.rf[p.v]) }

    Preconditions
    -------------
    1. ``axis`` is a leaf of the stage (S101, S102, S103).
    2. The stage is a reduction whose reducer has an absorbing state, or keeps the first (S311).
    3. If the reducer keeps the first state, later rounds are of later elements (S318): ``axis`` is
       the only reduce axis of the stage, not split, and what it folds are elements, or parts by the
       outer one of two axes; that of ``whole`` is such an axis, too.
    4. ``axis`` is made of reduce axes only, or of data axes only and the whole has one element
       (S312).
    5. It is neither vectorized, unrolled nor bound, and parallel only if it is a data axis (S313).
    6. ``whole`` folds what this stage computes, all of it and by the same reducer, and nothing else
       reads it (S314).
    7. With ``whole``, the stage is not computed inside another, and none of its axes is bound
       (S315): all parts are computed by threads that see each other's memory.
    8. Data loops inside the loop have constant extents, of at most 16 rounds together (S316): the
       loop ends once all these elements are absorbing.  With ``whole`` there are none.
    9. No threads fold a part of the element each, or compute anything together inside the loop
       (S317): they would leave it in different rounds.

    The last three are tested when the program is lowered too, as primitives called later may
    break them.
    """
    leaf_position(stage, axis, "stop")
    where = f"stop of axis {axis.name!r} of stage {stage.name!r}"
    reduction = stage.reduction
    if reduction is None or not (reduction.combiner.absorbing or reduction.combiner.keeps_first):
        what = "it is no reduction" if reduction is None else "its reducer has no absorbing state"
        raise ScheduleError(
            f"{where}: {what}.",
            code="S311",
            hint="Tell the state that no other changes: te.comm_reducer(…, absorbing=lambda t: …).",
        )
    if stage.touches(axis, "data") and not _numbers_parts(stage, axis, whole):
        raise ScheduleError(
            f"{where}: it is made of a data axis, whose rounds fold different elements.",
            code="S312",
            hint="Stop a reduce axis.",
        )
    if stage.touches(axis, "reduce") or stage.loop_kinds.get(axis) != "parallel":
        check_serial(stage, axis, "stop", "S313", "Split it first, and stop the outer part.")
    if whole is not None:
        parts_of(schedule, stage, whole)
        check_shared(stage, whole)
    check_in_order(stage, axis, whole)
    stage.stops[axis] = whole
    if whole is not None and not reduction.combiner.absorbing and stage.touches(axis, "data"):
        whole.stops.setdefault(whole.op.reduce_axis[0], None)  # parts behind it are not computed


def check_in_order(stage: Stage, axis: Axis, whole: Stage | None) -> None:
    """Refuse rounds that may be of earlier elements than those before, where that counts.

    Raises
    ------
    ScheduleError
        ``S318``: always that.
    """
    reduction = stage.reduction
    if reduction is None or reduction.combiner.absorbing:
        return
    if not all(map(_folds_in_order, [stage] if whole is None else [stage, whole])):
        raise ScheduleError(
            f"stop of axis {axis.name!r} of stage {stage.name!r}: the first state counts, and "
            "there are parts, several reduce axes, or one that is split, so that elements may be "
            "out of order.",
            code="S318",
            hint="Stop the one reduce axis of a stage; rfactor gives the parts of a split one a "
            "stage of their own.",
        )


def _folds_in_order(stage: Stage) -> bool:
    """Return whether the one reduce axis of a stage goes over the elements in their order."""
    axis, *others = stage.op.reduce_axis
    return stage.is_in_order and axis in stage.leaf_axes and not others


def _numbers_parts(stage: Stage, axis: Axis, whole: Stage | None) -> bool:
    """Return whether the rounds of a data axis are parts of one element."""
    if whole is None or stage.touches(axis, "reduce"):
        return False
    return all(build.is_const(a.extent, 1) for a in whole.op.axis)


def parts_of(schedule: Schedule, stage: Stage, whole: Stage) -> tuple[int, ...]:
    """Return which data axis of a stage of parts is which of the whole's.

    Raises
    ------
    ScheduleError
        ``S314``: the whole is no fold of these parts alone.
    """
    positions = _positions(stage, whole)
    if positions is None or stage.is_output or consumers(schedule, stage) != [whole]:
        raise ScheduleError(
            f"stop of stage {stage.name!r}: {whole.name!r} does not fold its elements, all of them "
            "and by the same reducer, or something else reads them.",
            code="S314",
            hint="Give the stage that rfactor was called for.",
        )
    return positions


def _positions(stage: Stage, whole: Stage) -> tuple[int, ...] | None:
    own, reduction = stage.reduction, whole.reduction
    if own is None or reduction is None or reduction.combiner != own.combiner:
        return None
    if not build.is_const(reduction.condition, True) or reduction.absorb:
        return None
    read = _read(reduction, stage)
    if read is None:
        return None
    places = [axis.var for axis in whole.op.axis]
    folded = {axis.var for axis in whole.op.reduce_axis}
    if len(set(read)) != len(read) or not set(read) <= {*places, *folded}:
        return None
    return tuple(read.index(v) for v in places) if set(places) <= set(read) else None


def _read(reduction: Reduce, stage: Stage) -> list[Var] | None:
    """Return the variables by which a reduction reads all that a stage computes."""
    indices: list[Var] | None = None
    for number, source in enumerate(reduction.source):
        if not isinstance(source, TensorLoad) or source.tensor.value_index != number:
            return None
        if source.tensor.op not in (stage.op, stage.origin_op):
            return None
        here = [i for i in source.indices if isinstance(i, Var)]
        if len(here) != len(source.indices) or indices not in (None, here):
            return None
        indices = here
    return indices


def check_shared(stage: Stage, whole: Stage) -> None:
    """Refuse parts that are not computed by threads of a CPU, all at once.

    Raises
    ------
    ScheduleError
        ``S315``: the stage is computed inside another one, or an axis of it is bound.
    """
    if stage.attachment is None and not stage.bindings:
        return
    how = "its axes are bound to threads of a GPU"
    if stage.attachment is not None:
        how = f"it is computed inside {stage.attachment.stage.name!r}"
    raise ScheduleError(
        f"stop of stage {stage.name!r} with the whole {whole.name!r}: {how}, so that its parts "
        "cannot tell each other.",
        code="S315",
        hint="Leave the whole out: each part then stops by itself.",
    )
