# SPDX-License-Identifier: Apache-2.0
"""place_barriers: threads wait where one reads or overwrites what another wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from axisfold.analysis.affine import linear_form
from axisfold.analysis.bounds import Bounds, Interval, constant_interval
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Compare, Expr, Load, Var
from axisfold.ir.stmt import (
    Allocate,
    AllReduce,
    Attr,
    Barrier,
    For,
    If,
    Kernel,
    Launch,
    Let,
    Seq,
    Shuffle,
    Stmt,
    Store,
    Ticket,
)
from axisfold.ir.walk import post_order, statements, substitute
from axisfold.passes.rewriter import StmtRewriter, substatements
from axisfold.passes.threads import SHARED_SCOPES, is_thread_tag


def place_barriers(kernel: Kernel) -> Kernel:
    """Put a barrier before the first access that may meet another thread's.

    Before::

        T.shared[threadIdx.x] = …
        … = T.shared[63 - threadIdx.x]

    After::

        T.shared[threadIdx.x] = …
        @barrier(block)
        … = T.shared[63 - threadIdx.x]

    The statements are walked in order with the accesses since the last barrier; a loop is walked
    as if its rounds followed each other.  Two accesses need no barrier if both only read, or if
    the element is one thread's own: its index moves by more with the thread than with all else, or
    is the same function of threads and loops in both (a stage computes each element once, so one
    thread does, in whichever round).  Memory of a cluster is guarded by barriers of the cluster.

    Raises
    ------
    UnsupportedError
        ``X125``: a barrier would be needed, or an all-reduce stands, where only some threads
        arrive.
    """
    return _Kernels().run(kernel)


class _Kernels(StmtRewriter):
    def visit_launch(self, launch: Launch) -> Stmt:
        body, _ = _Barriers(launch).visit(launch.body, ())
        return launch if body is launch.body else replace(launch, body=body)


@dataclass(frozen=True, slots=True)
class _Access:
    """A read or write of shared memory, by threads whose indices are below ``limits``."""

    buffer: Buffer
    index: Expr
    is_write: bool
    limits: tuple[tuple[Var, int], ...]


Pending = tuple[_Access, ...]


class _Barriers:
    """One walk of a launch."""

    def __init__(self, launch: Launch) -> None:
        tagged = list(zip(launch.tags, launch.vars, launch.extents, strict=True))
        self.extents = {v: build.as_int(e) or 0 for _, v, e in tagged if build.as_int(e) != 1}
        self.threads = frozenset(v for t, v, _ in tagged if is_thread_tag(t)) & set(self.extents)
        blocks = frozenset(v for t, v, _ in tagged if t.startswith("clusterCtaIdx"))
        self.cluster = self.threads | blocks & set(self.extents)
        self.bounds = Bounds({})
        for _, var, extent in tagged:
            self.bounds = self.bounds.extended(var, build.const(0, var.dtype), extent)
        # All loops at once: accesses in one are compared with those in another.
        loops = [n for n in reversed(list(statements(launch.body))) if isinstance(n, For)]
        for loop in loops:
            self.bounds = self.bounds.extended(loop.var, loop.min, loop.extent)
        self.loops = {loop.var for loop in loops}
        self.loads: dict[int, tuple[Load, ...]] = {}
        self.differing = set(self.threads)
        self.before: set[Var] = set()
        self.limits = dict(self.extents)
        self.divergence = ""

    def visit(self, stmt: Stmt, pending: Pending) -> tuple[Stmt, Pending]:
        """Return the statement with its barriers, and the accesses since the last of them."""
        match stmt:
            case Seq():
                parts: list[Stmt] = []
                for part in stmt.body:
                    part, pending = self.visit(part, pending)
                    parts.append(part)
                same = all(a is b for a, b in zip(parts, stmt.body, strict=True))
                return (stmt if same else build.seq(*parts)), pending
            case Store() | AllReduce() | Shuffle() | Ticket():
                if isinstance(stmt, (AllReduce, Shuffle)):
                    self.check_arrival(stmt)
                return self.after_barrier(stmt, self.accesses(stmt), pending)
            case Let():
                reads = self.reads((stmt.value,))
                if self.differs(stmt.value):
                    self.differing.add(stmt.var)
                barrier, pending = self.meet(reads, pending)
                body, pending = self.visit(stmt.body, (*pending, *reads))
                return build.seq(*barrier, replace(stmt, body=body)), pending
            case Allocate() | Attr():
                body, pending = self.visit(stmt.body, pending)
                return (stmt if body is stmt.body else replace(stmt, body=body)), pending
            case If():
                return self.branch(stmt, pending)
            case For():
                return self.loop(stmt, pending)
            case Barrier():
                self.check_arrival(stmt)
                return stmt, tuple(a for a in pending if not _orders(stmt, a))
            case Launch():
                return stmt, pending
            case _:
                assert_never(stmt)

    def after_barrier(
        self, stmt: Stmt, accesses: Pending, pending: Pending
    ) -> tuple[Stmt, Pending]:
        barrier, pending = self.meet(accesses, pending)
        return build.seq(*barrier, stmt), (*pending, *accesses)

    def meet(self, accesses: Iterable[_Access], pending: Pending) -> tuple[list[Stmt], Pending]:
        """Return the barriers before some accesses, and what is pending after them."""
        barriers: list[Stmt] = []
        for access in accesses:
            other = next((p for p in pending if self.conflict(p, access)), None)
            if other is None:
                continue
            self.check_arrival(access.buffer)
            barrier = Barrier("cluster" if access.buffer.scope == "cluster" else "block")
            barriers.append(barrier)
            pending = tuple(a for a in pending if not _orders(barrier, a))
        return barriers, pending

    def branch(self, stmt: If, pending: Pending) -> tuple[Stmt, Pending]:
        reads = self.reads((stmt.condition,))
        barrier, pending = self.meet(reads, pending)
        pending = (*pending, *reads)
        saved = self.divergence, self.limits
        if self.differs(stmt.condition):
            barrier_before, pending = self.meet(self.accesses(stmt), pending)
            barrier += barrier_before
            self.divergence = self.divergence or f"the condition {build.bare(stmt.condition)}"
            self.limits = _limited(stmt.condition, self.limits)
        then, after = self.visit(stmt.then, pending)
        self.limits = saved[1]
        otherwise, after_else = None, pending
        if stmt.otherwise is not None:
            otherwise, after_else = self.visit(stmt.otherwise, pending)
        self.divergence = saved[0]
        both = tuple(dict.fromkeys((*after, *after_else)))
        return build.seq(*barrier, replace(stmt, then=then, otherwise=otherwise)), both

    def loop(self, loop: For, pending: Pending) -> tuple[Stmt, Pending]:
        ends = [loop.min, loop.extent] if loop.stop is None else [loop.min, loop.extent, loop.stop]
        reads = self.reads(ends)
        saved = self.divergence
        # Before the loop, rather than in each of its rounds.
        barrier, pending = self.meet((*reads, *self.accesses(loop)), pending)
        pending = (*pending, *reads)
        if any(self.differs(end) for end in ends):
            self.differing.add(loop.var)
            self.divergence = saved or f"the loop {loop.var.name} of {loop.extent} rounds"
        body, after = self.visit(loop.body, pending)
        carried = self.carried(loop, after)
        if carried:
            body, after = self.visit(loop.body, (*pending, *carried))
        self.divergence = saved
        both = tuple(dict.fromkeys((*pending, *after)))
        return build.seq(*barrier, replace(loop, body=body)), both

    def carried(self, loop: For, after: Pending) -> Pending:
        """Return accesses of one round as the next round sees them, at another value."""
        last = Var(f"{loop.var.name}.before", loop.var.dtype)
        found = [replace(a, index=substitute(a.index, {loop.var: last})) for a in after]
        self.bounds = self.bounds.extended(last, loop.min, loop.extent)
        self.before.add(last)
        return tuple(found)

    def check_arrival(self, what: Stmt | Buffer) -> None:
        if not self.divergence:
            return
        need = (
            f"memory {what.name!r} is shared between threads, and a barrier is needed"
            if isinstance(what, Buffer)
            else f"a step that all threads take together ({type(what).__name__}) stands"
        )
        raise UnsupportedError(
            f"{need} where not all of them arrive: {self.divergence} differs between threads.",
            code="X125",
            hint="Compute the stage outside of it, or bind other axes to the threads.",
        )

    def differs(self, expr: Expr) -> bool:
        """Return whether threads of a block may see different values."""
        return any(
            (isinstance(node, Var) and node in self.differing)
            or (isinstance(node, Load) and node.buffer.scope == "local")
            for node in post_order(expr)
        )

    def reads(self, roots: Iterable[Expr]) -> Pending:
        loads = [load for root in roots for load in self.shared_loads(root)]
        return tuple(_Access(load.buffer, load.index, False, self.here) for load in loads)

    def shared_loads(self, root: Expr) -> tuple[Load, ...]:
        """Return the loads from shared memory in an expression, remembered.

        Each branch and each loop around asks for them again.
        """
        found = self.loads.get(id(root))
        if found is None:
            found = self.loads[id(root)] = tuple(
                node
                for node in post_order(root)
                if isinstance(node, Load) and node.buffer.scope in SHARED_SCOPES
            )
        return found

    def accesses(self, stmt: Stmt) -> Pending:
        """Return all accesses of a statement."""
        inside = tuple(a for part in substatements(stmt) for a in self.accesses(part))
        match stmt:
            case If():
                outer, self.limits = self.limits, _limited(stmt.condition, self.limits)
                then = self.accesses(stmt.then)
                self.limits = outer
                otherwise = () if stmt.otherwise is None else self.accesses(stmt.otherwise)
                return (*self.reads((stmt.condition,)), *then, *otherwise)
            case Store():
                own = self.reads((stmt.index, stmt.value))
                if stmt.buffer.scope not in SHARED_SCOPES:
                    return own
                return (*own, _Access(stmt.buffer, stmt.index, True, self.here))
            case Ticket():
                return (_Access(stmt.target, build.const(0), True, self.here),)
            case _:
                roots = [c for c in stmt.children() if isinstance(c, Expr)]
                return (*self.reads(roots), *inside)

    @property
    def here(self) -> tuple[tuple[Var, int], ...]:
        """The limits of the threads that arrive here."""
        return tuple(self.limits.items())

    def conflict(self, a: _Access, b: _Access) -> bool:
        if a.buffer is not b.buffer or not (a.is_write or b.is_write):
            return False
        team = self.cluster if a.buffer.scope == "cluster" else self.threads
        limits = {v: max(n, dict(b.limits)[v]) for v, n in a.limits}
        active = {v: n for v, n in limits.items() if v in team and n > 1}
        if not active:
            return False
        zeros: dict[Var, Expr] = {v: build.const(0, v.dtype) for v, n in limits.items() if n == 1}
        first, second = (substitute(x.index, zeros) for x in (a, b))
        if a.limits == b.limits and self.canonical(first) == self.canonical(second):
            return False
        return not self.apart(first, second, active)

    def canonical(self, index: Expr) -> Expr:
        """Return an index with its loop variables numbered in order of occurrence."""
        names: dict[Var, Expr] = {}
        for node in post_order(index):
            if isinstance(node, Var) and node in self.loops | self.before and node not in names:
                names[node] = _NUMBERED[len(names) % len(_NUMBERED)]
        return substitute(index, names)

    def apart(self, a: Expr, b: Expr, active: Mapping[Var, int]) -> bool:
        """Return whether two threads never meet.

        The difference of two indices is a sum over the threads, and over loops that are in two
        rounds.  If each step reaches further than all smaller ones together, it is 0 only where
        the threads are the same.
        """
        forms = [linear_form(index, active, self.bounds) for index in (a, b)]
        if forms[0] is None or forms[1] is None:
            return False
        steps: list[tuple[int, int, bool]] = []
        for var, extent in active.items():
            pair = [build.as_int(form[0].get(var, build.const(0))) for form in forms if form]
            if not pair[0] or pair[0] != pair[1]:
                return False
            steps.append((abs(pair[0]), extent, True))
        loops, rest = self.rounds(forms[0][1] - forms[1][1])
        gap: Interval = constant_interval(rest, self.bounds)
        if not gap.is_finite:
            return False
        reach = max(abs(gap.low), abs(gap.high))
        for step, extent, is_thread in sorted([*steps, *loops]):
            if step <= reach and is_thread:
                return False
            reach += step * (extent - 1)
        return True

    def rounds(self, gap: Expr) -> tuple[list[tuple[int, int, bool]], Expr]:
        """Take out of a difference the loops that occur in it twice, with opposite steps."""
        form = linear_form(gap, self.loops | self.before, self.bounds)
        if form is None:
            return [], gap
        found: list[tuple[int, int, bool]] = []
        open_steps: dict[tuple[int, int], Var] = {}
        used: dict[Var, Expr] = {}
        for var, coefficient in form[0].items():
            step, extent = build.as_int(coefficient), build.as_int(self.bounds[var].extent)
            if not step or extent is None:
                continue
            partner = open_steps.pop((-step, extent), None)
            if partner is None:
                open_steps[step, extent] = var
                continue
            found.append((abs(step), extent, False))
            zero = build.const(0, var.dtype)
            used |= {var: zero, partner: zero}
        return found, substitute(gap, used)


_NUMBERED = tuple(Var(f"loop{n}") for n in range(16))


def _orders(barrier: Barrier, access: _Access) -> bool:
    """Return whether accesses before a barrier are seen by all who share the memory."""
    return barrier.level == "cluster" or (
        barrier.level == "block" and access.buffer.scope != "cluster"
    )


def _limited(condition: Expr, limits: Mapping[Var, int]) -> dict[Var, int]:
    """Return the limits of the threads for which a condition holds."""
    found = dict(limits)
    for part in build.conjuncts(build.bare(condition)):
        if not isinstance(part, Compare) or not isinstance(part.a, Var) or part.a not in found:
            continue
        bound = build.as_int(part.b)
        if part.op == "eq" and bound == 0:
            found[part.a] = 1
        elif part.op == "lt" and bound is not None:
            found[part.a] = min(found[part.a], max(bound, 1))
    return found
