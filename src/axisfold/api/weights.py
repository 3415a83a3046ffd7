# SPDX-License-Identifier: Apache-2.0
"""Weights of an average, brought beside the axes that they belong to."""

from __future__ import annotations

from typing import Any

from axisfold.api.arguments import normalize_axes
from axisfold.api.patterns import transposed
from axisfold.errors import ArgumentTypeError, ShapeError
from axisfold.interop import numpy


def weights_beside(x: Any, weights: Any, axis: Any) -> Any:
    """Return a view of the weights that broadcasts to the elements.

    Parameters
    ----------
    x
        The elements, as an array.
    weights
        Of the shape of x, or of its extents along the folded axes, in their order.
    axis
        As NumPy's.

    Raises
    ------
    ArgumentTypeError
        ``A357``: the shapes differ, and no axis is named.
    ShapeError
        ``A358``: the weights are of another shape than the folded axes.
    """
    w = weights if hasattr(weights, "shape") else numpy.resolved("weights", weights)
    shape, own = tuple(x.shape), tuple(w.shape)
    if own == shape:
        return w
    if axis is None:
        raise ArgumentTypeError(
            f"average: weights of shape {own} do not tell which axes of shape {shape} they are "
            "for.",
            code="A357",
            hint="Name the axes with axis=, or give weights of the shape of x.",
        )
    normalize_axes(axis, len(shape))
    given = [a % len(shape) for a in (axis if isinstance(axis, tuple) else (axis,))]
    if own != tuple(shape[a] for a in given):
        raise ShapeError(
            f"average: weights of shape {own} fit neither shape {shape} nor its extents along "
            f"axis {axis!r}.",
            code="A358",
            hint="Give a weight for each element of the folded axes.",
        )
    order = tuple(sorted(range(len(given)), key=given.__getitem__))
    w = w if order == tuple(range(len(order))) else transposed(w, order)
    return w.reshape(tuple(n if a in given else 1 for a, n in enumerate(shape)))
