# SPDX-License-Identifier: Apache-2.0
"""The rest of a loop over several accumulators as a loop over these, which are in memory then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import Bounds, constant_interval
from axisfold.analysis.simplify import simplify
from axisfold.dtypes import DType
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Compare, Expr, Load, Node, Var
from axisfold.ir.stmt import Allocate, For, If, Let, Stmt, Store
from axisfold.ir.walk import (
    post_order,
    rewrite,
    rewrite_statements,
    statements,
    substitute,
    uses,
    variables,
)

# Fewer accumulators than this are written out in a rest, as they are in the interior.
FEWEST: Final = 4


@dataclass(frozen=True, slots=True)
class _Places:
    """Private memory with a place of some elements for each round of a loop.

    It is in registers unless other loops, further outside, say which part of a place is meant.
    """

    buffer: Buffer
    size: int
    is_written: bool
    is_in_registers: bool


def rolled_rest(
    rest: For, bounds: Bounds, *, is_single: bool, is_any: bool, in_memory: AbstractSet[Buffer]
) -> Stmt | None:
    """Return a rest with a loop over its accumulators, None where it has not several alike.

    Before::

        for (k, first, few) { for (v, 0, 8) "unrolled" { A[v] = A[v] + … } }

    After::

        if (0 < few) {
          B = A
          for (v, 0, 8) { for (k, first, few) { B[v] = B[v] + … } }
          A = B
        }

    So A still is registers, since all its indices are constants, as a place of B is in its loop,
    and each accumulator sees its elements in the order of before.  What has other indices in the
    interior too, or where accumulators are merged, is not copied.  What bounds the loops gets a
    name, of which passes and compilers need not know more.

    Parameters
    ----------
    rest
        The loop; each of its rounds goes over all accumulators.
    bounds
        Domains of the loops around.
    is_single
        Whether it has one round at most: then there is no loop of it.
    is_any
        Whether any accumulator may take an element: then the first one does, if there is one round,
        and nothing is copied.
    in_memory
        What is no registers for other reasons, and need not be copied.
    """
    over = rest.body
    if not isinstance(over, For) or over.kind != "unrolled":
        return None
    if rest.stop is not None or over.stop is not None:
        return None
    count = build.as_int(over.extent)
    if count is None or count < FEWEST or not build.is_const(over.min, 0):
        return None
    held = _held(over, count, rest.var, bounds.extended(rest.var, rest.min, rest.extent))
    if not held:
        return None
    first, few = (Var(name, rest.var.dtype) for name in ("first", "few"))
    copied = [p for p in held if p.is_in_registers and p.buffer not in in_memory]
    copies = _Copies(copied, _lanes(over.body), over.var.dtype)
    memory = {p.buffer: _like(p.buffer) for p in copied}
    body: Stmt
    if is_single and is_any and all(p.is_written for p in held):
        zero = build.const(0, over.var.dtype)
        body = _moved(over.body, {p.buffer: p.buffer for p in held}, {over.var: zero})
        body = replace(over, kind="rolled", body=body)
        body = Let(rest.var, first, _with_start(body, [over.var, *_loops(body)]))
        memory = {}
    elif is_single:
        body = replace(over, kind="rolled", body=_all_rolled(_moved(over.body, memory)))
        body = Let(rest.var, first, _with_start(body, [over.var, *_loops(over.body)]))
    else:
        inside = _moved(over.body, memory)
        body = replace(rest, min=first, extent=few, kind="serial", body=inside)
        body = replace(over, kind="rolled", body=_with_start(body, [rest.var, *_loops(over.body)]))
    if memory:
        back = copies.whole(memory, count, is_back=True)
        body = build.seq(copies.whole(memory, count), body, back)
    for buffer in memory.values():
        body = Allocate(buffer, body)
    body = If(build.const(0, few.dtype) < few, body)
    return Let(first, rest.min, Let(few, rest.extent, body))


def _held(over: For, count: int, outer: Var, bounds: Bounds) -> list[_Places]:
    """Return the private memory that a loop counts, if each round has a place of its own."""
    nodes = list(post_order(over.body))
    allocated = {n.buffer for n in nodes if isinstance(n, Allocate)}
    accesses: dict[Buffer, list[Load | Store]] = {}
    for node in nodes:
        if isinstance(node, (Load, Store)) and node.buffer.scope == "local":
            accesses.setdefault(node.buffer, []).append(node)
        elif isinstance(node, Store):
            return []
    inside = bounds.extended(over.var, over.min, over.extent)
    for loop in reversed([n for n in nodes if isinstance(n, For)]):  # the outer ones first
        inside = inside.extended(loop.var, loop.min, loop.extent)
    found = []
    for buffer, own in accesses.items():
        is_written = any(isinstance(n, Store) for n in own)
        if buffer in allocated:
            continue
        if not any(uses(n.index, {over.var}) for n in own):
            if is_written:
                return []
            continue
        size = _size(buffer) // count
        if not buffer.is_on_stack or size * count != _size(buffer):
            return []
        if not all(_is_inside(n.index, over.var, outer, size, inside) for n in own):
            return []
        known = {over.var, *(n.var for n in nodes if isinstance(n, For))}
        is_in_registers = all(variables(n.index) <= known for n in own)
        found.append(_Places(buffer, size, is_written, is_in_registers))
    return found if any(p.is_written for p in found) else []


def _is_inside(index: Expr, over: Var, outer: Var, size: int, bounds: Bounds) -> bool:
    """Return whether an index stays in the place of its round."""
    form = None if uses(index, {outer}) else linear_form(index, {over})
    if form is None or build.as_int(form[0][over]) != size:
        return False
    within = constant_interval(form[1], bounds)
    return within.low >= 0 and within.high < size


def _size(buffer: Buffer) -> int:
    size = 1
    for extent in buffer.allocated_extents:
        size *= build.as_int(extent) or 0
    return size


def _loops(body: Stmt) -> list[Var]:
    return [n.var for n in statements(body) if isinstance(n, For)]


def _lanes(body: Stmt) -> int:
    """Return the lanes of the vectors in a body, 1 where there are none."""
    loops = [n for n in statements(body) if isinstance(n, For) and n.kind == "vectorized"]
    return min((build.as_int(n.extent) or 1 for n in loops), default=1)


def _like(buffer: Buffer) -> Buffer:
    return Buffer(f"{buffer.name}.rest", buffer.dtype, buffer.shape, scope="local")


def _all_rolled(body: Stmt) -> Stmt:
    def rule(node: Node) -> Node:
        is_short = isinstance(node, For) and node.kind == "unrolled"
        return replace(node, kind="rolled") if is_short else node  # type: ignore[type-var]

    return rewrite_statements(body, rule)


def _moved(
    body: Stmt, places: Mapping[Buffer, Buffer], values: Mapping[Var, Expr] | None = None
) -> Stmt:
    """Return a body with other memory, in whose indices variables have some values."""

    def rule(node: Node) -> Node:
        if isinstance(node, (Load, Store)) and node.buffer in places:
            index = simplify(substitute(node.index, values)) if values else node.index
            return replace(node, buffer=places[node.buffer], index=index)
        return node

    return rewrite(body, rule)


def _with_start(body: Stmt, inner: Sequence[Var]) -> Stmt:
    """Name what is the same in all inner rounds of the number that a guard tests.

    Where memory is read at a multiple of that number, it is read at one of the name.
    """
    guards = list({n.condition for n in statements(body) if isinstance(n, If)})
    bound = build.bare(guards[0]) if len(guards) == 1 else None
    if not isinstance(bound, Compare) or bound is guards[0]:
        return body
    if bound.op != "lt" or uses(bound.b, set(inner)):
        return body
    form = linear_form(bound.a, inner)
    if form is None:
        return body
    start = Var("start", bound.a.dtype)
    named = _Named(start, *form)
    condition = build.likely(named.index(bound.a) < bound.b)

    def rule(node: Node) -> Node:
        if isinstance(node, Load) and node.buffer.scope != "local":
            return replace(node, index=named.index(node.index))
        return replace(node, condition=condition) if isinstance(node, If) else node

    return Let(start, form[1], rewrite(body, rule))


@dataclass(frozen=True, slots=True)
class _Named:
    """A number that moves by ``steps`` from ``value`` on, which has the name ``start``."""

    start: Var
    steps: Mapping[Var, Expr]
    value: Expr

    def index(self, index: Expr) -> Expr:
        """Return an index with the name in it, if it moves as the number does."""
        form = linear_form(index, self.steps)
        if form is None:
            return index
        steps, value = form
        scale = self._scale(steps)
        if scale is None:
            return index
        result: Expr = self.start * scale + simplify(value - self.value * scale)
        for var, step in steps.items():
            result = result + var * step
        return result

    def _scale(self, steps: Mapping[Var, Expr]) -> int | None:
        """Return how many times as far as the number an index moves, if that is one integer."""
        pairs = [(build.as_int(steps[v]), build.as_int(step)) for v, step in self.steps.items()]
        found = {divmod(a, b) for a, b in pairs if a is not None and b}
        is_one = len(found) == 1 and all(a == 0 for a, b in pairs if not b)
        scale, left = found.pop() if is_one else (0, 1)
        return scale if not left else None


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies of accumulators, by vectors of as many lanes as those that use them."""

    held: Sequence[_Places]
    lanes: int
    dtype: DType

    def whole(self, memory: Mapping[Buffer, Buffer], count: int, *, is_back: bool = False) -> Stmt:
        """Return a copy of all places to memory, or of those that are written back."""
        loops = []
        for p in self.held:
            if is_back and p.is_written:
                loops.append(self._copy(p.size, count, memory[p.buffer], p.buffer))
            elif not is_back:
                loops.append(self._copy(p.size, count, p.buffer, memory[p.buffer]))
        return build.seq(*loops)

    def _copy(self, size: int, count: int, source: Buffer, target: Buffer) -> Stmt:
        lanes = self.lanes if size % self.lanes == 0 else 1
        part, lane = Var("part", self.dtype), Var("lane", self.dtype)
        store = Store(target, part * lanes + lane, Load(source, part * lanes + lane))
        zero = build.const(0, self.dtype)
        vector = For(lane, zero, build.const(lanes, self.dtype), "vectorized", store)
        vectors = build.const(size * count // lanes, self.dtype)
        return For(part, zero, vectors, "unrolled", vector)
