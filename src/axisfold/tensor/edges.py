# SPDX-License-Identifier: Apache-2.0
"""Edges: indices that provably lie outside the tensor that they read.

Memory is not checked at run time, so what can be known is refused when the computation is made:
indices that are linear in axes of known range, in places that are always evaluated.  Indices
that are themselves read from a tensor are the caller's responsibility.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from axisfold.analysis.affine import linear_form
from axisfold.errors import ExpressionError
from axisfold.ir import build
from axisfold.ir.expr import Expr, IfThenElse, Node, Var
from axisfold.tensor.axis import Axis
from axisfold.tensor.reduce import Reduce
from axisfold.tensor.tensor import TensorLoad

Ends = tuple[int | None, int | None]


def check_indices(name: str, axes: Sequence[Axis], body: Sequence[Expr]) -> None:
    """Refuse an index that lies outside its tensor for some round.

    Raises
    ------
    ExpressionError
        ``E225``: it does.
    """
    ranges: dict[Var, Ends] = {axis.var: _range(axis) for axis in axes}
    for root in body:
        for load in _always_evaluated(root):
            for position, (index, extent) in enumerate(
                zip(load.indices, load.tensor.shape, strict=True)
            ):
                low, high = _ends(index, ranges)
                size = build.as_int(extent)
                if (low is not None and low < 0) or (
                    high is not None and size is not None and high >= size
                ):
                    reached = low if low is not None and low < 0 else high
                    raise ExpressionError(
                        f"compute {name!r} reads index {reached} of axis {position} of tensor "
                        f"{load.tensor.name!r}, whose extent is {_text(extent)}.",
                        code="E225",
                        hint="Change the index or the shape, or guard it: te.if_then_else(…) does "
                        "not evaluate what it does not choose.",
                    )


def _text(extent: Expr) -> str:
    return str(build.as_int(extent)) if build.as_int(extent) is not None else str(extent)


def _range(axis: Axis) -> Ends:
    low, extent = build.as_int(axis.min), build.as_int(axis.extent)
    if extent == 0:
        return None, None
    return low, None if low is None or extent is None else low + extent - 1


def _always_evaluated(root: Expr) -> Iterator[TensorLoad]:
    """Yield the reads of an expression that no condition guards."""
    if isinstance(root, Reduce) and not build.is_const(root.condition, True):
        return
    waiting: list[Node] = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, TensorLoad):
            yield node
        waiting.extend([node.condition] if isinstance(node, IfThenElse) else node.children())


def _ends(index: Expr, ranges: Mapping[Var, Ends]) -> Ends:
    """Return the least and the largest value of an index, None where that is not known exactly.

    Each axis occurs once in a linear form, so that both ends are reached.
    """
    form = linear_form(index, ranges.keys())
    if form is None:
        return None, None
    rest = build.as_int(form[1])
    low, high = rest, rest
    for var, coefficient in form[0].items():
        factor = build.as_int(coefficient)
        if factor == 0:
            continue
        least, most = ranges[var]
        if factor is None:
            return None, None
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return low, high
