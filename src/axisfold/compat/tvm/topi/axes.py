# SPDX-License-Identifier: Apache-2.0
"""Which axes a topi reduction folds, and how an element of its result finds its inputs."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from axisfold import te
from axisfold.errors import AxisError, EmptyError
from axisfold.ir.build import as_int


def axis_number(axis: Any, rank: int, what: str) -> int:
    """Return an axis counted from the front; of a 0-d tensor -1 and 0 are legal, as in NumPy.

    Raises
    ------
    AxisError
        ``A323``: it is out of range or no integer.
    """
    try:
        number = operator.index(axis)
    except TypeError:
        number = None
    span = max(rank, 1)
    if number is None or not -span <= number < span:
        raise AxisError(
            f"{what}: axis {axis!r} is none of a tensor with {rank} axes.",
            code="A323",
            hint=f"Axes go from {-rank} to {rank - 1}." if rank else "It has a single element.",
        )
    return number % span


@dataclass(frozen=True, slots=True)
class Folding:
    """The axes of a tensor that are folded.

    Attributes
    ----------
    data
        The tensor.
    axes
        The folded axes in order.
    keepdims
        Whether they stay as axes of extent 1.
    """

    data: te.Tensor
    axes: tuple[int, ...]
    keepdims: bool

    @property
    def kept(self) -> tuple[int, ...]:
        """The other axes."""
        return tuple(a for a in range(self.data.ndim) if a not in self.axes)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Shape of the result."""
        if not self.keepdims:
            return tuple(self.data.shape[a] for a in self.kept)
        return tuple(1 if a in self.axes else e for a, e in enumerate(self.data.shape))

    def reduce_axes(self) -> list[te.Axis]:
        """Return fresh axes k0, k1, …."""
        return [te.reduce_axis((0, self.data.shape[a]), f"k{a}") for a in self.axes]

    def element(self, place: Sequence[Any], folded: Sequence[Any]) -> Any:
        """Return the input element for indices of the result and of the folded axes."""
        indices: list[Any] = [None] * self.data.ndim
        kept = [place[a] for a in self.kept] if self.keepdims else place
        for axis, index in zip((*self.kept, *self.axes), (*kept, *folded), strict=True):
            indices[axis] = index
        return self.data[tuple(indices)]

    def flat_index(self, folded: Sequence[Any]) -> Any:
        """Return the C-order index of an element among the folded ones."""
        flat: Any = None
        for axis, index in zip(self.axes, folded, strict=True):
            flat = index.var if flat is None else flat * self.data.shape[axis] + index
        return flat

    def check_not_empty(self, what: str) -> None:
        """Refuse to fold an axis that is known to have no elements.

        Raises
        ------
        EmptyError
            ``A324``: it has none.
        """
        for axis in self.axes:
            if as_int(self.data.shape[axis]) == 0:
                raise EmptyError(
                    f"{what} of {self.data.name}: axis {axis} has no elements.",
                    code="A324",
                    hint="Give the axis elements; a result for none is not defined.",
                )


def folding(data: te.Tensor, axis: Any, keepdims: bool, what: str) -> Folding:
    """Return the folded axes: None is all, () none; negatives count from the end, once each."""
    if axis is None:
        axes: tuple[Any, ...] = tuple(range(data.ndim))
    else:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    numbers = {axis_number(a, data.ndim, what) for a in axes}
    return Folding(data, tuple(sorted(numbers)) if data.ndim else (), bool(keepdims))
