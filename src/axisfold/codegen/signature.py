# SPDX-License-Identifier: Apache-2.0
"""What every backend's function takes: one pointer for each buffer, then these scalars."""

from __future__ import annotations

from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel


def scalar_parameters(kernel: Kernel) -> tuple[Var, ...]:
    """Return the variables that arguments bind, in the order of the machine code's parameters."""
    found: dict[Var, None] = {}
    for buffer in kernel.params:
        for expr in (*buffer.shape, *buffer.strides):
            if isinstance(expr, Var):
                found.setdefault(expr)
    return tuple(found)
