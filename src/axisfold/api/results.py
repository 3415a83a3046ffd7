# SPDX-License-Identifier: Apache-2.0
"""The named tuples in which a fold returns several results."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast


@lru_cache(maxsize=256)
def result_type(names: tuple[str, ...]) -> Callable[..., Any]:
    """The same class for the same names, so that results compare, print and pickle alike."""
    make: Any = namedtuple

    def reduce(result: Any) -> tuple[Any, ...]:
        return _rebuilt, (names, tuple(result))

    made = make("FoldResult", _field_names(names))
    made.__reduce__ = reduce
    return cast("Callable[..., Any]", made)


def _rebuilt(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return result_type(names)(*values)


def _field_names(names: Sequence[str]) -> list[str]:
    """Return distinct names for the fields of a tuple of results."""
    used: dict[str, int] = {}
    fields = []
    for name in names:
        base = name if name.isidentifier() and not name.startswith("_") else "result"
        used[base] = used.get(base, 0) + 1
        fields.append(base if used[base] == 1 else f"{base}_{used[base]}")
    return fields
