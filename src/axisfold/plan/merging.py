# SPDX-License-Identifier: Apache-2.0
"""What it costs to merge two states, as far as sizes depend on it."""

from __future__ import annotations

from axisfold.ir.expr import Binary, Call, Node
from axisfold.ir.walk import post_order
from axisfold.tensor.trace import Traced


def is_dear(traced: Traced) -> bool:
    """Return whether to merge two states takes a function or a quotient of floats."""
    return any(_is_slow(n) for e in traced.combiner.result for n in post_order(e))


def _is_slow(node: Node) -> bool:
    match node:
        case Call(dtype=dtype) | Binary(op="div", dtype=dtype):
            return dtype.is_float
        case _:
            return False
