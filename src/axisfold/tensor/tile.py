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
    INT32,
    INT64,
    UINT64,
    DType,
    accumulator,
    highest,
    lowest,
    parse,
)
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Binary, Cast, Const, Expr, Select, Var
from axisfold.ir.walk import substitute, uses
from axisfold.tensor.values import Complex, components


@dataclass(frozen=True, slots=True)
class TilePass:
    """One reduction over a tile: ``results`` name the folded ``sources``.

    Attributes
    ----------
    results, combiner, sources
        What is folded, and how; a field of the combiner for each result.
    absorb
        The fields after one more element; () merges with the sources.
        Invariant: a partial state sees its elements in the order of the run.
    narrow
        The one source in a narrower dtype, or None: integers whose sums of
        :func:`narrow_rounds` elements are exact, or floats, of which ``SHORT_ROUNDS`` are summed.
    places
        Which results are indices of elements: of these the pass folds places in the run.
    loses_nan
        Whether a NaN may be passed over.
    """

    results: tuple[Var, ...]
    combiner: Combiner
    sources: tuple[Expr, ...]
    absorb: tuple[Expr, ...] = ()
    narrow: Expr | None = None
    places: tuple[int, ...] = ()
    loses_nan: bool = False

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that is computed of an element."""
        return (*self.sources, *self.absorb)


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


# Terms of a sum of positive float32: each addition is off by half a unit in the last place at most.
SHORT_ROUNDS: Final = 16
_NARROW: Final = {"bool": "uint8", "uint8": "uint16", "int8": "int16", "int16": "int32",
                  "uint16": "uint32"}  # fmt: skip

_LONG: Final = (INT64, UINT64)


def narrow_rounds(dtype: DType) -> int:
    """Return how many elements a narrow sum always holds: 255 truth values, 256 bytes."""
    return 255 if dtype.bits == 8 else 256


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
    elements
        The element that passes fold.
    run
        What is known of the run.
    mask
        Which elements count; ``TRUE`` for all.
    """

    def __init__(self, elements: Sequence[Any], run: Run, mask: Expr) -> None:
        self._elements = elements
        self._run = run
        self._mask = mask
        self.passes: list[TilePass] = []
        self.heads: list[tuple[Var, Expr]] = []
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
    def is_narrow(self) -> bool:
        """Whether all passes so far have narrow sums."""
        return all(p.narrow is not None for p in self.passes)

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

    def sum(
        self, function: Callable[..., Any], dtype: DType | None = None, *, is_positive: bool = False
    ) -> Any:
        """Sum of a function of the elements, in a dtype that is enough for a short run.

        Without one, it is as wide as that of a sum of any length.  Of positive float32, a CPU sums
        a few at a time as they are.
        """
        result = self._reduce(function, "add", lambda d: 0, dtype)
        (source,) = self.passes[-1].sources
        if is_positive and isinstance(source, Cast) and source.value.dtype == FLOAT32:
            self.passes[-1] = replace(self.passes[-1], narrow=source.value)
        return result

    def total(self, value: Expr) -> Var:
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
    ) -> tuple[Var, Var]:
        """Index of the first element whose value is the best one, and this value.

        Parameters
        ----------
        function
            The value of an element.
        identity
            A value of a dtype that none is worse than.
        takes
            Whether an element is better than the best value before it.
        combine
            Merges two states of ``i`` and ``v``.
        """
        value = build.as_expr(function(*self._elements))
        names = ("i", "v")
        lhs, rhs = (
            (Var(f"{side}_i", INT32), Var(f"{side}_v", value.dtype)) for side in ("lhs", "rhs")
        )
        a, b = (SimpleNamespace(**dict(zip(names, v, strict=True))) for v in (lhs, rhs))
        merged = combine(a, b)
        is_better = takes(value, lhs[1])
        # Of elements that are no better than the identity the first one of the run is the first.
        start = (build.const(0, INT32), build.const(identity(value.dtype), value.dtype))
        combiner = Combiner(lhs, rhs, tuple(build.as_expr(merged[n]) for n in names), start)
        sources = (self._run.place, value)
        absorb = tuple(build.select(is_better, s, v) for s, v in zip(sources, lhs, strict=True))
        index, best = Var("tile_index", INT64), Var("tile_best", value.dtype)
        self.passes.append(TilePass((index, best), combiner, sources, absorb, places=(0,)))
        return index, best

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

    def _pass(self, value: Any, op: Any, identity: Any, wanted: DType | None = None) -> Var:
        source = build.as_expr(value)
        if op == "add":
            source = build.cast(wanted or accumulator(source.dtype), source)
        dtype = source.dtype
        start = build.const(identity(dtype), dtype)
        # A narrow sum is a stage that knows elements only, not what earlier passes gave.
        is_first = not uses(source, {r for p in self.passes for r in p.results})
        narrow = narrow_form(source) if op == "add" and is_first else None
        if narrow is not None:
            narrow = build.select(self._mask, narrow, build.const(0, narrow.dtype))
        source = build.select(self._mask, source, start)
        lhs, rhs = Var("lhs", dtype), Var("rhs", dtype)
        combiner = Combiner((lhs,), (rhs,), (build.binary(op, lhs, rhs),), (start,))
        result = Var(f"tile{len(self.passes)}", dtype)
        self.passes.append(TilePass((result,), combiner, (source,), narrow=narrow))
        return result


