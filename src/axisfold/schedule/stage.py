# SPDX-License-Identifier: Apache-2.0
"""A stage: one operation with its leaf axes, loop relations and place in the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.buffer import Scope
from axisfold.ir.expr import Expr, Var
from axisfold.ir.stmt import LoopKind
from axisfold.tensor.axis import Axis, AxisKind, ThreadAxis
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import Operation

if TYPE_CHECKING:
    from axisfold.schedule.schedule import Schedule


# Most rounds of a loop of a kind that writes its rounds side by side or one after the other.
MAX_ROUNDS: Final = {"vectorized": 256, "unrolled": 1024}


def has_rounds_for(kind: str, extent: Expr) -> bool:
    """Return whether a loop of this extent can be of a kind."""
    rounds = build.as_int(extent)
    return kind not in MAX_ROUNDS or (rounds is not None and rounds <= MAX_ROUNDS[kind])


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """``parent = outer * extent(inner) + inner``; exactly one of factor and nparts is set."""

    parent: Axis
    outer: Axis
    inner: Axis
    factor: Expr | None
    nparts: Expr | None

    @property
    def parents(self) -> tuple[Axis, ...]:
        """The axes that it replaced."""
        return (self.parent,)

    @property
    def children(self) -> tuple[Axis, ...]:
        """The axes that it made."""
        return (self.outer, self.inner)


@dataclass(frozen=True, slots=True, eq=False)
class Fuse:
    """``outer = fused // extent(inner)`` and ``inner = fused % extent(inner)``."""

    outer: Axis
    inner: Axis
    fused: Axis

    @property
    def parents(self) -> tuple[Axis, ...]:
        """The axes that it replaced."""
        return (self.outer, self.inner)

    @property
    def children(self) -> tuple[Axis, ...]:
        """The axes that it made."""
        return (self.fused,)


@dataclass(frozen=True, slots=True, eq=False)
class Singleton:
    """A loop of one round that stands for no axis: a place to attach to or to bind."""

    axis: Axis

    @property
    def parents(self) -> tuple[Axis, ...]:
        """The axes that it replaced: none."""
        return ()

    @property
    def children(self) -> tuple[Axis, ...]:
        """The axes that it made."""
        return (self.axis,)


Relation: TypeAlias = Split | Fuse | Singleton


@dataclass(frozen=True, slots=True, eq=False)
class Attachment:
    """A stage is computed inside the loop of ``axis`` of ``stage``."""

    stage: Stage
    axis: Axis


