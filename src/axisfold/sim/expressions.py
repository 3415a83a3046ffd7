# SPDX-License-Identifier: Apache-2.0
"""Values of expressions, for all active lanes at once.

A scalar has shape (n,) for n active lanes, a vector (n, width); an axis of 1 stands for a value
that is the same along it.  Loads are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from axisfold.dtypes import wrap
from axisfold.errors import InternalError
from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    IfThenElse,
    Load,
    Node,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.sim import arithmetic
from axisfold.sim.grid import Ints

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Lanes:
    """The active lanes of a batch, ascending.

    Attributes
    ----------
    ids
        Their places.
    is_all
        Whether these are all lanes.
    guard
        Within a vector the places, of each active lane, whose value is wanted; None for all.
    """

    ids: Ints
    is_all: bool
    guard: Array | None = None

    def where(self, flags: Array) -> Lanes:
        """Return the lanes for which a flag of each lane holds."""
        if flags.all():
            return self
        guard = self.guard if self.guard is None or len(self.guard) == 1 else self.guard[flags]
        return Lanes(self.ids[flags], False, guard)

    def guarded(self, flags: Array) -> Lanes:
        """Narrow the places of vectors that are wanted."""
        return Lanes(self.ids, self.is_all, flags if self.guard is None else self.guard & flags)


LoadRule = Callable[[Load, Array, Array | None, Lanes], Array]


class Expressions:
    """Evaluates expressions.

    Parameters
    ----------
    scalars
        Values that the host knows.
    count
        Number of lanes of the batch.
    load
        What a load does, given its index and mask.
    """

    def __init__(self, scalars: Mapping[Var, int], count: int, load: LoadRule) -> None:
        self.count, self.load = count, load
        self.scalars = scalars
        self.variables: dict[Var, Array] = {}
        self.constants: dict[int, Array] = {}

    def bind(self, var: Var, value: Array, lanes: Lanes) -> None:
        """Give a variable its value in the active lanes."""
        self.variables[var] = self.spread(value, lanes)

    def spread(self, value: Array, lanes: Lanes) -> Array:
        """Return a value of active lanes as one of all lanes; the others are undefined."""
        if len(value) == 1 or lanes.is_all:
            return value
        full = np.empty((self.count, *value.shape[1:]), value.dtype)
        full[lanes.ids] = value
        return full

    def value(self, root: Node, lanes: Lanes) -> Array:
        """Return the value of an expression; a node that occurs twice is computed once."""
        done: dict[int, Array] = {}
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, expanded = stack.pop()
            if id(node) in done:
                continue
            needs = (node.condition,) if isinstance(node, IfThenElse) else node.children()
            if expanded or not needs:
                done[id(node)] = self._node(node, [done[id(part)] for part in needs], lanes)
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(needs))
        return done[id(root)]

    def _node(self, node: Node, parts: list[Array], lanes: Lanes) -> Array:
        match node:
            case Var():
                return self._variable(node, lanes)
            case Const():
                return self._constant(node)
            case Cast():
                return arithmetic.cast(parts[0], node.value.dtype.element, node.dtype.element)
            case Binary():
                return arithmetic.binary(node.op, parts[0], parts[1], node.dtype.element)
            case Compare():
                return arithmetic.compare(node.op, parts[0], parts[1], node.a.dtype.element)
            case Not():
                return arithmetic.logical_not(parts[0])
            case Select():
                return arithmetic.select(parts[0], parts[1], parts[2])
            case IfThenElse():
                return self._choice(node, parts[0], lanes)
            case Call():
                return arithmetic.call(node.name, parts, node.args[0].dtype.element)
            case Load():
                return self.load(node, parts[0], parts[1] if len(parts) > 1 else None, lanes)
            case Ramp():
                steps = np.arange(node.lanes).astype(node.base.dtype.stored)
                ramp: Array = parts[0][:, None] + parts[1][:, None] * steps
                return ramp
            case Broadcast():
                return parts[0][:, None]
            case _:
                raise InternalError(f"{type(node).__name__} has no value in a thread", code="I301")

    def _variable(self, var: Var, lanes: Lanes) -> Array:
        value = self.variables.get(var)
        if value is None:
            number = self.scalars[var]
            value = np.array([wrap(number, var.dtype)]).astype(var.dtype.stored)
            self.variables[var] = value
        return value if lanes.is_all or len(value) == 1 else value[lanes.ids]

    def _constant(self, node: Const) -> Array:
        value = self.constants.get(id(node))
        if value is None:
            value = self.constants[id(node)] = arithmetic.constant(node.value, node.dtype)
        return value

    def _choice(self, node: IfThenElse, flags: Array, lanes: Lanes) -> Array:
        """Evaluate each side only where it is chosen."""
        if flags.all():
            return self.value(node.true_value, lanes)
        if not flags.any():
            return self.value(node.false_value, lanes)
        sides = ((node.true_value, flags), (node.false_value, ~flags))
        if flags.ndim == 1:
            result = np.empty((len(flags), *self._tail(node)), node.dtype.stored)
            for side, chosen in sides:
                result[chosen] = self.value(side, lanes.where(chosen))
            return result
        full = (len(lanes.ids), node.dtype.lanes)
        result = np.empty(full, node.dtype.stored)
        for side, chosen in sides:
            here = np.broadcast_to(chosen, full)
            rows = np.asarray(here.any(axis=1))
            value = self.value(side, lanes.guarded(here).where(rows))
            value = np.broadcast_to(value, (int(rows.sum()), full[1]))
            result[here] = value[here[rows]]
        return result

    @staticmethod
    def _tail(node: IfThenElse) -> tuple[int, ...]:
        return () if node.dtype.lanes == 1 else (node.dtype.lanes,)
