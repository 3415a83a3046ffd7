# SPDX-License-Identifier: Apache-2.0
"""Values of index expressions where those of their variables are known."""

from __future__ import annotations

from collections.abc import Mapping

from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.expr import Binary, Broadcast, Cast, Const, Expr, Ramp, Var
from axisfold.ir.walk import post_order


def evaluate(root: Expr, values: Mapping[Var, int]) -> int:
    """Return the value of an integer expression of extents, in Python's unbounded integers.

    The machine code computes it in int64, whatever the dtype that te declared.
    """
    done: dict[int, int] = {}
    for node in post_order(root):
        match node:
            case Var():
                done[id(node)] = values[node]
            case Const():
                done[id(node)] = int(node.value)
            case Binary():
                done[id(node)] = build.fold_integers(node.op, done[id(node.a)], done[id(node.b)])
            case Cast():
                done[id(node)] = done[id(node.value)]
            case _:
                raise InternalError(f"{type(node).__name__} in an extent", code="I202")
    return done[id(root)]


def constant_lanes(root: Expr) -> tuple[int, ...] | None:
    """Return the value of each lane of an integer vector, None if it depends on variables."""
    done: dict[int, tuple[int, ...]] = {}
    for node in post_order(root):
        match node:
            case Const():
                values: tuple[int, ...] = (int(node.value),)
            case Ramp():
                (base,), (stride,) = done[id(node.base)], done[id(node.stride)]
                values = tuple(base + i * stride for i in range(node.lanes))
            case Broadcast():
                values = done[id(node.value)] * node.lanes
            case Binary():
                pairs = zip(done[id(node.a)], done[id(node.b)], strict=True)
                values = tuple(build.fold_integers(node.op, a, b) for a, b in pairs)
            case _:
                return None
        done[id(node)] = values
    return done[id(root)]
