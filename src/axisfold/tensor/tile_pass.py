# SPDX-License-Identifier: Apache-2.0
"""Passes over a run of elements: what they are, how they are joined, and sums that are short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from axisfold.dtypes import INT16, INT32, INT64, UINT64, DType, highest
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Binary, Cast, Const, Expr, Select, Var
from axisfold.ir.walk import substitute, uses

# Elements of a run whose places are int16.
NEAR_RUN: Final = 1 << 15
_LONG: Final = (INT64, UINT64)


@dataclass(frozen=True, slots=True)
class Search:
    """How a pass finds an element in two steps: the best value, then where it is first.

    Attributes
    ----------
    best
        Folds values alone.
    is_best
        Whether an element has the best value, which is the second one of the pass's ``results``.
    """

    best: Combiner
    is_best: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that is computed of an element."""
        return (*self.best.result, self.is_best)


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
        The sources in narrower dtypes, or (): one of integers whose sums of
        :func:`narrow_rounds` elements are exact; or one of floats, and counts beside it.
    terms
        How many narrow floats are summed.
    places
        Which results are indices of elements: of these the pass folds places in the run.
    loses_nan
        Whether a NaN may be passed over.
    is_seldom
        Whether few runs need the pass.
    search
        For the place and the value of an element: how to find them in two steps.
    is_backward
        Whether ``absorb`` needs the elements from the last one to the first.
    """

    results: tuple[Var, ...]
    combiner: Combiner
    sources: tuple[Expr, ...]
    absorb: tuple[Expr, ...] = ()
    narrow: tuple[Expr, ...] = ()
    terms: int = 0
    places: tuple[int, ...] = ()
    loses_nan: bool = False
    is_seldom: bool = False
    search: Search | None = None
    is_backward: bool = False

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """All that is computed of an element."""
        return (*self.sources, *self.absorb)


@dataclass(frozen=True, slots=True)
class Hold:
    """A value of each element that passes over a run, and then its results, read.

    Attributes
    ----------
    variable, value
        The value as passes know it, and what it is to a pass that computes it by itself.
    held
        What it is where it is computed once.
    spread
        An element of a result that has the input's shape: of the value, and of what ``finalize``
        returned for a fold that is one run.
    """

    variable: Var
    value: Expr
    held: Expr
    spread: Callable[..., Any]


def narrow_rounds(dtype: DType) -> int:
    """Return how many elements a narrow sum always holds: 255 truth values, 256 bytes."""
    return {8: 255, 16: 256}.get(dtype.bits, NEAR_RUN)


def is_truth(narrow: Expr) -> bool:
    """Return whether a number is a truth value, or that of some elements and 0 of the others."""
    value = narrow.true_value if isinstance(narrow, Select) else narrow
    return isinstance(value, Cast) and value.value.dtype.is_bool


def fused(passes: Sequence[TilePass], holds: Sequence[Hold] = ()) -> tuple[TilePass, ...]:
    """Join passes that need nothing of each other, so that elements are read once for all.

    Passes may read what ``holds`` have computed before.  Those that few runs need come last.
    """
    values: dict[Var, Expr] = {h.variable: h.value for h in holds}
    depth: dict[Var, int] = {}
    levels: dict[tuple[bool, int], list[TilePass]] = {}
    for tile_pass in passes:
        computed = [substitute(e, values) for e in tile_pass.expressions]
        needed = [d for v, d in depth.items() if any(uses(e, {v}) for e in computed)]
        level = max(needed, default=-1) + 1
        depth.update(dict.fromkeys(tile_pass.results, level))
        levels.setdefault((tile_pass.is_seldom, level), []).append(tile_pass)
    found: list[TilePass] = []
    for place in sorted(levels):
        group = levels[place]
        # Narrow sums are stages of their own.
        short = [p for p in group if p.narrow and p.narrow[0].dtype.is_float]
        plain = [p for p in group if p not in short]
        if len(short) == 1 and all(map(_is_count, plain)):
            found.append(_with_counts(short[0], plain))
        else:
            is_narrow = all(p.narrow for p in plain)
            found += [*(plain if is_narrow else [_joined(plain)]), *short]
    return tuple(found)


def expanded(tile_pass: TilePass, holds: Sequence[Hold]) -> TilePass:
    """Return a pass that computes by itself what it reads of ``holds``."""
    values: dict[Var, Expr] = {h.variable: h.value for h in holds}
    return replace(
        tile_pass,
        sources=tuple(substitute(e, values) for e in tile_pass.sources),
        absorb=tuple(substitute(e, values) for e in tile_pass.absorb),
        narrow=tuple(substitute(e, values) for e in tile_pass.narrow),
    )


def without_nan(tile_pass: TilePass) -> TilePass:
    """Return a pass that takes the larger of two floats by one comparison, if a NaN may be lost."""
    old = tile_pass.combiner
    if not (tile_pass.loses_nan and old.lhs[0].dtype.is_float):
        return tile_pass
    ((lhs,), (rhs,)) = old.lhs, old.rhs
    larger = build.select(rhs > lhs, rhs, lhs)
    return replace(tile_pass, combiner=Combiner(old.lhs, old.rhs, (larger,), old.identity))


def in_two_steps(tile_pass: TilePass) -> tuple[TilePass, ...]:
    """Return the passes that a search is: the best value, and the least place that has it.

    The second one goes backwards, so that the place is the last one that it meets.
    """
    search = tile_pass.search
    if search is None:
        return (tile_pass,)
    (index, best), (place, value) = tile_pass.results, tile_pass.sources
    lhs, rhs = Var("lhs", INT32), Var("rhs", INT32)
    nowhere = build.const(highest(INT32), INT32)
    least = Combiner((lhs,), (rhs,), (build.minimum(lhs, rhs),), (nowhere,))
    source = build.select(search.is_best, place, nowhere)
    last = build.select(search.is_best, place, lhs)
    return (
        TilePass((best,), search.best, (value,)),
        TilePass((index,), least, (source,), (last,), places=(0,), is_backward=True),
    )


def in_short_run(tile_pass: TilePass) -> TilePass:
    """Return the form of a pass over a run of at most :func:`longest_run` elements."""
    return without_nan(shortened(with_near_places(tile_pass), 1))


def longest_run(passes: Sequence[TilePass], wanted: int) -> int:
    """Return how many elements runs have, at most ``wanted``."""
    return min(wanted, NEAR_RUN) if any(map(is_near, passes)) else wanted


def is_near(tile_pass: TilePass) -> bool:
    """Return whether places in a run stand beside values of at most 16 bits only."""
    fields = tile_pass.combiner.lhs
    values = [v for n, v in enumerate(fields) if n not in tile_pass.places]
    near = bool(values) and all(v.dtype.bits <= INT16.bits for v in values)
    return bool(tile_pass.places) and near


def with_near_places(tile_pass: TilePass) -> TilePass:
    """Return a pass whose places are int16, if :func:`is_near`: runs have up to ``NEAR_RUN``."""
    if not is_near(tile_pass):
        return tile_pass
    old, sources = tile_pass.combiner, list(tile_pass.sources)
    identity, mapping = list(old.identity), dict[Var, Expr]()
    for n in tile_pass.places:
        for variable in (old.lhs[n], old.rhs[n]):
            mapping[variable] = Var(variable.name, INT16)
        if isinstance(place := sources[n], Var):
            mapping[place] = build.cast(INT16, place)
        identity[n] = build.cast(INT16, identity[n])
    lhs, rhs = ([mapping.get(v, v) for v in side] for side in (old.lhs, old.rhs))
    return replace(
        tile_pass,
        combiner=Combiner(
            tuple(v for v in lhs if isinstance(v, Var)),
            tuple(v for v in rhs if isinstance(v, Var)),
            tuple(substitute(e, mapping) for e in old.result),
            tuple(identity),
        ),
        sources=tuple(substitute(e, mapping) for e in sources),
        absorb=tuple(substitute(e, mapping) for e in tile_pass.absorb),
    )


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


def in_float32(tile_pass: TilePass) -> TilePass:
    """Return a pass whose sums of positive float32 are float32, which a short run allows."""
    sources = tile_pass.narrow
    if not sources or not sources[0].dtype.is_float:
        return tile_pass
    combiner = adding([e.dtype for e in sources])
    return replace(tile_pass, combiner=combiner, sources=sources, absorb=())


def adding(dtypes: Sequence[DType]) -> Combiner:
    """Return the combiner that adds up one number of each dtype."""
    lhs, rhs = ([Var(f"{side}{n}", d) for n, d in enumerate(dtypes)] for side in ("lhs", "rhs"))
    added = tuple(a + b for a, b in zip(lhs, rhs, strict=True))
    return Combiner(tuple(lhs), tuple(rhs), added, tuple(build.const(0, d) for d in dtypes))


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


def _is_count(tile_pass: TilePass) -> bool:
    """Return whether a pass, all elements of which are needed, counts truth values."""
    return len(tile_pass.sources) == 1 and is_truth(tile_pass.sources[0])


def _with_counts(short: TilePass, counts: Sequence[TilePass]) -> TilePass:
    """Return the pass of narrow floats that counts, too, what the same elements tell."""
    if not counts:
        return short
    sources = [short.narrow[0], *(shortened(p, 1).sources[0] for p in counts)]
    joined = _joined([short, *counts])
    return replace(joined, absorb=(), narrow=tuple(sources), terms=short.terms)


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
        is_seldom=passes[0].is_seldom,
    )