def fused(passes: Sequence[TilePass]) -> tuple[TilePass, ...]:
    """Join passes that need nothing of each other, so that elements are read once for all."""
    depth: dict[Var, int] = {}
    levels: dict[int, list[TilePass]] = {}
    for tile_pass in passes:
        needed = [d for v, d in depth.items() if any(uses(e, {v}) for e in tile_pass.expressions)]
        level = max(needed, default=-1) + 1
        depth.update(dict.fromkeys(tile_pass.results, level))
        levels.setdefault(level, []).append(tile_pass)
    found: list[TilePass] = []
    for level in sorted(levels):
        group = levels[level]
        # Narrow sums are stages of their own.
        short = [p for p in group if p.narrow is not None and p.narrow.dtype.is_float]
        plain = [p for p in group if p not in short]
        is_narrow = all(p.narrow is not None for p in plain)
        found += [*(plain if is_narrow else [_joined(plain)]), *short]
    return tuple(found)


def without_nan(tile_pass: TilePass) -> TilePass:
    """Return a pass that takes the larger of two floats by one comparison, if a NaN may be lost."""
    old = tile_pass.combiner
    if not (tile_pass.loses_nan and old.lhs[0].dtype.is_float):
        return tile_pass
    ((lhs,), (rhs,)) = old.lhs, old.rhs
    larger = build.select(rhs > lhs, rhs, lhs)
    return replace(tile_pass, combiner=Combiner(old.lhs, old.rhs, (larger,), old.identity))


def shortened(tile_pass: TilePass, bits: int = 16) -> TilePass:
    """Return a pass whose sums of integers of at most ``bits`` are int32: a short run allows it."""
    old = tile_pass.combiner
    lhs, rhs = list(old.lhs), list(old.rhs)
    merged, identity = list(old.result), list(old.identity)
    sources, absorb = list(tile_pass.sources), list(tile_pass.absorb)
    for n, source in enumerate(tile_pass.sources):
        short, result = _short(source, bits), old.result[n]
        if short is None or not (isinstance(result, Binary) and result.op == "add"):
            continue
        lhs[n], rhs[n] = Var(old.lhs[n].name, INT32), Var(old.rhs[n].name, INT32)
        merged[n], identity[n], sources[n] = lhs[n] + rhs[n], build.const(0, INT32), short
        if absorb:
            absorb[n] = lhs[n] + short
    combiner = Combiner(tuple(lhs), tuple(rhs), tuple(merged), tuple(identity))
    return replace(tile_pass, combiner=combiner, sources=tuple(sources), absorb=tuple(absorb))


def is_shortened(tile_pass: TilePass) -> bool:
    """Return whether all sums of a pass are narrower in a short run than in a long one."""
    pairs = zip(shortened(tile_pass).combiner.lhs, tile_pass.combiner.lhs, strict=True)
    return all(short.dtype != long.dtype for short, long in pairs)


def _short(source: Expr, bits: int) -> Expr | None:
    """Return a long integer that is made of a few bits as an int32, None for another value."""
    match source:
        case Cast(dtype=dtype, value=value) if dtype in _LONG and not value.dtype.is_float:
            size = 1 if value.dtype.is_bool else value.dtype.bits
            return build.cast(INT32, value) if size <= bits else None
        case Const(dtype=dtype, value=number) if dtype in _LONG and abs(int(number)) < 1 << bits:
            return build.const(int(number), INT32)
        case Select(condition=condition, true_value=a, false_value=b):
            sides = _short(a, bits), _short(b, bits)
            if sides[0] is None or sides[1] is None:
                return None
            return build.select(condition, *sides)
        case _:
            return None


def _joined(passes: Sequence[TilePass]) -> TilePass:
    if len(passes) == 1:
        return passes[0]
    lhs: list[Var] = []
    rhs: list[Var] = []
    merged: list[Expr] = []
    identity: list[Expr] = []
    sources: list[Expr] = []
    absorb: list[Expr] = []
    places: list[int] = []
    for tile_pass in passes:
        old = tile_pass.combiner
        a, b = ([Var(f"{v.name}{len(lhs)}", v.dtype) for v in side] for side in (old.lhs, old.rhs))
        state = dict(zip(old.lhs, a, strict=True))
        places += [len(lhs) + p for p in tile_pass.places]
        after = tile_pass.absorb or old.merge(old.lhs, tile_pass.sources)
        absorb += [substitute(e, state) for e in after]
        merged += old.merge(a, b)
        identity += old.identity
        sources += tile_pass.sources
        lhs += a
        rhs += b
    return TilePass(
        tuple(r for p in passes for r in p.results),
        Combiner(tuple(lhs), tuple(rhs), tuple(merged), tuple(identity)),
        tuple(sources),
        tuple(absorb),
        places=tuple(places),
    )


def call_with_index(function: Callable[..., Any], elements: Sequence[Any], index: Any) -> Any:
    """Call a user's function of the elements, with the index if it asks for it."""
    wants_index = "index" in inspect.signature(function).parameters
    return function(*elements, index=index) if wants_index else function(*elements)
