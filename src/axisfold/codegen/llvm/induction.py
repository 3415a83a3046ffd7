# SPDX-License-Identifier: Apache-2.0
"""Where a loop reads from at places that move evenly, pointers of its own do.

LLVM would find them too, by strength reduction, but looks at each access for that, which takes a
fifth of its time; so it is not told how they move.  What a loop writes is left to it: it knows that
other memory is another only as long as it sees where addresses come from.  So is the stack: one
counter tells all of its places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from axisfold.codegen.llvm.held import Round
from axisfold.codegen.llvm.places import Places, unit_of
from axisfold.codegen.llvm.writer import Writer
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Expr, Load, Var
from axisfold.ir.stmt import For, Store
from axisfold.ir.walk import post_order, uses

MOST: Final = 4
"""More pointers than this would take registers that states need."""


class _Moving(NamedTuple):
    """An index of a buffer: ``start``, and ``step`` more in each round."""

    buffer: Buffer
    base: Expr
    start: Expr
    step: Expr


class Induction:
    """Writes the pointers that a loop moves.

    Parameters
    ----------
    w
        Where the function is written, now in front of the loop.
    loop, inside
        The loop, and what its rounds have in them.
    places
        Tells the parts of indices; here it learns what these pointers are for.
    pointers
        Where buffers begin.
    emit
        Appends an index.
    """

    def __init__(
        self,
        w: Writer,
        loop: For,
        inside: Round,
        places: Places,
        pointers: Mapping[Buffer, str],
        emit: Callable[[Expr], str],
    ) -> None:
        self._w, self._places, self._block = w, places, w.block
        self._moving = _moving(loop, inside, places)
        self._starts: list[str] = []
        self._steps: list[str] = []
        for m in self._moving:
            pointer, start = pointers[m.buffer], emit(m.start)
            at = f"getelementptr {unit_of(m.buffer)}, ptr {pointer}, i64 {start}"
            self._starts.append(pointer if start == "0" else w.let(at))
            self._steps.append(emit(m.step))
        self._names: list[tuple[str, str]] = []
        self._line = 0

    def begin_head(self) -> None:
        """Leave room for the pointers at the head of a round."""
        w = self._w
        self._line = len(w.lines)
        for _ in self._moving:
            self._names.append((w.fresh("at"), w.fresh("at.next")))
            w.emit("")

    def begin_round(self) -> None:
        """Let accesses of the round find the pointers, of which LLVM does not see how they move."""
        self._places.moving = {
            (m.buffer, m.base): self._w.let(f'call ptr asm "", "=r,0"(ptr {name})')
            for m, (name, _) in zip(self._moving, self._names, strict=True)
        }

    def end_round(self) -> None:
        """Move the pointers."""
        w = self._w
        for n, m in enumerate(self._moving):
            (name, following), now = self._names[n], self._places.moving[m.buffer, m.base]
            w.emit(
                f"{following} = getelementptr {unit_of(m.buffer)}, ptr {now}, i64 {self._steps[n]}"
            )
            incoming = f"[ {self._starts[n]}, %{self._block} ], [ {following}, %{w.block} ]"
            w.lines[self._line + n] = f"  {name} = phi ptr {incoming}"
        self._places.moving = {}


def _moving(loop: For, inside: Round, places: Places) -> list[_Moving]:
    """Return the indices that move evenly, none in a rest: LLVM does not see its counter anyway."""
    if loop.kind != "serial":
        return []
    found: dict[tuple[Buffer, Expr], _Moving] = {}
    varies = inside.varies - {loop.var}
    written = {node.buffer for node in inside.accesses if isinstance(node, Store)}
    for node in inside.accesses:
        base = places.split(node).base
        key = node.buffer, base
        if key in found or node.buffer in written or node.buffer.is_on_stack:
            continue
        parts = _parts(base, loop.var) if base.dtype.lanes == 1 else None
        if parts is None or build.is_const(parts[0], 0) or uses(base, varies):
            continue
        if any(isinstance(n, Load) for n in post_order(base)):
            continue
        step, rest = parts
        start = build.binary("add", rest, build.binary("mul", step, loop.min))
        found[key] = _Moving(*key, start, step)
    return list(found.values()) if len(found) <= MOST else []


def _parts(expr: Expr, var: Var) -> tuple[Expr, Expr] | None:
    """Return what an index grows by with a variable, and what it is at 0; None if not evenly."""
    if expr is var:
        return build.const(1, expr.dtype), build.const(0, expr.dtype)
    if not uses(expr, {var}):
        return build.const(0, expr.dtype), expr
    if not isinstance(expr, Binary) or expr.op not in ("add", "sub", "mul"):
        return None
    a, b = _parts(expr.a, var), _parts(expr.b, var)
    if a is None or b is None:
        return None
    if expr.op != "mul":
        return build.binary(expr.op, a[0], b[0]), build.binary(expr.op, a[1], b[1])
    if uses(expr.a, {var}):
        a, b = b, a
    if not build.is_const(a[0], 0):
        return None
    return build.binary("mul", b[0], a[1]), build.binary("mul", b[1], a[1])
