# SPDX-License-Identifier: Apache-2.0
"""fold(): any reducer over any axes of strided arrays; the path of a new signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from axisfold.api.arguments import Array, normalize_axes
from axisfold.api.results import result_type
from axisfold.dtypes import parse
from axisfold.errors import (
    EmptyError,
    ShapeError,
)
from axisfold.ir.expr import Var
from axisfold.plan.canonical import Problem, canonicalize
from axisfold.plan.compose import LayoutClass
from axisfold.plan.planner import Plan, plan
from axisfold.runtime.threads import check_status
from axisfold.tensor.tensor import Tensor
from axisfold.tensor.trace import Member, Traced, trace


@dataclass(frozen=True, slots=True)
class Output:
    """How one result array is made.

    Attributes
    ----------
    dtype
        Its NumPy dtype.
    parts
        Byte offsets of its real components.
    """

    dtype: np.dtype[Any]
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """A bound signature: everything about a call but the addresses.

    Attributes
    ----------
    entry
        The machine code.
    inputs
        For each real component: which array, and the byte offset of its first element.
    outputs
        How results are made.
    scalars
        Extents and strides.
    compact
        Shape of the results as the kernel writes them.
    arrange
        Brings a compact result into the caller's shape.
    wrap
        Packs several results, None for one.
    plan
        The plan behind the entry.
    """

    entry: Callable[..., int]
    inputs: tuple[tuple[int, int], ...]
    index_count: int
    outputs: tuple[Output, ...]
    scalars: tuple[int, ...]
    compact: tuple[int, ...]
    arrange: Callable[[Array], Any]
    wrap: Callable[..., Any] | None
    plan: Plan

    def __call__(self, *arrays: Array) -> Any:
        """Run on arrays of this signature and return new results."""
        pointers = [a.__array_interface__["data"][0] for a in arrays]
        results = [np.empty(self.compact, o.dtype) for o in self.outputs]
        addresses = [pointers[which] + offset for which, offset in self.inputs]
        addresses += [0] * self.index_count
        for result, output in zip(results, self.outputs, strict=True):
            base = result.__array_interface__["data"][0]
            addresses += [base + part for part in output.parts]
        status = self.entry(*addresses, *self.scalars)
        if status:
            check_status(status, "fold")
        arranged = [self.arrange(r) for r in results]
        return arranged[0] if self.wrap is None else self.wrap(*arranged)


@dataclass(frozen=True, slots=True)
class Planned:
    """A fold of arrays of one signature, before anything is compiled."""

    plan: Plan
    problem: Problem
    traced: Traced
    shape: tuple[int, ...]
    reduced: frozenset[int]


def plan_fold(
    arrays: Sequence[Array],
    members: Sequence[Member],
    axis: Any,
    needs_elements: Sequence[str] = (),
) -> Planned:
    """Plan a fold; only dtypes, shapes and strides of the arrays count.

    Parameters
    ----------
    arrays
        Inputs, broadcast against each other.
    members
        Reducers.
    axis
        As NumPy's.
    needs_elements
        Names of those reductions that have no result without elements.

    Raises
    ------
    ShapeError
        ``A307``: the inputs do not broadcast.
    EmptyError
        ``A308``: a reduction without identity folds no elements.
    """
    shape, strides = _broadcast(arrays)
    reduced = normalize_axes(axis, len(shape))
    _check_elements(shape, reduced, needs_elements)
    traced = trace(members, [parse(a.dtype) for a in arrays])
    ordered = traced.combiner.is_ordered
    problem = canonicalize(
        shape, strides, reduced, keep_order=ordered, uses_index=traced.uses_index
    )
    kind, steps = problem.inner([a.itemsize for a in arrays])
    # A complex element is two real ones, so its components do not lie side by side.
    steps = tuple("any" if a.dtype.kind == "c" else s for a, s in zip(arrays, steps, strict=True))
    layout = LayoutClass(len(problem.kept), len(problem.reduced), kind, steps)
    return Planned(plan(traced, layout), problem, traced, shape, reduced)


def bind(
    arrays: Sequence[Array], planned: Planned, keepdims: bool, *, as_tuple: bool = False
) -> Launch:
    """Compile a planned fold and bind it to the arrays' signature.

    Parameters
    ----------
    arrays, planned
        Inputs, and what :func:`plan_fold` returned for them.
    keepdims
        As NumPy's.
    as_tuple
        Pack a single result into a tuple, as several are.
    """
    problem, traced = planned.problem, planned.traced
    inputs = []
    for which, (array, parts) in enumerate(zip(arrays, traced.elements, strict=True)):
        step = array.itemsize // len(parts)
        inputs += [(which, problem.offsets[which] + step * n) for n in range(len(parts))]
    outputs = tuple(
        Output(
            r.dtype.to_numpy(),
            tuple(n * r.dtype.itemsize // len(r.parts) for n in range(len(r.parts))),
        )
        for r in traced.results
    )
    compact = tuple(planned.shape[a] for a in problem.out_axes)
    names = [r.name for r in traced.results]
    wrap = result_type(tuple(names)) if as_tuple or len(names) > 1 else None
    return Launch(
        planned.plan.compiled.entry,
        tuple(inputs),
        int(planned.plan.graph.index is not None),
        outputs,
        _scalar_values(planned.plan, problem),
        compact,
        _arrangement(problem, planned.shape, planned.reduced, keepdims),
        wrap,
        planned.plan,
    )


def _broadcast(arrays: Sequence[Array]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    if len(arrays) == 1:
        return arrays[0].shape, [arrays[0].strides]
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ShapeError(
            f"inputs of shapes {shapes} do not broadcast.",
            code="A307",
            hint="Align the shapes from the last axis.",
        ) from error
    return shape, [np.broadcast_to(a, shape).strides for a in arrays]


def _check_elements(shape: Sequence[int], reduced: frozenset[int], names: Sequence[str]) -> None:
    folded = [shape[a] for a in reduced]
    kept = [n for a, n in enumerate(shape) if a not in reduced]
    if names and not prod(folded) and prod(kept):
        empty = sorted(a for a in reduced if shape[a] == 0)
        raise EmptyError(
            f"{names[0]} of no elements has no value: axis {empty[0]} of shape {tuple(shape)} "
            "is empty.",
            code="A308",
            hint="Check the shape first, or fold a reducer that has an identity.",
        )


def _scalar_values(planned: Plan, problem: Problem) -> tuple[int, ...]:
    """Return the kernel's extents and strides, in its order."""
    values: dict[Var, int] = {}
    axes = [*problem.kept, *problem.reduced]

    def note(expr: Any, value: int) -> None:
        if isinstance(expr, Var):
            values[expr] = value

    for which, parts in enumerate(planned.graph.inputs):
        for tensor in parts:
            for axis, extent, stride in zip(axes, tensor.shape, _strides(tensor), strict=True):
                note(extent, axis.extent)
                note(stride, axis.strides[which])
    if planned.graph.index is not None:
        for axis, stride in zip(problem.reduced, _strides(planned.graph.index), strict=True):
            note(stride, axis.index_stride)
    _note_results(planned, problem, note)
    return tuple(values[v] for v in planned.compiled.scalars)


