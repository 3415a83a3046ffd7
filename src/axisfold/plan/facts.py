# SPDX-License-Identifier: Apache-2.0
"""What kernels may rely on of the memory of results."""

from __future__ import annotations

from collections.abc import Sequence

from axisfold.ir.buffer import Facts
from axisfold.ir.stmt import STREAMED
from axisfold.plan.graph import LayoutClass
from axisfold.tensor.tensor import Tensor


def facts_of_results(
    layout: LayoutClass, results: Sequence[Tensor], counts: Sequence[int], *, is_spread: bool
) -> dict[Tensor, Facts]:
    """Return what is known of results beside their strides.

    Parameters
    ----------
    layout
        The layout class.
    results, counts
        Real components, and for each how many make up an element of its result.
    is_spread
        Whether results have the inputs' shape.
    """
    if layout.stores and is_spread:
        return dict.fromkeys(results, Facts(STREAMED, stride_align=STREAMED))
    if layout.stores:
        return {t: _of_rows(t, count) for t, count in zip(results, counts, strict=True)}
    if not is_spread:
        return {}
    widths = {t: t.dtype.itemsize * layout.lanes for t in results}
    return {t: Facts(align=width, stride_align=width) for t, width in widths.items()}


def _of_rows(tensor: Tensor, count: int) -> Facts:
    """Return that each row of a result begins where it may be written past the caches."""
    if count > 1:  # components of a complex result lie between each other
        return Facts(align=tensor.dtype.itemsize)
    outer = len(tensor.shape) - 1
    return Facts(STREAMED, (*(1,) * outer, STREAMED) if outer else ())
