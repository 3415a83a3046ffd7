# SPDX-License-Identifier: Apache-2.0
"""One lane of a vector expression, for backends that write vectors as loops over their lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Expr,
    IfThenElse,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import Store
from axisfold.ir.walk import post_order


def lane_of(
    root: Expr,
    lane: Var,
    arrays: Mapping[Var, Buffer | Var],
    *,
    mask: Expr | None = None,
    fetched: Mapping[Load, Buffer] | None = None,
) -> Expr:
    """Return one lane of an expression, which is evaluated only where ``mask`` holds.

    Parameters
    ----------
    root
        A vector, or a scalar, which is the same in all lanes.
    lane
        The number of the lane.
    arrays
        Where the lanes of named vectors are; a variable is this lane of one.
    mask
        A vector of conditions that hold where the lane is evaluated.
    fetched
        Where the lanes of loads are that have been executed.
    """
    known = [] if mask is None else build.conjuncts(mask)
    done: dict[int, Expr] = {}
    for node in post_order(root):
        if isinstance(node, Expr):
            parts = [done[id(c)] for c in node.children()]
            if fetched and isinstance(node, Load) and node in fetched:
                done[id(node)] = Load(fetched[node], lane)
            else:
                done[id(node)] = _node(node, parts, lane, arrays, known)
    return done[id(root)]


def _node(
    node: Expr,
    parts: Sequence[Expr],
    lane: Var,
    arrays: Mapping[Var, Buffer | Var],
    known: Sequence[Expr],
) -> Expr:
    if node.dtype.lanes == 1:
        return node
    match node:
        case Var():
            held = arrays[node]
            return held if isinstance(held, Var) else Load(held, lane)
        case Ramp():
            step = build.binary("mul", build.cast(parts[1].dtype, lane), parts[1])
            return build.binary("add", parts[0], step)
        case Broadcast():
            return parts[0]
        case Cast():
            return build.cast(node.dtype.element, parts[0])
        case Binary():
            return Binary(node.op, parts[0], parts[1])
        case Compare():
            return Compare(node.op, parts[0], parts[1])
        case Not():
            return Not(parts[0])
        case Select() | IfThenElse():
            return type(node)(parts[0], parts[1], parts[2])
        case Call():
            return Call(node.name, tuple(parts), node.dtype.element)
        case Load():
            return _read(node, parts, known)
        case _:
            raise InternalError(f"{type(node).__name__} is no node of a device program")


def _read(node: Load, parts: Sequence[Expr], known: Sequence[Expr]) -> Expr:
    """Return a lane of a load, its mask tested unless that is known to hold."""
    read = Load(node.buffer, parts[0], None, node.align, node.cache)
    if node.mask is None or all(c in known for c in build.conjuncts(node.mask)):
        return read
    return IfThenElse(parts[1], read, build.const(False if read.dtype.is_bool else 0, read.dtype))


def lanes_are_separate(stmt: Store) -> bool:
    """Return whether no lane of a store reads what another lane writes.

    Buffers do not overlap, and elements of one buffer at the store's own index are the lane's own,
    as no output has two elements in one place.
    """
    own = isinstance(stmt.index, Ramp) and not build.is_const(stmt.index.stride, 0)
    parts = [stmt.value] if stmt.mask is None else [stmt.value, stmt.mask]
    return all(
        own and node.index == stmt.index
        for part in parts
        for node in post_order(part)
        if isinstance(node, Load) and node.buffer is stmt.buffer
    )
