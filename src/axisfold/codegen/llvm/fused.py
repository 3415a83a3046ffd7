# SPDX-License-Identifier: Apache-2.0
"""Operations of the IR that are one for the machine: powers, their sums, and counts.

An exponential times a constant power of two is one function.  Nothing in it is subnormal, as e**x
may be: processors take a hundred cycles for such a product.  Where a sum follows, the product that
an exponential ends with is rounded with it, once, if the machine can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from axisfold.codegen.llvm import arithmetic
from axisfold.codegen.llvm.elementary import LIFTED, emit_elementary
from axisfold.codegen.llvm.writer import Writer
from axisfold.ir.expr import Binary, Broadcast, Call, Cast, Const, Expr, Node

# Exponents of the powers of two: what is 0 by them is 0 without, and 2 times them is finite.
_LIFTS: Final = {32: range(25, 127), 64: range(54, 1023)}


def emit_binary(w: Writer, node: Binary, args: list[str]) -> str:
    """Append ``a op b`` of the values of :func:`operands`."""
    if (found := _lifted(node) or _added(node)) is not None:
        call, lift = found
        added = node.op == "add"
        return emit_elementary(w, call.name, node.dtype, *args, lift=lift, is_added=added)
    if _counted(node) is not None:
        value, condition = args
        more = w.binary("add", node.dtype, value, w.const(1, node.dtype))
        return w.select(condition, node.dtype, more, value)
    return arithmetic.emit_binary(w, node, args[0], args[1])


def operands(node: Binary) -> Sequence[Node]:
    """Return what is computed before a node."""
    if (found := _lifted(node)) is not None:
        return found[0].args
    if (found := _added(node)) is not None:
        return (*found[0].args, node.a)
    condition = _counted(node)
    return node.children() if condition is None else (node.a, condition)


def _counted(node: Binary) -> Expr | None:
    """Return the condition under which lanes of integers are one more, None for other nodes.

    Vectors have additions under a mask, or masks that are -1.
    """
    flag = node.b
    if node.op != "add" or not isinstance(flag, Cast) or node.dtype.lanes == 1:
        return None
    is_count = node.dtype.is_integer and flag.value.dtype.is_bool
    return flag.value if is_count else None


def _added(node: Binary) -> tuple[Call, int] | None:
    """Return the call and the k of a + e**x · 2**k, None for other nodes."""
    if node.op != "add" or not node.dtype.is_float or node.dtype.is_half:
        return None
    if isinstance(node.b, Call) and node.b.name == "exp_short":
        return node.b, 0  # the power of two is in it
    return _lifted(node.b) if isinstance(node.b, Binary) else None


def _lifted(node: Binary) -> tuple[Call, int] | None:
    """Return the call and the k of e**x · 2**k that one function computes, None for other nodes."""
    call = node.a
    if node.op != "mul" or not isinstance(call, Call) or call.name not in LIFTED:
        return None
    factor = node.b.value if isinstance(node.b, Broadcast) else node.b
    if not isinstance(factor, Const) or factor.dtype.is_half:
        return None
    digits, exponent = math.frexp(factor.value)
    is_lift = digits == 0.5 and exponent - 1 in _LIFTS[factor.dtype.bits]
    return (call, exponent - 1) if is_lift else None
