# SPDX-License-Identifier: Apache-2.0
"""How long a program will be once its loops are split at guards and unrolled."""

from __future__ import annotations

from axisfold.analysis.bounds import Bounds
from axisfold.ir import build
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import uses
from axisfold.passes.guards import SPLIT, Found, guards_in, is_split_inside
from axisfold.passes.rewriter import substatements

# Each split loop copies its body, so d of them in a nest make 2**d copies of the innermost one.
# Beyond this many copies compiling takes seconds, and beyond this many stores the program leaves
# the instruction cache: guards cost less.  Outer loops give way first, because the guards of inner
# loops are tested most often.
MAX_COPIES = 32
MAX_STORES = 512


def may_be_copied(body: Stmt, copies: int) -> bool:
    """Return whether there may be so many copies of a body, whose loops are split as well."""
    return copies * _copies_of(body) <= MAX_COPIES and copies * stores_of(body) <= MAX_STORES


def _copies_of(stmt: Stmt) -> int:
    """Return how many copies of its innermost body a statement will have."""
    inner = max((_copies_of(part) for part in substatements(stmt)), default=1)
    return 2 * inner if isinstance(stmt, For) and _is_split(stmt) else inner


def _is_split(loop: For) -> bool:
    guards = guards_in(loop.body, Found(build.TRUE, Bounds()))
    return loop.kind in SPLIT and any(
        uses(g.condition, {loop.var}) and not is_split_inside(g) for g in guards
    )


def stores_of(stmt: Stmt) -> int:
    """Return how many stores a statement will have once its loops are split and unrolled."""
    match stmt:
        case Store() | AllReduce() | Shuffle() | Barrier() | Ticket():
            return 1
        case For():
            rounds = build.as_int(stmt.extent) if stmt.kind == "unrolled" else None
            return (rounds or (2 if _is_split(stmt) else 1)) * stores_of(stmt.body)
        case If() | Seq() | Let() | Allocate() | Attr() | Launch():
            return sum(stores_of(part) for part in substatements(stmt))
