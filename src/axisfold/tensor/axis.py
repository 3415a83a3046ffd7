# SPDX-License-Identifier: Apache-2.0
"""Axes: the loops that a computation asks for, before any schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from axisfold.dtypes import INT32, INT64
from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Const, Expr, Var, refuse_number
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

    @property
    def dom(self) -> Axis:
        """What has ``min`` and ``extent``: te scripts write ``axis.dom.extent``."""
        return self

    def __axisfold_expr__(self) -> Expr:
        return self.var

    def __eq__(self, other: object) -> bool:
        refuse_number(other)
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Axis({self.name}, {self.kind})"


def as_index(value: Any) -> Expr | None:
    """Return an integer as an int32 or int64 expression, or None if it is none.

    These two are the dtypes of extents and indices: all index arithmetic is signed, and a NumPy
    integer of another dtype is taken for the number that it is.
    """
    if isinstance(value, float):
        return None
    expr = build.as_expr(value)
    if isinstance(expr, Const) and expr.dtype.is_integer and expr.dtype not in (INT32, INT64):
        expr = build.as_expr(int(expr.value))
    return expr if expr.dtype in (INT32, INT64) else None


def _range_end(value: Any) -> Expr:
    expr = as_index(value)
    if expr is None:
        raise ExpressionError(f"the range end {value!r} is neither int32 nor int64.", code="E242")
    return expr


def make_axis(name: str, low: Expr, extent: Expr, kind: AxisKind) -> Axis:
    """Return an axis whose variable has the dtype of its extent."""
    return Axis(AxisVar(name, extent.dtype), build.cast(extent.dtype, low), extent, kind)


def reduce_axis(dom: tuple[Any, Any], name: str = "rv") -> Axis:
    """Return an axis to be folded over the half-open range ``dom = (low, high)``.

    Either end may read other axes (triangular bounds) and need not be constant.

    Raises
    ------
    ExpressionError
        ``E241``: ``dom`` is not a pair; ``E242``: an end is no int32 or int64; ``E243``: the
        range ends before it begins.
    """
    ends: Any = dom
    if not isinstance(ends, (tuple, list)) or len(ends) != 2:
        raise ExpressionError(
            f"reduce_axis needs a half-open range (low, high), not {dom!r}.",
            code="E241",
            hint="Write te.reduce_axis((0, n)).",
        )
    low, high = build.match_pair(_range_end(dom[0]), _range_end(dom[1]))
    if isinstance(low, Const) and isinstance(high, Const) and high.value < low.value:
        raise ExpressionError(
            f"the range ({low.value}, {high.value}) ends before it begins.", code="E243"
        )
    return make_axis(name, low, high - low, "reduce")


@dataclass(frozen=True, slots=True, eq=False)
class ThreadAxis(Operators):
    """A hardware index that loops can be bound to; stands for its variable in expressions.

    Parameters
    ----------
    var
        The variable, named after the tag unless a name was given.
    tag
        ``blockIdx.x`` … ``threadIdx.z``, or ``clusterCtaIdx.x`` … for the blocks of a cluster.
    extent
        Declared number of values, or None for that of the loops bound to it.
    """

    var: Var
    tag: str
    extent: Expr | None = None

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.var.name

    @property
    def is_block(self) -> bool:
        """Whether it numbers blocks, or clusters of them, rather than parts of one."""
        return self.tag.startswith("blockIdx")

    @property
    def is_thread(self) -> bool:
        """Whether it numbers threads of a block."""
        return self.tag.startswith("threadIdx")

    def __axisfold_expr__(self) -> Expr:
        return self.var

    def __eq__(self, other: object) -> bool:
        refuse_number(other)
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"ThreadAxis({self.tag})"


THREAD_TAGS: Final = tuple(
    f"{unit}.{axis}" for unit in ("blockIdx", "clusterCtaIdx", "threadIdx") for axis in "xyz"
)


def thread_axis(dom: Any = None, tag: str = "", name: str = "") -> ThreadAxis:
    """Return a hardware index.

    Parameters
    ----------
    dom
        None, an extent, a range ``(0, extent)``; or the tag, as in ``thread_axis("threadIdx.x")``.
    tag
        ``blockIdx.{x,y,z}``, ``threadIdx.{x,y,z}``, or ``clusterCtaIdx.{x,y,z}``: the block
        within its cluster; ``blockIdx`` then counts clusters.
    name
        Name of the variable, by default the tag.

    Raises
    ------
    ExpressionError
        ``E251``: unknown tag; ``E252``: ``dom`` is no range that starts at 0.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if tag not in THREAD_TAGS:
        raise ExpressionError(
            f"thread_axis: there is no tag {tag!r}.",
            code="E251",
            hint=f"Use one of {', '.join(THREAD_TAGS)}.",
        )
    if dom is None:
        return ThreadAxis(Var(name or tag), tag)
    pair = dom if isinstance(dom, (tuple, list)) else (0, dom)
    low, high = (as_index(end) for end in pair) if len(pair) == 2 else (None, None)
    if low is None or high is None or not build.is_const(low, 0):
        raise ExpressionError(f"thread_axis {tag}: {dom!r} is no range (0, extent).", code="E252")
    return ThreadAxis(Var(name or tag, high.dtype), tag, high)
