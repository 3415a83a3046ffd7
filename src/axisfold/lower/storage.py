# SPDX-License-Identifier: Apache-2.0
"""Storage: the buffer of each tensor, and multi-index accesses as flat offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from axisfold.analysis.simplify import simplify
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Facts, Scope
from axisfold.ir.expr import Binary, Expr, Load, Var
from axisfold.ir.stmt import Store
from axisfold.schedule.stage import Stage
from axisfold.tensor.tensor import PlaceholderOp, Tensor


@dataclass(frozen=True, slots=True)
class Storage:
    """A buffer that holds the part of a tensor from index ``mins`` on."""

    buffer: Buffer
    mins: tuple[Expr, ...]

    def offset(self, indices: Sequence[Expr]) -> Expr:
        """Return the flat offset of an element, in the buffer's stride unit."""
        local = [_distance(i, m) for i, m in zip(indices, self.mins, strict=True)]
        if not self.buffer.is_compact:
            terms = [i * s for i, s in zip(local, self.buffer.strides, strict=True)]
            return _total(terms)
        offset: Expr = build.const(0)
        for position, (index, extent) in enumerate(zip(local, self.buffer.shape, strict=True)):
            offset = index if position == 0 else offset * extent + index
        return offset

    def load(self, indices: Sequence[Expr]) -> Expr:
        """Return a read of an element."""
        return Load(self.buffer, self.offset(indices))

    def store(self, indices: Sequence[Expr], value: Expr) -> Store:
        """Return a write of an element."""
        return Store(self.buffer, self.offset(indices), value)


def _distance(index: Expr, low: Expr) -> Expr:
    """Return how far an index is from the first one, which is not taken off where it was added."""
    if isinstance(index, Binary) and index.op == "add" and index.b is low:
        return index.a
    distance: Expr = index if build.is_const(low, 0) else index - low
    return distance


def _total(terms: Sequence[Expr]) -> Expr:
    total: Expr = build.const(0)
    for term in terms:
        total = total + term
    return total


def argument(
    tensor: Tensor, strides: tuple[Expr, ...] | None = None, promised: Facts | None = None
) -> Storage:
    """Return the storage of an argument.

    A placeholder's own strides count.  Otherwise a tensor has the strides given, in elements, ()
    for compact memory; by default any if an extent is variable, and compact memory if all are
    constants (or computed).  ``promised`` is what else is known of it.
    """
    op = tensor.op
    zeros = tuple(build.const(0, e.dtype) for e in tensor.shape)
    facts = promised or Facts(align=tensor.dtype.itemsize)
    if isinstance(op, PlaceholderOp) and op.facts is not None:
        facts = op.facts
    if isinstance(op, PlaceholderOp) and op.strides is not None:
        if op.facts is None and op.unit == "byte":
            facts = Facts(align=0)
        buffer = Buffer(tensor.name, tensor.dtype, tensor.shape, op.strides, op.unit, facts=facts)
        return Storage(buffer, zeros)
    if strides is None:
        is_variable = any(isinstance(extent, Var) for extent in tensor.shape)
        strides = tuple(Var("stride", e.dtype) for e in tensor.shape) if is_variable else ()
    return Storage(Buffer(tensor.name, tensor.dtype, tensor.shape, strides, facts=facts), zeros)


def any_argument(tensor: Tensor) -> Storage:
    """Return the storage of an argument about whose layout nothing is known."""
    zeros = tuple(build.const(0, e.dtype) for e in tensor.shape)
    strides = tuple(Var("stride", INT64) for _ in tensor.shape)
    buffer = Buffer(tensor.name, tensor.dtype, tensor.shape, strides, "byte", facts=Facts(align=0))
    return Storage(buffer, zeros)


def temporary(
    tensor: Tensor,
    stage: Stage,
    region: Sequence[tuple[Expr, Expr]],
    scope: Scope | None,
    padded: tuple[Expr, ...] = (),
) -> Storage:
    """Return storage for a region of an intermediate tensor.

    Where neither set_scope nor threads say it, small constant regions inside a loop are
    ``local``: in registers or on the stack; all others are ``global``, on the heap.
    """
    shape = tuple(extent for _, extent in region)
    strides = _aligned_strides(stage, shape) or padded
    facts = Facts(align=64)
    local = Buffer(tensor.name, tensor.dtype, shape, strides, scope="local", facts=facts)
    inferred: Scope = "local" if stage.attachment is not None and local.is_on_stack else "global"
    buffer = replace(local, scope=scope or inferred)
    return Storage(buffer, tuple(low for low, _ in region))


def _aligned_strides(stage: Stage, shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the strides that storage_align asks for; () for none."""
    if not stage.alignments:
        return ()
    strides: list[Expr] = []
    stride: Expr = build.const(1, shape[0].dtype)
    for axis, extent in zip(reversed(stage.op.axis), reversed(shape), strict=True):
        if axis in stage.alignments:
            factor, offset = stage.alignments[axis]
            missing = (offset - stride) % factor
            stride = simplify(stride + missing)
        strides.append(stride)
        stride = simplify(stride * extent)
    return tuple(reversed(strides))
