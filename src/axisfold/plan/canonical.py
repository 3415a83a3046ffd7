# SPDX-License-Identifier: Apache-2.0
"""The canonical form of a problem: few axes, sorted, with the order of memory restored.

Axes of extent 1 vanish, negative strides are flipped where order does not matter, kept and
folded axes are sorted by stride, and neighbours that step evenly are merged.  What is left tells
which rule plans the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Inner = Literal["unit", "two", "zero", "any"]
# Extents of innermost folded axes that are too short to be worth a run, if another one has at least
# so many times as much.
SHORT: Final = 32
# The same where all is folded into one result, of which no row has a state of its own.
SHORT_ALONE: Final = 12
LONGER: Final = 4


@dataclass(frozen=True, slots=True)
class LoopAxis:
    """An axis of the canonical problem.

    Attributes
    ----------
    extent
        Number of elements.
    strides
        Bytes between neighbours, for each input.
    index_stride
        How much the element's flat index grows with each step (folded axes).
    """

    extent: int
    strides: tuple[int, ...]
    index_stride: int = 0

    def continues(self, inner: LoopAxis) -> bool:
        """Whether stepping this axis is the same as stepping past the end of ``inner``."""
        steps = (*self.strides, self.index_stride)
        inner_steps = (*inner.strides, inner.index_stride)
        return all(s == t * inner.extent for s, t in zip(steps, inner_steps, strict=True))

    def merged(self, inner: LoopAxis) -> LoopAxis:
        """Return the axis that replaces this one and ``inner``."""
        return LoopAxis(self.extent * inner.extent, inner.strides, inner.index_stride)


@dataclass(frozen=True, slots=True)
class Problem:
    """A fold over strided inputs.

    Attributes
    ----------
    kept, reduced
        Axes of the result and folded axes, outermost first.
    offsets
        Bytes from each input's pointer to the first element visited.
    out_axes
        For each kept axis of the caller's array that has not vanished: its position there.
        The result is compact in this order before it is permuted back.
    flipped
        Positions in ``out_axes`` whose order was reversed.
    """

    kept: tuple[LoopAxis, ...]
    reduced: tuple[LoopAxis, ...]
    offsets: tuple[int, ...]
    out_axes: tuple[int, ...]
    flipped: tuple[int, ...]

    def inner(
        self, itemsizes: Sequence[int]
    ) -> tuple[Literal["kept", "reduced"], tuple[Inner, ...]]:
        """Return which kind the innermost axis is of, and how each input steps along it."""
        kept = self.kept[-1] if self.kept else None
        last = self.reduced[-1]
        kind: Literal["kept", "reduced"] = "reduced"
        # A folded axis that does not move in memory is no reason to leave the kept one.
        if kept is not None and (not any(_reach(last)) or _reach(kept) < _reach(last)):
            kind, last = "kept", kept
        steps: list[Inner] = []
        for stride, itemsize in zip(last.strides, itemsizes, strict=True):
            known: dict[int, Inner] = {0: "zero", itemsize: "unit", 2 * itemsize: "two"}
            steps.append(known.get(stride, "any"))
        return kind, tuple(steps)


def _reach(axis: LoopAxis) -> tuple[int, ...]:
    """Sort key: the largest step, ties by the others."""
    return tuple(sorted((abs(s) for s in axis.strides), reverse=True))


def canonicalize(
    shape: Sequence[int],
    strides: Sequence[Sequence[int]],
    reduced: frozenset[int],
    *,
    keep_order: bool,
    uses_index: bool,
) -> Problem:
    """Return the canonical problem.

    Parameters
    ----------
    shape
        Extents of the (broadcast) inputs.
    strides
        For each input its strides in bytes.
    reduced
        Positions of the folded axes.
    keep_order
        Elements must be folded in C order.
    uses_index
        Elements know their C-order index over the folded axes.
    """
    index_strides = _index_strides(shape, reduced)
    offsets = [0] * len(strides)
    kept: list[tuple[int, LoopAxis]] = []
    folded: list[LoopAxis] = []
    flipped: list[int] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        steps = tuple(s[axis] for s in strides)
        is_folded = axis in reduced
        fixed = is_folded and (keep_order or uses_index)
        if extent and not fixed and all(s <= 0 for s in steps) and any(steps):
            offsets = [o + s * (extent - 1) for o, s in zip(offsets, steps, strict=True)]
            steps = tuple(-s for s in steps)
            if not is_folded:
                flipped.append(axis)
        if is_folded:
            folded.append(LoopAxis(extent, steps, index_strides[axis] if uses_index else 0))
        else:
            kept.append((axis, LoopAxis(extent, steps)))
    kept.sort(key=lambda item: _reach(item[1]), reverse=True)
    if not keep_order:
        folded.sort(key=_reach, reverse=True)
    if not folded:
        folded.append(LoopAxis(1, (0,) * len(strides)))
    out_axes = tuple(axis for axis, _ in kept)
    return Problem(
        _merge([item for _, item in kept]),
        _long_innermost(_merge(folded), SHORT if kept else SHORT_ALONE)
        if uses_index and not keep_order
        else _merge(folded),
        tuple(offsets),
        out_axes,
        tuple(out_axes.index(axis) for axis in flipped),
    )


def _long_innermost(axes: tuple[LoopAxis, ...], short: int) -> tuple[LoopAxis, ...]:
    """Put a long axis innermost where indices keep a very short one from being merged.

    Each run of the innermost axis costs more than a few steps from line to line.
    """
    inner = axes[-1].extent
    long = [n for n, axis in enumerate(axes) if axis.extent >= min(LONGER * inner, 2 * SHORT)]
    if inner >= short or not long:
        return axes
    last = long[-1]
    return (*axes[:last], *axes[last + 1 :], axes[last])


def _index_strides(shape: Sequence[int], reduced: frozenset[int]) -> dict[int, int]:
    """Return the C-order strides of the folded axes among themselves."""
    strides: dict[int, int] = {}
    step = 1
    for axis in reversed(range(len(shape))):
        if axis in reduced:
            strides[axis] = step
            step *= shape[axis]
    return strides


def _merge(axes: Sequence[LoopAxis]) -> tuple[LoopAxis, ...]:
    merged: list[LoopAxis] = []
    for axis in axes:
        if merged and merged[-1].continues(axis):
            merged[-1] = merged[-1].merged(axis)
        else:
            merged.append(axis)
    return tuple(merged)
