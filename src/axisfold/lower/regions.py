# SPDX-License-Identifier: Apache-2.0
"""Regions: which part of each tensor a stage computes, and the extents of its loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from axisfold.analysis.bounds import Bounds, Domain, environment, symbolic_bounds
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.buffer import Scope
from axisfold.ir.expr import Expr, Var
from axisfold.ir.walk import substitute, uses
from axisfold.schedule.primitives.compute_at import consumers
from axisfold.schedule.relations import axis_values, leaf_domains
from axisfold.schedule.schedule import Schedule
from axisfold.schedule.stage import Stage
from axisfold.tensor.axis import Axis, ThreadAxis

Region = tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True, slots=True)
class StageBounds:
    """What a stage computes.

    Attributes
    ----------
    region
        First index and extent of each data axis.
    extents
        Number of rounds of every axis, of the operation's own and of derived ones.
    offsets
        Value of every axis counted from the start of its region, in the leaves' variables.
    values
        Index that each variable of the operation stands for.
    loops
        Domain of each loop, outermost first.
    """

    region: Region
    extents: Mapping[Axis, Expr]
    offsets: Mapping[Axis, Expr]
    values: Mapping[Var, Expr]
    loops: Mapping[Var, Domain]


def infer_bounds(schedule: Schedule) -> dict[Stage, StageBounds]:
    """Return the bounds of every computed stage.

    A stage at the top level computes its whole tensor; an attached one the union of what its
    consumers read in one round of the loop that it is attached to.
    """
    bounds: dict[Stage, StageBounds] = {}
    # Those at the top level first: the loops around others, wherever these are read, are known.
    backwards = schedule.stages[::-1]
    for stage in sorted(backwards, key=lambda s: s.attachment is not None):
        if stage.op.body:
            bounds[stage] = _stage_bounds(stage, _region(schedule, stage, bounds))
    return bounds


def _stage_bounds(stage: Stage, region: Region) -> StageBounds:
    roots: dict[Axis, Expr] = {}
    mins: dict[Axis, Expr] = {}
    for axis, (low, extent) in zip(stage.op.axis, region, strict=True):
        mins[axis], roots[axis] = low, extent
    # Bounds that read other axes (triangular loops) are known once those are.
    own = frozenset(axis.var for axis in (*stage.op.axis, *stage.op.reduce_axis))
    for axis in stage.op.reduce_axis:
        if not uses(axis.min, own) and not uses(axis.extent, own):
            mins[axis], roots[axis] = axis.min, axis.extent
    data = _resolve(stage, roots, mins)
    for axis in stage.op.reduce_axis:
        if axis not in roots:
            # Simplified, so that a split of an extent that is constant after all is tightened.
            mins[axis] = simplify(substitute(axis.min, data))
            roots[axis] = simplify(substitute(axis.extent, data))
            data.update(_resolve(stage, {axis: roots[axis]}, {axis: mins[axis]}))
    extents = leaf_domains(roots, stage.relations)
    offsets = axis_values(stage.relations, extents, _leaf_values(stage, extents))
    return StageBounds(region, extents, offsets, data, _loop_domains(stage, extents))


def _leaf_values(stage: Stage, extents: Mapping[Axis, Expr]) -> dict[Axis, Expr]:
    """A loop's variable; 0 for a loop of one round, which vanishes unless it is bound."""
    return {
        leaf: build.cast(leaf.var.dtype, stage.loop_var(leaf))
        if is_loop(stage, leaf, extents)
        else build.const(0, leaf.var.dtype)
        for leaf in stage.leaf_axes
    }


def is_loop(stage: Stage, leaf: Axis, extents: Mapping[Axis, Expr]) -> bool:
    """Return whether a leaf becomes a loop."""
    return leaf in stage.bindings or not build.is_const(extents[leaf], 1)


def _resolve(
    stage: Stage, roots: Mapping[Axis, Expr], mins: Mapping[Axis, Expr]
) -> dict[Var, Expr]:
    """Return the index that each root's variable stands for."""
    known = set(roots)
    relations = []
    for relation in stage.relations:
        if all(parent in known for parent in relation.parents):
            known |= set(relation.children)
            relations.append(relation)
    extents = leaf_domains(roots, relations)
    leaves = {a: v for a, v in _leaf_values(stage, _Total(extents)).items() if a in known}
    offsets = axis_values(relations, extents, leaves)
    return {axis.var: offsets[axis] + mins[axis] for axis in roots}


class _Total(dict[Axis, Expr]):
    """Extents of some axes; others count as unknown."""

    def __missing__(self, axis: Axis) -> Expr:
        return axis.extent


def _loop_domains(stage: Stage, extents: Mapping[Axis, Expr]) -> dict[Var, Domain]:
    return {
        (var := stage.loop_var(leaf)): Domain(
            build.const(0, var.dtype), build.cast(var.dtype, extents[leaf])
        )
        for leaf in stage.leaf_axes
        if is_loop(stage, leaf, extents)
    }


def enclosing_domains(stage: Stage, bounds: Mapping[Stage, StageBounds]) -> dict[Var, Domain]:
    """Return the domains of the loops around an attached stage, outermost first."""
    if stage.last_block_of is not None:
        producer = stage.last_block_of
        blocks = {producer.loop_var(leaf) for leaf in grid_leaves(producer)}
        own = bounds[producer].loops
        return {var: domain for var, domain in own.items() if var in blocks}
    if stage.attachment is None:
        return {}
    parent, axis = stage.attachment.stage, stage.attachment.axis
    found = enclosing_domains(parent, bounds)
    own = bounds[parent].loops
    for leaf in parent.leaf_axes:
        var = parent.loop_var(leaf)
        if var in own:
            found[var] = own[var]
        if leaf is axis:
            break
    return found


