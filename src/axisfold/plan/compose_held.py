# SPDX-License-Identifier: Apache-2.0
"""The te computation of rows or columns that are one run: what passes and results read is held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from axisfold.dtypes import FLOAT32, FLOAT64, INT32, INT64
from axisfold.ir import build
from axisfold.ir.expr import Binary, Expr, Var
from axisfold.ir.walk import substitute, uses
from axisfold.plan.compose import Composer, Elements, Graph, LayoutClass
from axisfold.tensor.axis import Axis
from axisfold.tensor.compute import make_compute
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.tile_pass import Hold, TilePass, adding, without_nan
from axisfold.tensor.trace import Traced

T = TypeVar("T")

# Sums of float32 that lie side by side, and terms of each: the sums are read, not computed, so that
# widening them is cheap, and with so few terms they are off by less than a result is.
LANES: Final = 16
ROUNDS: Final = 4


def held_graph(composer: Composer) -> Graph:
    """Return the computation where a run is all that is folded: values of elements are a stage.

    Passes and results read this stage, and no states are merged.  Floats of 32 bits are summed a
    few at a time as they are, and in float64 from there on.
    """
    traced = composer.traced.holding
    assert traced is not None  # noqa: S101  (the rule asks)
    return _HeldComposer(traced, composer.layout).held_graph()


class _HeldComposer(Composer):
    """Builds the computation of folds along one axis."""

    def __init__(self, traced: Traced, layout: LayoutClass) -> None:
        super().__init__(traced, layout)
        self.held: dict[Var, Tensor] = {}
        self.once: tuple[tuple[Tensor, ...], ...] = ()
        self.is_row = layout.inner_kind == "reduced"

    def _in_memory(self, kept: Sequence[T], folded: T) -> tuple[T, ...]:
        """Return axes of what is held, or places on them, in the order of the input's memory."""
        return (*kept, folded) if self.is_row else (*kept[:-1], folded, kept[-1])

    def elements(
        self, inputs: Elements, here: Sequence[Expr], index: Tensor | None
    ) -> dict[Var, Expr]:
        mapping = super().elements(inputs, here, index)
        place = self._in_memory(here[:-1], here[-1])
        return mapping | {v: tensor[place] for v, tensor in self.held.items()}

    def held_graph(self) -> Graph:
        """Return the computation."""
        inputs, index = self.inputs(), self.index_strides()
        tiles: list[tuple[Tensor, ...]] = []
        parts: list[Tensor | None] = []
        for number, tile_pass in enumerate(self.traced.tile_passes):
            self._hold_for(tile_pass, inputs, index, tiles)
            if _is_short_sum(tile_pass):
                part = self._short_sums(number, tile_pass, inputs, index, tiles)
                parts.append(part)
                tiles.append((self._total(number, part),))
            else:
                parts.append(None)
                tiles.append(self._pass(number, tile_pass, inputs, index, tiles))
        kept = self._kept()
        known = self._known([a.var for a in kept], tiles)
        values = [substitute(e, known) for e in self.traced.tile_state]
        state = make_compute("state", tuple(kept), values)
        made = self.finished(inputs, index, state, tiles, parts)
        return replace(made, held=tuple(self.held.values()), once=self.once)

    def _kept(self) -> list[Axis]:
        return [self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents)]

    def _known(self, kept: Sequence[Expr], tiles: Sequence[tuple[Tensor, ...]]) -> dict[Var, Expr]:
        """Return what is known of a row: its length, and the results of the first passes."""
        found: dict[Var, Expr] = {self.traced.run.count: self.reduced_extents[0]}
        for tile_pass, tensors in zip(self.traced.tile_passes, tiles, strict=False):
            for result, tensor in zip(tile_pass.results, tensors, strict=True):
                found[result] = build.cast(result.dtype, tensor[tuple(kept)])
        return found

    def _mapping(
        self,
        kept: Sequence[Expr],
        place: Expr,
        inputs: Sequence[Sequence[Tensor]],
        index: Tensor | None,
        tiles: Sequence[tuple[Tensor, ...]],
    ) -> dict[Var, Expr]:
        own = {self.traced.run.place: build.cast(INT32, place)}
        return self.elements(inputs, [*kept, place], index) | self._known(kept, tiles) | own

    def _hold_for(
        self,
        tile_pass: TilePass,
        inputs: Sequence[Sequence[Tensor]],
        index: Tensor | None,
        tiles: Sequence[tuple[Tensor, ...]],
    ) -> None:
        """Make the stages of held values that a pass is the first to read."""
        for hold in self.traced.holds:
            read = any(uses(e, {hold.variable}) for e in tile_pass.expressions)
            if hold.variable in self.held or not read:
                continue
            kept, place = self._kept(), self._axis("k0", self.reduced_extents[0], "data")
            here = [a.var for a in kept]
            mapping = self._mapping(here, place.var, inputs, index, tiles)
            mapping |= self._once_for(hold, tiles, here)
            axes = self._in_memory(kept, place)
            stage = make_compute("held", axes, [substitute(hold.held, mapping)])
            self.held[hold.variable] = stage.output(0)

    def _once_for(
        self, hold: Hold, tiles: Sequence[tuple[Tensor, ...]], here: Sequence[Expr]
    ) -> dict[Var, Expr]:
        """Make the stage of what the elements of a row share; return where that is."""
        shared = [(v, e) for v, e in self.traced.onces if uses(hold.held, {v})]
        if not shared:
            return {}
        kept = self._kept()
        known = self._known([a.var for a in kept], tiles)
        values = [substitute(e, known) for _, e in shared]
        self.once = (*self.once, make_compute("once", tuple(kept), values).outputs)
        pairs = zip(shared, self.once[-1], strict=True)
        return {v: tensor[tuple(here)] for (v, _), tensor in pairs}

    def _pass(
        self,
        number: int,
        tile_pass: TilePass,
        inputs: Sequence[Sequence[Tensor]],
        index: Tensor | None,
        tiles: Sequence[tuple[Tensor, ...]],
    ) -> tuple[Tensor, ...]:
        kept, run = self._kept(), self._axis("k0", self.reduced_extents[0], "reduce")
        mapping = self._mapping([a.var for a in kept], run.var, inputs, index, tiles)
        own = without_nan(tile_pass)
        body = make_reduce(
            own.combiner,
            [substitute(e, mapping) for e in own.sources],
            [run],
            absorb=[substitute(e, mapping) for e in own.absorb],
        )
        return make_compute(f"tile{number}", tuple(kept), body).outputs

    def _short_sums(
        self,
        number: int,
        tile_pass: TilePass,
        inputs: Sequence[Sequence[Tensor]],
        index: Tensor | None,
        tiles: Sequence[tuple[Tensor, ...]],
    ) -> Tensor:
        """Return the stage of sums of a few elements, by lanes of a row or of columns."""
        size, lanes = self.reduced_extents[0], LANES if self.is_row else 1
        block = self._axis("s", build.ceildiv(size, ROUNDS * lanes), "data")
        run = self._axis("r", build.const(ROUNDS, INT64), "reduce")
        kept, within = self._kept(), run.var
        axes = self._in_memory(kept, block)
        if self.is_row:
            lane = self._axis("l", build.const(lanes, INT64), "data")
            within = run.var * lanes + lane.var
            axes = (*axes, lane)
        place = block.var * (ROUNDS * lanes) + within
        mapping = self._mapping([a.var for a in kept], place, inputs, index, tiles)
        (source,) = tile_pass.narrow or tile_pass.sources
        body = make_reduce(
            adding([FLOAT32]), [substitute(source, mapping)], run, where=build.likely(place < size)
        )
        return make_compute(f"tile{number}.narrow", axes, body).output(0)

    def _total(self, number: int, part: Tensor) -> Tensor:
        """Return the stage that adds up such sums."""
        kept = self._kept()
        folded = [self._axis("u", part.shape[-2], "reduce")]
        here = [a.var for a in kept]
        place = self._in_memory(here, folded[0].var)
        if self.is_row:
            folded.append(self._axis("v", part.shape[-1], "reduce"))
            place = (*place, folded[1].var)
        body = make_reduce(adding([FLOAT64]), [build.cast(FLOAT64, part[place])], folded)
        return make_compute(f"tile{number}", tuple(kept), body).output(0)


def _is_short_sum(tile_pass: TilePass) -> bool:
    """Return whether a pass sums one float32 that is positive, or no more than one."""
    if tile_pass.narrow:
        return tile_pass.narrow[0].dtype == FLOAT32
    result = tile_pass.combiner.result
    return (
        len(result) == 1
        and result[0].dtype == FLOAT32
        and isinstance(result[0], Binary)
        and result[0].op == "add"
    )
