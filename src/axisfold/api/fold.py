# SPDX-License-Identifier: Apache-2.0
"""Planning a fold: any reducer over any axes of strided arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from axisfold.api.arguments import normalize_axes
from axisfold.api.results import result_type
from axisfold.dtypes import DType
from axisfold.errors import (
    EmptyError,
    ShapeError,
)
from axisfold.interop.numpy import address_of
from axisfold.ir.build import cast
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel
from axisfold.plan.canonical import Inner, Problem, canonicalize
from axisfold.plan.compose import LayoutClass
from axisfold.plan.lanes import Inputs, with_lanes
from axisfold.plan.planner import HOST, Plan, plan, with_vectors
from axisfold.plan.sizes_cpu import (
    FEW_ROWS,
    HELD,
    cpu_loads,
    cpu_sizes,
    cpu_stores,
    cpu_width,
    held_sizes,
    is_flat,
    least_columns,
    plain_outputs,
    stream_outputs,
    with_streams,
)
from axisfold.plan.sizes_gpu import classify
from axisfold.target import Target
from axisfold.tensor.float8 import Float8, element_of, value_dtype
from axisfold.tensor.member import too_few
from axisfold.tensor.trace import Member, Result, Traced, trace


class Layout(Protocol):
    """What a plan depends on of an array, wherever it lives."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps in bytes."""

    @property
    def dtype(self) -> Any:
        """What :func:`axisfold.dtypes.parse` takes."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""


# Takes all results; raises.
Check: TypeAlias = Callable[[Sequence[Any]], None]


@dataclass(frozen=True, slots=True)
class Planned:
    """A fold of arrays of one signature, before anything is compiled.

    Attributes
    ----------
    plan, problem, traced
        The kernel, what it computes, and of which reducers.
    shape
        Of the inputs, broadcast against each other.
    reduced
        Axes that the results lack, or have with one element.
    pack
        From the results to what the caller gets; None for a single one.
    checks
        What refuses results on the host.
    rest
        What the same kernel computes in a second call, the end of all results; None if nothing.
    """

    plan: Plan
    problem: Problem
    traced: Traced
    shape: tuple[int, ...]
    reduced: frozenset[int]
    pack: Callable[..., Any] | None = None
    checks: tuple[Check, ...] = ()
    rest: Problem | None = None


def plan_fold(
    arrays: Sequence[Layout],
    members: Sequence[Member],
    axis: Any,
    needs_elements: Sequence[str] = (),
    target: Target = HOST,
    *,
    is_masked: bool = False,
    fit: Callable[[DType, Sequence[DType]], DType] | None = None,
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
    target
        What the kernel is for.
    is_masked
        Whether the last array tells which elements are folded.
    fit
        Returns the dtype that a result has in the caller's library.

    Raises
    ------
    ShapeError
        ``A307``: the inputs do not broadcast, or the mask does not broadcast to them.
    EmptyError
        ``A308``: a reduction without identity folds no elements.
    DTypeError
        ``D303``: ``min_count`` makes a result NaN, of a dtype that has none.
    """
    shape, strides = _broadcast(arrays[:-1] if is_masked else arrays)
    if is_masked:
        strides.append(_mask_strides(shape, arrays[-1]))
    reduced = normalize_axes(axis, len(shape))
    _check_elements(shape, reduced, needs_elements)
    dtypes = [element_of(a.dtype) for a in arrays]
    own = dtypes[:-1] if is_masked else dtypes
    traced = trace(members, own, is_masked=is_masked)
    if fit is not None:
        values = [value_dtype(d) for d in own]
        traced.results = [_fitted(r, fit(r.dtype, values)) for r in traced.results]
    _check_counts(shape, reduced, members, traced)
    ordered = traced.combiner.is_ordered
    if traced.is_spread:
        # The result is an operand too: it is what keeps axes apart that are one to the inputs.
        dtypes.append(traced.results[0].dtype)
        strides.append(_c_order(shape, dtypes[-1].itemsize))
    problem = canonicalize(
        shape, strides, reduced, keep_order=ordered, uses_index=traced.uses_index
    )
    itemsizes = [d.itemsize for d in dtypes]
    kind, steps = problem.inner(itemsizes)
    results = (False,) * len(arrays) + (True,) * traced.is_spread
    steps = tuple(map(partial(_part_step, target), dtypes, steps, results))
    rest = None
    if target.has_threads:
        of = Inputs(
            tuple(itemsizes),
            (*(_address(a) for a in arrays), *(0,) * traced.is_spread),
            tuple(d.is_complex for d in dtypes),
        )
        gpu = classify(problem, kind, of, traced, target)
        problem = with_lanes(problem, kind, gpu.axis_lanes)
        layout = LayoutClass(len(problem.kept), len(problem.reduced), kind, steps, gpu=gpu)
    else:
        vectors = with_vectors(target).vector_bytes
        problem, rest, layout = _on_host(problem, kind, steps, itemsizes, traced, vectors)
    if traced.is_spread:
        reduced = frozenset()
        kept = tuple(axis for axis, extent in enumerate(shape) if extent != 1)
        problem = replace(problem, out_axes=kept)
    names = tuple(r.name for r in traced.results)
    pack = result_type(names) if len(names) > 1 else None
    return Planned(plan(traced, layout, target), problem, traced, shape, reduced, pack, rest=rest)


