# SPDX-License-Identifier: Apache-2.0
"""What a plan is made for, a layout class, and the te computation that it schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from axisfold.ir.buffer import Facts
from axisfold.ir.expr import Expr
from axisfold.plan.canonical import Inner
from axisfold.plan.sizes_cpu import ROW_STREAMS
from axisfold.plan.sizes_gpu import GpuClass
from axisfold.tensor.tensor import Tensor


class Readable(Protocol):
    """What has an element for each place on all axes: a tensor, or where threads hold its parts."""

    def __getitem__(self, place: tuple[Any, ...], /) -> Any:
        """Return the element of a place."""


Elements = Sequence[Sequence[Readable]]


@dataclass(frozen=True, slots=True)
class LayoutClass:
    """What a kernel is compiled for; extents and strides are arguments of the kernel.

    Attributes
    ----------
    kept, reduced
        Number of kept and folded axes.
    inner_kind
        Which kind the innermost axis is of.
    inner_steps
        How each input steps along it, and then a result of the inputs' shape if there is one: by
        one element or two, not at all, or by any stride.
    run, outputs
        How many elements are folded into each, and of how many, in the classes that the rules of
        CPUs tell apart (:func:`axisfold.plan.sizes_cpu.cpu_sizes`).
    gpu
        What a GPU needs beside; None for CPUs.
    width
        The constant extent of a short innermost axis that the next axis continues, so that memory
        is one run of it; 0 where it is an argument (CPUs).
    stores
        ``stream`` where results are written past the caches of a CPU, as they are too large for
        them; their memory begins at a multiple of STREAMED bytes, and so does each row of it.
    loads
        ``ahead`` where rows come from memory, as they are too large for the caches of a CPU, and
        are worth asking for ahead.
    least
        How many columns there are at least, where the innermost axis is kept; 0 where that is not
        known (CPUs).
    """

    kept: int
    reduced: int
    inner_kind: str
    inner_steps: tuple[Inner, ...]
    run: str = ""
    outputs: str = ""
    gpu: GpuClass | None = None
    width: int = 0
    stores: str = ""
    loads: str = ""
    least: int = 0

    def constants(self) -> tuple[int, ...]:
        """Return for each axis its constant extent, 0 where it is an argument."""
        known = self.gpu.fixed if self.gpu is not None else ()
        rank = self.kept + self.reduced
        if self.outputs in ("streams", "outer_streams"):
            return (0, ROW_STREAMS, *(0,) * (rank - 2))
        if self.width:
            return tuple(self.width if axis == self.innermost else 0 for axis in range(rank))
        return (*(0,) * (rank - len(known)), *known)

    @property
    def innermost(self) -> int:
        """Position of the innermost axis among the kept and folded ones."""
        return self.kept - 1 if self.inner_kind == "kept" else self.kept + self.reduced - 1

    @property
    def outside(self) -> int:
        """Position of the axis that an innermost one of constant extent continues."""
        return self.kept + self.reduced - 1 if self.inner_kind == "kept" else self.kept - 1

    @property
    def joins_parts(self) -> bool:
        """Whether all real components of an input are one operand."""
        return self.gpu is not None

    @property
    def lanes(self) -> int:
        """Elements of one load, which are an axis of their own if there are several."""
        return self.gpu.axis_lanes if self.gpu is not None else 1


@dataclass(frozen=True, slots=True)
class Graph:
    """A te computation with its arguments.

    Attributes
    ----------
    inputs
        For each input the placeholders of its real components, or the one of all.
    initial
        For each value that is folded beside the elements the placeholders of its real components.
    index
        A placeholder without memory whose strides are those of the element index, or None.
    state
        The folded state, one tensor for each component.
    results
        The results' components, in order.
    layouts
        For each of these its strides in elements, () if it is compact, None if they may be any.
    shares
        What elements of results of the inputs' shape share, one tensor for each component; ()
        if results have a kept axis for each of theirs.
    tiles
        The reductions over short runs that the state is made of, in order, one tensor for each
        result; () if it folds elements.
    layout
        The layout class.
    tile_parts
        For each tile the stage of its narrow sums, or None.
    facts
        What is promised of the memory of results beside their layouts.
    tile_heads
        The values of the first elements of runs.
    held, once
        What passes over a row and its results read of each element; () if they compute it.  And
        what these values share, one tensor for each component.
    private
        What each thread of a GPU reads once and keeps in registers, one tensor for each input.
    """

    inputs: tuple[tuple[Tensor, ...], ...]
    initial: tuple[tuple[Tensor, ...], ...]
    index: Tensor | None
    state: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    layouts: tuple[tuple[Expr, ...] | None, ...]
    shares: tuple[Tensor, ...] = ()
    tiles: tuple[tuple[Tensor, ...], ...] = ()
    layout: LayoutClass | None = None
    tile_parts: tuple[Tensor | None, ...] = ()
    facts: Mapping[Tensor, Facts] = field(default_factory=dict)
    tile_heads: tuple[Tensor, ...] = ()
    held: tuple[Tensor, ...] = ()
    once: tuple[tuple[Tensor, ...], ...] = ()
    private: tuple[Tensor, ...] = ()

    @property
    def gpu(self) -> GpuClass:
        """What the layout class tells a GPU."""
        assert self.layout is not None  # noqa: S101  (the composer says it)
        assert self.layout.gpu is not None  # noqa: S101  (rules for GPUs only ask)
        return self.layout.gpu

    @property
    def lane(self) -> str:
        """Name of the axis along which a load has several lanes; "" if it has one."""
        layout = self.layout
        if layout is None or layout.lanes == 1:
            return ""
        is_kept = layout.inner_kind == "kept"
        return f"i{layout.kept - 1}" if is_kept else f"k{layout.reduced - 1}"

    @property
    def args(self) -> list[Tensor]:
        """All tensors that the kernel's caller binds, in order."""
        inputs = [t for parts in (*self.inputs, *self.initial) for t in parts]
        return [*inputs, *([self.index] if self.index is not None else []), *self.results]
