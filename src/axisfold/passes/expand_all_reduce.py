# SPDX-License-Identifier: Apache-2.0
"""expand_all_reduce: threads combine their states by shuffles, shared memory and tickets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from axisfold.dtypes import BOOL, INT64, UINT32
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Scope
from axisfold.ir.expr import Expr, IfThenElse, Load, Var
from axisfold.ir.stmt import (
    WARP,
    Allocate,
    AllReduce,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import post_order, statements
from axisfold.passes.rewriter import StmtRewriter
from axisfold.passes.teams import ONE, ZERO, State, Team, as_state, choose_style

# Nodes of expressions that are long, where rows are combined, and where blocks share a row, so that
# each of them combines once.
LONG_MERGE: Final = 16
LONG_SHARED_MERGE: Final = 5


def expand_all_reduce(kernel: Kernel) -> Kernel:
    """Write out each all-reduce, barriers between its steps included.

    Before, 32 threads of a warp::

        @tvm_thread_allreduce(1u32, x, True, total, threadIdx.x)

    After, style ``shuffle``::

        total[0] = x
        other[0] = @shuffle_down(total[0], 16, width=32)
        total[0] = total[0] + other[0]
        …                                                   (8, 4, 2, 1)

    Styles within a block, chosen from the extents unless a pragma did:

    ``shuffle``
        The threads lie in one warp: halving shuffles, for an ordered reducer doubling ones.
    ``two-level``
        The threads fill warps: one state of each warp goes through shared memory, then every warp
        combines these, so that all threads have the result.
    ``interleaved``
        Any threads, a commutative reducer: a tree in shared memory, thread i with i + stride,
        stride halving.
    ``adjacent``
        Any threads and any reducer: the same with stride doubling, so states stay in order.

    Level ``cluster`` continues with one state of each block in the memory of the first block.
    Level ``grid`` leaves one state of each block in global memory; the last block to take a ticket
    folds them in the order of their blocks, and it alone runs what follows in the sequence.
    """
    return _Expander().run(kernel)


class _Expander(StmtRewriter):
    def __init__(self) -> None:
        super().__init__()
        self.launch: Launch | None = None
        self.workspace: list[tuple[Buffer, bool]] = []
        self.is_repeated = self.is_shared = False

    def visit_for(self, loop: For) -> Stmt:
        outer, self.is_repeated = self.is_repeated, True
        result = super().visit_for(loop)
        self.is_repeated = outer
        return result

    def visit_launch(self, launch: Launch) -> Stmt:
        self.launch, self.workspace = launch, []
        self.is_shared = any(isinstance(n, Ticket) for n in statements(launch.body))
        result = super().visit_launch(launch)
        self.launch = None
        for buffer, zeroed in reversed(self.workspace):
            result = Allocate(buffer, result, zeroed=zeroed)
        return result

    def visit(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Seq():
                return self.sequence(list(stmt.body))
            case AllReduce():
                return self.sequence([stmt])
            case _:
                return super().visit(stmt)

    def sequence(self, parts: list[Stmt]) -> Stmt:
        """Expand statements in order; what follows a fold of the grid belongs to the last block."""
        done: list[Stmt] = []
        for position, part in enumerate(parts):
            if isinstance(part, AllReduce):
                if part.level == "grid":
                    return build.seq(*done, self.grid(part, parts[position + 1 :]))
                done.append(self.block(part))
            else:
                done.append(self.visit(part))
        return build.seq(*done)

    def block(self, reduce: AllReduce) -> Stmt:
        """Combine within a block, then within a cluster."""
        assert self.launch is not None  # noqa: S101  (the verifier refuses others)
        team = Team(self.launch, reduce.threads)
        state = as_state(reduce)
        start = state.assign([_masked(reduce, n) for n in range(len(reduce.values))])
        block = _Block(reduce, state, team, is_repeated=self.is_repeated, is_shared=self.is_shared)
        steps = [start, block.build()]
        if team.cluster_size > 1:
            steps.append(_cluster(reduce, state, team))
        return build.seq(*steps)

    def grid(self, reduce: AllReduce, rest: list[Stmt]) -> Stmt:
        """Combine over blocks: partial states, a ticket, and the last block's fold."""
        assert self.launch is not None  # noqa: S101
        team = Team(self.launch, reduce.threads)
        state = as_state(reduce)
        inner = replace(reduce, threads=team.thread_vars, level="block", broadcast=False)
        partials = [Buffer(f"{t.name}.partial", t.dtype, (team.partials,)) for t in reduce.targets]
        counter = Buffer(f"{reduce.targets[0].name}.tickets", UINT32, (team.block_groups,))
        is_last = Buffer(f"{reduce.targets[0].name}.is_last", BOOL, (ONE,), scope="shared")
        self.workspace += [*((p, False) for p in partials), (counter, True)]
        place = team.partial(team.block_rank)
        keep = build.seq(
            *(Store(p, place, v) for p, v in zip(partials, state.loads(), strict=True))
        )
        ticket = Ticket(is_last, counter, team.block_group, team.block_count)
        again = replace(inner, values=tuple(state.loads()), condition=build.TRUE)
        fold = build.seq(
            _fold_partials(team, state, partials, is_ordered=reduce.combiner.is_ordered),
            self.block(again),
            self.sequence(rest),
        )
        body = build.seq(
            self.block(inner),
            If(team.is_first, keep) if team.size > 1 else keep,
            Barrier("block"),  # the thread with the ticket tells what all teams have written
            If(team.is_first_of_block, ticket),
            Barrier("block"),
            If(Load(is_last, ZERO), fold),
        )
        return Allocate(is_last, body)


