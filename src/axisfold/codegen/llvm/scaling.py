# SPDX-License-Identifier: Apache-2.0
"""Exponentials that are multiplied by a constant power of two, in one function.

Nothing in it is subnormal, as e**x may be: processors take a hundred cycles for such a product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from axisfold.codegen.llvm import arithmetic
from axisfold.codegen.llvm.elementary import LIFTED, emit_elementary
from axisfold.codegen.llvm.writer import Writer
from axisfold.ir.expr import Binary, Broadcast, Call, Const, Node

# Exponents of the powers of two: what is 0 by them is 0 without, and 2 times them is finite.
_LIFTS: Final = {32: range(25, 127), 64: range(54, 1023)}


def emit_binary(w: Writer, node: Binary, args: list[str]) -> str:
    """Append ``a op b`` of the values of :func:`operands`."""
    found = _lifted(node)
    if found is None:
        return arithmetic.emit_binary(w, node, args[0], args[1])
    return emit_elementary(w, found[0].name, node.dtype, *args, lift=found[1])


def operands(node: Node) -> Sequence[Node]:
    """Return what is computed before a node."""
    found = _lifted(node) if isinstance(node, Binary) else None
    return node.children() if found is None else found[0].args


def _lifted(node: Binary) -> tuple[Call, int] | None:
    """Return the call and the k of e**x · 2**k that one function computes, None for other nodes."""
    call, factor = node.a, node.b.value if isinstance(node.b, Broadcast) else node.b
    if node.op != "mul" or not isinstance(call, Call) or call.name not in LIFTED:
        return None
    if not isinstance(factor, Const) or factor.dtype.is_half:
        return None
    digits, exponent = math.frexp(factor.value)
    is_lift = digits == 0.5 and exponent - 1 in _LIFTS[factor.dtype.bits]
    return (call, exponent - 1) if is_lift else None