def threads_around(stage: Stage) -> list[ThreadAxis]:
    """Return the thread axes that loops around an attached stage are bound to."""
    found: list[ThreadAxis] = []
    while stage.attachment is not None:
        place = stage.attachment
        stage = place.stage
        until = stage.leaf_axes.index(place.axis) + 1
        found += [
            stage.bindings[leaf] for leaf in stage.leaf_axes[:until] if leaf in stage.bindings
        ]
    if stage.last_block_of is not None:
        producer = stage.last_block_of
        found += [producer.bindings[leaf] for leaf in grid_leaves(producer)]
    return found


def grid_leaves(stage: Stage) -> list[Axis]:
    """Return the leaves of a stage that are bound to blocks, of the grid or of a cluster."""
    return [a for a in stage.leaf_axes if a in stage.bindings and not stage.bindings[a].is_thread]


def block_leaves(stage: Stage) -> list[Axis]:
    """Return the leaves of a stage that are bound to blocks."""
    return [a for a in stage.leaf_axes if a in stage.bindings and stage.bindings[a].is_block]


def sharers(stage: Stage) -> set[Var]:
    """Return the variables of those threads around that see the stage's memory in common.

    Memory of a block is filled for all its threads, global memory for all blocks as well.
    """
    scope = scope_of(stage)
    return {
        t.var
        for t in threads_around(stage)
        if scope == "global"
        or (t.is_thread and scope in ("shared", "warp", "cluster"))
        or (scope == "cluster" and not t.is_block)
    }


def scope_of(stage: Stage) -> Scope | None:
    """Return the memory of a stage: as chosen, or as the threads around it suggest.

    Inside loops over threads, that is the thread's; elsewhere inside a nest that threads run, the
    block's.  None where there are no threads, and at the top level: a last block leaves its result
    to other launches.
    """
    if stage.scope is not None or stage.attachment is None:
        return stage.scope
    around = threads_around(stage)
    if any(t.is_thread for t in around):
        return "local"
    return "shared" if around or is_launched(stage) else None


def is_launched(stage: Stage) -> bool:
    """Return whether threads run a stage: a loop of its nest is bound, around it or not."""
    root = root_of(stage)
    stages = stage.schedule.stages
    return any(other.bindings and root_of(other) is root for other in stages)


def root_of(stage: Stage) -> Stage:
    """Return the stage at the top level inside which a stage is computed."""
    while stage.attachment is not None:
        stage = stage.attachment.stage
    return stage


def _region(schedule: Schedule, stage: Stage, bounds: Mapping[Stage, StageBounds]) -> Region:
    if stage.attachment is None:
        return tuple((axis.min, stage.places(axis)) for axis in stage.op.axis)
    around = enclosing_domains(stage, bounds)
    shared = sharers(stage)
    fixed = {var: domain for var, domain in around.items() if var not in shared}
    tensors = {id(t) for t in (*stage.op.outputs, *stage.origin_op.outputs)}
    region: list[tuple[Expr, Expr]] | None = None
    for consumer in consumers(schedule, stage):
        own = bounds[consumer]
        env = {**around, **enclosing_domains(consumer, bounds), **own.loops}
        over = set(env) - set(fixed)
        for load in (read for read in consumer.op.reads if id(read.tensor) in tensors):
            indices = [substitute(i, own.values) for i in load.indices]
            touched = [
                _touched(index, axis, env, over)
                for index, axis in zip(indices, stage.op.axis, strict=True)
            ]
            region = touched if region is None else _union(region, touched, environment(env))
    if region is None:
        return tuple((axis.min, stage.places(axis)) for axis in stage.op.axis)
    return tuple((low, simplify(high - low + 1, environment(fixed))) for low, high in region)


def _touched(
    index: Expr, axis: Axis, env: Mapping[Var, Domain], over: set[Var]
) -> tuple[Expr, Expr]:
    """Return the least and the largest index; the ends of the axis where nothing else is known."""
    try:
        low, high = symbolic_bounds(index, environment(env), over)
    except UnsupportedError:
        low, high = axis.min, axis.min + axis.extent - 1
    return simplify(low, environment(env)), simplify(high, environment(env))


def _union(
    a: list[tuple[Expr, Expr]], b: list[tuple[Expr, Expr]], env: Bounds
) -> list[tuple[Expr, Expr]]:
    merged = []
    for (low_a, high_a), (low_b, high_b) in zip(a, b, strict=True):
        low = (
            low_a if low_a == low_b or can_prove(low_a <= low_b, env) else _least(low_a, low_b, env)
        )
        high = (
            high_a
            if high_a == high_b or can_prove(high_a >= high_b, env)
            else _most(high_a, high_b, env)
        )
        merged.append((low, high))
    return merged


def _least(a: Expr, b: Expr, env: Bounds) -> Expr:
    return b if can_prove(b <= a, env) else build.minimum(a, b)


def _most(a: Expr, b: Expr, env: Bounds) -> Expr:
    return b if can_prove(b >= a, env) else build.maximum(a, b)
