# SPDX-License-Identifier: Apache-2.0
"""The te computation of the place of the best element: the best one of all, then where it is."""

from __future__ import annotations

from collections.abc import Sequence

from axisfold.dtypes import INT64, highest
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute
from axisfold.plan.compose import Composer, Graph
from axisfold.plan.compose_tiles import axis_of
from axisfold.tensor.axis import Axis
from axisfold.tensor.compute import ComputeOp, make_compute
from axisfold.tensor.reduce import make_reduce


def places_graph(composer: Composer) -> Graph:
    """Return the computation that reads all elements twice, and merges single numbers only."""
    (tile_pass,) = composer.traced.tile_passes
    if tile_pass.search is None:
        raise InternalError("the one pass of the tile form is no search")
    (first, best), search = tile_pass.results, tile_pass.search
    inputs, index = composer.inputs(), composer.index_strides()

    def stage(name: str, combiner: Combiner, source: Expr, known: dict[Var, Expr]) -> ComputeOp:
        kept, folded = _axes(composer, "i", "data"), _axes(composer, "k", "reduce")
        mapping = composer.elements(inputs, [a.var for a in (*kept, *folded)], index)
        value = substitute(source, {**mapping, **known})
        return make_compute(name, tuple(kept), make_reduce(combiner, [value], folded))

    found = stage("tile0", search.best, tile_pass.sources[1], {})
    nowhere = build.const(highest(INT64), INT64)
    lhs, rhs = Var("lhs", INT64), Var("rhs", INT64)
    least = Combiner((lhs,), (rhs,), (build.minimum(lhs, rhs),), (nowhere,))
    zero = (build.const(0, INT64),)
    place = build.select(search.is_best, composer.traced.index, nowhere)
    places = stage("tile1", least, place, {best: found.output(0)[zero]})
    kept = _axes(composer, "i", "data")
    here = tuple(a.var for a in kept)
    of_all = {best: found.output(0)[here], first: places.output(0)[here]}
    values = [substitute(e, of_all) for e in composer.traced.tile_state]
    state = make_compute("state", tuple(kept), values)
    return composer.finished(inputs, index, state, (found.outputs, places.outputs), (None, None))


def _axes(composer: Composer, letter: str, kind: str) -> Sequence[Axis]:
    extents = composer.kept_extents if kind == "data" else composer.reduced_extents
    return [axis_of(f"{letter}{n}", e, kind) for n, e in enumerate(extents)]
