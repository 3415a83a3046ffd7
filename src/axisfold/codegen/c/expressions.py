# SPDX-License-Identifier: Apache-2.0
"""Expressions and accesses in C11."""

from __future__ import annotations

from axisfold.codegen.arithmetic import binary
from axisfold.codegen.c import arithmetic
from axisfold.codegen.c.helpers import Helpers
from axisfold.codegen.c.spelling import memory_type, value_type
from axisfold.codegen.text import (
    Code,
    Lines,
    Names,
    cast,
    choice,
    infix,
    prefix,
    subscript,
    volatile,
)
from axisfold.codegen.writing import Context
from axisfold.dtypes import DType
from axisfold.errors import InternalError
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Call, Cast, Compare, Const, Expr, Load, Not, Select


class Expressions(Context):
    """Writes expressions into the block that is open.

    Attributes
    ----------
    bytewise
        Buffers that are read and written byte by byte, through pointers to char.
    """

    def __init__(self, names: Names, lines: Lines, helpers: Helpers) -> None:
        super().__init__(names, lines)
        self.helpers = helpers
        self.bytewise: frozenset[Buffer] = frozenset()

    def kind(self, dtype: DType) -> str:
        """Return the type of a value."""
        return value_type(dtype)

    def place(self, buffer: Buffer, index: Code) -> Code:
        """Return the address of an element as a pointer to bytes."""
        if buffer.unit == "element" and buffer.dtype.itemsize > 1:
            index = infix("*", index, Code(str(buffer.dtype.itemsize)))
        return prefix("&", subscript(self.pointers[buffer], index))

    def spell(self, node: Expr, args: list[Code], *, is_plain: bool) -> Code:
        """Return one operation on operands that are written already."""
        helpers = self.helpers
        match node:
            case Const():
                return helpers.constant(node.value, node.dtype)
            case Cast():
                return arithmetic.emit_cast(helpers, node, args[0])
            case Binary():
                a, b = args
                return binary(helpers, node, a, b, is_plain=is_plain, kind=value_type)
            case Compare():
                return arithmetic.emit_compare(helpers, node, args[0], args[1])
            case Not():
                return prefix("!", args[0])
            case Select():
                return choice(args[0], args[1], args[2])
            case Call():
                return arithmetic.emit_call(helpers, node, args)
            case Load():
                return self._load(node, args[0])
            case _:
                raise InternalError(f"{type(node).__name__} is no node of a program for C")

    def _load(self, node: Load, index: Code) -> Code:
        buffer, dtype = node.buffer, node.buffer.dtype
        if buffer not in self.bytewise:
            element = subscript(self.pointers[buffer], index)
        elif dtype.itemsize == 1:
            element = subscript(self.pointers[buffer], index)
            element = cast("int8_t", element) if dtype.kind == "int" else element
        else:
            element = self.helpers.call("load", dtype, self.place(buffer, index))
        if node.cache == "volatile":
            element = volatile(memory_type(dtype), element)
        if dtype.is_bool:
            return infix("!=", element, Code("0"))
        return self.helpers.half("value", dtype, element) if dtype.is_half else element
