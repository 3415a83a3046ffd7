# SPDX-License-Identifier: Apache-2.0
"""The algebra of splits and fuses: extents down, index values up, and the guards between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.dtypes import INT32, INT64, fits
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.expr import Const, Expr
from axisfold.schedule.stage import Fuse, Relation, Singleton, Split
from axisfold.tensor.axis import Axis


def split_extents(extent: Expr, factor: Expr | None, nparts: Expr | None) -> tuple[Expr, Expr]:
    """Return the extents of the outer and inner loop of a split of ``extent`` rounds.

    A constant extent below the factor tightens the split, so that no round is wasted.
    """
    if factor is not None:
        inner = _tightened(extent, factor)
        return _ceildiv(extent, inner), inner
    if nparts is None:  # Invariant: split() refuses neither with S111.
        raise InternalError("a split has neither factor nor nparts")
    outer = _tightened(extent, nparts)
    return outer, _ceildiv(extent, outer)


def _tightened(extent: Expr, size: Expr) -> Expr:
    known, wanted = build.as_int(extent), build.as_int(size)
    if known is None or wanted is None:
        return build.cast(extent.dtype, size)
    return build.const(max(min(known, wanted), 1), extent.dtype)


def _ceildiv(a: Expr, b: Expr) -> Expr:
    known = build.as_int(a), build.as_int(b)
    if known[0] is not None and known[1] is not None:  # a + b - 1 may not fit the dtype
        return build.const(-(-known[0] // known[1]), a.dtype)
    return simplify(build.ceildiv(a, b))


def fused_extent(outer: Expr, inner: Expr) -> Expr:
    """Return the extent of the loop that two are fused into; int64 where int32 cannot hold it."""
    known = build.as_int(outer), build.as_int(inner)
    if known[0] is not None and known[1] is not None and not fits(known[0] * known[1], INT32):
        outer = build.cast(INT64, outer)
    return simplify(outer * inner)


def leaf_domains(roots: Mapping[Axis, Expr], relations: Sequence[Relation]) -> dict[Axis, Expr]:
    """Return the extent of every axis, given those of the operation's own axes."""
    extents = dict(roots)
    for relation in relations:
        match relation:
            case Split(parent, outer, inner, factor, nparts):
                extents[outer], extents[inner] = split_extents(extents[parent], factor, nparts)
            case Fuse(outer, inner, fused):
                extents[fused] = fused_extent(extents[outer], extents[inner])
            case Singleton(axis):
                extents[axis] = build.const(1, axis.var.dtype)
    return extents


def axis_values(
    relations: Sequence[Relation], extents: Mapping[Axis, Expr], leaves: Mapping[Axis, Expr]
) -> dict[Axis, Expr]:
    """Return the value (from zero) of every axis as an expression of the leaves' values.

    An axis that follows from no given leaf is absent.
    """
    values = dict(leaves)
    for relation in reversed(relations):
        if not all(child in values for child in relation.children):
            continue
        match relation:
            case Split(parent, outer, inner):
                values[parent] = values[outer] * extents[inner] + values[inner]
            case Fuse(outer, inner, fused):
                values[outer] = build.cast(outer.var.dtype, values[fused] // extents[inner])
                values[inner] = build.cast(inner.var.dtype, values[fused] % extents[inner])
    return values


def child_values(
    relations: Sequence[Relation], extents: Mapping[Axis, Expr], roots: Mapping[Axis, Expr]
) -> dict[Axis, Expr]:
    """Return the value of every axis as an expression of the roots' values."""
    values = dict(roots)
    for relation in relations:
        match relation:
            case Split(parent, outer, inner):
                values[outer] = values[parent] // extents[inner]
                values[inner] = values[parent] % extents[inner]
            case Fuse(outer, inner, fused):
                values[fused] = values[outer] * extents[inner] + values[inner]
            case Singleton(axis):
                values[axis] = build.const(0, axis.var.dtype)
    return values


def split_guards(
    relations: Sequence[Relation],
    extents: Mapping[Axis, Expr],
    values: Mapping[Axis, Expr],
    env: Bounds,
) -> list[tuple[Axis, Expr]]:
    """Return a guard ``value < extent`` for each split that does not divide evenly.

    The guard of a split implies that of its outer part, so each inexact split adds at most one.
    """
    guards: list[tuple[Axis, Expr]] = []
    implied: set[Axis] = set()
    for split in relations:
        if not isinstance(split, Split) or split.parent not in values:
            continue
        parent = split.parent
        if parent in implied:
            implied.add(split.outer)
            continue
        if _is_exact(split, extents, env):
            continue
        guard = values[parent] < extents[parent]
        if not can_prove(guard, env):
            guards.append((parent, guard))
            implied.add(split.outer)
    return guards


def _is_exact(split: Split, extents: Mapping[Axis, Expr], env: Bounds) -> bool:
    """Return whether the two loops make exactly the rounds of their parent.

    16 rounds in 5 parts make 5 loops of 4 rounds, four too many, although 4 divides 16.
    """
    outer, inner, extent = (extents[a] for a in (split.outer, split.inner, split.parent))
    if split.factor is not None and not isinstance(extent, Const):
        return can_prove((extent % inner).equal(0), env)
    return can_prove((outer * inner).equal(extent), env)
