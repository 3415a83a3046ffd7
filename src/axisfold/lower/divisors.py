# SPDX-License-Identifier: Apache-2.0
"""Divisors: an extent that is known to be a multiple is written as one."""

from __future__ import annotations

import math
from dataclasses import replace

from axisfold.analysis.simplify import simplify
from axisfold.ir import build
from axisfold.ir.expr import Expr, Node, Var
from axisfold.ir.stmt import For, Kernel
from axisfold.ir.walk import rewrite, substitute


def with_divisors(kernel: Kernel) -> Kernel:
    """Return a kernel that knows which of its arguments' extents are multiples of what.

    Before, with m a multiple of 4::

        … m …

    After::

        … floordiv(m, 4)*4 …

    After that, that a split by 4 needs no guard, or that a row starts at a multiple of 4, is plain
    arithmetic.  The caller's arrays are checked when they are bound.
    """
    divisors: dict[Var, int] = {}
    for buffer in kernel.params:
        for extent, divisor in zip(buffer.shape, buffer.facts.divisible, strict=False):
            if isinstance(extent, Var) and divisor > 1:
                divisors[extent] = math.lcm(divisor, divisors.get(extent, 1))
    multiples: dict[Var, Expr] = {}
    for extent, divisor in divisors.items():
        factor = build.const(divisor, extent.dtype)
        multiples[extent] = (extent // factor) * factor
    if not multiples:
        return kernel
    body = rewrite(substitute(kernel.body, multiples), _simpler_rounds)
    return Kernel(kernel.name, kernel.params, kernel.outputs, body)


def _simpler_rounds(node: Node) -> Node:
    """Simplify the number of rounds of a loop: guards inside are proved from it."""
    if not isinstance(node, For):
        return node
    extent = simplify(node.extent)
    return node if extent == node.extent else replace(node, extent=extent)
