# SPDX-License-Identifier: Apache-2.0
"""The reduction node of te and the typed combiner it folds with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from axisfold.dtypes import DType
from axisfold.errors import ExpressionError, ReducerError
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Expr, Node, Var, separated
from axisfold.ir.walk import substitute, substitute_all
from axisfold.tensor.axis import Axis


@dataclass(frozen=True, slots=True, eq=False)
class Reduce(Expr):
    """Fold ``source`` over ``axes``, component ``value_index`` of the state.

    ``condition`` guards the update, never the start.  ``init`` replaces the identity as the
    start.  ``absorb``, if given, is the state after one more element, written with
    ``combiner.lhs``: cheaper than merging with the lifted ``source``.
    """

    child_fields: ClassVar[tuple[str, ...]] = (
        "combiner", "source", "condition", "init", "absorb",
    )  # fmt: skip
    combiner: Combiner
    source: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    condition: Expr
    init: tuple[Expr, ...]
    value_index: int
    absorb: tuple[Expr, ...] = ()
    dtype: DType = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.combiner.identity[self.value_index].dtype)

    def pieces(self) -> list[str | Node]:
        """Return te's text, ``reduce(combiner=…, source=[…], …)``."""
        axes: list[str | Node] = []
        for axis in self.axes:
            axes += [", "] if axes else []
            axes += [f"iter_var({axis.name}, range(min=", axis.min, ", ext=", axis.extent, "))"]
        absorb = [", absorb=[", *separated(self.absorb), "]"] if self.absorb else []
        return [
            "reduce(combiner=", self.combiner, ", source=[", *separated(self.source),
            "], init=[", *separated(self.init), "], axis=[", *axes, "], where=", self.condition,
            f", value_index={self.value_index}", *absorb, ")",
        ]  # fmt: skip

    def update(self, state: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the state after the current element joined ``state``."""
        if not self.absorb:
            return self.combiner.merge(state, self.source)
        mapping = dict(zip(self.combiner.lhs, state, strict=True))
        return tuple(substitute_all(self.absorb, mapping))

    def is_sibling(self, other: Reduce) -> bool:
        """Whether ``other`` is the same reduction, up to the component."""
        names = (f.name for f in fields(self) if f.init and f.name != "value_index")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def with_axes(self, axes: tuple[Axis, ...]) -> Reduce:
        """Return the same reduction over other axes of the same number."""
        mapping: dict[Var, Expr] = {a.var: b.var for a, b in zip(self.axes, axes, strict=True)}
        return replace(substitute(self, mapping), axes=axes)


def make_reduce(
    combiner: Combiner,
    source: Sequence[Expr],
    axis: Any,
    where: Any = None,
    init: Any = None,
    absorb: Sequence[Expr] = (),
) -> tuple[Reduce, ...]:
    """Return the components of a checked reduction.

    Raises
    ------
    ExpressionError
        ``E221``: an axis is not a reduce axis; ``E222``: an axis is named twice; ``E223``: there
        is none.
    ReducerError
        ``R203``, ``R204``: the number of values, or of starts, does not fit the state.
    """
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for item in axes:
        if not isinstance(item, Axis) or item.kind != "reduce":
            raise ExpressionError(
                f"{item!r} is not a reduce axis.", code="E221", hint="Make it with te.reduce_axis."
            )
    if len(set(map(id, axes))) != len(axes):
        raise ExpressionError("a reduce axis is named twice.", code="E222")
    if not axes:
        raise ExpressionError(
            "a reduction folds over at least one axis.", code="E223", hint="Name it: axis=k."
        )
    size = len(combiner.identity)
    if len(source) != size:
        raise ReducerError(
            f"the reducer's state has {size} components, but {len(source)} values are folded.",
            code="R203",
        )
    dtypes = [e.dtype for e in combiner.identity]
    values = tuple(build.cast(d, s) for d, s in zip(dtypes, source, strict=True))
    condition = build.TRUE if where is None else build.truth(where)
    start: tuple[Expr, ...] = ()
    if init is not None:
        given = tuple(init) if isinstance(init, (tuple, list)) else (init,)
        if len(given) != size:
            raise ReducerError(
                f"init= has {len(given)} values for a state of {size} components.", code="R204"
            )
        start = tuple(
            build.cast(d, build.as_expr(i, d)) for d, i in zip(dtypes, given, strict=True)
        )
    return tuple(
        Reduce(combiner, values, axes, condition, start, i, tuple(absorb)) for i in range(size)
    )
