# SPDX-License-Identifier: Apache-2.0
"""The placeholders of a fold's inputs, and what elements are in them.

A CPU reads the real components of complex elements as arrays of their own.  A thread of a GPU loads
all of them at once: there they are the last axis of one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.buffer import Facts
from axisfold.ir.expr import Expr, Var
from axisfold.plan.graph import Elements, LayoutClass
from axisfold.tensor.tensor import Tensor, placeholder
from axisfold.tensor.trace import Traced


def placeholders(
    traced: Traced, layout: LayoutClass, shape: Sequence[Expr]
) -> tuple[tuple[Tensor, ...], ...]:
    """Return the placeholders of each input: one for each real component, or one for all."""
    found: list[tuple[Tensor, ...]] = []
    for position, parts in enumerate(traced.elements):
        itemsize = parts[0].dtype.itemsize
        if layout.joins_parts and len(parts) > 1:
            strides = _strides(layout, position, len(shape), len(parts) * itemsize)
            facts = _facts(layout, position, len(parts) * itemsize)
            facts = replace(facts, stride_align=facts.align)
            whole = placeholder(
                [*shape, build.const(len(parts), INT64)],
                parts[0].dtype,
                f"x{position}",
                strides=[*strides, build.const(itemsize, INT64)],
                unit="byte",
                facts=facts,
            )
            found.append((whole,))
            continue
        strides = _strides(layout, position, len(shape), itemsize)
        facts = _facts(layout, position, itemsize)
        found.append(
            tuple(
                placeholder(shape, v.dtype, v.name, strides=strides, unit="byte", facts=facts)
                for v in parts
            )
        )
    return tuple(found)


def elements_at(traced: Traced, inputs: Elements, place: Sequence[Expr]) -> dict[Var, Expr]:
    """Return what traced elements stand for at a place of the inputs."""
    found: dict[Var, Expr] = {}
    for parts, tensors in zip(traced.elements, inputs, strict=False):
        if len(parts) > len(tensors):
            (whole,) = tensors
            found.update({v: whole[(*place, n)] for n, v in enumerate(parts)})
        else:
            found.update({v: t[tuple(place)] for v, t in zip(parts, tensors, strict=True)})
    return found


def _facts(layout: LayoutClass, position: int, width: int) -> Facts:
    if layout.gpu is None:
        return Facts(align=0)
    # A GPU reads elements at multiples of their size only, and is given no others.
    if layout.gpu.lanes == 1 or layout.inner_steps[position] != "unit":
        return Facts(align=width)
    width *= layout.gpu.lanes
    return Facts(align=width, stride_align=width)


def _strides(layout: LayoutClass, position: int, rank: int, itemsize: int) -> list[Expr]:
    """Return the strides of an operand, with the step of the innermost axis if it is known."""
    strides: list[Expr] = [Var(f"s{position}_{axis}", INT64) for axis in range(rank)]
    inner, step = layout.innermost, layout.inner_steps[position]
    if step != "any":
        own = {"unit": 1, "two": 2, "zero": 0}[step] * itemsize
        strides[inner] = build.const(own, INT64)
        if layout.lanes > 1:
            strides[inner - 1] = build.const(own * layout.lanes, INT64)
        if layout.width:
            strides[layout.outside] = build.const(own * layout.width, INT64)
        if layout.gpu is not None and layout.gpu.is_narrow:
            strides[-1] = build.const(own * layout.gpu.fixed[0], INT64)
    return strides
