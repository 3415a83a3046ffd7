# SPDX-License-Identifier: Apache-2.0
"""partition_loops: a loop with a tail guard becomes an unguarded interior and a guarded rest."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace

from axisfold.analysis.simplify import can_prove, simplify
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Compare, Expr, Node, Var
from axisfold.ir.stmt import (
    WORK,
    Allocate,
    Attr,
    For,
    If,
    Kernel,
    Launch,
    Let,
    LoopKind,
    Stmt,
)
from axisfold.ir.walk import rewrite, rewrite_statements, statements, uses, variables
from axisfold.passes.apply_pragmas import ANY_PLACE
from axisfold.passes.copying import renamed_loops
from axisfold.passes.growth import may_be_copied, stores_of
from axisfold.passes.guards import (
    SPLIT,
    Found,
    Reach,
    covers,
    guards_in,
    is_by_lane,
    is_in_unrolled,
    is_split_inside,
    is_tested_once,
    reaches_of,
)
from axisfold.passes.last_groups import without_last_group
from axisfold.passes.merging_rounds import merging_round, without
from axisfold.passes.registers import counts, in_memory
from axisfold.passes.rewriter import StmtRewriter
from axisfold.passes.roll_rest import rolled_rest
from axisfold.passes.threads import has_meeting, is_block_tag
from axisfold.passes.work import round_work

# A tail with no more stores than this is written out as the interior is.
MAX_TAIL_STORES = 16

# The rest of a parallel loop that has no more rounds than this is not worth a second start of the
# threads.
FEW_ROUNDS = 4


def partition_loops(kernel: Kernel) -> Kernel:
    """Split serial and parallel loops at the round from which a ``likely`` guard can fail.

    Before::

        for (k.outer, 0, floordiv((m + 15), 16)) { … if likely(k.outer*16 + k.inner < m) { S } … }

    After::

        for (k.outer, 0, floordiv(m, 16)) { … S … }
        for (k.outer, floordiv(m, 16), floordiv((m + 15), 16)) { … if likely(…) { S } … }

    A loop keeps its guards where there would be too many copies or too long ones.  The interior of
    a parallel loop is parallel, its rest too unless that is known to be a few rounds.

    On a GPU, blocks are split the same way where an unrolled loop of a thread has guards:
    ``if (blockIdx.x < floordiv(n, 32)) { … } else { … if likely(…) { … } }``.
    """
    return _Partition(in_memory(kernel.body)).run(kernel)


class _Partition(StmtRewriter):
    def __init__(self, memory: set[Buffer]) -> None:
        super().__init__()
        self.in_memory = memory
        self.copies = 1
        self.threads: frozenset[Var] = frozenset()
        self.rolled: frozenset[Var] = frozenset()
        self.is_launched = False
        self.is_rest = False
        self.is_named = False
        # After how many rounds nothing is left of loops that are cut; guards that hold until then.
        self.rounds: dict[Var, Expr] = {}
        self.held: dict[Var, set[Expr]] = {}
        # What is known otherwise in the rests than in the interiors of the loops around.
        self.moving: frozenset[Var] = frozenset()
        # The guards that the rests around begin with, as they fail somewhere.
        self.failing: frozenset[Expr] = frozenset()
        # How many loops of a thread there are around.
        self.around = 0

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Attr) and stmt.key == ANY_PLACE:
            return self.visit(stmt.body)
        return super().visit(stmt)

    def visit_launch(self, launch: Launch) -> Stmt:
        self.is_launched = True
        # Blocks of a cluster may meet as well.
        tagged = zip(launch.vars, launch.tags, strict=True)
        self.threads = frozenset(v for v, tag in tagged if not is_block_tag(tag))
        return super().visit_launch(self._by_blocks(launch))

    def _by_blocks(self, launch: Launch) -> Launch:
        """Take guards inside of unrolled loops out where all rounds of a block are inside.

        Each round would have a branch of its own, and its loads would wait for the round before.
        """
        if launch.tags[:1] != ("blockIdx.x",):
            return launch
        inside = self.bounds
        for var, extent in zip(launch.vars, launch.extents, strict=True):
            inside = inside.extended(var, build.const(0, var.dtype), extent)
        found = guards_in(launch.body, Found(build.TRUE, inside, self.threads))
        guards = [g for g in found if is_in_unrolled(g) and not is_split_inside(g)]
        block = launch.vars[0]
        edges = {c: r.first for c, r in reaches_of(block, guards).items() if r.first is not None}
        if not edges:
            return launch
        first = functools.reduce(build.minimum, dict.fromkeys(edges.values()))
        self.rolled = frozenset(v for g in guards for v in g.unrolled if uses(g.condition, {v}))
        whole = renamed_loops(_holding(without(launch.body, set(edges)), set(edges)))
        rest = _with_rolled(launch.body, self.rolled)
        return replace(launch, body=If(simplify(block < first, inside), whole, rest))

    def visit_inside(self, loop: For, body: Stmt) -> Stmt:
        saved = self.around
        self.around += loop.kind == "serial"
        try:
            return super().visit_inside(loop, body)
        finally:
            self.around = saved

    def visit_if(self, stmt: If) -> Stmt:
        # In a part of a loop's rounds guards may hold that fail in others.
        guard = build.bare(stmt.condition)
        is_open = guard is not stmt.condition and stmt.condition not in self.failing
        if is_open and can_prove(guard, self.bounds):
            return self.visit(stmt.then)
        return super().visit_if(stmt)

    def visit_for(self, loop: For) -> Stmt:
        cut = self._cut(loop)
        if loop.kind != "parallel" or self.is_launched:
            return cut
        return Attr(loop.var, WORK, round_work(loop, self.rounds), cut)

    def _cut(self, loop: For) -> Stmt:
        if loop.kind not in SPLIT or loop.var in self.rolled:
            return super().visit_for(loop)
        if self.is_rest:
            if (rounds := build.as_int(loop.extent)) is not None and rounds <= MAX_TAIL_STORES:
                return super().visit_for(loop)
            last, held = self._known_end(loop)
            return super().visit_for(replace(loop, extent=last, body=without(loop.body, held)))
        # A guard is taken out of the innermost serial loop that moves it: less code doubles.
        guards = [g for g in self._guards(loop) if not is_split_inside(g)]
        reaches = reaches_of(loop.var, guards)
        edges = {c: reach.first for c, reach in reaches.items() if reach.first is not None}
        if (
            not edges
            or is_tested_once(loop, guards)
            or not may_be_copied(loop.body, 2 * self.copies)
        ):
            return super().visit_for(loop)
        last, ending = self._last(loop, reaches)
        # Guards that hold as long as anything is left do not say where the rest begins.
        held = _held(reaches, ending) & edges.keys()
        self._remember(loop, last, held, guards)
        if held == edges.keys():
            loop = replace(loop, extent=last, body=without(loop.body, held))
            return self._by_groups(loop) or super().visit_for(loop)
        edges = {c: edge for c, edge in edges.items() if c not in held}
        loop = replace(loop, body=without(loop.body, held))
        first = self._rounds(loop, edges.values())
        if self.is_launched and (merged := self._merged_once(loop, first, last, edges.keys())):
            return merged
        names: list[tuple[Var, Expr]] = []
        if self.is_named:
            names = [(Var("whole", first.dtype), first), (Var("all", last.dtype), last)]
            first, last = (var for var, _ in names)
        interior = replace(loop, extent=first, body=without(loop.body, set(edges)))
        rest = simplify(last - first, self.bounds)
        is_rolled = loop.kind == "serial" or can_prove(rest <= FEW_ROUNDS, self.bounds)
        kind: LoopKind = "rolled" if is_rolled else loop.kind
        body = loop.body if self._is_small(loop.body) else self._rolled(loop.body)
        if not self.is_launched and len(set(edges.values())) == 1:
            conditions = {g.condition for g in guards if is_by_lane(g)}
            body = _in_part(body, conditions & ending & edges.keys())
        # A loop that ended early does not go on: the rest is tested before its first round too.
        tail = replace(loop, min=loop.min + first, extent=rest, kind=kind, body=body)
        self.copies *= 2
        with self._halves(loop, (first, last), edges.keys()):
            interior_half = super().visit_for(interior)
            # A rest keeps its other guards on a CPU, where compiling copies takes longer.
            self.is_rest = kind != "parallel" and not self.is_launched
            rest_half = self._by_accumulators(loop, tail, reaches, edges, ending)
            if rest_half is None:
                rest_half = renamed_loops(super().visit_for(tail))
        self.copies //= 2
        halves = build.seq(interior_half, rest_half)
        for var, value in reversed(names):
            halves = Let(var, value, halves)
        return halves

    def _by_groups(self, loop: For) -> Stmt | None:
        """Return a loop that often runs, written out, without the minimum of its last round."""
        inner = (n for n in statements(loop.body) if isinstance(n, For))
        is_short = self._is_small(loop.body) and any(n.kind == "unrolled" for n in inner)
        if loop.kind != "serial" or self.around == 0 or not is_short:
            return None
        halves = without_last_group(loop, self.bounds)
        if halves is None:
            return None
        even, last = halves
        rest = replace(last, kind="rolled", body=self._rolled(last.body))
        with self._halves(loop, (rest.min, rest.extent)):
            even_half = super().visit_for(even)
            self.is_rest = True
            rest_half = renamed_loops(super().visit_for(rest))
        return build.seq(even_half, rest_half)

    @contextmanager
    def _halves(
        self, loop: For, ends: Iterable[Expr], failing: AbstractSet[Expr] = frozenset()
    ) -> Iterator[None]:
        """Visit the interior and the rest of a loop, which begin and end at other ``ends``."""
        saved = self.moving, self.failing
        self.moving = self.moving.union(*map(variables, (loop.var, *ends)))
        self.failing |= failing
        yield
        self.moving, self.failing = saved
        self.is_rest = False

    def _by_accumulators(
        self,
        loop: For,
        tail: For,
        reaches: Mapping[Expr, Reach],
        edges: Mapping[Expr, Expr],
        ending: set[Expr],
    ) -> Stmt | None:
        """Return a rest by loops over its accumulators, if there are several and all are alike."""
        over = loop.body
        is_any = isinstance(over, Attr) and over.key == ANY_PLACE
        if isinstance(over, Attr):
            over = over.body
        # Where lanes alone tell what is left, a rest is one vector for each accumulator.
        if not self.is_rest or not isinstance(over, For) or over.kind != "unrolled":
            return None
        if not all(uses(condition, {over.var}) for condition in edges):
            return None
        ends = {c: reaches[c].end for c in edges}
        is_single = all(
            end is not None
            and (c in ending or end == loop.min + loop.extent)
            and can_prove(end - edges[c] <= 1, self.bounds)
            for c, end in ends.items()
        )
        tail = renamed_loops(replace(tail, body=over))
        rest = rolled_rest(
            tail, self.bounds, is_single=is_single, is_any=is_any, in_memory=self.in_memory
        )
        if rest is None:
            return None
        self.is_rest, self.is_named = False, True
        result = self.visit(rest)
        self.is_named = False
        return result

    def _merged_once(
        self, loop: For, first: Expr, last: Expr, guards: Collection[Expr]
    ) -> Stmt | None:
        """Return a loop in which only what has guards of each element is there twice."""
        found = merging_round(loop, guards, self.bounds)
        if found is None:
            return None
        self.copies *= 2
        whole = self.visit_inside(loop, without(found.elements, set(guards)))
        rest = self.visit_inside(loop, renamed_loops(self._rolled(found.elements)))
        self.copies //= 2
        merge = self.visit_inside(loop, found.merge)
        body: Stmt = build.seq(If(loop.var < loop.min + first, whole, rest), merge)
        if found.guard is not None:
            body = If(found.guard, body)
        for buffer in reversed(found.buffers):
            body = Allocate(buffer, body)
        return replace(loop, extent=last, body=body)

    def _guards(self, loop: For) -> Iterator[Found]:
        """Yield the guards inside a loop."""
        inside = self.bounds.extended(loop.var, loop.min, loop.extent)
        # Where threads meet, all of them make the same rounds.
        moving = self.threads if self.threads and has_meeting(loop.body) else frozenset()
        return guards_in(loop.body, Found(build.TRUE, inside, moving))

    def _is_small(self, body: Stmt) -> bool:
        """Return whether a tail stays as it is."""
        return not self.is_launched and stores_of(body) <= MAX_TAIL_STORES

    def _rolled(self, body: Stmt) -> Stmt:
        """Return a tail's body with its loops rolled: it runs once, and code has a price.

        On a CPU only accumulators that are indexed by constants live in registers, in the interior
        too: loops that count those which the interior shares stay as they are.
        """
        own = {n.buffer for n in statements(body) if isinstance(n, Allocate)}

        def rule(node: Node) -> Node:
            if not isinstance(node, For) or node.kind not in ("serial", "unrolled"):
                return node
            is_shared = not self.is_launched and node.kind == "unrolled" and counts(node, own)
            return node if is_shared else replace(node, kind="rolled")

        return rewrite_statements(body, rule)

    def _rounds(self, loop: For, edges: Iterable[Expr]) -> Expr:
        """Return how many rounds the interior has, at least 0 and at most all."""
        rounds = loop.extent
        for edge in dict.fromkeys(edges):
            rounds = build.minimum(edge - loop.min, rounds)
        return simplify(build.maximum(rounds, 0), self.bounds)

    def _last(self, loop: For, reaches: Mapping[Expr, Reach]) -> tuple[Expr, set[Expr]]:
        """Return after how many rounds nothing is left, and the guards that say so.

        These fail in all later rounds, and everything in the body stands under one of them.
        """
        ends: dict[Expr, set[Expr]] = {}
        for condition, reach in reaches.items():
            if reach.end is not None and reach.end != loop.min + loop.extent:
                ends.setdefault(reach.end, set()).add(condition)
        rounds, ending = loop.extent, set[Expr]()
        for end, conditions in ends.items():
            if covers(loop.body, conditions):
                rounds = build.minimum(end - loop.min, rounds)
                ending |= conditions
        return simplify(build.maximum(rounds, 0), self.bounds), ending

    def _remember(self, loop: For, last: Expr, held: set[Expr], guards: Iterable[Found]) -> None:
        """Remember where a loop ends, and which guards hold until then also in rests around it."""
        self.rounds.setdefault(loop.var, last)
        if self.moving and all(
            self.moving.isdisjoint(g.bounds.bearing(variables(g.condition))) for g in guards
        ):
            self.held[loop.var] = held

    def _known_end(self, loop: For) -> tuple[Expr, set[Expr]]:
        """Return after how many rounds nothing is left of a loop in a rest, and what holds there.

        The interior has found that out where nothing that bears on it is another in the rest.
        """
        if loop.var in self.held:
            return self.rounds[loop.var], self.held[loop.var]
        reaches = reaches_of(loop.var, self._guards(loop))
        last, ending = self._last(loop, reaches)
        return last, _held(reaches, ending)


def _held(reaches: Mapping[Expr, Reach], ending: set[Expr]) -> set[Expr]:
    """Return the guards that hold as long as those do that tell that anything is left."""
    ends = {reaches[c].end for c in ending}
    return {c for c, reach in reaches.items() if reach.first is not None and reach.first in ends}


def _holding(stmt: Stmt, guards: set[Expr]) -> Stmt:
    """Return a statement where all-reduces, too, need not ask what guards have asked."""
    known = {build.bare(guard) for guard in guards}
    return rewrite(stmt, lambda n: build.TRUE if isinstance(n, Compare) and n in known else n)


def _with_rolled(stmt: Stmt, variables: frozenset[Var]) -> Stmt:
    """Return a statement in which the loops over some variables are rolled."""

    def rule(node: Node) -> Node:
        is_one = isinstance(node, For) and node.var in variables
        return replace(node, kind="rolled") if is_one else node  # type: ignore[type-var]

    return rewrite_statements(stmt, rule)


def _in_part(stmt: Stmt, guards: set[Expr]) -> Stmt:
    """Return a rest in which these guards hold in a part of the lanes: plain conditions, masks."""
    return rewrite_statements(
        stmt,
        lambda n: (
            replace(n, condition=build.bare(n.condition))
            if isinstance(n, If) and n.condition in guards
            else n
        ),
    )
