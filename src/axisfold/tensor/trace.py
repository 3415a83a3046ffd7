# SPDX-License-Identifier: Apache-2.0
"""Tracing: a reducer's Python functions become typed expressions over real components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from axisfold.dtypes import BOOL, INT32, INT64, DType
from axisfold.errors import ReducerError
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import uses
from axisfold.tensor.float8 import Float8
from axisfold.tensor.member import InitialValue, Member, MemberTrace, OtherForm, Result
from axisfold.tensor.reducer import State
from axisfold.tensor.scene import Counter, Scene
from axisfold.tensor.tile import Run, Tile
from axisfold.tensor.tile_pass import Hold, TilePass, expanded, fused, is_shortened
from axisfold.tensor.values import Form

MAX_COMPONENTS: Final = 128


@dataclass(slots=True)
class Traced:
    """One or several reducers on given dtypes, as expressions.

    A fold returns one element for each group of folded elements, or, if it ``is_spread``, one for
    each element of the inputs.

    Attributes
    ----------
    combiner
        Merges states; its ``lhs`` are the state variables everywhere below.
    elements
        For each input the variables of its real components; the last one is the mask, if there is
        one.
    run, count
        Variables of the element's index and of its run, and of the number of folded elements.
    lifted, absorb
        The state of one element, and the state after one more.
    initial
        For each value that is folded beside the elements the variables of its real components, in
        the order of the members and of their inputs.
    results
        What the fold returns: over ``combiner.lhs``, ``initial`` and ``count``, or, if it is
        spread, over ``elements``, ``index`` and the variables of ``shares``.
    shares
        What the elements of a spread result share: variables with their values over
        ``combiner.lhs``, ``initial`` and ``count``.
    widths
        How many results each member has.
    tile_heads, tile_passes, tile_state
        The tile form, over ``elements`` and ``run``; empty if there is none.  Heads are variables
        with their values, of which ``elements`` is the first one of the run.
    tile_later
        The state after a run that comes after all before it, or () if it is merged as any is.
    holds, onces
        What passes and results read of each element, computed once; () if they compute it.  And
        variables with their values, which the elements of a run share, over results of passes.
    holding
        The same fold with such ``holds``, or None: for a run that is a whole fold.
    skipping
        The same fold with passes that few runs need, or None: for runs of rows.
    narrowing
        The same fold with sums of floats in a narrower dtype, or None: for runs of long rows.
    """

    combiner: Combiner
    elements: tuple[tuple[Var, ...], ...]
    run: Run
    count: Var
    uses_index: bool
    lifted: tuple[Expr, ...]
    absorb: tuple[Expr, ...]
    initial: tuple[InitialValue, ...] = ()
    results: list[Result] = field(default_factory=list)
    widths: tuple[int, ...] = ()
    is_spread: bool = False
    shares: tuple[tuple[Var, Expr], ...] = ()
    tile_heads: tuple[tuple[Var, Expr], ...] = ()
    tile_passes: tuple[TilePass, ...] = ()
    tile_state: tuple[Expr, ...] = ()
    tile_later: tuple[Expr, ...] = ()
    holds: tuple[Hold, ...] = ()
    onces: tuple[tuple[Var, Expr], ...] = ()
    holding: Traced | None = None
    skipping: Traced | None = None
    narrowing: Traced | None = None

    @property
    def index(self) -> Var:
        """Variable of the element's index."""
        return self.run.index

    @property
    def reads_twice(self) -> bool:
        """Whether a pass over a run needs what an earlier one, or its first element, has told."""
        known = {head for head, _ in self.tile_heads}
        for tile_pass in self.tile_passes:
            if any(uses(e, known) for e in tile_pass.expressions):
                return True
            known.update(tile_pass.results)
        return False

    @property
    def is_search(self) -> bool:
        """Whether the one pass over a run finds an element."""
        return len(self.tile_passes) == 1 and self.tile_passes[0].search is not None

    @property
    def sums_short(self) -> bool:
        """Whether passes over a run only sum integers that are short for their sums."""
        return bool(self.tile_passes) and all(map(is_shortened, self.tile_passes))


