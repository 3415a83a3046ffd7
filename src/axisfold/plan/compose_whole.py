# SPDX-License-Identifier: Apache-2.0
"""The te computation of a row that a team of a GPU's threads takes as one run, pass by pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from axisfold.dtypes import INT32, INT64
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.plan.compose import Composer, Elements, Graph
from axisfold.plan.compose_tiles import (
    axis_of,
    coordinates,
    gpu_of,
    known,
    product,
    with_passes,
)
from axisfold.plan.gpu_class import GpuClass
from axisfold.plan.sizes_gpu import HELD, SHORT_SUM
from axisfold.tensor.axis import Axis
from axisfold.tensor.compute import make_compute
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.tile_pass import TilePass, in_float32, in_two_steps, shortened


def whole_graph(composer: Composer) -> Graph:
    """Return the computation where the tile is a whole fold: its passes read all elements again.

    That is for folds that registers or caches hold; no states are merged.  What a thread sums of a
    few elements in its registers is as narrow as they are.
    """

    def narrowed(tile_pass: TilePass) -> tuple[TilePass, ...]:
        return in_two_steps(in_float32(shortened(tile_pass)))

    short = with_passes(composer, narrowed).traced.tile_passes
    fold = _WholeFold(with_passes(composer, in_two_steps))
    for tile_pass, narrow in zip(fold.traced.tile_passes, short, strict=True):
        fold.add(tile_pass, narrow)
    return fold.graph()


class _WholeFold:
    """The passes over folds, each of which is one tile."""

    def __init__(self, composer: Composer) -> None:
        self.composer, self.traced = composer, composer.traced
        self.inputs, self.index = composer.inputs(), composer.index_strides()
        self.gpu = gpu_of(composer)
        is_held = self.gpu.is_held and all(len(parts) == 1 for parts in self.traced.elements)
        held = [[_held(composer, t) for t in parts] for parts in self.inputs if is_held]
        self.private = tuple(h.tensor for parts in held for h in parts)
        self.source: Elements = held or self.inputs
        self.made: list[tuple[Tensor, ...]] = []
        self.own: list[Tensor | None] = []

    def add(self, tile_pass: TilePass, short: TilePass) -> None:
        """Add a pass; ``short`` is what it is over a few elements."""
        pairs = zip(short.combiner.lhs, tile_pass.combiner.lhs, strict=True)
        is_narrower = any(a.dtype != b.dtype for a, b in pairs)
        if self.private and is_narrower and self.gpu.steps <= HELD:
            self._add_by_threads(tile_pass, short)
            return
        folded = [
            axis_of(f"k{n}", e, "reduce") for n, e in enumerate(self.composer.reduced_extents)
        ]
        kept = _kept(self.composer)
        sources, absorb = self._terms(tile_pass, kept, [a.var for a in folded])
        body = make_reduce(tile_pass.combiner, sources, folded, absorb=absorb)
        self.own.append(None)
        self.made.append(make_compute(f"tile{len(self.made)}", tuple(kept), body).outputs)

    def _add_by_threads(self, tile_pass: TilePass, short: TilePass) -> None:
        """Fold the elements of a few loads as they are, each lane alone, then all these states."""
        gpu, name = self.gpu, f"tile{len(self.made)}"
        # Elements of results have as many digits as the terms; a fold has a tile's precision.
        count = -(-gpu.steps // (SHORT_SUM if self.traced.is_spread else HELD))
        size = -(-gpu.steps // count)
        runs, steps = build.const(count, INT64), build.const(size, INT64)
        kept, dealt = _kept(self.composer), [axis_of("run", runs, "data"), *_dealt(gpu, "data")]
        step = axis_of("step", steps, "reduce")
        run, block, thread, *lane = (a.var for a in dealt)
        unit = held_unit(gpu, run * size + step.var, block, thread)
        has_rest = count * size * gpu.team > gpu.fixed[0]
        sources, absorb = self._terms(short, kept, [unit, *lane])
        own = make_reduce(
            short.combiner, sources, step, absorb=absorb,
            where=build.likely(unit < gpu.fixed[0]) if has_rest else None,
        )  # fmt: skip
        parts = make_compute(f"{name}.own", (*kept, *dealt), own).outputs
        kept = _kept(self.composer)
        folded = [axis_of("run", runs, "reduce"), *_dealt(gpu, "reduce")]
        place = tuple(a.var for a in (*kept, *folded))
        pairs = zip(tile_pass.combiner.lhs, parts, strict=True)
        body = make_reduce(
            tile_pass.combiner, [build.cast(v.dtype, part[place]) for v, part in pairs], folded
        )
        self.own.append(parts[0])
        self.made.append(make_compute(name, tuple(kept), body).outputs)

    def _terms(
        self, tile_pass: TilePass, kept: Sequence[Axis], at: Sequence[Expr]
    ) -> tuple[list[Expr], list[Expr]]:
        """Return what a pass folds of an element: the sources, and the fields after it."""
        fold = _Whole(self.composer, [a.var for a in kept])
        mapping = self.composer.elements(self.source, [*fold.kept, *at], self.index)
        mapping.update(fold.known(self.inputs, self.made, self.index))
        mapping[self.traced.run.place] = build.cast(INT32, fold.flat(at))
        sources = [substitute(e, mapping) for e in tile_pass.sources]
        if tile_pass.is_backward:
            return sources, []
        return sources, [substitute(e, mapping) for e in tile_pass.absorb]

    def graph(self) -> Graph:
        """Return the computation of the state and of what follows."""
        composer, traced = self.composer, self.traced
        kept = _kept(composer)
        whole = _Whole(composer, [a.var for a in kept])
        mapping = whole.known(self.inputs, self.made, self.index)
        for variable, _ in traced.tile_heads:  # no loop around: an empty fold has no first element
            nothing = build.const(0, variable.dtype)
            mapping[variable] = build.if_then_else(whole.count > 0, mapping[variable], nothing)
        values = [substitute(e, mapping) for e in traced.tile_state]
        state = make_compute("state", tuple(kept), values)
        graph = composer.finished(
            self.inputs, self.index, state, self.made, self.own, source=self.source
        )
        return replace(graph, private=self.private)


def _kept(composer: Composer) -> list[Axis]:
    return [axis_of(f"i{n}", e, "data") for n, e in enumerate(composer.kept_extents)]


def _dealt(gpu: GpuClass, kind: str) -> list[Axis]:
    """Return the axes of a row's team: its blocks, their threads, the lanes of a load."""
    dealt = [("block", gpu.cluster), ("thread", gpu.team // gpu.cluster)]
    dealt += [("lane", gpu.lanes)] * (gpu.lanes > 1)
    return [axis_of(n, build.const(e, INT64), kind) for n, e in dealt]


@dataclass(frozen=True, slots=True)
class _Held:
    """An input that threads hold: the step, the thread and the lane of an element tell where."""

    tensor: Tensor
    gpu: GpuClass

    def __getitem__(self, place: tuple[Expr, ...], /) -> Expr:
        lane = place[-1:] if self.gpu.lanes > 1 else ()
        *kept, unit = place[: len(place) - len(lane)]
        team, threads = self.gpu.team, self.gpu.team // self.gpu.cluster
        dealt = (unit // team, unit % team // threads, unit % threads)
        element: Expr = self.tensor[(*kept, *dealt, *lane)]
        return element


def has_tail(gpu: GpuClass) -> bool:
    """Return whether some threads hold fewer units than others."""
    return gpu.steps * gpu.team > gpu.fixed[0]


def held_unit(gpu: GpuClass, step: Expr, block: Expr, thread: Expr) -> Expr:
    """Return the unit that a thread of a block of the team holds in a step."""
    unit: Expr = step * gpu.team + (block * (gpu.team // gpu.cluster) + thread)
    return unit


def _held(composer: Composer, tensor: Tensor) -> _Held:
    """Return the stage in which each thread of a row's team reads its elements."""
    gpu, kept = gpu_of(composer), composer.layout.kept
    axes = [axis_of(f"i{n}", e, "data") for n, e in enumerate(tensor.shape[:kept])]
    axes += [axis_of("step", build.const(gpu.steps, INT64), "data"), *_dealt(gpu, "data")]
    step, block, thread, *lane = (a.var for a in axes[kept:])
    place = (*(a.var for a in axes[:kept]), held_unit(gpu, step, block, thread), *lane)
    return _Held(make_compute(f"{tensor.name}.held", tuple(axes), [tensor[place]]).output(0), gpu)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A fold that is one tile."""

    composer: Composer
    kept: list[Expr]

    @property
    def count(self) -> Expr:
        """Number of elements."""
        return product(self.composer.reduced_extents)

    def flat(self, at: Sequence[Expr]) -> Expr:
        """Return the place of an element."""
        place: Expr = build.const(0, INT64)
        for axis, extent in zip(at, self.composer.reduced_extents, strict=True):
            place = place * extent + axis
        return place

    def at(self, place: Expr) -> list[Expr]:
        """Return where an element lies on all axes."""
        return [*self.kept, *coordinates(place, self.composer.reduced_extents)]

    def known(
        self,
        inputs: Elements,
        tiles: Sequence[tuple[Tensor, ...]],
        index: Tensor | None,
    ) -> dict[Var, Expr]:
        """Return what is known of the fold: its length, its head, the results of first passes."""
        return known(self.composer, self.at, self.kept, inputs, tiles, index) | {
            self.composer.traced.run.count: self.count
        }