def _on_host(
    problem: Problem,
    kind: str,
    steps: tuple[Inner, ...],
    read: Sequence[int],
    traced: Traced,
    vectors: int,
) -> tuple[Problem, Problem | None, LayoutClass]:
    """Return a problem as this machine computes it, what it leaves, and its layout class."""
    sizes = cpu_sizes(problem, kind, has_tiles=bool(traced.tile_passes))
    width, rest, stores = 0, None, ""
    written = max(r.dtype.itemsize for r in traced.results)
    if not traced.is_spread:
        is_plain = not (traced.combiner.is_ordered or traced.tile_passes)
        width = cpu_width(problem, kind, steps, len(traced.combiner.lhs) if is_plain else 0)
        if not width:
            sizes = sizes[0], plain_outputs(problem, sizes[1], is_plain=is_plain)
        has_streams = kind == "reduced" and is_plain and not width
        streams = with_streams(problem) if has_streams else None
        if streams is not None:
            (problem, rest), sizes = streams, (sizes[0], stream_outputs(problem))
        if sizes[0] in FEW_ROWS or (width and kind == "reduced"):
            stores = cpu_stores(problem, read, written, vectors if kind == "reduced" else 0)
        plain = 0 if traced.tile_passes else vectors
        if stores and sizes[0] in FEW_ROWS and is_flat(problem, plain):
            sizes = (sizes[0], "wide")
    elif traced.holding is not None:
        sizes, stores = held_sizes(problem, kind, sizes, written)
    ranks = len(problem.kept), len(problem.reduced)
    loads = cpu_loads(problem, sizes, is_short=width > 0 and kind == "reduced")
    is_whole = kind == "kept" and not (width or stores or (traced.is_spread and sizes[1] != HELD))
    least = least_columns(problem) if is_whole else 0
    layout = LayoutClass(*ranks, kind, steps, *sizes, None, width, stores, loads, least)
    return problem, rest, layout


def _part_step(target: Target, dtype: DType | Float8, step: Inner, is_result: bool) -> Inner:
    """Return how a real component steps where the elements do so by ``step``.

    A thread of a GPU loads whole elements.
    """
    if dtype.is_complex and (is_result or not target.has_threads):
        # A complex element is two real ones, so its components do not lie side by side.
        step = {"unit": "two", "zero": "zero"}.get(step, "any")  # type: ignore[assignment]
    return "any" if step == "two" and target.has_threads else step


