# SPDX-License-Identifier: Apache-2.0
"""The named reductions as CPython calls them: known signatures run without Python code."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axisfold.api.gradients.substitutes import substitute
from axisfold.api.host import HostLaunch
from axisfold.runtime.entry import Entry, make_entries

# Calls of up to so many elements keep the GIL.
SHORT_ELEMENTS: Final = 1 << 18
# Larger results are made in memory of others that are gone (:mod:`axisfold.interop.recycled`).
MOST_RESULTS: Final = 1 << 18

_entries: Final[dict[str, Entry]] = {}


def enter(
    functions: Mapping[str, Callable[..., Any]], signatures: Mapping[str, inspect.Signature]
) -> dict[str, Callable[..., Any]]:
    """Return what callers call for Python functions by name.

    Parameters
    ----------
    functions
        What answers all that an entry does not know.
    signatures
        Their parameters.
    """
    _entries.update(make_entries(functions, signatures))
    substitute({name: entry.function for name, entry in _entries.items()})
    return {
        name: _entries[name].function if name in _entries else function
        for name, function in functions.items()
    }


def teach(name: str, x: Any, axis: Any, keepdims: Any, launch: Any) -> None:
    """Let the entry of a function answer calls like this one, unless its results are large."""
    entry = _entries.get(name)
    if entry is None or not isinstance(launch, HostLaunch) or launch.call is None:
        return
    if type(x) is not np.ndarray or not x.dtype.isnative:
        return
    elements, results = math.prod(x.shape), math.prod(launch.call.shape or ())
    if elements > 0 and results <= MOST_RESULTS:
        entry.learn(x, axis, keepdims, launch.call, is_short=elements <= SHORT_ELEMENTS)


def forget() -> None:
    """Send every call to Python again."""
    for entry in _entries.values():
        entry.forget()
