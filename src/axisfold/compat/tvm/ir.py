# SPDX-License-Identifier: Apache-2.0
"""``tvm.ir``: the half-open range, which te scripts give to ``te.reduce_axis``."""

from __future__ import annotations

from typing import Any


class Range(tuple[Any, Any]):
    """``Range(begin, end)`` or ``Range(end)``; a plain pair with names for its parts."""

    __slots__ = ()

    def __new__(cls, begin: Any, end: Any = None) -> Range:
        """Return the pair (begin, end)."""
        return super().__new__(cls, (0, begin) if end is None else (begin, end))

    @property
    def min(self) -> Any:
        """The first value."""
        return self[0]

    @property
    def extent(self) -> Any:
        """The number of values."""
        return self[1] - self[0]
