# SPDX-License-Identifier: Apache-2.0
"""What a loop holds in registers: places of private memory that each of its rounds writes.

LLVM keeps such memory in registers only where nothing else reads it at a place that varies, as the
loop does that folds the lanes of states in the end: then each round would store its states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from axisfold.codegen.llvm import memory
from axisfold.codegen.llvm.elementary import ELEMENTARY
from axisfold.codegen.llvm.ports import balance
from axisfold.codegen.llvm.recent import Access, Place
from axisfold.codegen.llvm.writer import Writer
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Call, Expr, IfThenElse, Load, Var
from axisfold.ir.stmt import Allocate, For, If, Let, Store
from axisfold.ir.walk import post_order, statements, uses

Split = Callable[[Load | Store], tuple[Expr, int]]


class Holding:
    """Writes what a loop does with the places that it holds.

    Parameters
    ----------
    w
        Where the function is written, now in front of the loop.
    places
        What :func:`held_places` returns.
    """

    def __init__(self, w: Writer, places: Sequence[tuple[Buffer, Access]]) -> None:
        self._w, self._places = w, places
        self._before = [self._value(b, a) for b, a in places]
        for buffer, access in places:
            # The loop writes what it leaves there, however many rounds it has.
            if (line := w.recent.needless(buffer, access)) is not None:
                w.lines[line] = ""
        self._block = w.block
        self._names: list[str] = []
        self._line = self._begin = 0

    def _value(self, buffer: Buffer, access: Access) -> str:
        known = self._w.recent.value(buffer, access)
        return memory.emit_access(self._w, buffer, access) if known is None else known

    def begin_head(self) -> None:
        """Leave room for the values at the head of a round."""
        w = self._w
        self._line = len(w.lines)
        for _ in self._places:
            self._names.append(w.fresh("held"))
            w.emit("")

    def begin_round(self) -> None:
        """Let the round know what these places hold."""
        self._begin = len(self._w.lines)
        for (buffer, access), name in zip(self._places, self._names, strict=True):
            self._w.recent.read(buffer, access, name)

    def end_round(self) -> None:
        """Take the writes of a round back; their values are those of the next one."""
        w, following = self._w, dict[str, str]()
        for n, (buffer, access) in enumerate(self._places):
            value, line = w.recent.take(buffer, access)
            if line is not None:
                w.lines[line] = ""
            following[self._names[n]] = value
            incoming = f"[ {self._before[n]}, %{self._block} ], [ {value}, %{w.block} ]"
            w.lines[self._line + n] = f"  {self._names[n]} = phi {access.kind} {incoming}"
        if w.machine.has_adders and not (w.is_cold or w.calls):
            kinds = [access.kind for _, access in self._places]
            balance(w, self._begin, following, kinds, w.machine)

    def leave(self) -> None:
        """Write what the last round has left."""
        for (buffer, access), name in zip(self._places, self._names, strict=True):
            memory.emit_rewrite(self._w, buffer, access, name)


@dataclass(frozen=True, slots=True)
class Round:
    """What a round of a loop has in it, which is one block; of others nothing is told.

    Attributes
    ----------
    accesses
        Reads and writes of memory that outlives it.
    varies
        Variables that are others in each round.
    calls
        How many elementary functions are called.
    """

    accesses: tuple[Load | Store, ...] = ()
    varies: frozenset[Var] = frozenset()
    calls: int = 0


def round_of(loop: For) -> Round:
    """Return what a round of a loop has in it."""
    varies: set[Var] = {loop.var}
    accesses: list[Load | Store] = []
    own: set[Buffer] = set()
    calls = 0
    if loop.stop is not None or any(isinstance(n, (For, If)) for n in statements(loop.body)):
        return Round()
    for node in post_order(loop.body):
        match node:
            case IfThenElse() if node.dtype.lanes == 1:
                return Round()
            case Allocate() if not node.buffer.is_on_stack:
                return Round()
            case Allocate():
                own.add(node.buffer)
            case Let():
                varies.add(node.var)
            case Load() | Store():
                accesses.append(node)
            case Call():
                calls += node.name in ELEMENTARY
            case _:
                pass
    outer = tuple(a for a in accesses if a.buffer not in own)
    return Round(outer, frozenset(varies), calls)


def held_places(
    inside: Round, pointers: Mapping[Buffer, str], split: Split, emit: Callable[[Expr], str]
) -> list[tuple[Buffer, Access]]:
    """Return the places that the rounds of a loop write and that it may hold, if any.

    Parameters
    ----------
    inside
        What a round has in it.
    pointers
        The buffers that only this function knows, with their addresses.
    split
        Returns what varies of an access's index, and a constant.
    emit
        Appends an index.
    """
    found: dict[Buffer, dict[Access, bool]] = {}
    others: set[Buffer] = set()
    for node in inside.accesses:
        if node.buffer in others or node.buffer not in pointers:
            continue
        varying = _place(node, split, inside.varies)
        if varying is None:
            others.add(node.buffer)
            continue
        place = Place(pointers[node.buffer], emit(varying[0]), varying[1])
        places = found.setdefault(node.buffer, {})
        access = memory.access_of(node, place)
        places[access] = places.get(access, False) or isinstance(node, Store)
    return [
        (buffer, access)
        for buffer, places in found.items()
        if buffer not in others and _are_apart(list(places))
        for access, is_written in places.items()
        if is_written
    ]


def _place(node: Load | Store, split: Split, varies: frozenset[Var]) -> tuple[Expr, int] | None:
    """Return the parts of an access's index; None unless it is the same place in each round."""
    is_masked = isinstance(node, Load) and node.mask is not None
    lanes = (node if isinstance(node, Load) else node.value).dtype.lanes
    is_apart = lanes > 1 and not memory.is_contiguous(node.buffer, node.index)
    if is_masked or is_apart or node.cache:
        return None
    varying, constant = split(node)
    if uses(varying, varies) or any(isinstance(n, Load) for n in post_order(varying)):
        return None
    return varying, constant


def _are_apart(places: list[Access]) -> bool:
    ordered = sorted(places, key=lambda a: a.place.constant)
    return all(a.is_apart(b) for a, b in pairwise(ordered))
