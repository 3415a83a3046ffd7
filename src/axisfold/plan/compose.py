# SPDX-License-Identifier: Apache-2.0
"""The te computation of a canonical problem: inputs, the folded state, the results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Final

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.plan.facts import facts_of_results
from axisfold.plan.graph import Elements, Graph, LayoutClass
from axisfold.plan.operands import elements_at, placeholders
from axisfold.tensor.axis import Axis, make_axis
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import make_reduce
from axisfold.tensor.tensor import Tensor, placeholder, size_var
from axisfold.tensor.tile_pass import (
    TilePass,
    adding,
    in_short_run,
    longest_run,
    narrow_rounds,
    shortened,
)
from axisfold.tensor.trace import Traced

__all__ = ["Composer", "Elements", "Graph", "LayoutClass"]

# Places that a run is read at for narrow sums, and bytes of the sums side by side in each.  Where a
# place is longer than a sum may be, it has several one after the other.
NARROW_STREAMS: Final = 4
NARROW_LANE_BYTES: Final = 64


class Composer:
    """Builds the computation of one layout class."""

    def __init__(self, traced: Traced, layout: LayoutClass) -> None:
        self.traced, self.layout = traced, layout
        # A full fold has one result: an axis of one element gives its stages a loop to stand in.
        self.kept_extents: list[Expr] = [self._extent(f"n{i}", i) for i in range(layout.kept)] or [
            build.const(1, INT64)
        ]
        self.reduced_extents: list[Expr] = [
            self._extent(f"m{i}", layout.kept + i) for i in range(layout.reduced)
        ]

    def _extent(self, name: str, position: int) -> Expr:
        constant = self.layout.constants()[position]
        if constant:
            return build.const(constant, INT64)
        is_column = position == self.layout.kept - 1
        return size_var(name, "int64", self.layout.least if is_column else 0)

    def graph(self) -> Graph:
        """Return the plain computation: fold every element, then finalize."""
        inputs = self.inputs()
        index = self.index_strides()
        kept = [self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents)]
        folded = [self._axis(f"k{n}", e, "reduce") for n, e in enumerate(self.reduced_extents)]
        here = [a.var for a in (*kept, *folded)]
        mapping = self.elements(inputs, here, index)
        traced = self.traced
        body = make_reduce(
            traced.combiner,
            [substitute(e, mapping) for e in traced.lifted],
            folded,
            absorb=[substitute(e, mapping) for e in traced.absorb],
        )
        return self.finished(inputs, index, make_compute("state", tuple(kept), body))

    def finished(
        self,
        inputs: tuple[tuple[Tensor, ...], ...],
        index: Tensor | None,
        state: ComputeOp,
        tiles: Sequence[tuple[Tensor, ...]] = (),
        parts: Sequence[Tensor | None] = (),
        heads: Sequence[Tensor] = (),
        source: Elements | None = None,
    ) -> Graph:
        """Return the computation of a state with what follows, which reads elements of a source."""
        traced = self.traced
        initial = tuple(
            tuple(placeholder((1,), v.dtype, v.name) for v in value.variables)
            for value in traced.initial
        )
        values = [p for r in traced.results for p in r.parts]
        # Two real numbers are an element of a complex result.
        counts = [len(r.parts) for r in traced.results for _ in r.parts]
        layouts: tuple[tuple[Expr, ...] | None, ...]
        shares: tuple[Tensor, ...] = ()
        if traced.is_spread:
            shared = [value for _, value in traced.shares]
            shares = self.finalize(state, initial, "shared", shared).outputs
            results = self.spread(source or inputs, index, shares, values).outputs
            layouts = (self._result_strides(),) * len(counts)
        else:
            results = self.finalize(state, initial, "result", values).outputs
            layouts = tuple(() if count == 1 else self._interleaved(count) for count in counts)
        return Graph(
            inputs,
            initial,
            index,
            state.outputs,
            results,
            layouts,
            shares,
            tuple(tiles),
            self.layout,
            tuple(parts),
            facts_of_results(self.layout, results, counts, is_spread=traced.is_spread),
            tuple(heads),
        )

    def tiled_graph(self, rows: int) -> Graph:
        """Return the computation by tiles: each run of ``rows`` elements becomes one state.

        A run lies along the last folded axis.  The reducer's ``tile`` says how its state follows
        from te reductions over the run, which become stages of their own; the state then merges
        whole runs.
        """
        rows = longest_run(self.traced.tile_passes, rows)
        inputs = self.inputs()
        index = self.index_strides()
        *others, last = self.reduced_extents
        extents = [*others, build.ceildiv(last, rows)]
        heads = self._heads(inputs, extents, rows)
        tiles, parts = self._tiles(inputs, heads, index, extents, rows)
        kept = [self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents)]
        folded = [self._axis(f"k{n}", e, "reduce") for n, e in enumerate(extents)]
        here = tuple(a.var for a in (*kept, *folded))
        mapping = self._of_run(heads, tiles, here, index, rows)
        source = [substitute(e, mapping) for e in self.traced.tile_state]
        # Along one axis the runs come in order.
        later = self.traced.tile_later if self.layout.reduced == 1 else ()
        absorb = [substitute(e, mapping) for e in later]
        state = make_compute(
            "state", tuple(kept), make_reduce(self.traced.combiner, source, folded, absorb=absorb)
        )
        return self.finished(inputs, index, state, tiles, parts, heads)

    def _heads(
        self, inputs: Sequence[Sequence[Tensor]], extents: Sequence[Expr], rows: int
    ) -> list[Tensor]:
        """Return a stage for each value of the first element of a run."""
        made: list[Tensor] = []
        for variable, value in self.traced.tile_heads:
            kept = [self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents)]
            outer = [self._axis(f"t{n}", e, "data") for n, e in enumerate(extents)]
            here = [a.var for a in (*kept, *outer)]
            mapping = self.elements(inputs, [*here[:-1], here[-1] * rows], None)
            source = substitute(value, mapping)
            made.append(make_compute(variable.name, (*kept, *outer), [source]).output(0))
        return made

    def _tiles(
        self,
        inputs: Sequence[Sequence[Tensor]],
        heads: Sequence[Tensor],
        index: Tensor | None,
        extents: Sequence[Expr],
        rows: int,
    ) -> tuple[list[tuple[Tensor, ...]], list[Tensor | None]]:
        """Return a stage for each pass over a tile, later reading earlier, and narrow parts."""
        made: list[tuple[Tensor, ...]] = []
        parts: list[Tensor | None] = []
        for number, tile_pass in enumerate(self.traced.tile_passes):
            kept = [self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents)]
            outer = [self._axis(f"t{n}", e, "data") for n, e in enumerate(extents)]
            if tile_pass.narrow:
                run_of = functools.partial(self._of_run, heads, made, index=index, rows=rows)
                sums = self._narrow_tile(number, tile_pass, inputs, index, extents, rows, run_of)
                made.append(self._widened(number, tile_pass, sums, (*kept, *outer), rows))
                parts.append(sums[0])
                continue
            run = self._axis("r", build.const(rows, INT64), "reduce")
            here = tuple(a.var for a in (*kept, *outer))
            position = here[-1] * rows + run.var
            mapping = self.elements(inputs, [*here[:-1], position], index)
            mapping.update(self._of_run(heads, made, here, index, rows))
            place = self.traced.run.place
            mapping[place] = build.cast(place.dtype, run.var)
            short = in_short_run(tile_pass)
            body = make_reduce(
                short.combiner,
                [substitute(e, mapping) for e in short.sources],
                run,
                where=build.likely(position < self.reduced_extents[-1]),
                absorb=[substitute(e, mapping) for e in short.absorb],
            )
            made.append(make_compute(f"tile{number}", (*kept, *outer), body).outputs)
            parts.append(None)
        return made, parts

    def _of_run(
        self,
        heads: Sequence[Tensor],
        tiles: Sequence[tuple[Tensor, ...]],
        here: Sequence[Expr],
        index: Tensor | None,
        rows: int,
    ) -> dict[Var, Expr]:
        """Return what is known of a run: its length, its head, the results of the first passes."""
        start = here[-1] * rows
        found: dict[Var, Expr] = {self.traced.run.count: self._tile_length(here[-1], rows)}
        for (variable, _), tensor in zip(self.traced.tile_heads, heads, strict=True):
            found[variable] = tensor[tuple(here)]
        for tile_pass, tensors in zip(self.traced.tile_passes, tiles, strict=False):
            for number, (result, tensor) in enumerate(zip(tile_pass.results, tensors, strict=True)):
                value: Expr = build.cast(result.dtype, tensor[tuple(here)])
                if number in tile_pass.places:
                    place = start + value
                    value = self.elements((), [*here[:-1], place], index)[self.traced.index]
                found[result] = value
        return found

    def _narrow_tile(
        self,
        number: int,
        tile_pass: TilePass,
        inputs: Sequence[Sequence[Tensor]],
        index: Tensor | None,
        extents: Sequence[Expr],
        rows: int,
        run_of: Callable[..., dict[Var, Expr]],
    ) -> tuple[Tensor, ...]:
        """Return the stage of narrow sums: of columns, or of lanes that lie side by side."""
        narrow = tile_pass.narrow[0]
        kept = [self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents)]
        outer = [self._axis(f"t{n}", e, "data") for n, e in enumerate(extents)]
        streams, lanes = 1, 1
        if self.layout.inner_kind == "reduced":
            streams, lanes = NARROW_STREAMS, NARROW_LANE_BYTES // narrow.dtype.itemsize
        if self._is_in_order(tile_pass):
            streams = max(rows // (tile_pass.terms * lanes), 1)
        most = tile_pass.terms or narrow_rounds(narrow.dtype)
        while rows // (streams * lanes) > most:
            streams *= 2
        stream = self._axis("s", build.const(streams, INT64), "data")
        lane = self._axis("l", build.const(lanes, INT64), "data")
        run = self._axis("r", build.const(rows // (streams * lanes), INT64), "reduce")
        within = stream.var * (rows // streams) + (run.var * lanes + lane.var)
        position = outer[-1].var * rows + within
        here = [a.var for a in (*kept, *outer)]
        mapping = self.elements(inputs, [*here[:-1], position], index) | run_of(here=here)
        body = make_reduce(
            adding([e.dtype for e in tile_pass.narrow]),
            [substitute(e, mapping) for e in tile_pass.narrow],
            run,
            where=build.likely(position < self.reduced_extents[-1]),
        )
        return make_compute(f"tile{number}.narrow", (*kept, *outer, stream, lane), body).outputs

    def _is_in_order(self, tile_pass: TilePass) -> bool:
        """Return whether narrow sums read what other passes have left in a cache: in one place."""
        return bool(tile_pass.terms) and len(self.traced.tile_passes) > 1

    def _widened(
        self,
        number: int,
        tile_pass: TilePass,
        parts: Sequence[Tensor],
        axes: Sequence[Axis],
        rows: int,
    ) -> tuple[Tensor, ...]:
        """Return the stage that adds up the lanes of narrow sums, without those of no element."""
        streams, lanes = parts[0].shape[-2:]
        stream, lane = self._axis("u", streams, "reduce"), self._axis("v", lanes, "reduce")
        where: Expr = build.TRUE
        if self._is_in_order(tile_pass) and self.layout.inner_kind == "reduced":
            start = axes[-1].var * rows + stream.var * (build.const(rows, INT64) // streams)
            where = start < self.reduced_extents[-1]
        place = (*(a.var for a in axes), stream.var, lane.var)
        combiner = shortened(tile_pass, 1).combiner
        fields = zip(combiner.lhs, parts, strict=True)
        body = make_reduce(
            combiner,
            [build.cast(v.dtype, part[place]) for v, part in fields],
            [stream, lane],
            where=where,
        )
        return make_compute(f"tile{number}", tuple(axes), body).outputs

    def _tile_length(self, tile: Expr, rows: int) -> Expr:
        return build.minimum(self.reduced_extents[-1] - tile * rows, rows)

    def inputs(self) -> tuple[tuple[Tensor, ...], ...]:
        """Return the placeholders of each input."""
        return placeholders(self.traced, self.layout, [*self._kept_shape(), *self.reduced_extents])

    def _kept_shape(self) -> list[Expr]:
        return self.kept_extents if self.layout.kept else []

    def _interleaved(self, parts: int) -> tuple[Expr, ...] | None:
        """Return the strides of one of several components; None where they are arguments."""
        is_constant = self.layout.kept == 1 and bool(self.layout.constants()[0])
        return (build.const(parts, INT64),) if is_constant else None

    def _result_strides(self) -> tuple[Expr, ...]:
        """Return the strides of a component of a result of the inputs' shape."""
        rank = self.layout.kept + self.layout.reduced
        strides: list[Expr] = [Var(f"s_{axis}", INT64) for axis in range(rank)]
        step = self.layout.inner_steps[-1]
        if step in ("unit", "two"):
            # Of a complex result it is two where elements have no gaps, as its parts are counted.
            own = 1 if step == "unit" else 2
            inner = self.layout.innermost
            strides[inner] = build.const(own, INT64)
            if self.layout.lanes > 1:
                strides[inner - 1] = build.const(own * self.layout.lanes, INT64)
        return tuple(strides)

    def index_strides(self) -> Tensor | None:
        """Return the placeholder that carries the strides of the element index."""
        if not self.traced.uses_index:
            return None
        strides = [Var(f"index_stride{n}", INT64) for n in range(self.layout.reduced)]
        return placeholder(self.reduced_extents, "int64", "index", strides=strides, unit="byte")

    def elements(
        self, inputs: Elements, here: Sequence[Expr], index: Tensor | None
    ) -> dict[Var, Expr]:
        """Return what traced elements and their index stand for at the loops' position."""
        place = here if self.layout.kept else here[1:]
        mapping = elements_at(self.traced, inputs, place)
        if index is not None:
            flat: Expr = build.const(0, INT64)
            strides = index.op.strides  # type: ignore[attr-defined]
            for axis, stride in zip(here[len(self.kept_extents) :], strides, strict=True):
                flat = flat + axis * stride
            mapping[self.traced.index] = flat
        return mapping

    def spread(
        self,
        inputs: Elements,
        index: Tensor | None,
        shares: Sequence[Tensor],
        parts: Sequence[Expr],
    ) -> ComputeOp:
        """Return the stage of results of the inputs' shape."""
        kept = [self._axis(f"i{n}", e, "data") for n, e in enumerate(self._kept_shape())]
        folded = [self._axis(f"k{n}", e, "data") for n, e in enumerate(self.reduced_extents)]
        outer: list[Expr] = [a.var for a in kept] if kept else [build.const(0, INT64)]
        mapping = self.elements(inputs, [*outer, *(a.var for a in folded)], index)
        for (variable, _), tensor in zip(self.traced.shares, shares, strict=True):
            mapping[variable] = tensor[tuple(outer)]
        return make_compute("result", (*kept, *folded), [substitute(p, mapping) for p in parts])

    def finalize(
        self,
        state: ComputeOp,
        initial: Sequence[Sequence[Tensor]],
        name: str,
        values: Sequence[Expr],
    ) -> ComputeOp:
        """Return the stage of values of each state and of how many elements were folded."""
        axes = tuple(self._axis(f"i{n}", e, "data") for n, e in enumerate(self.kept_extents))
        here = tuple(a.var for a in axes)
        count: Expr = build.const(1, INT64)
        for extent in self.reduced_extents:
            count = count * extent
        mapping: dict[Var, Expr] = {
            v: t[here] for v, t in zip(self.traced.combiner.lhs, state.outputs, strict=True)
        }
        mapping[self.traced.count] = count
        for value, tensors in zip(self.traced.initial, initial, strict=True):
            mapping.update({v: t[0] for v, t in zip(value.variables, tensors, strict=True)})
        return make_compute(name, axes, [substitute(v, mapping) for v in values])

    @staticmethod
    def _axis(name: str, extent: Expr, kind: str) -> Axis:
        return make_axis(name, build.const(0, INT64), extent, kind)  # type: ignore[arg-type]
