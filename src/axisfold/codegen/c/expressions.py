# SPDX-License-Identifier: Apache-2.0
"""Expressions: what is computed twice gets a name, what must not be evaluated gets a branch."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import Final

from axisfold.analysis.bounds import Bounds
from axisfold.analysis.simplify import can_prove, simplify
from axisfold.codegen.c import arithmetic
from axisfold.codegen.c.helpers import Helpers
from axisfold.codegen.c.spelling import HALF, value_type
from axisfold.codegen.text import Code, Lines, Names, cast, choice, infix, prefix, subscript
from axisfold.dtypes import DType
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import (
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    IfThenElse,
    Load,
    Node,
    Not,
    Select,
    Var,
)
from axisfold.ir.walk import children, post_order, rewrite

# An index is written out, however often it occurs, unless it is longer than this many nodes.
_LONG_INDEX: Final = 10
# No loop counts further, and no array reaches as far, in time or in an address space of today.
_COUNTER_BITS: Final = 47


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


class Expressions:
    """Writes expressions into the block that is open.

    Parameters
    ----------
    names, lines, helpers
        Of the function being written.

    Attributes
    ----------
    variables
        Names of the variables in scope.
    counters
        Loop variables and scalar parameters, with the bits that their values have.
    pointers
        Names of the buffers in scope.
    bytewise
        Buffers that are read and written byte by byte, through pointers to char.
    bounds
        Domains of the loops around.
    """

    def __init__(self, names: Names, lines: Lines, helpers: Helpers) -> None:
        self.names, self.lines, self.helpers = names, lines, helpers
        self.variables: dict[Var, str] = {}
        self.counters: dict[Var, int] = {}
        self.pointers: dict[Buffer, str] = {}
        self.bytewise: frozenset[Buffer] = frozenset()
        self.bounds = Bounds({})

    def declare_counter(
        self, var: Var, name: str, *, extent: Expr | None = None, is_extent: bool = False
    ) -> None:
        """Bring a loop variable (of a loop of ``extent`` rounds) or a scalar into scope."""
        self.variables[var] = name
        known = None if extent is None else build.as_int(extent)
        self.counters[var] = _COUNTER_BITS if known is None else known.bit_length()
        if is_extent:
            self.bounds = self.bounds.extended(var, 0, 1 << _COUNTER_BITS)

    def value(self, root: Expr) -> Code:
        """Return the source of a value; statements that it needs are written before it."""
        return Writing(self, root).code(root, Place.VALUE)

    def stored(self, index: Expr, value: Expr) -> tuple[Code, Code]:
        """Return the source of an offset in a buffer and of the value to be written there."""
        writing = Writing(self, index, value)
        return writing.code(index, Place.OFFSET), writing.code(value, Place.VALUE)

    def bound(self, root: Expr) -> Code:
        """Return the source of an end of a loop or an extent of an array."""
        simple = simplify(root, self.bounds)
        return Writing(self, simple).code(simple, Place.BOUND)

    def place(self, buffer: Buffer, index: Code) -> Code:
        """Return the address of an element as a pointer to bytes."""
        if buffer.unit == "element" and buffer.dtype.itemsize > 1:
            index = infix("*", index, Code(str(buffer.dtype.itemsize)))
        return prefix("&", subscript(self.pointers[buffer], index))


class Writing:
    """Expressions of one moment, with the names that their parts have been given.

    Parameters
    ----------
    context
        Where they are written.
    roots
        All of them: no statement between them changes memory.
    """

    def __init__(self, context: Expressions, *roots: Expr) -> None:
        self.x = context
        self.done: _Done = {}
        table: dict[Node, Node] = {}
        # Equal parts become one object, so that they can be recognised by identity.
        self.shared = {id(r): rewrite(r, lambda n: table.setdefault(n, n)) for r in roots}
        self.uses: Counter[int] = Counter()
        self.sizes: dict[int, int] = {}
        self.reads: dict[int, bool] = {}
        self.bits: dict[int, int | None] = {}
        self.uses.update(id(r) for r in self.shared.values())
        for node in {id(n): n for r in self.shared.values() for n in post_order(r)}.values():
            below = children(node)
            self.uses.update({id(c) for c in below})
            self.sizes[id(node)] = 1 + sum(self.sizes[id(c)] for c in below)
            self.reads[id(node)] = isinstance(node, Load) or any(self.reads[id(c)] for c in below)
            self.bits[id(node)] = self._bits(node)

    def _bits(self, node: Node) -> int | None:
        """Return how many bits an index needs, None for what is no index."""
        if not isinstance(node, Expr) or node.dtype.kind != "int":
            return None
        parts = [self.bits[id(c)] for c in children(node)]
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

    def _named(self, task: _Task, code: Code, done: _Done) -> Code:
        """Give a value a name of its own if it would be written more than once."""
        node, place = task
        if self.uses[id(node)] < 2 or self._is_short(node, place, code):
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
        x.lines.assign(f"const {value_type(node.dtype)} {name}", code)
        done[code.text] = Code(name)
        return done[code.text]

    def _is_short(self, node: Expr, place: Place, code: Code) -> bool:
        if isinstance(node, (Var, Const)) or code.text.isidentifier():
            return True
        if place is not Place.VALUE or self.bits[id(node)] is not None:
            return self.sizes[id(node)] <= _LONG_INDEX
        return self.sizes[id(node)] <= 2 and not self.reads[id(node)]

    def _node(self, task: _Task, args: list[Code], done: _Done) -> Code:
        node, place = task
        helpers = self.x.helpers
        match node:
            case Var():
                return Code(self.x.variables[node])
            case Const():
                return helpers.constant(node.value, node.dtype)
            case Cast():
                return arithmetic.emit_cast(helpers, node, args[0])
            case Binary():
                is_plain = self._is_plain(node, place)
                return arithmetic.emit_binary(helpers, node, args[0], args[1], is_plain=is_plain)
            case Compare():
                return arithmetic.emit_compare(helpers, node, args[0], args[1])
            case Not():
                return prefix("!", args[0])
            case Select():
                return choice(args[0], args[1], args[2])
            case IfThenElse():
                return self._lazy(node, place, args[0], done)
            case Call():
                return arithmetic.emit_call(helpers, node, args)
            case Load():
                return self._load(node, args[0])
            case _:
                raise InternalError(f"{type(node).__name__} is no node of a program for C")

    def _is_plain(self, node: Binary, place: Place) -> bool:
        """Whether an operation is written with C's operator: it has the IR's result there."""
        bits = self.bits[id(node)]
        if bits is None or node.dtype.bits != 64:
            return False
        if node.op in ("add", "sub", "mul"):
            return bits <= place.value
        # A proof is about numbers that do not wrap around.
        place = Place.VALUE if place is Place.OFFSET else place
        if bits > place.value or not node.op.startswith("floor"):
            return False
        return can_prove(node.a >= build.const(0, node.a.dtype), self.x.bounds)

    def _load(self, node: Load, index: Code) -> Code:
        x, buffer, dtype = self.x, node.buffer, node.buffer.dtype
        if buffer not in x.bytewise:
            element = subscript(x.pointers[buffer], index)
        elif dtype.itemsize == 1:
            element = subscript(x.pointers[buffer], index)
            element = cast("int8_t", element) if dtype.kind == "int" else element
        else:
            element = x.helpers.call("load", dtype, x.place(buffer, index))
        if dtype.is_bool:
            return infix("!=", element, Code("0"))
        return x.helpers.half("f16_value", element) if _is_half(dtype) else element

    def _lazy(self, node: IfThenElse, place: Place, condition: Code, done: _Done) -> Code:
        """Return a choice of which one side is evaluated."""
        sides = [self._side(e, place, done) for e in (node.true_value, node.false_value)]
        if not any(lines for lines, _ in sides):
            return choice(condition, sides[0][1], sides[1][1])
        x = self.x
        name = x.names.fresh("value")
        x.lines.emit(f"{value_type(node.dtype)} {name};")
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
            return [(c, place) for c in children(node) if isinstance(c, Expr)]


def _is_half(dtype: DType) -> bool:
    return dtype.is_float and dtype.bits == HALF
