# SPDX-License-Identifier: Apache-2.0
"""The tile form: the state of a short run of elements, by plain reductions over the run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final

from axisfold.dtypes import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    DType,
    accumulator,
    highest,
    lowest,
    parse,
)
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Cast, Expr, Var
from axisfold.ir.walk import post_order, uses
from axisfold.tensor.tile_pass import Hold, Search, TilePass, in_two_steps
from axisfold.tensor.values import Complex, components, masked


@dataclass(frozen=True, slots=True)
class Run:
    """What passes over a run know of it beside its elements.

    Attributes
    ----------
    index
        The index of the element that passes fold.
    place
        Its place in the run.
    count
        Number of elements in the run.
    """

    index: Var
    place: Var
    count: Var


_NARROW: Final = {"uint8": "uint16", "int8": "int16", "int16": "int32", "uint16": "uint32"}


# Terms of a sum of 16-bit floats that float32 holds at most: it is off by a 32nd of a unit in the
# last place of these floats, relative to the sum of the terms' sizes.
_HALF_TERMS: Final = 512
# By what a bfloat16 is multiplied first, whose range is that of float32: no sum of as many terms
# overflows then, and products are exact, also that of the smallest one, which float32 just holds.
_SCALE: Final = 2.0**-16


def narrow_form(source: Expr) -> Expr | None:
    """Return a number in a dtype that holds short sums of it, narrower than its own, or None.

    Sums of integers are exact, those of 16-bit floats are not.
    """
    value = source
    while isinstance(value, Cast) and (value is source or _keeps(value)):
        if value.dtype.is_bool or value.value.dtype.is_float:
            break
        value = value.value
    if isinstance(value, Cast) and value.dtype == FLOAT64 and value.value.dtype.is_half:
        return build.cast(FLOAT32, value.value)
    if value is source:
        return None
    if value.dtype.is_bool:
        return build.cast(DType("uint", _truth_bits(value)), value)
    name = _NARROW.get(str(value.dtype))
    return None if name is None else build.cast(parse(name), value)


def _keeps(cast: Cast) -> bool:
    """Return whether a cast of a short integer or a truth value changes no value."""
    given, wanted = cast.value.dtype, cast.dtype
    if given.is_bool or not wanted.is_integer:
        return given.is_bool or wanted.bits > max(given.bits, 16)
    return wanted.bits > given.bits and (wanted.kind == "int" or given.kind == "uint")


def _truth_bits(truth: Expr) -> int:
    """Return how wide the lanes are in which truth values are computed."""
    operands = (n.dtype for n in post_order(truth) if isinstance(n, Expr) and not n.dtype.is_bool)
    return max((max(d.bits, 2 * 16 * d.is_half) for d in operands), default=8)


class Tile:
    """A short run of elements, given to a reducer's ``tile`` function.

    Parameters
    ----------
    elements
        The element that passes fold.
    run
        What is known of the run.
    mask
        Which elements count; ``TRUE`` for all.
    may_skip
        Whether passes whose results a run does not use are skipped there.
    may_narrow
        Whether sums of floats may be narrower than their results, which long rows alone are worth.
    may_round
        Whether these are rounded on the way: 16-bit results do not show it, wider ones would.
    """

    def __init__(
        self,
        elements: Sequence[Any],
        run: Run,
        mask: Expr,
        *,
        may_skip: bool = False,
        may_narrow: bool = False,
        may_round: bool = False,
    ) -> None:
        self._elements = elements
        self._run = run
        self._mask = mask
        self.passes: list[TilePass] = []
        self.heads: list[tuple[Var, Expr]] = []
        self.holds: list[Hold] = []
        self.onces: list[tuple[Var, Expr]] = []
        self.supersedes: Callable[[Any], Any] | None = None
        self.has_choice = False
        self.can_narrow = False
        self._may_skip = may_skip
        self._may_narrow, self._may_round = may_narrow, may_round
        self.count: Expr = run.count
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
    def is_masked(self) -> bool:
        """Whether only some elements count: then the first one of the run may not."""
        return self._mask is not build.TRUE

    @property
    def may_skip(self) -> bool:
        """Whether passes whose results a run does not use are skipped there."""
        self.has_choice = True
        return self._may_skip

    @property
    def is_narrow(self) -> bool:
        """Whether all passes so far have narrow sums."""
        return all(p.narrow for p in self.passes)

    @property
    def is_single(self) -> bool:
        """Whether elements are floats of 32 bits at most, or complex numbers of two of these."""
        parts = [p for e in self._elements for p in components(e)]
        return all(p.dtype.is_float and p.dtype.bits <= FLOAT32.bits for p in parts)

    def head(self, function: Callable[..., Any]) -> Any:
        """Return a function of the first element of the run, where all count."""
        value = function(*self._elements)
        if isinstance(value, Complex):
            return Complex(self._held(value.re), self._held(value.im))
        return self._held(value)

    def _held(self, value: Any) -> Var:
        source = build.as_expr(value)
        self.heads.append((Var(f"head{len(self.heads)}", source.dtype), source))
        return self.heads[-1][0]

    def hold(
        self,
        function: Callable[..., Any],
        spread: Callable[..., Any],
        held: Callable[..., Any] | None = None,
    ) -> Var:
        """Return a function of the elements for later passes; it may be computed only once.

        ``spread`` is the reducer's, but of this value in the place of the element, where the run
        is a whole fold.  There the value is ``held`` of the element, if that is given.
        """
        value = build.as_expr(function(*self._elements))
        variable = Var(f"held{len(self.holds)}", value.dtype)
        once = value if held is None else build.as_expr(held(*self._elements))
        self.holds.append(Hold(variable, value, once, spread))
        return variable

    def once(self, value: Expr) -> Var:
        """Return a value that the elements of ``held`` share, computed once for the run."""
        self.onces.append((Var(f"once{len(self.onces)}", value.dtype), value))
        return self.onces[-1][0]

    def sum(
        self, function: Callable[..., Any], dtype: DType | None = None, *, terms: int = 0
    ) -> Any:
        """Sum of a function of the elements, in a dtype that is enough for a short run.

        Without one, it is as wide as that of a sum of any length.  Of positive float32, a CPU sums
        ``terms`` at a time as they are, each off by half a unit in the last place at most.
        """
        result = self._reduce(function, "add", lambda d: 0, dtype)
        (source,) = self.passes[-1].sources
        if terms and isinstance(source, Cast) and source.value.dtype == FLOAT32:
            self.passes[-1] = replace(self.passes[-1], narrow=(source.value,), terms=terms)
        return result

    def total(self, value: Expr) -> Expr:
        """Sum of an expression."""
        return self._pass(value, "add", lambda d: 0)

    def max(self, function: Callable[..., Any], *, loses_nan: bool = False) -> Any:
        """Largest value of a function of the elements; a NaN wins, unless it does not matter."""
        result = self._reduce(function, "max", lowest)
        if loses_nan:
            self.passes[-1] = replace(self.passes[-1], loses_nan=True)
        return result

    def min(self, function: Callable[..., Any]) -> Any:
        """Smallest value of a function of the elements; a NaN wins."""
        return self._reduce(function, "min", highest)

    def first_best(
        self,
        function: Callable[..., Any],
        identity: Callable[[DType], Any],
        takes: Callable[[Any, Any], Any],
        combine: Callable[[Any, Any], Mapping[str, Any]],
        better: Callable[[Any, Any], Any],
        is_best: Callable[[Any, Any], Any],
    ) -> tuple[Var, Var]:
        """Index of the first element whose value is the best one, and this value.

        Parameters
        ----------
        function
            The value of an element.
        identity
            A value of a dtype that none is worse than.
        takes
            Whether an element is better than the best value before it, so that it is a state's.
        combine
            Merges two states of ``i`` and ``v``.
        better
            The better one of two values; either of equal ones.
        is_best
            Whether a value is the best one of all, which is given, too.
        """
        value = build.as_expr(function(*self._elements))
        names = ("i", "v")
        lhs, rhs = (
            (Var(f"{side}_i", INT32), Var(f"{side}_v", value.dtype)) for side in ("lhs", "rhs")
        )
        a, b = (SimpleNamespace(**dict(zip(names, v, strict=True))) for v in (lhs, rhs))
        merged = combine(a, b)
        taken = takes(value, lhs[1])
        # Of elements that are no better than the identity the first one of the run is the first.
        start = (build.const(0, INT32), build.const(identity(value.dtype), value.dtype))
        combiner = Combiner(lhs, rhs, tuple(build.as_expr(merged[n]) for n in names), start)
        sources = (self._run.place, value)
        absorb = tuple(build.select(taken, s, v) for s, v in zip(sources, lhs, strict=True))
        index, best = Var("tile_index", INT64), Var("tile_best", value.dtype)
        one = build.as_expr(better(lhs[1], rhs[1]))
        search = Search(
            Combiner(lhs[1:], rhs[1:], (one,), start[1:]), build.truth(is_best(value, best))
        )
        found = TilePass((index, best), combiner, sources, absorb, places=(0,), search=search)
        if self.may_skip:
            first, second = in_two_steps(found)
            # Its elements come forwards, as all of a row's do.
            self.passes += [first, replace(second, absorb=(), is_backward=False, is_seldom=True)]
        else:
            self.passes.append(found)
        return index, best

    def later(self, supersedes: Callable[[Any], Any]) -> None:
        """Say when the state of the run takes the place of that of all the runs before it.

        ``supersedes`` is given the state of those, or the identity; else they keep theirs.
        """
        self.supersedes = supersedes

    def fold(
        self, combiner: Combiner, lifted: Sequence[Expr], absorb: Sequence[Expr]
    ) -> tuple[Var, ...]:
        """Return the state of the run as elements make it one by one."""
        results = tuple(Var(f"tile_{v.name}", v.dtype) for v in combiner.lhs)
        self.passes.append(TilePass(results, combiner, tuple(lifted), tuple(absorb)))
        return results

    def _reduce(
        self, function: Callable[..., Any], op: Any, identity: Any, dtype: DType | None = None
    ) -> Any:
        value = call_with_index(function, self._elements, self._run.index)
        if isinstance(value, Complex):
            parts = (self._pass(v, op, identity, dtype) for v in (value.re, value.im))
            return Complex(*parts)
        return self._pass(value, op, identity, dtype)

    def _pass(self, value: Any, op: Any, identity: Any, wanted: DType | None = None) -> Expr:
        source = build.as_expr(value)
        if op == "add":
            source = build.cast(wanted or accumulator(source.dtype), source)
        dtype = source.dtype
        start = build.const(identity(dtype), dtype)
        # A narrow sum is a stage that knows elements only, not what earlier passes gave.
        is_first = not uses(source, {r for p in self.passes for r in p.results})
        narrow, scale = None, 1.0
        if op == "add" and is_first:
            narrow, scale = self._narrow(source)
        if narrow is not None:
            narrow = masked(self._mask, narrow, build.const(0, narrow.dtype))
        if scale != 1.0:
            source = source * scale
        source = masked(self._mask, source, start)
        lhs, rhs = Var("lhs", dtype), Var("rhs", dtype)
        combiner = Combiner((lhs,), (rhs,), (build.binary(op, lhs, rhs),), (start,))
        result = Var(f"tile{len(self.passes)}", dtype)
        terms = _HALF_TERMS if narrow is not None and narrow.dtype.is_float else 0
        short = () if narrow is None else (narrow,)
        self.passes.append(TilePass((result,), combiner, (source,), narrow=short, terms=terms))
        return result if scale == 1.0 else result * (1 / scale)

    def _narrow(self, source: Expr) -> tuple[Expr | None, float]:
        """Return a narrower dtype's form of a term, None if there is none, and how it is scaled."""
        narrow = narrow_form(source)
        if narrow is None or not source.dtype.is_float:
            return narrow, 1.0
        self.can_narrow = True
        if not self._may_narrow or (narrow.dtype.is_float and not self._may_round):
            return None, 1.0
        is_wide = isinstance(narrow, Cast) and narrow.value.dtype.kind == "bfloat"
        return (narrow * _SCALE, _SCALE) if is_wide else (narrow, 1.0)


def call_with_index(function: Callable[..., Any], elements: Sequence[Any], index: Any) -> Any:
    """Call a user's function of the elements, with the index if it asks for it."""
    wants_index = "index" in inspect.signature(function).parameters
    return function(*elements, index=index) if wants_index else function(*elements)
