# SPDX-License-Identifier: Apache-2.0
"""The tile form: the state of a short run of elements, by plain reductions over the run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from axisfold.dtypes import INT32, INT64, DType, accumulator, highest, lowest, parse
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Cast, Expr, Var
from axisfold.ir.walk import uses
from axisfold.tensor.values import Complex


@dataclass(frozen=True, slots=True)
class TilePass:
    """One reduction over a tile: ``result`` names the folded ``source``.

    Attributes
    ----------
    result, combiner, source
        What is folded, and how.
    narrow
        The source in a narrower dtype whose sums of ``NARROW_ROUNDS`` elements are exact, or None.
    place, narrow_combiner
        For the first element of a kind: ``narrow`` folds places in the run by this instead.
    """

    result: Var
    combiner: Combiner
    source: Expr
    narrow: Expr | None = None
    place: Var | None = None
    narrow_combiner: Combiner | None = None

    @property
    def inner(self) -> tuple[Combiner, Expr]:
        """What folds the elements of a run, and what of them."""
        if self.narrow_combiner is None or self.narrow is None:
            return self.combiner, self.source
        return self.narrow_combiner, self.narrow


# Elements whose sum the next wider dtype always holds: 255 truth values, 256 bytes.
NARROW_ROUNDS: Final = 255
_NARROW: Final = {"bool": "uint8", "uint8": "uint16", "int8": "int16", "int16": "int32",
                  "uint16": "uint32"}  # fmt: skip


def narrow_form(source: Expr) -> Expr | None:
    """Return an integer in a dtype that holds short sums of it, narrower than its own, or None."""
    value = source
    while isinstance(value, Cast) and value.dtype.is_integer and not value.value.dtype.is_float:
        value = value.value
    name = _NARROW.get(str(value.dtype))
    if value is source or name is None:
        return None
    return build.cast(parse(name), value)


class Tile:
    """A short run of elements, given to a reducer's ``tile`` function.

    Parameters
    ----------
    elements, index
        The element that passes fold.
    count
        Number of elements in the run.
    mask
        Which of them count; ``TRUE`` for all.
    """

    def __init__(self, elements: Sequence[Any], index: Var, count: Var, mask: Expr) -> None:
        self._elements = elements
        self._index = index
        self._mask = mask
        self.passes: list[TilePass] = []
        self.count: Expr = count
        if mask is not build.TRUE:
            self.count = self._pass(build.cast(INT64, mask), "add", lambda d: 0)

    @property
    def is_complex(self) -> bool:
        """Whether an element is complex."""
        return any(isinstance(e, Complex) for e in self._elements)

    @property
    def dtype(self) -> DType:
        """Of an element; of a complex one that of its parts."""
        first = self._elements[0]
        return (first.re if isinstance(first, Complex) else build.as_expr(first)).dtype

    @property
    def is_narrow(self) -> bool:
        """Whether all passes so far have narrow sums."""
        return all(p.narrow is not None for p in self.passes)

    def sum(self, function: Callable[..., Any], dtype: DType | None = None) -> Any:
        """Sum of a function of the elements, in a dtype that is enough for a short run.

        Without one, it is as wide as that of a sum of any length.
        """
        return self._reduce(function, "add", lambda d: 0, dtype)

    def max(self, function: Callable[..., Any]) -> Any:
        """Largest value of a function of the elements; a NaN wins."""
        return self._reduce(function, "max", lowest)

    def min(self, function: Callable[..., Any]) -> Any:
        """Smallest value of a function of the elements; a NaN wins."""
        return self._reduce(function, "min", highest)

    def first(self, condition: Callable[..., Any]) -> Any:
        """Index of the first element that fulfils a condition, the largest int64 if none does."""
        none, far = build.const(highest(INT64), INT64), build.const(highest(INT32), INT32)
        is_it = build.as_expr(condition(*self._elements))
        result = self._pass(build.select(is_it, self._index, none), "min", highest)
        place = Var("place", INT32)
        narrow = build.select(build.all_of([self._mask, is_it]), place, far)
        self.passes[-1] = replace(
            self.passes[-1],
            narrow=narrow,
            place=place,
            narrow_combiner=_combiner("min", INT32, far),
        )
        return result

    def _reduce(
        self, function: Callable[..., Any], op: Any, identity: Any, dtype: DType | None = None
    ) -> Any:
        value = call_with_index(function, self._elements, self._index)
        if isinstance(value, Complex):
            parts = (self._pass(v, op, identity, dtype) for v in (value.re, value.im))
            return Complex(*parts)
        return self._pass(value, op, identity, dtype)

    def _pass(self, value: Any, op: Any, identity: Any, wanted: DType | None = None) -> Var:
        source = build.as_expr(value)
        if op == "add":
            source = build.cast(wanted or accumulator(source.dtype), source)
        dtype = source.dtype
        start = build.const(identity(dtype), dtype)
        # A narrow sum is a stage that knows elements only, not what earlier passes gave.
        is_first = not uses(source, {p.result for p in self.passes})
        narrow = narrow_form(source) if op == "add" and is_first else None
        if narrow is not None:
            narrow = build.select(self._mask, narrow, build.const(0, narrow.dtype))
        source = build.select(self._mask, source, start)
        combiner = _combiner(op, dtype, start)
        result = Var(f"tile{len(self.passes)}", dtype)
        self.passes.append(TilePass(result, combiner, source, narrow))
        return result


def _combiner(op: Any, dtype: DType, start: Expr) -> Combiner:
    lhs, rhs = Var("lhs", dtype), Var("rhs", dtype)
    return Combiner((lhs,), (rhs,), (build.binary(op, lhs, rhs),), (start,))


def call_with_index(function: Callable[..., Any], elements: Sequence[Any], index: Any) -> Any:
    """Call a user's function of the elements, with the index if it asks for it."""
    wants_index = "index" in inspect.signature(function).parameters
    return function(*elements, index=index) if wants_index else function(*elements)
