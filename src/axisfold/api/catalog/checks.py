# SPDX-License-Identifier: Apache-2.0
"""Results that NumPy refuses: seen on the host only, as a device would have to be waited for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axisfold.errors import EmptyError, ZeroWeightsError


def some_element(name: str, results: Sequence[Any]) -> None:
    """Refuse the index of no element.

    Raises
    ------
    EmptyError
        ``A350``: no element was folded into an element of the result.
    """
    if (results[0] == -1).any():
        raise EmptyError(
            f"{name} found no element: where= passes over all of a slice, or all of it are NaN.",
            code="A350",
            hint="Check such slices first, or fill them.",
        )


def nonzero_weights(name: str, results: Sequence[Any]) -> None:
    """Refuse weights that add up to zero.

    Raises
    ------
    ZeroWeightsError
        ``A351``: the sum of weights is zero.
    """
    if (results[1] == 0).any():
        raise ZeroWeightsError(
            f"{name}: weights add up to zero, which nothing can be divided by.",
            code="A351",
            hint="Give weights of a sum that is not zero along the folded axes.",
        )
