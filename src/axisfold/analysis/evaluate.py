# SPDX-License-Identifier: Apache-2.0
"""Values of index expressions where those of their variables are known."""

from __future__ import annotations

from collections.abc import Mapping

from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.expr import Binary, Cast, Const, Expr, Var
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
