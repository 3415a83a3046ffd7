# SPDX-License-Identifier: Apache-2.0
"""What the passes on launches share: hardware indices by tag, and who takes part in what."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from axisfold.ir import build
from axisfold.ir.expr import Expr, Var
from axisfold.ir.stmt import Allocate, AllReduce, Barrier, Shuffle, Stmt, Ticket
from axisfold.ir.threads import TAGS as TAGS
from axisfold.ir.threads import UNITS as UNITS
from axisfold.ir.walk import statements

SHARED_SCOPES: Final = ("shared", "cluster", "warp")


def is_block_tag(tag: str) -> bool:
    """Return whether a tag numbers blocks of the grid."""
    return tag.startswith("blockIdx")


def is_thread_tag(tag: str) -> bool:
    """Return whether a tag numbers threads of a block."""
    return tag.startswith("threadIdx")


def is_cooperative(stmt: Stmt) -> bool:
    """Return whether threads work together in a statement: some of it all of them must reach."""
    return any(
        isinstance(node, (AllReduce, Shuffle, Barrier, Ticket))
        or (isinstance(node, Allocate) and node.buffer.scope in SHARED_SCOPES)
        for node in statements(stmt)
    )


def has_meeting(stmt: Stmt) -> bool:
    """Return whether all threads have to arrive somewhere in a statement."""
    return any(isinstance(node, (AllReduce, Shuffle, Barrier)) for node in statements(stmt))


def flat_index(parts: Iterable[tuple[Expr, Expr]]) -> tuple[Expr, Expr]:
    """Return the flat index of (index, extent) pairs, the fastest first, and the total extent."""
    index: Expr = build.const(0)
    total: Expr = build.const(1)
    for place, extent in parts:
        index = index + place * total
        total = total * extent
    return index, total


def first_of(variables: Collection[Var]) -> Expr:
    """Return the condition that picks one thread: all of ``variables`` are 0."""
    return build.all_of([var.equal(0) for var in variables])