def _note_results(planned: Plan, problem: Problem, note: Callable[[Any, int], None]) -> None:
    """Note the strides of complex results' parts: two real numbers an element, in kept order."""
    buffers = {b.name: b for b in planned.compiled.ir.outputs}
    for result in planned.graph.results:
        step = 2
        strides = buffers[result.name].strides
        for axis, stride in zip(reversed(problem.kept), reversed(strides), strict=False):
            note(stride, step)
            step *= axis.extent


def _strides(tensor: Tensor) -> Sequence[Any]:
    return tensor.op.strides  # type: ignore[attr-defined, no-any-return]


def _arrangement(
    problem: Problem, shape: Sequence[int], reduced: frozenset[int], keepdims: bool
) -> Callable[[Array], Any]:
    """Return the function that brings a compact result into the caller's shape."""
    final = tuple(
        1 if a in reduced else n for a, n in enumerate(shape) if keepdims or a not in reduced
    )
    order = tuple(int(i) for i in np.argsort(problem.out_axes))
    flips = tuple(
        slice(None, None, -1) if i in problem.flipped else slice(None) for i in range(len(order))
    )
    is_sorted = order == tuple(range(len(order)))
    if not final:
        return lambda result: result[()]
    if is_sorted and not problem.flipped:
        return lambda result: result.reshape(final)
    if not problem.flipped:
        return lambda result: result.transpose(order).reshape(final)
    return lambda result: np.ascontiguousarray(result[flips].transpose(order)).reshape(final)
