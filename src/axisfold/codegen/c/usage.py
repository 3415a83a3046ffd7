# SPDX-License-Identifier: Apache-2.0
"""The comment in front of a function: what it takes and how it is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from axisfold.codegen.c.expressions import Expressions
from axisfold.codegen.text import Lines
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Expr, Var
from axisfold.ir.stmt import Kernel


def usage(lines: Lines, kernel: Kernel, name: str, x: Expressions, scalars: Sequence[Var]) -> None:
    """Append the comment."""
    lines.emit("/*")
    for line in _text(kernel, name, x, scalars):
        lines.emit(f" * {line}".rstrip())
    lines.emit(" */")


def _text(kernel: Kernel, name: str, x: Expressions, scalars: Sequence[Var]) -> list[str]:
    described = [(x.pointers[b], _buffer(kernel, b, x)) for b in kernel.params]
    described += [(x.variables[v], _scalar(kernel, v, x)) for v in scalars]
    width = max((len(n) for n, _ in described), default=0)
    return [
        f"{name}: one C11 function without dependencies, written by axisfold.",
        "",
        *(f"  {n.ljust(width)}  {what}" for n, what in described),
        "",
        "Returns 0, or 1 if memory could not be allocated.  Outputs share no memory with other",
        "arguments, and no two of their elements are in one place.",
        "",
        f"  cc -std=c11 -O3 -ffp-contract=off -c {name}.c        (and -lm where it is linked)",
        "",
        "-ffp-contract=off keeps products and sums apart: fused, they are rounded once and not",
        "twice, and the result depends on the machine.  -ffast-math breaks NaNs, infinities,",
        "signed zeros and the order of sums.  Floats are IEEE 754's and rounded to nearest, signed",
        "integers two's complement.",
    ]


def _buffer(kernel: Kernel, buffer: Buffer, x: Expressions) -> str:
    role = "output" if buffer in kernel.outputs else "input"
    text = f"{role}, {buffer.dtype}[{_list(buffer.shape, x)}]"
    if buffer.strides:
        return f"{text}, strides {_list(buffer.strides, x)} in {buffer.unit}s"
    return f"{text}, in C order"


def _list(exprs: Sequence[Expr], x: Expressions) -> str:
    return ", ".join(x.bound(e).text for e in exprs)


def _scalar(kernel: Kernel, var: Var, x: Expressions) -> str:
    """Say which extents and strides a scalar stands for."""
    found: list[str] = []
    for buffer in kernel.params:
        for what, exprs in (("extent", buffer.shape), ("stride", buffer.strides)):
            found += [
                f"{what} {axis} of {x.pointers[buffer]}"
                for axis, expr in enumerate(exprs)
                if expr is var
            ]
    return ", ".join(found)
