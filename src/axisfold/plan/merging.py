# SPDX-License-Identifier: Apache-2.0
"""What it costs to merge two states, as far as sizes depend on it."""

from __future__ import annotations

from collections.abc import Iterator

from axisfold.ir.expr import Binary, Call, Node
from axisfold.ir.walk import post_order
from axisfold.tensor.trace import Traced


def is_dear(traced: Traced) -> bool:
    """Return whether to merge two states takes a function such as an exponential."""
    return any(isinstance(n, Call) and n.dtype.is_float for n in _merged(traced))


def is_cheap(traced: Traced) -> bool:
    """Return whether to merge two states takes neither a function nor a quotient of floats."""
    divides = any(isinstance(n, Binary) and n.op == "div" for n in _merged(traced))
    return not divides and not is_dear(traced)


def _merged(traced: Traced) -> Iterator[Node]:
    return (n for e in traced.combiner.result for n in post_order(e))