def _fitted(result: Result, dtype: DType) -> Result:
    if dtype == result.dtype:
        return result
    part = DType("float", dtype.bits // 2) if dtype.is_complex else dtype
    return Result(result.name, dtype, tuple(cast(part, each) for each in result.parts))


def _address(array: Any) -> int:
    """Return where an array lies, as far as the alignment of its loads goes."""
    if isinstance(array, np.ndarray):
        return address_of(array)
    return int(array.address)


def input_offsets(planned: Planned, arrays: Sequence[Layout]) -> tuple[tuple[int, int], ...]:
    """Return for each operand which array it is of, and where its first element lies.

    Initial values are arrays of one element each, after the others.
    """
    found = []
    for which, (array, parts) in enumerate(zip(arrays, planned.traced.elements, strict=True)):
        step = array.itemsize // len(parts)
        start = planned.problem.offsets[which]
        count = 1 if planned.plan.layout.joins_parts else len(parts)
        found += [(which, start + step * n) for n in range(count)]
    for which, value in enumerate(planned.traced.initial, len(arrays)):
        step = value.form.real.itemsize
        found += [(which, step * n) for n in range(len(value.variables))]
    return tuple(found)


def part_offsets(result: Result) -> tuple[int, ...]:
    """Return the byte offsets of a result's real components."""
    count = len(result.parts)
    return tuple(n * result.dtype.itemsize // count for n in range(count))


def _broadcast(arrays: Sequence[Layout]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    if len(arrays) == 1:
        return tuple(arrays[0].shape), [tuple(arrays[0].strides)]
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise ShapeError(
            f"inputs of shapes {shapes} do not broadcast.",
            code="A307",
            hint="Align the shapes from the last axis.",
        ) from error
    return shape, [_strides_in(shape, a) for a in arrays]


def _mask_strides(shape: tuple[int, ...], mask: Layout) -> tuple[int, ...]:
    if len(mask.shape) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(mask.shape), reversed(shape), strict=False)
    ):
        return _strides_in(shape, mask)
    raise ShapeError(
        f"where of shape {tuple(mask.shape)} does not broadcast to elements of shape {shape}.",
        code="A307",
        hint="Align the shapes from the last axis; where adds no elements.",
    )


def _strides_in(shape: Sequence[int], array: Layout) -> tuple[int, ...]:
    """Return the strides of an array broadcast to a shape."""
    own = zip(array.shape, array.strides, strict=True)
    return (
        *(0 for _ in range(len(shape) - len(array.shape))),
        *(0 if extent == 1 else stride for extent, stride in own),
    )


def _c_order(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of a new array."""
    return tuple(itemsize * prod(max(n, 1) for n in shape[a + 1 :]) for a in range(len(shape)))


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


def _check_counts(
    shape: Sequence[int], reduced: frozenset[int], members: Sequence[Member], traced: Traced
) -> None:
    """Refuse results of too few elements that have no NaN to say so; of a mask, trace() does."""
    folded = prod(shape[a] for a in reduced)
    kept = prod(n for a, n in enumerate(shape) if a not in reduced)
    results = iter(traced.results)
    for member, width in zip(members, traced.widths, strict=True):
        for result in islice(results, width):
            if folded < member.min_count and kept and not result.parts[0].dtype.is_float:
                raise too_few(result.name, result.dtype, member.min_count)


def scalar_values(planned: Planned, kernel: Kernel) -> Mapping[Var, int]:
    """Return the values of a kernel's extents and strides.

    Parameters
    ----------
    planned
        The fold.
    kernel
        Any form of its kernel: the parameters are the plan's, in order.
    """
    values: dict[Var, int] = {}
    for buffer, (extents, strides) in zip(kernel.params, layouts(planned), strict=True):
        # A compact buffer has no strides.
        pairs = [
            *zip(buffer.shape, extents, strict=True),
            *zip(buffer.strides, strides, strict=False),
        ]
        values.update({expr: number for expr, number in pairs if isinstance(expr, Var)})
    return values


def layouts(planned: Planned) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return extents and strides of each parameter of a fold's kernel."""
    traced, problem = planned.traced, planned.problem
    axes = [*problem.kept, *problem.reduced]
    found: list[list[tuple[int, int]]] = []
    for which, parts in enumerate(traced.elements):
        own = [(a.extent, a.strides[which]) for a in axes]
        if planned.plan.layout.joins_parts and len(parts) > 1:
            found.append([*own, (len(parts), parts[0].dtype.itemsize)])
        else:
            found += [own] * len(parts)
    found += [[(1, 0)] for value in traced.initial for _ in value.variables]
    if traced.uses_index:
        found.append([(a.extent, a.index_stride) for a in problem.reduced])
    found += result_layouts(planned)
    return [tuple(zip(*layout, strict=True)) for layout in found]  # type: ignore[misc]


def host_scalars(planned: Planned) -> tuple[int, ...]:
    """Return the extents and strides that the machine code of this machine takes, in order."""
    found = layouts(planned)
    return tuple(
        found[buffer][kind][axis] for buffer, kind, axis in planned.plan.host.interface.scalars
    )


def result_layouts(planned: Planned) -> list[list[tuple[int, int]]]:
    """Return for each real component of each result its extents and its strides in elements.

    A component of a complex result is one of two real numbers an element.
    """
    problem, results = planned.problem, planned.traced.results
    if planned.traced.is_spread:
        itemsize = results[0].dtype.itemsize
        steps = [(a.extent, a.strides[-1] // itemsize) for a in (*problem.kept, *problem.reduced)]
    else:
        extents = [a.extent for a in problem.kept] or [1]
        steps = list(zip(extents, _c_order(extents, 1), strict=True))
    counts = [len(r.parts) for r in results]
    return [[(n, s * count) for n, s in steps] for count in counts for _ in range(count)]
