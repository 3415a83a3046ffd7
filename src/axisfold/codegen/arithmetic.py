# SPDX-License-Identifier: Apache-2.0
"""What arithmetic the dialects of C have in common; a backend adds what its own dialect needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from axisfold.codegen.text import Code, cast, infix, total
from axisfold.dtypes import FLOAT32, DType
from axisfold.ir.expr import Binary, Const

INFIX: Final = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&&", "or": "||",
    "bitand": "&", "bitor": "|", "bitxor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
_UNSIGNED_DIVISION: Final = {
    "floordiv": "quotient", "truncdiv": "quotient",
    "floormod": "remainder", "truncmod": "remainder",
}  # fmt: skip
# Functions of the maths library that are not called as in the IR.
_MATHS: Final = {
    "abs": "fabs", "round": "rint", "power": "pow", "exp_nonpositive": "exp", "exp_rounded": "exp",
    "exp_short": "exp",
}  # fmt: skip


# e**(x - a); a dialect puts in its head, the name, the type and the exponential.
EXP_DIFFERENCE: Final = """
/* e**(x - a), with what the difference was rounded by. */
{head} $T $N($T x, $T a) {{
    const $T difference = x - a, part = difference - x;
    const $T rest = (x - (difference - part)) - (a + part);
    const $T power = {exp}(difference);
    return rest == rest ? power + power * rest : power;
}}
"""


class Functions(Protocol):
    """The helper functions that a program calls; calling one adds it."""

    def call(self, kind: str, dtype: DType, *args: Code) -> Code:
        """Return a call of the function of an operation on a dtype."""

    def extreme(self, name: str, dtype: DType, a: Code, b: Code) -> Code:
        """Return a call of ``minimum`` or ``maximum``, for which NaN wins."""

    def half(self, what: str, dtype: DType, value: Code) -> Code:
        """Return a call of a function of 16-bit floats."""


def binary(
    functions: Functions,
    node: Binary,
    a: Code,
    b: Code,
    *,
    is_plain: bool,
    kind: Callable[[DType], str],
) -> Code:
    """Return ``a op b``.

    Parameters
    ----------
    functions
        Of the program.
    node
        The operation.
    a, b
        Its operands, written already.
    is_plain
        Promises that signed integers do not overflow.
    kind
        Returns the type of a value.
    """
    dtype, op = node.dtype, node.op
    if op in ("min", "max"):
        return _extreme(functions, op, dtype, a, b)
    if dtype.is_float:
        return rounded(functions, dtype, infix(INFIX[op], a, b))
    if op in ("add", "sub", "mul"):
        wraps_around = dtype.kind == "uint" and dtype.bits >= 32
        if not (is_plain or wraps_around):
            return functions.call(op, dtype, a, b)
        if isinstance(node.a, Const) and isinstance(node.b, Const):
            a = cast(kind(node.a.dtype), a)  # else an operation of int
        return total(a, b) if op == "add" else infix(INFIX[op], a, b)
    if op in INFIX:
        return infix(INFIX[op], a, b)
    if op in ("shl", "shr"):
        return functions.call(op, dtype, a, b)
    return _division(functions, node, a, b, is_plain=is_plain)


def _extreme(functions: Functions, op: str, dtype: DType, a: Code, b: Code) -> Code:
    if dtype.is_bool:
        return infix("||" if op == "max" else "&&", a, b)
    if dtype.is_float:
        return functions.extreme(f"{op}imum", computed(dtype), a, b)
    return functions.call(op, dtype, a, b)


def computed(dtype: DType) -> DType:
    """Return the dtype in which values of a dtype are computed."""
    return FLOAT32 if dtype.is_half else dtype


def _division(functions: Functions, node: Binary, a: Code, b: Code, *, is_plain: bool) -> Code:
    """Return a quotient or a remainder of integers."""
    op, is_signed = node.op, node.dtype.kind == "int"
    truncates = is_plain or not is_signed or op.startswith("trunc")
    if truncates and isinstance(node.b, Const) and int(node.b.value) > 0:
        return infix("/" if op.endswith("div") else "%", a, b)
    return functions.call(op if is_signed else _UNSIGNED_DIVISION[op], node.dtype, a, b)


def rounded(functions: Functions, dtype: DType, value: Code) -> Code:
    """Return a result of float arithmetic in its dtype."""
    return functions.half("round", dtype, value) if dtype.is_half else value


def maths(name: str, dtype: DType) -> str:
    """Return the name of a function of the maths library: ``expf`` for floats of 32 bits."""
    return f"{_MATHS.get(name, name)}{'' if dtype.bits == 64 else 'f'}"