def _masked(reduce: AllReduce, n: int) -> Expr:
    """Return a component of this thread's state, the identity if it takes no part."""
    value, nothing = reduce.values[n], reduce.combiner.identity[n]
    if isinstance(value, IfThenElse) and value.condition == reduce.condition:
        return value
    return build.if_then_else(reduce.condition, value, nothing)


def _fold_partials(team: Team, state: State, partials: list[Buffer], *, is_ordered: bool) -> Stmt:
    """Let each thread of the team fold its share of the blocks' states, in their order."""
    count, size = team.block_count, build.const(team.size)
    step = Var("block", count.dtype)
    rounds = build.ceildiv(count, size)
    rank = build.cast(count.dtype, team.ordered_rank if is_ordered else team.rank)
    which = rank * rounds + step if is_ordered else step * size + rank
    place = team.partial(which)
    other = [Load(p, place) for p in partials]
    merge = If(build.likely(which < count), state.merged(other))
    loop = For(step, build.const(0, step.dtype), rounds, "serial", merge)
    return build.seq(state.reset(), loop)


def _cluster(reduce: AllReduce, state: State, team: Team) -> Stmt:
    """Combine one state of each block through the memory of the cluster's first block."""
    places = build.const(team.cluster_places)
    staging = [
        Buffer(f"{t.name}.cluster", t.dtype, (places,), scope="cluster") for t in reduce.targets
    ]

    def states(rank: int) -> list[Expr]:
        return [Load(s, team.cluster_place(build.const(rank))) for s in staging]

    own = team.cluster_place()
    keep = build.seq(*(Store(s, own, v) for s, v in zip(staging, state.loads(), strict=True)))
    steps: list[Stmt] = [If(team.is_first, keep) if team.size > 1 else keep, Barrier("cluster")]
    steps.append(state.assign(states(0)))
    steps += [state.merged(states(rank)) for rank in range(1, team.cluster_size)]
    # The memory is the first block's: it must neither end nor write again before all have read.
    steps.append(Barrier("cluster"))
    return _allocated(staging, build.seq(*steps))


def _allocated(buffers: Sequence[Buffer], body: Stmt) -> Stmt:
    for buffer in reversed(buffers):
        body = Allocate(buffer, body)
    return body


