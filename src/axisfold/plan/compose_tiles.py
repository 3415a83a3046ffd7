# SPDX-License-Identifier: Apache-2.0
"""The te computation of a fold by the threads of a GPU: each takes tiles into registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axisfold.dtypes import INT32, INT64
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Binary, Cast, Const, Expr, Select, Var
from axisfold.ir.walk import substitute
from axisfold.plan.compose import Composer, Graph
from axisfold.plan.sizes_gpu import GpuClass
from axisfold.tensor.axis import Axis, make_axis
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.tile import TilePass
from axisfold.tensor.trace import Traced


@dataclass(frozen=True, slots=True)
class _Units:
    """How folded units, each one load, are dealt out: by turns, blocks, threads and steps."""

    extents: tuple[Expr, ...]
    gpu: GpuClass

    @property
    def count(self) -> Expr:
        """Number of units."""
        total: Expr = build.const(1, INT64)
        for extent in self.extents:
            total = total * extent
        return total

    @property
    def turns(self) -> Expr:
        """Turns that each thread takes."""
        return build.ceildiv(self.count, self.gpu.steps * self.gpu.team * self.gpu.parts)

    def position(self, place: Sequence[Expr], step: Expr) -> Expr:
        """Return the unit of a step; ``place`` is turn, block and thread."""
        turn, part, thread = place
        tile = turn * self.gpu.parts + part
        unit: Expr = (tile * self.gpu.steps + step) * self.gpu.team + thread
        return unit

    def left(self, place: Sequence[Expr]) -> Expr:
        """Return how many steps of a tile have a unit."""
        start = self.position(place, build.const(0, INT64))
        rounds = build.ceildiv(self.count - start, self.gpu.team)
        return build.maximum(build.minimum(rounds, self.gpu.steps), 0)

    def coordinates(self, unit: Expr) -> list[Expr]:
        """Return where a unit lies on the folded axes."""
        found: list[Expr] = []
        for extent in reversed(self.extents[1:]):
            found.insert(0, unit % extent)
            unit = unit // extent
        return [unit, *found]


def tile_graph(composer: Composer) -> Graph:
    """Return the computation by tiles of a thread.

    The reducer's ``tile`` says how the state of a tile follows by short reductions over it, which
    read its elements again: the compiler keeps them in registers.  Threads merge whole states.
    """
    layout = composer.layout
    assert layout.gpu is not None  # noqa: S101  (rules for GPUs only ask)
    folds_lanes = layout.lanes > 1 and layout.inner_kind == "reduced"
    extents = composer.reduced_extents[:-1] if folds_lanes else composer.reduced_extents
    units = _Units(tuple(extents), layout.gpu)
    lanes = layout.lanes if folds_lanes else 1
    inputs, index = composer.inputs(), composer.index_strides()
    tiles = _passes(composer, units, inputs, index, lanes)
    state = _merged(composer, units, lanes, tiles, index)
    return composer.finished(inputs, index, state, tiles)


def whole_graph(composer: Composer) -> Graph:
    """Return the computation where the tile is a whole fold: its passes read all elements again.

    That is for folds that registers or caches hold; no states are merged.
    """
    traced = composer.traced
    inputs, index = composer.inputs(), composer.index_strides()
    count: Expr = build.const(1, INT64)
    for extent in composer.reduced_extents:
        count = count * extent
    made: list[Tensor] = []
    for number, tile_pass in enumerate(traced.tile_passes):
        kept = [_axis(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]
        folded = [_axis(f"k{n}", e, "reduce") for n, e in enumerate(composer.reduced_extents)]
        here = [a.var for a in kept]
        mapping = composer.elements(inputs, [*here, *(a.var for a in folded)], index)
        mapping[traced.tile_count] = count
        mapping.update(_values(traced, made, here))
        body = make_reduce(tile_pass.combiner, [substitute(tile_pass.source, mapping)], folded)
        made.append(make_compute(f"tile{number}", tuple(kept), body).output(0))
    kept = [_axis(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]
    mapping = _values(traced, made, [a.var for a in kept])
    mapping[traced.tile_count] = count
    values = [substitute(e, mapping) for e in traced.tile_state]
    state = make_compute("state", tuple(kept), values)
    return composer.finished(inputs, index, state, made)


def _values(traced: Traced, tiles: Sequence[Tensor], here: Sequence[Expr]) -> dict[Var, Expr]:
    """Return what the first passes over a whole fold have found."""
    pairs = zip(traced.tile_passes, tiles, strict=False)
    return {tile_pass.result: tensor[tuple(here)] for tile_pass, tensor in pairs}


def _dealt(units: _Units) -> list[tuple[str, Expr]]:
    gpu = units.gpu
    constants = [("part", gpu.parts), ("thread", gpu.team)]
    return [("turn", units.turns), *((n, build.const(e, INT64)) for n, e in constants)]


def _axis(name: str, extent: Expr, kind: str) -> Axis:
    return make_axis(name, build.const(0, INT64), extent, kind)  # type: ignore[arg-type]


def _passes(
    composer: Composer,
    units: _Units,
    inputs: Sequence[Sequence[Tensor]],
    index: Tensor | None,
    lanes: int,
) -> list[Tensor]:
    """Return a stage for each pass over a tile; later ones read the earlier."""
    traced, made = composer.traced, list[Tensor]()
    for number, tile_pass in enumerate(traced.tile_passes):
        kept = [_axis(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]
        dealt = [_axis(n, e, "data") for n, e in _dealt(units)]
        run = [
            _axis(n, build.const(e, INT64), "reduce")
            for n, e in (("step", units.gpu.steps), ("lane", lanes))
        ]
        outside = tuple(a.var for a in (*kept, *dealt))
        place = [a.var for a in dealt]
        unit = units.position(place, run[0].var)
        at: list[Expr] = [a.var for a in kept]
        at += units.coordinates(unit) + [run[1].var] * (lanes > 1)
        mapping = composer.elements(inputs, at, index)
        mapping[traced.tile_count] = units.left(place) * lanes
        mapping.update(_results(composer, units, lanes, made, outside, index))
        combiner, source = _in_registers(tile_pass, units)
        if tile_pass.place is not None:
            mapping[tile_pass.place] = build.cast(INT32, run[0].var * lanes + run[1].var)
        body = make_reduce(
            combiner,
            [substitute(source, mapping)],
            run,
            where=build.likely(unit < units.count),
        )
        made.append(make_compute(f"tile{number}", (*kept, *dealt), body).output(0))
    return made


def _has_places(units: _Units) -> bool:
    """Whether elements of a tile that come later have larger indices."""
    return len(units.extents) == 1


def _in_registers(tile_pass: TilePass, units: _Units) -> tuple[Combiner, Expr]:
    """Return what folds a tile, in int32 where its few elements cannot make more."""
    if tile_pass.place is not None and _has_places(units):
        return tile_pass.inner
    short = _short(tile_pass.source)
    result = tile_pass.combiner.result[0]
    if short is None or not (isinstance(result, Binary) and result.op == "add"):
        return tile_pass.combiner, tile_pass.source
    lhs, rhs = Var("lhs", INT32), Var("rhs", INT32)
    return Combiner((lhs,), (rhs,), (lhs + rhs,), (build.const(0, INT32),)), short


def _short(source: Expr) -> Expr | None:
    """Return an int64 that is made of 16 bits at most as an int32, None for another value."""
    match source:
        case Cast(dtype=dtype, value=value) if dtype == INT64 and not value.dtype.is_float:
            return build.cast(INT32, value) if value.dtype.bits <= 16 else None
        case Const(dtype=dtype, value=number) if dtype == INT64 and abs(int(number)) < 1 << 15:
            return build.const(int(number), INT32)
        case Select(condition=condition, true_value=a, false_value=b):
            sides = _short(a), _short(b)
            if sides[0] is None or sides[1] is None:
                return None
            return build.select(condition, *sides)
        case _:
            return None


def _results(
    composer: Composer,
    units: _Units,
    lanes: int,
    tiles: Sequence[Tensor],
    here: Sequence[Expr],
    index: Tensor | None,
) -> dict[Var, Expr]:
    """Return what the results of the first passes are at a tile."""
    found: dict[Var, Expr] = {}
    kept = len(composer.kept_extents)
    for tile_pass, tensor in zip(composer.traced.tile_passes, tiles, strict=False):
        value: Expr = tensor[tuple(here)]
        if tile_pass.place is not None and _has_places(units):
            wide = build.cast(INT64, value)
            unit = units.position(here[kept:], wide // lanes)
            at = [*here[:kept], *units.coordinates(unit)]
            at += [wide % lanes] * (lanes > 1)
            where = composer.elements((), at, index)[composer.traced.index]
            is_there = value < units.gpu.steps * lanes
            value = build.select(is_there, where, tile_pass.combiner.identity[0])
        found[tile_pass.result] = build.cast(tile_pass.result.dtype, value)
    return found


def _merged(
    composer: Composer,
    units: _Units,
    lanes: int,
    tiles: Sequence[Tensor],
    index: Tensor | None,
) -> ComputeOp:
    """Return the stage that merges the states of tiles."""
    traced = composer.traced
    kept = [_axis(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]
    dealt = [_axis(n, e, "reduce") for n, e in _dealt(units)]
    here = tuple(a.var for a in (*kept, *dealt))
    place = [a.var for a in dealt]
    mapping = _results(composer, units, lanes, tiles, here, index)
    mapping[traced.tile_count] = units.left(place) * lanes
    body = make_reduce(
        traced.combiner,
        [substitute(e, mapping) for e in traced.tile_state],
        dealt,
        where=build.likely(units.position(place, build.const(0, INT64)) < units.count),
    )
    return make_compute("state", tuple(kept), body)
