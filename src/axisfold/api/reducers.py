# SPDX-License-Identifier: Apache-2.0
"""The public Reducer: the one of the tensor layer, which can also be called with an array.

What a reducer is does not depend on arrays, so that the lower layers know nothing of calling it.
"""

from __future__ import annotations

from typing import Any

from axisfold.api.dispatch import fold
from axisfold.tensor import reducer


class Reducer(reducer.Reducer):  # noqa: D101 - it is the base's
    __doc__ = reducer.Reducer.__doc__

    __slots__ = ()

    def __call__(self, x: Any, axis: Any = None, **options: Any) -> Any:
        """Fold an array: short for ``fold(x, self, axis)``, and what ``einops.reduce`` calls.

        Parameters
        ----------
        x, axis
            As :func:`axisfold.fold`'s.
        **options
            Its other arguments.
        """
        return fold(x, self, axis, **options)
