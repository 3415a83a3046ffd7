# SPDX-License-Identifier: Apache-2.0
"""The same values in other places of memory; what lies between them would show in any result."""

import numpy as np


def _between(x, steps):
    """Return a view of larger memory, all else of which is poisoned."""
    memory = np.zeros([n * s for n, s in zip(x.shape, steps, strict=True)], x.dtype)
    memory.view("u1")[...] = 1 if x.dtype.kind == "b" else 0xFF
    view = memory[tuple(slice(None, None, s) for s in steps)]
    view[...] = x
    return view


def _transposed(x):
    return x.T.copy().T


def _steps(x):
    return _between(x, [2] * x.ndim) if x.size else x


def _reversed(x):
    flip = (slice(None, None, -1),) * x.ndim
    return x[flip].copy()[flip]


def _record(x):
    """As a field of three of each element: strides that no power of two divides."""
    return _between(x, [*[1] * (x.ndim - 1), 3]) if x.ndim and x.size else x


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": _transposed,
    "steps": _steps,
    "reversed": _reversed,
    "record": _record,
    "as made": lambda x: x,
}
EVERY = tuple(name for name in LAYOUTS if name != "as made")
AS_MADE = ("as made",)
