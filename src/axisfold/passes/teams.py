# SPDX-License-Identifier: Apache-2.0
"""Teams: the threads that combine their states, their ranks, and the states themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from axisfold.dtypes import INT64
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Const, Expr, Load, Var
from axisfold.ir.stmt import WARP, AllReduce, Launch, Let, Stmt, Store
from axisfold.passes.threads import first_of, flat_index, is_thread_tag

STYLES: Final = ("shuffle", "two-level", "interleaved", "adjacent")
ZERO = build.const(0)
ONE = build.const(1)


@dataclass(frozen=True, slots=True)
class State:
    """The state of one thread, in local buffers of one element, and room for another's."""

    combiner: Combiner
    targets: tuple[Buffer, ...]
    others: tuple[Buffer, ...]

    def loads(self) -> list[Expr]:
        """Return the own components."""
        return [Load(t, ZERO) for t in self.targets]

    def other_loads(self) -> list[Expr]:
        """Return the other's components."""
        return [Load(t, ZERO) for t in self.others]

    def assign(self, values: Sequence[Expr]) -> Stmt:
        """Store all components; each is computed before any is stored."""
        if len(values) == 1 or all(isinstance(v, Const) for v in values):
            return build.seq(
                *(Store(t, ZERO, v) for t, v in zip(self.targets, values, strict=True))
            )
        names = [Var(f"{t.name}.new", t.dtype) for t in self.targets]
        body = build.seq(*(Store(t, ZERO, n) for t, n in zip(self.targets, names, strict=True)))
        for name, value in zip(reversed(names), reversed(values), strict=True):
            body = Let(name, value, body)
        return body

    def merged(self, other: Sequence[Expr]) -> Stmt:
        """Merge a state that comes after the own one into it."""
        return self.assign(self.combiner.merge(self.loads(), other))

    def reset(self) -> Stmt:
        """Start from the identity."""
        return self.assign(self.combiner.identity)


def as_state(reduce: AllReduce) -> State:
    """Return the state that an all-reduce leaves in its targets."""
    others = tuple(
        Buffer(f"{t.name}.other", t.dtype, (ONE,), scope="local") for t in reduce.targets
    )
    return State(reduce.combiner, reduce.targets, others)


