# SPDX-License-Identifier: Apache-2.0
"""The te computation of a fold by the threads of a GPU: each takes tiles into registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from axisfold.dtypes import INT32, INT64
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.plan.compose import Composer, Elements, Graph
from axisfold.plan.sizes_gpu import GpuClass
from axisfold.tensor.axis import Axis, make_axis
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.tile_pass import TilePass, fused, in_float32, in_two_steps, shortened


@dataclass(frozen=True, slots=True)
class _Units:
    """How folded units, each one load, are dealt out: by turns, blocks, threads and steps."""

    extents: tuple[Expr, ...]
    gpu: GpuClass

    @property
    def count(self) -> Expr:
        """Number of units."""
        return product(self.extents)

    @property
    def turns(self) -> Expr:
        """Turns that each thread takes."""
        return build.ceildiv(self.count, self.gpu.steps * self.gpu.team * self.gpu.parts)

    def position(self, place: Sequence[Expr], step: Expr) -> Expr:
        """Return the unit of a step; ``place`` is turn, block and thread."""
        turn, part, thread = place
        tile = turn * self.gpu.parts + part
        if self.gpu.overlaps:
            size = self.gpu.steps * self.gpu.team
            start: Expr = build.minimum(tile * size, self.count - size)
            whole: Expr = start + (step * self.gpu.team + thread)
            return whole
        unit: Expr = (tile * self.gpu.steps + step) * self.gpu.team + thread
        return unit

    def has(self, unit: Expr) -> Expr:
        """Return whether there is a unit."""
        return build.TRUE if self.gpu.overlaps else build.likely(unit < self.count)

    def left(self, place: Sequence[Expr]) -> Expr:
        """Return how many steps of a tile have a unit."""
        if self.gpu.overlaps:
            return build.const(self.gpu.steps, INT64)
        start = self.position(place, build.const(0, INT64))
        rounds = build.ceildiv(self.count - start, self.gpu.team)
        return build.maximum(build.minimum(rounds, self.gpu.steps), 0)

    def coordinates(self, unit: Expr) -> list[Expr]:
        """Return where a unit lies on the folded axes."""
        return coordinates(unit, self.extents)


def product(extents: Sequence[Expr]) -> Expr:
    """Return the number of elements of some axes."""
    total: Expr = build.const(1, INT64)
    for extent in extents:
        total = total * extent
    return total


def coordinates(flat: Expr, extents: Sequence[Expr]) -> list[Expr]:
    """Return where a flat position lies on some axes."""
    found: list[Expr] = []
    for extent in reversed(extents[1:]):
        found.insert(0, flat % extent)
        flat = flat // extent
    return [flat, *found]


def gpu_of(composer: Composer) -> GpuClass:
    """Return what the layout class tells a GPU."""
    assert composer.layout.gpu is not None  # noqa: S101  (rules for GPUs only ask)
    return composer.layout.gpu


def tile_graph(composer: Composer) -> Graph:
    """Return the computation by tiles of a thread.

    The reducer's ``tile`` says how the state of a tile follows by short reductions over it, which
    read its elements again: the compiler keeps them in registers.  Threads merge whole states.
    """
    layout = composer.layout
    # Two steps take fewer instructions, which bind where elements are short and loads are long.
    is_short = layout.lanes > 1 and all(
        v.dtype.bits <= 16 for p in composer.traced.elements for v in p
    )
    found = in_two_steps if is_short else lambda p: (p,)
    composer = with_passes(composer, lambda p: found(in_float32(shortened(p))))
    folds_lanes = layout.lanes > 1 and layout.inner_kind == "reduced"
    extents = composer.reduced_extents[:-1] if folds_lanes else composer.reduced_extents
    units = _Units(tuple(extents), gpu_of(composer))
    lanes = layout.lanes if folds_lanes else 1
    inputs, index = composer.inputs(), composer.index_strides()
    tiles = _passes(composer, units, inputs, index, lanes)
    state = _merged(composer, units, inputs, index, lanes, tiles)
    return composer.finished(inputs, index, state, tiles)


def with_passes(composer: Composer, change: Callable[[TilePass], tuple[TilePass, ...]]) -> Composer:
    """Return the composer with changed passes, as few as can be: none of them sums apart."""
    traced = composer.traced
    changed = [q for p in traced.tile_passes for q in change(p)]
    passes = fused([replace(p, narrow=()) for p in changed])
    return Composer(replace(traced, tile_passes=passes), composer.layout)


def known(
    composer: Composer,
    at: Callable[[Expr], list[Expr]],
    here: Sequence[Expr],
    inputs: Elements,
    tiles: Sequence[tuple[Tensor, ...]],
    index: Tensor | None,
) -> dict[Var, Expr]:
    """Return values of a tile's first element, and results of the first passes ``here``.

    ``at`` says where the element of a place lies.
    """
    traced = composer.traced
    head = composer.elements(inputs, at(build.const(0, INT64)), None)
    found: dict[Var, Expr] = {v: substitute(e, head) for v, e in traced.tile_heads}
    for tile_pass, tensors in zip(traced.tile_passes, tiles, strict=False):
        for number, (result, tensor) in enumerate(zip(tile_pass.results, tensors, strict=True)):
            value: Expr = build.cast(result.dtype, tensor[tuple(here)])
            if number in tile_pass.places:
                value = composer.elements((), at(value), index)[traced.index]
            found[result] = value
    return found


def _dealt(units: _Units) -> list[tuple[str, Expr]]:
    gpu = units.gpu
    constants = [("part", gpu.parts), ("thread", gpu.team)]
    return [("turn", units.turns), *((n, build.const(e, INT64)) for n, e in constants)]


def axis_of(name: str, extent: Expr, kind: str) -> Axis:
    """Return an axis from 0 on."""
    return make_axis(name, build.const(0, INT64), extent, kind)  # type: ignore[arg-type]


def _passes(
    composer: Composer,
    units: _Units,
    inputs: Sequence[Sequence[Tensor]],
    index: Tensor | None,
    lanes: int,
) -> list[tuple[Tensor, ...]]:
    """Return a stage for each pass over a tile; later ones read the earlier."""
    traced, made = composer.traced, list[tuple[Tensor, ...]]()
    for number, tile_pass in enumerate(traced.tile_passes):
        kept = [axis_of(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]
        dealt = [axis_of(n, e, "data") for n, e in _dealt(units)]
        run = [
            axis_of(n, build.const(e, INT64), "reduce")
            for n, e in (("step", units.gpu.steps), ("lane", lanes))
        ]
        tile = _Tile(composer, units, [a.var for a in kept], [a.var for a in dealt], lanes)
        step, lane = (a.var for a in run)
        if tile_pass.is_backward:
            step = units.gpu.steps - 1 - step
        mapping = composer.elements(inputs, tile.at(step, lane), index)
        mapping.update(tile.known(inputs, made, index))
        mapping[traced.run.place] = build.cast(INT32, step * lanes + lane)
        body = make_reduce(
            tile_pass.combiner,
            [substitute(e, mapping) for e in tile_pass.sources],
            run,
            where=units.has(units.position(tile.place, step)),
            absorb=[substitute(e, mapping) for e in tile_pass.absorb],
        )
        made.append(make_compute(f"tile{number}", (*kept, *dealt), body).outputs)
    return made


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile of some threads: the kept axes, and ``place``, its turn, block and thread."""

    composer: Composer
    units: _Units
    kept: list[Expr]
    place: list[Expr]
    lanes: int

    def at(self, step: Expr, lane: Expr) -> list[Expr]:
        """Return where an element of the tile lies on all axes."""
        unit = self.units.position(self.place, step)
        return [*self.kept, *self.units.coordinates(unit), *[lane] * (self.lanes > 1)]

    def known(
        self,
        inputs: Sequence[Sequence[Tensor]],
        tiles: Sequence[tuple[Tensor, ...]],
        index: Tensor | None,
    ) -> dict[Var, Expr]:
        """Return what is known of the tile: its length, its head, the results of first passes."""

        def at(place: Expr) -> list[Expr]:
            return self.at(place // self.lanes, place % self.lanes)

        count = self.units.left(self.place) * self.lanes
        here = (*self.kept, *self.place)
        return known(self.composer, at, here, inputs, tiles, index) | {
            self.composer.traced.run.count: count
        }


def _merged(
    composer: Composer,
    units: _Units,
    inputs: Sequence[Sequence[Tensor]],
    index: Tensor | None,
    lanes: int,
    tiles: Sequence[tuple[Tensor, ...]],
) -> ComputeOp:
    """Return the stage that merges the states of tiles."""
    traced = composer.traced
    kept = [axis_of(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]
    dealt = [axis_of(n, e, "reduce") for n, e in _dealt(units)]
    tile = _Tile(composer, units, [a.var for a in kept], [a.var for a in dealt], lanes)
    mapping = tile.known(inputs, tiles, index)
    body = make_reduce(
        traced.combiner,
        [substitute(e, mapping) for e in traced.tile_state],
        dealt,
        where=units.has(units.position(tile.place, build.const(0, INT64))),
    )
    return make_compute("state", tuple(kept), body)
