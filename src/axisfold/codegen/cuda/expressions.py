# SPDX-License-Identifier: Apache-2.0
"""Expressions and accesses of one thread in CUDA C++."""

from __future__ import annotations

from axisfold.codegen.cuda import arithmetic
from axisfold.codegen.cuda.helpers import Helpers
from axisfold.codegen.cuda.lanes import Move
from axisfold.codegen.cuda.spelling import WIDEST, memory_type, piece_type, value_type
from axisfold.codegen.text import (
    Code,
    Lines,
    Names,
    call,
    cast,
    choice,
    infix,
    prefix,
    subscript,
    total,
    volatile,
)
from axisfold.codegen.writing import Context
from axisfold.dtypes import INT32, DType
from axisfold.errors import InternalError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Not, Select
from axisfold.ir.stmt import Store

# Longer offsets of wide accesses are computed before.
_LONG_OFFSET = 32


class Expressions(Context):
    """Writes expressions into the block that is open.

    Attributes
    ----------
    bytewise
        Arguments with offsets in bytes, or whose elements may be misaligned.
    variables_of_one
        Local memory of one element: a variable in place of an array.
    values
        Local memory that holds values, not the bytes of memory: all but the lanes that are moved.
    """

    names_sides = True

    def __init__(self, names: Names, lines: Lines, helpers: Helpers) -> None:
        super().__init__(names, lines)
        self.helpers = helpers
        self.bytewise: frozenset[Buffer] = frozenset()
        self.variables_of_one: set[Buffer] = set()
        self.values: set[Buffer] = set()

    def kind(self, dtype: DType) -> str:
        """Return the type of a value."""
        return value_type(dtype)

    def spell(self, node: Expr, args: list[Code], *, is_plain: bool) -> Code:
        """Return one operation on operands that are written already."""
        helpers = self.helpers
        match node:
            case Const():
                return helpers.constant(node.value, node.dtype)
            case Cast():
                return arithmetic.emit_cast(helpers, node, args[0])
            case Binary():
                a, b = arithmetic.without_casts(node, args) if is_plain else args
                return arithmetic.emit_binary(helpers, node, a, b, is_plain=is_plain)
            case Compare():
                return arithmetic.emit_compare(node, *arithmetic.without_casts(node, args))
            case Not():
                return prefix("!", args[0])
            case Select():
                return choice(args[0], args[1], args[2])
            case Call():
                return arithmetic.emit_call(helpers, node, args)
            case Load():
                element = self._read(node, args[0])
                return element if node.buffer in self.values else self._value_of(node, element)
            case _:
                raise InternalError(f"{type(node).__name__} is no node of a program for CUDA")

    def _value_of(self, node: Load, element: Code) -> Code:
        """Return the value of an element in memory."""
        if node.dtype.is_bool:
            return infix("!=", element, Code("0"))
        return self.helpers.half("value", node.dtype, element) if node.dtype.is_half else element

    def declare_local(self, buffer: Buffer, count: int, *, is_moved: bool) -> None:
        """Append the declaration of registers."""
        name = self.names.fresh(buffer.name)
        self.pointers[buffer] = name
        if is_moved:
            self.lines.emit(f"__align__({WIDEST}) {memory_type(buffer.dtype)} {name}[{count}];")
            return
        self.values.add(buffer)
        kind = value_type(buffer.dtype)
        if count == 1:
            self.variables_of_one.add(buffer)
            self.lines.emit(f"{kind} {name};")
        else:
            self.lines.emit(f"{kind} {name}[{count}];")

    def put_first(self, target: Buffer, value: Code) -> None:
        """Append the assignment of a value to the first element of registers."""
        self._put(
            Store(target, build.const(0, INT32), build.const(0, target.dtype)), Code("0"), value
        )

    def _read(self, node: Load, index: Code) -> Code:
        buffer = node.buffer
        if buffer in self.bytewise and not _is_aligned(node):
            return self.helpers.call("load", buffer.dtype, prefix("&", self._element(node, index)))
        element = self._element(node, index)
        if node.cache == "volatile":
            return volatile(memory_type(buffer.dtype), element)
        is_streamed = node.cache == "stream" and buffer.scope == "global"
        return call("__ldcs", prefix("&", element)) if is_streamed else element

    def _element(self, access: Load | Store, index: Code) -> Code:
        """Return an element in memory, or its first byte where it may be misaligned."""
        buffer, dtype = access.buffer, access.buffer.dtype
        if buffer in self.variables_of_one:
            return Code(self.pointers[buffer])
        if buffer not in self.bytewise:
            return subscript(self.pointers[buffer], index)
        place = subscript(self.pointers[buffer], self._in_bytes(buffer, index))
        if not _is_aligned(access) or memory_type(dtype) == "u8":
            return place
        const = "const " if isinstance(access, Load) else ""
        return prefix("*", pointer_to(f"{const}{memory_type(dtype)}", prefix("&", place)))

    def _in_bytes(self, buffer: Buffer, index: Code) -> Code:
        if buffer.unit == "byte" or buffer.dtype.itemsize == 1:
            return index
        return infix("*", index, Code(str(buffer.dtype.itemsize)))

    def store(self, stmt: Store) -> None:
        """Append the assignment of a value to one element."""
        index, value = self.stored(stmt.index, stmt.value)
        self._put(stmt, index, value)

    def _put(self, stmt: Store, index: Code, value: Code) -> None:
        buffer, element = stmt.buffer, self._element(stmt, index)
        if buffer.dtype.is_half and buffer not in self.values:
            value = self.helpers.half_bits(buffer.dtype, value)
        if buffer in self.bytewise and not _is_aligned(stmt):
            stored = self.helpers.call("store", buffer.dtype, prefix("&", element), value)
            self.lines.emit(f"{stored};")
        elif stmt.cache == "volatile":
            self.lines.assign(volatile(memory_type(buffer.dtype), element).text, value)
        elif stmt.cache == "stream" and buffer.scope == "global":
            value = cast("u8", value) if buffer.dtype.is_bool else value
            self.lines.emit(f"{call('__stcs', prefix('&', element), value)};")
        else:
            self.lines.assign(element.text, value)

    def move(self, move: Move) -> None:
        """Append the loads or stores of neighbouring elements."""
        count = build.as_int(move.registers.shape[0]) or 1
        kind, lanes = piece_type(move.pieces), move.pieces // move.memory.dtype.itemsize
        base, step = self.offset(move.index), lanes
        if move.memory in self.bytewise:
            base, step = self._in_bytes(move.memory, base), move.pieces
        if len(base.text) > _LONG_OFFSET:
            name = self.names.fresh(f"{move.memory.name}.index")
            self.lines.assign(f"const {value_type(move.index.dtype)} {name}", base)
            base = Code(name)
        for piece in range(count // lanes):
            at = base if piece == 0 else total(base, Code(str(piece * step)))
            memory = prefix("&", subscript(self.pointers[move.memory], at))
            held = prefix("&", subscript(self.pointers[move.registers], Code(str(piece * lanes))))
            self._piece(move, kind, memory, held)

    def _piece(self, move: Move, kind: str, memory: Code, held: Code) -> None:
        is_streamed = move.cache == "stream" and move.memory.scope == "global"
        registers = prefix("*", pointer_to(kind, held))
        place = pointer_to(f"const {kind}" if move.is_load else kind, memory)
        if move.is_load:
            value = call("__ldcs", place) if is_streamed else prefix("*", place)
            self.lines.assign(registers.text, value)
        elif is_streamed:
            self.lines.emit(f"{call('__stcs', place, registers)};")
        else:
            self.lines.assign(prefix("*", place).text, registers)


def pointer_to(kind: str, place: Code) -> Code:
    """Return a pointer as one to another type."""
    return call(f"reinterpret_cast<{kind} *>", place)


def _is_aligned(access: Load | Store) -> bool:
    """Whether an access is to the address of an element; it is where nothing else is said."""
    return access.align % access.buffer.dtype.itemsize == 0
