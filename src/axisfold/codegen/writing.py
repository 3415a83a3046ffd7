# SPDX-License-Identifier: Apache-2.0
"""Expressions as source: what is computed twice gets a name, what must not be evaluated a branch.

Shared by the backends that print C-like source; a backend says how one operation is spelled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from enum import Enum
from typing import Final

from axisfold.analysis.bounds import Bounds, constant_interval
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.codegen.text import Code, Lines, Names, choice
from axisfold.dtypes import INT64, DType
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    IfThenElse,
    Load,
    Node,
    Select,
    Var,
)
from axisfold.ir.walk import post_order, rewrite

# An index is written out, however often it occurs, unless it is longer than this many nodes.
_LONG_INDEX: Final = 10
# No loop counts further, and no array reaches as far, in time or in an address space of today.
COUNTER_BITS: Final = 47


class Place(Enum):
    """Where an expression stands, which decides whether an index may overflow there.

    An offset that overflows names no memory, and a bound of two factors counts elements or
    rounds.  A value, or what is divided on its way to an offset, may wrap around on purpose.
    """

    VALUE = 63
    BOUND = 127
    OFFSET = 1 << 30


_Task = tuple[Expr, Place]
# Written nodes, and names of sources that have one.
_Done = dict[tuple[int, Place] | str, Code]


class Context(ABC):
    """Where expressions are written: the names in scope and the block that is open.

    Parameters
    ----------
    names, lines
        Of the function being written.

    Attributes
    ----------
    variables
        Names of the variables in scope.
    counters
        Loop variables and scalar parameters, with the bits that their values have.
    pointers
        Names of the buffers in scope.
    bounds
        Domains of the loops around.
    names_sides
        Whether sides of a select that call functions are computed before it: a compiler might make
        a branch of it else, which threads of a warp take one after the other.
    """

    names_sides = False

    def __init__(self, names: Names, lines: Lines) -> None:
        self.names, self.lines = names, lines
        self.variables: dict[Var, str] = {}
        self.counters: dict[Var, int] = {}
        self.pointers: dict[Buffer, str] = {}
        self.bounds = Bounds({})

    @abstractmethod
    def spell(self, node: Expr, args: list[Code], *, is_plain: bool) -> Code:
        """Return one operation on operands that are written already.

        ``is_plain`` promises that signed integers do not overflow in it.
        """

    @abstractmethod
    def kind(self, dtype: DType) -> str:
        """Return the type of a value."""

    def declare_counter(
        self, var: Var, name: str, *, extent: Expr | None = None, is_extent: bool = False
    ) -> None:
        """Bring a loop variable (of a loop of ``extent`` rounds) or a scalar into scope."""
        self.variables[var] = name
        known = None if extent is None else build.as_int(extent)
        self.counters[var] = COUNTER_BITS if known is None else known.bit_length()
        if is_extent:
            self.bounds = self.bounds.extended(var, 0, 1 << COUNTER_BITS)

    def value(self, root: Expr) -> Code:
        """Return the source of a value; statements that it needs are written before it."""
        return self._code(root, Place.VALUE)

    def offset(self, root: Expr) -> Code:
        """Return the source of an offset in a buffer."""
        return self._code(root, Place.OFFSET)

    def stored(self, index: Expr, value: Expr) -> tuple[Code, Code]:
        """Return the source of an offset in a buffer and of the value to be written there."""
        writing = Writing(self, index, value)
        return writing.code(index, Place.OFFSET), writing.code(value, Place.VALUE)

    def bound(self, root: Expr) -> Code:
        """Return the source of an end of a loop or an extent of an array."""
        simple = root if isinstance(root, (Var, Const)) else simplify(root, self.bounds)
        return self._code(simple, Place.BOUND)

    def _code(self, root: Expr, place: Place) -> Code:
        if isinstance(root, Var):
            return Code(self.variables[root])
        if isinstance(root, Const):
            return self.spell(root, [], is_plain=False)
        return Writing(self, root).code(root, place)


class Writing:
    """Expressions of one moment, with the names that their parts have been given.

    Parameters
    ----------
    context
        Where they are written.
    roots
        All of them: no statement between them changes memory.
    """

    def __init__(self, context: Context, *roots: Expr) -> None:
        self.x = context
        self.done: _Done = {}
        table: dict[Node, Node] = {}
        # Equal parts become one object, so that they can be recognised by identity.
        self.shared = {id(r): rewrite(r, lambda n: table.setdefault(n, n)) for r in roots}
        self.uses: Counter[int] = Counter()
        self.sizes: dict[int, int] = {}
        self.reads: dict[int, bool] = {}
        self.bits: dict[int, int | None] = {}
        self.sides: set[int] = set()
        self.uses.update(id(r) for r in self.shared.values())
        for node in {id(n): n for r in self.shared.values() for n in post_order(r)}.values():
            below = node.children()
            self.uses.update({id(c) for c in below})
            self.sizes[id(node)] = 1 + sum(self.sizes[id(c)] for c in below)
            self.reads[id(node)] = isinstance(node, Load) or any(self.reads[id(c)] for c in below)
            self.bits[id(node)] = self._bits(node)
            if context.names_sides and isinstance(node, Select):
                self.sides |= {id(e) for e in (node.true_value, node.false_value) if _calls(e)}

    def _bits(self, node: Node) -> int | None:
        """Return how many bits an index needs, None for what is no index."""
        if not isinstance(node, Expr) or node.dtype.kind != "int":
            return None
        if isinstance(node, Cast) and node.value.dtype.kind in ("int", "uint"):
            return min(node.value.dtype.bits, self.bits[id(node.value)] or 64, node.dtype.bits)
        parts = [self.bits[id(c)] for c in node.children()]
        known = [p for p in parts if p is not None]
        if len(known) < len(parts):
            return None
        match node:
            case Var():
                return self.x.counters.get(node)
            case Const():
                return int(node.value).bit_length()
            case Binary(op="shl"):
                return None
            case Binary():
                if node.op in ("add", "sub"):
                    return max(known) + 1
                return sum(known) if node.op == "mul" else max(known)
            case _:
                return None

    def code(self, root: Expr, place: Place = Place.VALUE) -> Code:
        """Return the source of one of the roots."""
        return self._code(self.shared[id(root)], place, self.done)

    def _code(self, root: Expr, place: Place, done: _Done) -> Code:
        """Write bottom-up; iterative, as sums may be long."""
        stack: list[tuple[_Task, bool]] = [((root, place), False)]
        while stack:
            task, is_ready = stack.pop()
            key = (id(task[0]), task[1])
            if key in done:
                continue
            needs = _operands(task)
            if is_ready or not needs:
                args = [done[id(node), where] for node, where in needs]
                done[key] = self._named(task, self._node(task, args, done), done)
            else:
                stack.append((task, True))
                stack.extend((need, False) for need in reversed(needs))
        return done[id(root), place]

    def _node(self, task: _Task, args: list[Code], done: _Done) -> Code:
        node, place = task
        match node:
            case Var():
                return Code(self.x.variables[node])
            case IfThenElse():
                return self._lazy(node, place, args[0], done)
            case _:
                is_plain = isinstance(node, Binary) and self._is_plain(node, place)
                return self.x.spell(node, args, is_plain=is_plain)

    def _named(self, task: _Task, code: Code, done: _Done) -> Code:
        """Give a value a name of its own if it would be written more than once."""
        node, place = task
        is_repeated = self.uses[id(node)] > 1 and not self._is_short(node, place, code)
        if not is_repeated and id(node) not in self.sides:
            return code
        if code.text in done:
            return done[code.text]
        x = self.x
        if isinstance(node, Load):
            wanted = f"{node.buffer.name}_value"
        else:
            wanted = "index" if place is Place.OFFSET else "value"
            wanted = "test" if node.dtype.is_bool else wanted
        name = x.names.fresh(wanted)
        x.lines.assign(f"const {x.kind(node.dtype)} {name}", code)
        done[code.text] = Code(name)
        return done[code.text]

    def _is_short(self, node: Expr, place: Place, code: Code) -> bool:
        if isinstance(node, (Var, Const)) or code.text.isidentifier():
            return True
        if place is not Place.VALUE or self.bits[id(node)] is not None:
            return self.sizes[id(node)] <= _LONG_INDEX
        return self.sizes[id(node)] <= 2 and not self.reads[id(node)]

    def _is_plain(self, node: Binary, place: Place) -> bool:
        """Whether an operation is written with C's operator: it has the IR's result there."""
        bits = self.bits[id(node)]
        if node.dtype.kind != "int" or node.dtype.bits < 32:
            return False
        is_ring = node.op in ("add", "sub", "mul")
        if node.dtype.bits == 32:
            if is_ring:
                return (place is Place.OFFSET and bits is not None) or self._fits(node)
        elif bits is None or bits > place.value:
            return False
        elif is_ring:
            return True
        # A proof is about numbers that do not wrap around.
        elif place is Place.OFFSET and bits > Place.VALUE.value:
            return False
        if not node.op.startswith("floor"):
            return False
        return can_prove(node.a >= build.const(0, node.a.dtype), self.x.bounds)

    def _fits(self, node: Binary) -> bool:
        """Whether the exact result of an operation on int32 is one."""
        wide = [build.cast(INT64, operand) for operand in (node.a, node.b)]
        found = constant_interval(build.binary(node.op, *wide), self.x.bounds)
        return found.low >= -(1 << 31) and found.high < 1 << 31

    def _lazy(self, node: IfThenElse, place: Place, condition: Code, done: _Done) -> Code:
        """Return a choice of which one side is evaluated."""
        x = self.x
        name = x.names.fresh("value")  # before the sides, which name their own values
        sides = [self._side(e, place, done) for e in (node.true_value, node.false_value)]
        if not any(lines for lines, _ in sides):
            x.names.release(name)
            return choice(condition, sides[0][1], sides[1][1])
        x.lines.emit(f"{x.kind(node.dtype)} {name};")
        for head, (lines, code) in zip((f"if ({condition})", "else"), sides, strict=True):
            with x.lines.block(head):
                x.lines.lines += lines
                x.lines.assign(name, code)
        return Code(name)

    def _side(self, root: Expr, place: Place, done: _Done) -> tuple[list[str], Code]:
        """Return the statements that one side of a choice needs, one block deeper, and its code."""
        lines = self.x.lines
        outer, lines.lines = lines.lines, []
        lines.depth += 1
        try:
            with self.x.names.block():
                code = self._code(root, place, dict(done))
            return lines.lines, code
        finally:
            lines.lines = outer
            lines.depth -= 1


def _calls(expr: Expr) -> bool:
    """Whether a float is computed by a function."""
    return any(isinstance(n, Call) and n.dtype.is_float for n in post_order(expr))


def _operands(task: _Task) -> list[_Task]:
    """Return what a node needs before it is written."""
    node, place = task
    match node:
        case IfThenElse():
            return [(node.condition, place)]
        case Load():
            return [(node.index, Place.OFFSET)]
        case Call(name="likely"):
            return [(node.args[0], Place.BOUND)]
        case Binary(op) if place is Place.OFFSET and op.endswith(("div", "mod")):
            return [(node.a, Place.VALUE), (node.b, Place.VALUE)]
        case _:
            return [(c, place) for c in node.children() if isinstance(c, Expr)]