def trace(
    members: Sequence[Member], dtypes: Sequence[DType | Float8], *, is_masked: bool = False
) -> Traced:
    """Trace reducers on inputs of the given dtypes, as one state.

    Parameters
    ----------
    members
        The reducers.
    dtypes
        Of the inputs' elements.
    is_masked
        Whether a last input tells which elements are folded.

    Raises
    ------
    ReducerError
        ``R110``: a reducer takes another number of inputs, or its functions return what does
        not fit the state; ``R114``: the state is too large to be held in registers; ``R115``: an
        initial value of a reducer that folds indices; ``R117``: only some of the reducers have
        results of the input's shape.
    DTypeError
        ``D303``: a result that may be NaN is of a dtype without one.
    """
    raw = [d if isinstance(d, Float8) else Form(d) for d in dtypes]
    elements = [
        tuple(Var(f"x{i}{suffix}", f.real) for suffix in f.names) for i, f in enumerate(raw)
    ]
    mask: Expr = build.TRUE
    run = Run(Var("index", INT64), Var("place", INT32), Var("tile_count", INT64, is_size=True))
    count = Var("count", INT64, is_size=True)
    scene = Scene(raw, tuple(elements), count, run, mask)
    if is_masked:
        scene.mask = Var("where", BOOL)
        elements.append((scene.mask,))
    parts = [MemberTrace(m, scene) for m in members]
    combiner = _combiner(members, parts, scene.counters)
    traced = Traced(
        combiner, tuple(elements), run, count,
        uses_index=any(m.reducer.uses_index for m in members),
        lifted=(*(e for p in parts for e in p.lifted), *(c.one for c in scene.counters)),
        absorb=(
            *(e for p in parts for e in p.absorbed), *(c.lhs + c.one for c in scene.counters)
        ),
        initial=tuple(v for p in parts for v in p.initial),
        results=[r for p in parts for r in p.results],
        widths=tuple(len(p.results) for p in parts),
        is_spread=_is_spread(members),
        shares=_used_shares(parts, [r for p in parts for r in p.results]),
    )  # fmt: skip
    for part in parts:
        part.trace_tile()
    # A fold that may end early goes by runs: it is tested after each.
    if any(part.has_tile for part in parts) or combiner.absorbing:
        for part in parts:
            if not part.has_tile:
                part.fold_in_tiles()
        counts = Tile((), run, build.TRUE)
        for counter in scene.counters:
            if counter.tile is build.FALSE:
                counter.tile = counts.total(counter.one)
        holds = [h for p in parts for h in p.holds]
        passes = fused([*(t for p in parts for t in p.tile_passes), *counts.passes], holds)
        traced.tile_passes = tuple(expanded(p, holds) for p in passes)
        traced.tile_heads = tuple(h for p in parts for h in p.tile_heads)
        state = (e for p in parts for e in p.tile_state)
        traced.tile_state = (*state, *(c.tile for c in scene.counters))
        if len(parts) == 1 and not scene.counters:
            traced.tile_later = parts[0].tile_later
            traced.skipping = _other(traced, parts[0], parts[0].skipping)
        if len(parts) == len(holds) == 1:
            traced.holding = _holding(traced, parts[0], passes)
    if len(parts) == 1 and not scene.counters:
        traced.narrowing = _other(traced, parts[0], parts[0].narrowing)
    return traced


def _holding(traced: Traced, part: MemberTrace, passes: tuple[TilePass, ...]) -> Traced:
    """Return the fold that computes what its tile form holds of an element once."""
    results = part.results_of(part.holds[0])
    return replace(
        traced,
        tile_passes=passes,
        results=results,
        shares=_used_shares([part], results),
        holds=tuple(part.holds),
        onces=tuple(part.onces),
        skipping=None,
    )


def _other(traced: Traced, part: MemberTrace, form: OtherForm | None) -> Traced | None:
    """Return the fold with another tile form, if there is such a form."""
    if form is None:
        return None
    tile, state = form
    passes = tuple(expanded(p, tile.holds) for p in fused(tile.passes, tile.holds))
    return replace(
        traced,
        tile_heads=tuple(tile.heads),
        tile_passes=passes,
        tile_state=tuple(state),
        tile_later=part.later(tile, state),
    )


def _used_shares(
    parts: Sequence[MemberTrace], results: Sequence[Result]
) -> tuple[tuple[Var, Expr], ...]:
    """Return what elements share, without what these results do not use of it."""
    shares = [s for p in parts for s in p.shares]
    values = [value for r in results for value in r.parts]
    used = tuple(s for s in shares if any(uses(value, {s[0]}) for value in values))
    return used or tuple(shares[:1])


def _combiner(
    members: Sequence[Member], parts: Sequence[MemberTrace], counters: Sequence[Counter]
) -> Combiner:
    """Return the merge of the members' states and counts."""
    facts = frozenset.intersection(*(m.reducer.facts for m in members))
    if any(m.reducer.is_ordered for m in members):
        facts = (facts - {"commutative"}) | {"ordered"}
    has_absorbing = not counters and all(p.absorbing for p in parts)
    if counters:
        facts -= {"idempotent"}
    if counters or len(parts) > 1:
        facts -= {"first"}
    combiner = Combiner(
        lhs=(*(v for p in parts for v in p.lhs), *(c.lhs for c in counters)),
        rhs=(*(v for p in parts for v in p.rhs), *(c.rhs for c in counters)),
        result=(*(e for p in parts for e in p.combined), *(c.lhs + c.rhs for c in counters)),
        identity=(
            *(e for p in parts for e in p.identity), *(build.const(0, INT64) for _ in counters)
        ),
        facts=facts,
        absorbing=tuple(e for p in parts for e in p.absorbing) if has_absorbing else (),
    )  # fmt: skip
    if len(combiner.lhs) > MAX_COMPONENTS:
        raise ReducerError(
            f"the state of {', '.join(m.reducer.name for m in members)} has {len(combiner.lhs)} "
            f"components; at most {MAX_COMPONENTS} can be folded at once.",
            code="R114",
            hint="Fold in several calls, each with a part of the state.",
        )
    return combiner


def _is_spread(members: Sequence[Member]) -> bool:
    """Whether results have the input's shape: all of them, or none."""
    spread = [m.reducer.name for m in members if m.reducer.spread is not None]
    folded = [m.reducer.name for m in members if m.reducer.spread is None]
    if spread and folded:
        raise ReducerError(
            f"{spread[0]} has a result of the input's shape and {folded[0]} has not, so that one "
            "fold cannot return both.",
            code="R117",
            hint="Fold twice.",
        )
    return bool(spread)


__all__ = ["Member", "Result", "State", "Tile", "TilePass", "Traced", "trace"]
