# SPDX-License-Identifier: Apache-2.0
"""Axes: the loops that a computation asks for, before any schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Const, Expr, Var
from axisfold.ir.operators import Operators

AxisKind = Literal["data", "reduce"]


class AxisVar(Var):
    """The variable of an axis; its class tells it from an extent or a stride."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, eq=False)
class Axis(Operators):
    """An iteration over ``[min, min + extent)``; stands for its variable in expressions.

    Parameters
    ----------
    var
        The variable that takes the values.
    min, extent
        First value and number of values.
    kind
        ``data``: an axis of the result; ``reduce``: folded.
    """

    var: AxisVar
    min: Expr
    extent: Expr
    kind: AxisKind

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.var.name

    def __axisfold_expr__(self) -> Expr:
        return self.var

    def __repr__(self) -> str:
        return f"Axis({self.name}, {self.kind})"


def make_axis(name: str, low: Expr, extent: Expr, kind: AxisKind) -> Axis:
    """Return an axis whose variable has the dtype of its extent."""
    return Axis(AxisVar(name, extent.dtype), build.cast(extent.dtype, low), extent, kind)


def reduce_axis(dom: tuple[Any, Any], name: str = "rv") -> Axis:
    """Return an axis to be folded over the half-open range ``dom = (low, high)``.

    Either end may read other axes (triangular bounds) and need not be constant.

    Raises
    ------
    ExpressionError
        ``E201``: ``dom`` is not a pair; ``E202``: an end is not an integer.
    """
    if not isinstance(dom, (tuple, list)) or len(dom) != 2:
        raise ExpressionError(
            f"reduce_axis needs a half-open range (low, high), not {dom!r}.",
            code="E201",
            hint="Write te.reduce_axis((0, n)).",
        )
    for end in dom:
        if isinstance(end, float) or not build.as_expr(end).dtype.is_integer:
            raise ExpressionError(f"the range end {end!r} is not an integer.", code="E202")
    low, high = build.match_pair(dom[0], dom[1])
    if isinstance(low, Const) and isinstance(high, Const) and high.value < low.value:
        raise ExpressionError(
            f"the range ({low.value}, {high.value}) ends before it begins.", code="E203"
        )
    return make_axis(name, low, high - low, "reduce")