class _Block:
    """The steps of one all-reduce within a block."""

    def __init__(
        self, reduce: AllReduce, state: State, team: Team, *, is_repeated: bool, is_shared: bool
    ) -> None:
        self.reduce, self.state, self.team = reduce, state, team
        # In a loop, the staging memory may still be read for the round before.
        self.guard = [Barrier("block")] if is_repeated else []
        self.is_ordered = reduce.combiner.is_ordered
        # Code that merges states is said once where it is long: compiling takes longer than rounds.
        nodes = {id(n) for e in reduce.combiner.result for n in post_order(e)}
        self.is_long = len(nodes) > (LONG_SHARED_MERGE if is_shared else LONG_MERGE)

    def build(self) -> Stmt:
        """Return the steps; the state of this thread is in the targets before and after."""
        if self.team.size == 1:
            return build.seq()
        match choose_style(self.reduce, self.team):
            case "shuffle":
                steps = self.shuffles(self.team.size, self.team.lane)
                if self.reduce.broadcast:
                    steps.append(self.spread(self.team.size))
                return self.with_other(steps)
            case "two-level":
                return self.two_level()
            case style:
                return self.tree(style)

    def with_other(self, steps: list[Stmt]) -> Stmt:
        return _allocated(self.state.others, build.seq(*steps))

    def shuffles(self, size: int, lane: Expr) -> list[Stmt]:
        """Combine ``size`` neighbouring lanes of a warp; the first has the result.

        Where a segment is not a power of two, each lane reads from one that exists, and what came
        from beyond the segment is not combined.
        """
        width = 1 << (size - 1).bit_length()
        offsets = [1 << n for n in range(width.bit_length() - 1)]
        steps: list[Stmt] = []
        if size == width and len(offsets) > 1 and self.is_long:
            return [self.rounds(width, len(offsets))]
        for offset in offsets if self.is_ordered else reversed(offsets):
            if size == width:
                steps += [*self.read("down", build.const(offset), width)]
                steps.append(self.state.merged(self.state.other_loads()))
                continue
            inside = lane + offset < size
            source = build.select(inside, lane + offset, lane)
            steps += [*self.read("index", source, WARP)]
            steps.append(If(inside, self.state.merged(self.state.other_loads())))
        return steps

    def rounds(self, width: int, count: int) -> Stmt:
        """Combine the lanes of a power of two, one round of a loop after the other."""
        step, zero = Var("round", INT64), build.const(0, INT64)
        first = build.const(1 if self.is_ordered else width // 2)
        shift = build.cast(first.dtype, step)
        offset = build.binary("shl" if self.is_ordered else "shr", first, shift)
        body = build.seq(
            *self.read("down", offset, width), self.state.merged(self.state.other_loads())
        )
        return For(step, zero, build.const(count, INT64), "rolled", body)

    def read(self, mode: str, lane: Expr, width: int) -> list[Stmt]:
        """Read the state of another lane, one component after the other."""
        pairs = zip(self.state.others, self.state.loads(), strict=True)
        return [Shuffle(other, value, mode, lane, width) for other, value in pairs]  # type: ignore[arg-type]

    def spread(self, size: int) -> Stmt:
        """Give the first lane's state to the whole segment."""
        width = 1 << (size - 1).bit_length()
        return build.seq(
            *self.read("index", ZERO, width), self.state.assign(self.state.other_loads())
        )

    def two_level(self) -> Stmt:
        """Combine each warp, then the states of the warps."""
        team = self.team
        warps = -(-team.size // WARP)
        staging = self.staging("warps", team.groups * warps)
        last = team.size - (warps - 1) * WARP
        lane, warp = team.lane, team.rank // WARP
        place = team.group * warps + warp
        first = self.shuffles(WARP, lane) if last == WARP else self.partial_warps()
        keep = build.seq(
            *(Store(s, place, v) for s, v in zip(staging, self.state.loads(), strict=True))
        )
        identity = self.reduce.combiner.identity
        again = [
            build.if_then_else(lane < warps, Load(s, team.group * warps + lane), nothing)
            for s, nothing in zip(staging, identity, strict=True)
        ]
        steps = [*first, *self.guard, If(lane.equal(0), keep), Barrier("block")]
        steps.append(self.state.assign(again))
        width = 1 << (warps - 1).bit_length()
        # The lanes beyond the warps hold the identity, so that whole segments are combined; a
        # segment beyond the first combines nothing that is read.
        steps += self.shuffles(width, lane) if team.fills_warps else self.first_lanes(warps)
        if self.reduce.broadcast and team.fills_warps:
            steps.append(self.spread(WARP))
        elif self.reduce.broadcast:  # the last warp may be too short to have combined all
            steps += [Barrier("block"), If(team.is_first, keep), Barrier("block")]
            steps.append(self.state.assign([Load(s, ZERO) for s in staging]))
        return _allocated(staging, self.with_other(steps))

    def partial_warps(self) -> list[Stmt]:
        """Combine warps of which the last is not full: lanes read from threads that exist."""
        team = self.team
        steps: list[Stmt] = []
        offsets = [16, 8, 4, 2, 1]
        for offset in reversed(offsets) if self.is_ordered else offsets:
            inside = build.all_of([team.lane + offset < WARP, team.rank + offset < team.size])
            source = build.select(inside, team.lane + offset, team.lane)
            steps += self.read("index", source, WARP)
            steps.append(If(inside, self.state.merged(self.state.other_loads())))
        return steps

    def first_lanes(self, count: int) -> list[Stmt]:
        """Combine the first ``count`` lanes of each warp, of which the last is not full."""
        team = self.team
        width = 1 << (count - 1).bit_length()
        offsets = [1 << n for n in range(width.bit_length() - 1)]
        steps: list[Stmt] = []
        for offset in offsets if self.is_ordered else reversed(offsets):
            exists = team.rank + offset < team.size
            inside = build.all_of([team.lane + offset < count, exists])
            source = build.select(inside, team.lane + offset, team.lane)
            steps += self.read("index", source, WARP)
            steps.append(If(inside, self.state.merged(self.state.other_loads())))
        return steps

    def staging(self, what: str, places: int) -> list[Buffer]:
        scope: Scope = "shared"
        return [
            Buffer(f"{t.name}.{what}", t.dtype, (build.const(places),), scope=scope)
            for t in self.reduce.targets
        ]

    def tree(self, style: str) -> Stmt:
        """Combine in shared memory; the groups lie side by side, so that no two share a bank."""
        team = self.team
        rank = team.ordered_rank if self.is_ordered else team.rank
        staging = self.staging("tree", team.size * team.groups)

        def at(place: Expr) -> list[Expr]:
            return [Load(s, place * team.groups + team.group) for s in staging]

        def keep() -> Stmt:
            place = rank * team.groups + team.group
            pairs = zip(staging, self.state.loads(), strict=True)
            return build.seq(*(Store(s, place, v) for s, v in pairs))

        steps: list[Stmt] = [*self.guard, keep(), Barrier("block")]
        strides = [1 << n for n in range((team.size - 1).bit_length())]
        for stride in reversed(strides) if style == "interleaved" else strides:
            if style == "interleaved":
                takes_part, has_partners = rank < stride, 2 * stride <= team.size
            else:
                takes_part = (rank % (2 * stride)).equal(0)
                has_partners = team.size % (2 * stride) == 0
            if not has_partners:
                takes_part = build.all_of([takes_part, rank + stride < team.size])
            step = build.seq(self.state.merged(at(rank + stride)), keep())
            steps += [If(takes_part, step), Barrier("block")]
        steps.append(self.state.assign(at(ZERO)))
        return _allocated(staging, build.seq(*steps))