@dataclass(frozen=True, slots=True)
class Team:
    """The threads and blocks over which a reduction runs, within a launch.

    Attributes
    ----------
    launch
        The launch.
    threads
        Its variables over which states are combined, in the order of the states: the last one
        moves fastest.
    """

    launch: Launch
    threads: tuple[Var, ...]

    @property
    def _tags(self) -> dict[Var, str]:
        return dict(zip(self.launch.vars, self.launch.tags, strict=True))

    @property
    def _extents(self) -> dict[Var, Expr]:
        return dict(zip(self.launch.vars, self.launch.extents, strict=True))

    def _of_unit(self, unit: str, *, inside: bool) -> list[Var]:
        """Return the indices of a unit that are reduced over, or those that are not."""
        return [
            v
            for v, tag in self._tags.items()
            if tag.startswith(unit) and (v in self.threads) == inside
        ]

    def _count(self, variables: Sequence[Var]) -> int:
        return math.prod(build.as_int(self._extents[v]) or 0 for v in variables)

    def _flat(self, variables: Sequence[Var]) -> Expr:
        return flat_index((v, self._extents[v]) for v in variables)[0]

    @property
    def thread_vars(self) -> tuple[Var, ...]:
        """The threads of a block over which states are combined."""
        return tuple(v for v in self.threads if is_thread_tag(self._tags[v]))

    @property
    def size(self) -> int:
        """How many threads of a block combine their states."""
        return self._count(self.thread_vars)

    @property
    def groups(self) -> int:
        """How many such teams a block holds."""
        return self._count(self._of_unit("threadIdx", inside=False))

    @property
    def rank(self) -> Expr:
        """The place of this thread in its team, in hardware order."""
        return self._flat(self._of_unit("threadIdx", inside=True))

    @property
    def ordered_rank(self) -> Expr:
        """The place of this thread in its team, in the order of the states."""
        return self._flat(self.thread_vars[::-1])

    @property
    def group(self) -> Expr:
        """The number of this thread's team within the block."""
        return self._flat(self._of_unit("threadIdx", inside=False))

    @property
    def lane(self) -> Expr:
        """The lane of this thread within its warp, for teams that start at a warp's."""
        rank: Expr = self.rank
        return build.as_expr(rank % WARP) if self.size > WARP else rank

    @property
    def is_contiguous(self) -> bool:
        """Whether the threads of a team have neighbouring numbers."""
        wide = [v for v, t in self._tags.items() if is_thread_tag(t) and self._count([v]) > 1]
        inside = [v in self.threads for v in wide]
        return inside == sorted(inside, reverse=True)

    @property
    def is_in_order(self) -> bool:
        """Whether hardware order is the order of the states."""
        wide = [v for v in self.thread_vars[::-1] if self._count([v]) > 1]
        return wide == [v for v in self._tags if v in wide]

    @property
    def fills_warps(self) -> bool:
        """Whether every warp of a team is full."""
        return self.size % WARP == 0

    @property
    def is_first(self) -> Expr:
        """Whether this thread is the first of its team."""
        return first_of(self.thread_vars)

    @property
    def is_first_of_block(self) -> Expr:
        """Whether this thread is the first of its block."""
        return first_of([v for v, tag in self._tags.items() if is_thread_tag(tag)])

    @property
    def cluster_size(self) -> int:
        """How many blocks of a cluster combine their states."""
        return self._count(self._clusters)

    @property
    def _clusters(self) -> list[Var]:
        return [v for v in self.threads if self._tags[v].startswith("clusterCtaIdx")]

    @property
    def cluster_places(self) -> int:
        """How many states the blocks of a cluster have together."""
        others = self._of_unit("clusterCtaIdx", inside=False)
        return self.cluster_size * self.groups * self._count(others)

    def cluster_place(self, rank: Expr | None = None) -> Expr:
        """Return where a block of the cluster, by default the own one, keeps its state."""
        others = self._of_unit("clusterCtaIdx", inside=False)
        group = self._flat(others) * self.groups + self.group
        own = self._flat(self._clusters[::-1]) if rank is None else rank
        return build.as_expr(group * self.cluster_size + own)

    @property
    def _blocks(self) -> list[Var]:
        """The indices of blocks, those within a cluster too, over which the grid combines."""
        return [v for v in self.threads if not is_thread_tag(self._tags[v])]

    @property
    def _other_blocks(self) -> list[Var]:
        return [v for v, t in self._tags.items() if not is_thread_tag(t) and v not in self.threads]

    def _wide(self, variables: Sequence[Var]) -> tuple[Expr, Expr]:
        pairs = [(build.cast(INT64, v), build.cast(INT64, self._extents[v])) for v in variables]
        index, total = flat_index(pairs)
        return build.cast(INT64, index), build.cast(INT64, total)

    @property
    def block_rank(self) -> Expr:
        """The place of this block among those that combine their states."""
        return self._wide(self._blocks[::-1])[0]

    @property
    def block_count(self) -> Expr:
        """How many blocks combine their states."""
        return self._wide(self._blocks)[1]

    @property
    def block_group(self) -> Expr:
        """The number of the set of blocks that this block belongs to."""
        return self._wide(self._other_blocks)[0]

    @property
    def block_groups(self) -> Expr:
        """How many sets of blocks there are."""
        return self._wide(self._other_blocks)[1]

    @property
    def partials(self) -> Expr:
        """How many states all blocks leave behind."""
        return build.as_expr(self.block_groups * self.block_count * self.groups)

    def partial(self, block_rank: Expr) -> Expr:
        """Return where the state of a block is kept: neighbours are read by neighbours."""
        place = (self.block_group * self.groups + self.group) * self.block_count + block_rank
        if self.size == 1:
            place = (self.block_group * self.block_count + block_rank) * self.groups + self.group
        return build.as_expr(place)


def choose_style(reduce: AllReduce, team: Team) -> str:
    """Return the style in which the threads of a block combine.

    Raises
    ------
    UnsupportedError
        ``X124``: the style that was asked for does not fit the threads.
    """
    in_order = team.is_in_order or not reduce.combiner.is_ordered
    is_one_warp = team.size <= WARP and (team.size & (team.size - 1) == 0 or team.groups == 1)
    fills = WARP < team.size <= WARP * WARP and (team.fills_warps or team.groups == 1)
    reasons = {
        "shuffle": ""
        if team.is_contiguous and in_order and is_one_warp
        else "the threads of a team must lie in one warp, a power of two of them or one team alone",
        "two-level": ""
        if team.is_contiguous and in_order and fills
        else "the threads of a team must be neighbours and fill more than one warp, or be one team "
        "alone",
        "interleaved": "the reducer is ordered" if reduce.combiner.is_ordered else "",
        "adjacent": "",
    }
    legal = [style for style in STYLES if not reasons[style]]
    style = reduce.style or ("shuffle" if reduce.level == "warp" else legal[0])
    if reasons[style]:
        raise UnsupportedError(
            f"style {style!r} does not fit a team of {team.size} threads, {team.groups} "
            f"teams a block: {reasons[style]}.",
            code="X124",
            hint=f"Use one of {', '.join(legal)}, or leave the choice to axisfold.",
        )
    return style