class Stage:
    """How one operation is computed.

    Attributes
    ----------
    op
        The operation; ``rfactor`` replaces it.
    origin_op
        The operation that the stage was made for; tensors of it still name the stage.
    leaf_axes
        The loops, outermost first.
    relations
        The splits and fuses that made leaves out of the operation's axes, oldest first.
    loop_kinds
        Leaves that are vectorized, unrolled or parallel; the others are serial.
    attachment
        Where it is computed, None for the top level.
    is_output
        Whether the caller sees its tensors.
    is_inlined
        Whether consumers compute its value themselves.
    scope
        Memory of its tensors; None where it follows from the attachment.
    store_predicate
        Condition under which results are stored.
    alignments
        For data axes of the operation: (factor, offset) of their stride in memory.
    is_double_buffered
        Whether its tensors are to be kept twice.
    pragmas
        Hints by leaf and kind.
    bindings
        Leaves whose rounds are threads or blocks.
    is_in_order
        Whether later parts, where it folds parts that rfactor made, are of later elements only.
    stops
        Leaves whose loops end once the state is absorbing, with the stage that folds the parts of
        which this is one, if any of them ends the loops of all.
    is_last_block
        Whether the last block folds what the blocks left, where reduce axes are bound to blocks.
    last_block_of
        The stage whose last block to finish computes this one, in its launch.
    """

    def __init__(self, schedule: Schedule, op: Operation, *, is_output: bool = False) -> None:
        self.schedule = schedule
        self.origin_op = op
        self.is_output = is_output
        self.attachment: Attachment | None = None
        self.is_inlined = False
        self.scope: Scope | None = None
        self.is_double_buffered = False
        self.is_last_block = False
        self.is_in_order = True
        self.last_block_of: Stage | None = None
        self.reset(op)

    def reset(self, op: Operation) -> None:
        """Start again from ``op`` with its own axes as leaves."""
        self.op = op
        self.leaf_axes: list[Axis] = [*op.axis, *op.reduce_axis]
        self.relations: list[Relation] = []
        self.loop_kinds: dict[Axis, LoopKind] = {}
        self.store_predicate: Expr | None = None
        self.alignments: dict[Axis, tuple[int, int]] = {}
        self.pragmas: dict[Axis, dict[str, int | str]] = {}
        self.bindings: dict[Axis, ThreadAxis] = {}
        self.stops: dict[Axis, Stage | None] = {}

    @property
    def name(self) -> str:
        """Name of the operation."""
        return self.op.name

    @property
    def all_axes(self) -> list[Axis]:
        """The operation's axes and all that were made from them."""
        derived = [a for r in self.relations for a in r.children]
        return [*self.op.axis, *self.op.reduce_axis, *derived]

    def roots_of(self, axis: Axis) -> tuple[Axis, ...]:
        """Return the axes of the operation that ``axis`` was made from, or is."""
        found = {axis: None}
        for relation in reversed(self.relations):
            if any(child in found for child in relation.children):
                for child in relation.children:
                    found.pop(child, None)
                found.update(dict.fromkeys(relation.parents))
        return tuple(a for a in (*self.op.axis, *self.op.reduce_axis) if a in found)

    def touches(self, axis: Axis, kind: AxisKind) -> bool:
        """Return whether ``axis`` was made from an axis of a kind."""
        return any(root.kind == kind for root in self.roots_of(axis))

    def loop_var(self, leaf: Axis) -> Var:
        """Return the variable that counts the rounds of a leaf."""
        return self.bindings[leaf].var if leaf in self.bindings else leaf.var

    @property
    def is_cross_thread(self) -> bool:
        """Whether threads fold parts of one element of the result."""
        return any(self.touches(leaf, "reduce") for leaf in self.bindings)

    def loop_kind(self, leaf: Axis, extent: Expr) -> LoopKind:
        """Return how the loop of a leaf runs, given the extent that it has in the program."""
        kind = self.loop_kinds.get(leaf, "serial")
        return kind if has_rounds_for(kind, extent) else "serial"

    @property
    def is_streamed(self) -> bool:
        """Whether results are written past the caches."""
        return any(hints.get("stream") for hints in self.pragmas.values())

    @property
    def repeated_axes(self) -> tuple[Axis, ...]:
        """Axes of a tile that computes its last index again where it reaches over the edge."""
        if self.attachment is None or self.is_output:
            return ()
        return tuple(a for a in self.op.axis if self.pragmas.get(a, {}).get("repeat_edge"))

    @property
    def shifted_axes(self) -> dict[Axis, int]:
        """Axes by groups of indices, of which the last one begins early, and how many these are."""
        hints = ((a, self.pragmas.get(a, {}).get("shift_inwards")) for a in self.op.axis)
        return {axis: size for axis, size in hints if isinstance(size, int) and size > 1}

    def places(self, axis: Axis) -> Expr:
        """Return how many places a data axis has: its extent, or that of whole groups."""
        size = self.shifted_axes.get(axis)
        return axis.extent if size is None else build.ceildiv(axis.extent, size) * size

    @property
    def leaf_iter_vars(self) -> list[Axis]:
        """The leaves under their name in te."""
        return self.leaf_axes

    @property
    def all_iter_vars(self) -> list[Axis]:
        """All axes under their name in te."""
        return self.all_axes

    @property
    def reduction(self) -> Reduce | None:
        """The first component of the reduction that the operation computes, if it is one."""
        first = next(iter(self.op.body), None)
        return first if isinstance(first, Reduce) else None

    def __repr__(self) -> str:
        return f"Stage({self.name}, leaves {[a.name for a in self.leaf_axes]})"

    def split(self, parent: Axis, factor: Any = None, nparts: Any = None) -> tuple[Axis, Axis]:
        """Split a leaf in two; see :func:`axisfold.schedule.primitives.split.split`."""
        return self.schedule.apply("split", self, parent, factor=factor, nparts=nparts)  # type: ignore[no-any-return]

    def fuse(self, *axes: Axis) -> Axis:
        """Make one loop of neighbours; see :func:`axisfold.schedule.primitives.fuse.fuse`."""
        return self.schedule.apply("fuse", self, *axes)  # type: ignore[no-any-return]

    def tile(self, x: Axis, y: Axis, x_factor: Any, y_factor: Any) -> tuple[Axis, ...]:
        """Split two leaves and put the inner parts inside; see the primitive ``tile``."""
        return self.schedule.apply("tile", self, x, y, x_factor, y_factor)  # type: ignore[no-any-return]

    def reorder(self, *axes: Axis) -> None:
        """Permute leaves; see :func:`axisfold.schedule.primitives.reorder.reorder`."""
        self.schedule.apply("reorder", self, *axes)

    def vectorize(self, axis: Axis) -> None:
        """Run a leaf as one vector operation; see the primitive ``vectorize``."""
        self.schedule.apply("vectorize", self, axis)

    def unroll(self, axis: Axis) -> None:
        """Write a leaf's rounds out; see the primitive ``unroll``."""
        self.schedule.apply("unroll", self, axis)

    def parallel(self, axis: Axis) -> None:
        """Share a leaf's rounds among threads; see the primitive ``parallel``."""
        self.schedule.apply("parallel", self, axis)

    def stop(self, axis: Axis, whole: Stage | None = None) -> None:
        """End a leaf's loop once the state is absorbing; see the primitive ``stop``."""
        self.schedule.apply("stop", self, axis, whole)

    def compute_at(self, parent: Stage, axis: Axis) -> None:
        """Compute inside a loop of a consumer; see the primitive ``compute_at``."""
        self.schedule.apply("compute_at", self, parent, axis)

    def compute_inline(self) -> None:
        """Let consumers compute the value; see the primitive ``compute_inline``."""
        self.schedule.apply("compute_inline", self)

    def compute_root(self) -> None:
        """Compute at the top level; see the primitive ``compute_root``."""
        self.schedule.apply("compute_root", self)

    def set_scope(self, scope: str) -> None:
        """Choose the memory of the tensors; see the primitive ``set_scope``."""
        self.schedule.apply("set_scope", self, scope)

    def set_store_predicate(self, predicate: Any) -> None:
        """Store under a condition; see the primitive ``set_store_predicate``."""
        self.schedule.apply("set_store_predicate", self, predicate)

    def storage_align(self, axis: Axis, factor: int, offset: int) -> None:
        """Pad the tensors' rows; see the primitive ``storage_align``."""
        self.schedule.apply("storage_align", self, axis, factor, offset)

    def double_buffer(self) -> None:
        """Keep the tensors twice where that helps; see the primitive ``double_buffer``."""
        self.schedule.apply("double_buffer", self)

    def pragma(self, axis: Axis, kind: str, value: Any = None) -> None:
        """Attach a hint to a leaf; see the primitive ``pragma``."""
        self.schedule.apply("pragma", self, axis, kind, value)

    def bind(self, axis: Axis, thread: ThreadAxis) -> None:
        """Let threads take the rounds of a leaf; see the primitive ``bind``."""
        self.schedule.apply("bind", self, axis, thread)

    def last_block(self, producer: Stage | None = None) -> None:
        """Finish a fold over blocks in one launch; see the primitive ``last_block``."""
        self.schedule.apply("last_block", self, producer)

    def tensorize(self, *_: Any) -> NoReturn:
        """Refuse.

        Raises
        ------
        UnsupportedError
            ``X113``: always.
        """
        raise _out_of_scope("tensorize")

    def prefetch(self, *_: Any) -> NoReturn:
        """Refuse; see :meth:`tensorize`."""
        raise _out_of_scope("prefetch")

    def rolling_buffer(self, *_: Any) -> NoReturn:
        """Refuse; see :meth:`tensorize`."""
        raise _out_of_scope("rolling_buffer")

    def transform_layout(self, *_: Any) -> NoReturn:
        """Refuse; see :meth:`tensorize`."""
        raise _out_of_scope("transform_layout")


def _out_of_scope(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} is not one of axisfold's schedule primitives.",
        code="X113",
        hint="Remove the call; what it computes stays the same.",
    )
