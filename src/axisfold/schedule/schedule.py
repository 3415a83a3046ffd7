# SPDX-License-Identifier: Apache-2.0
"""A schedule: the stages of a te graph, and the primitives applied to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from axisfold.errors import ScheduleError
from axisfold.schedule.primitives.bind import bind
from axisfold.schedule.primitives.cache_read import cache_read
from axisfold.schedule.primitives.cache_write import cache_write
from axisfold.schedule.primitives.compute_at import compute_at
from axisfold.schedule.primitives.compute_inline import compute_inline
from axisfold.schedule.primitives.compute_root import compute_root
from axisfold.schedule.primitives.create_group import Group, create_group
from axisfold.schedule.primitives.double_buffer import double_buffer
from axisfold.schedule.primitives.fuse import fuse
from axisfold.schedule.primitives.last_block import last_block
from axisfold.schedule.primitives.parallel import parallel
from axisfold.schedule.primitives.pragma import pragma
from axisfold.schedule.primitives.reorder import reorder
from axisfold.schedule.primitives.rfactor import rfactor
from axisfold.schedule.primitives.set_scope import set_scope
from axisfold.schedule.primitives.set_store_predicate import set_store_predicate
from axisfold.schedule.primitives.split import split
from axisfold.schedule.primitives.stop import stop
from axisfold.schedule.primitives.storage_align import storage_align
from axisfold.schedule.primitives.tile import tile
from axisfold.schedule.primitives.unroll import unroll
from axisfold.schedule.primitives.vectorize import vectorize
from axisfold.schedule.serialize import loaded
from axisfold.schedule.stage import Stage
from axisfold.schedule.steps import Step, axis_places, recorded
from axisfold.schedule.trace import Trace
from axisfold.tensor.axis import Axis
from axisfold.tensor.compute import ComputeOp
from axisfold.tensor.tensor import Operation, Tensor

PRIMITIVES: Final[dict[str, Callable[..., Any]]] = {
    "split": split,
    "fuse": fuse,
    "tile": tile,
    "reorder": reorder,
    "rfactor": rfactor,
    "vectorize": vectorize,
    "unroll": unroll,
    "parallel": parallel,
    "bind": bind,
    "cache_read": cache_read,
    "cache_write": cache_write,
    "compute_at": compute_at,
    "compute_inline": compute_inline,
    "compute_root": compute_root,
    "double_buffer": double_buffer,
    "last_block": last_block,
    "pragma": pragma,
    "set_scope": set_scope,
    "set_store_predicate": set_store_predicate,
    "stop": stop,
    "storage_align": storage_align,
}


class Schedule:
    """The stages of a graph, producers first.

    Attributes
    ----------
    stages
        One for each operation.
    outputs
        The operations that the caller asked for.
    trace
        Every primitive applied so far.
    """

    def __init__(self, outputs: Sequence[Operation]) -> None:
        self.outputs = tuple(outputs)
        self.stages = [
            Stage(self, op, is_output=op in self.outputs) for op in _producers_first(self.outputs)
        ]
        self.trace = Trace(tuple(s.op for s in self.stages), self.outputs)

    @classmethod
    def from_json(cls, text: str) -> Schedule:
        """Return the schedule that ``s.trace.to_json()`` wrote, over new tensors.

        ``trace.args`` are its inputs and outputs, in the order of those of the first schedule.

        Raises
        ------
        ScheduleError
            ``S281``: the text is no schedule; ``S282``: of an unknown version; ``S283``: a part
            is missing or wrong.
        """
        return loaded(text, create_schedule, tuple(PRIMITIVES))

    def __getitem__(self, key: Tensor | Operation) -> Stage:
        """Return the stage of a tensor or operation, also after rfactor replaced its operation.

        Raises
        ------
        ScheduleError
            ``S001``: ``key`` is no tensor; ``S002``: it is not part of this schedule.
        """
        if not isinstance(key, (Tensor, Operation)):
            raise ScheduleError(f"s[{key!r}]: not a tensor or operation.", code="S001")
        op = key.op if isinstance(key, Tensor) else key
        for stage in self.stages:
            if stage.op is op or stage.origin_op is op:
                return stage
        raise ScheduleError(
            f"{op.name!r} is no stage of this schedule.",
            code="S002",
            hint=f"Its stages are {[s.name for s in self.stages]}.",
        )

    def rfactor(
        self,
        tensor: Tensor | tuple[Tensor, ...],
        axis: Axis,
        factor_axis: int = 0,
        *,
        negative_zero: bool = False,
    ) -> Any:
        """Factor a reduction; see :func:`axisfold.schedule.primitives.rfactor.rfactor`."""
        first = tensor[0] if isinstance(tensor, tuple) else tensor
        more = {"negative_zero": True} if negative_zero else {}
        return self.apply("rfactor", self[first], axis, factor_axis=factor_axis, **more)

    def cache_read(self, tensor: Tensor, scope: str, readers: Any) -> Tensor:
        """Let consumers read a copy; see the primitive ``cache_read``."""
        return self.apply("cache_read", self[tensor], tensor, scope, readers)  # type: ignore[no-any-return]

    def cache_write(self, tensor: Any, scope: str) -> Any:
        """Compute elsewhere and copy into place; see the primitive ``cache_write``."""
        if isinstance(tensor, (tuple, list)) and not tensor:
            raise ScheduleError("cache_write was given no tensor.", code="S262")
        first = tensor[0] if isinstance(tensor, (tuple, list)) else tensor
        return self.apply("cache_write", self[first], tensor, scope)

    def create_group(self, outputs: Any, inputs: Any, include_inputs: bool = False) -> Group:
        """Return stages to attach together; see the primitive ``create_group``."""
        return create_group(self, outputs, inputs, include_inputs)

    def normalize(self) -> Schedule:
        """Return the schedule; te scripts call it, and there is nothing to do."""
        return self

    def apply(self, primitive: str, stage: Stage, *args: Any, **kwargs: Any) -> Any:
        """Run a primitive and record it; a refused one leaves schedule and trace unchanged."""
        named = {k: recorded(self, v) for k, v in kwargs.items() if v is not None}
        given = recorded(self, args), named
        places = axis_places(self, [*args, *kwargs.values()])
        result = PRIMITIVES[primitive](self, stage, *given[0], **given[1])
        self.trace.steps.append(Step(primitive, stage, *given, places, result))
        return result


def create_schedule(ops: Any) -> Schedule:
    """Return the default schedule of an operation or several, with everything they read.

    Raises
    ------
    ScheduleError
        ``S003``: there is no operation, or it is no computation.
    """
    given = list(ops) if isinstance(ops, (tuple, list)) else [ops]
    outputs = [item.op if isinstance(item, Tensor) else item for item in given]
    for op in outputs:
        if not isinstance(op, ComputeOp):
            shown = repr(op.name if isinstance(op, Operation) else op)
            raise ScheduleError(
                f"create_schedule needs computations, and {shown} is none.",
                code="S003",
                hint="Pass B.op of a tensor made by te.compute.",
            )
    if not outputs:
        raise ScheduleError("create_schedule needs at least one operation.", code="S003")
    return Schedule(list(dict.fromkeys(outputs)))


def _producers_first(outputs: Sequence[Operation]) -> list[Operation]:
    order: list[Operation] = []
    seen: set[int] = set()
    stack: list[tuple[Operation, bool]] = [(op, False) for op in reversed(outputs)]
    while stack:
        op, expanded = stack.pop()
        if expanded:
            order.append(op)
        elif id(op) not in seen:
            seen.add(id(op))
            stack.append((op, True))
            stack.extend((t.op, False) for t in reversed(op.input_tensors))
    return order
