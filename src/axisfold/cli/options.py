# SPDX-License-Identifier: Apache-2.0
"""Option values that are lists: operations, axes, shapes."""

from __future__ import annotations

from axisfold.api.catalog import CATALOG, SPREADS
from axisfold.cli.errors import CommandError


def parse_ops(text: str) -> list[str]:
    """Return the operations named in ``mean,var``."""
    names = [name.strip() for name in text.split(",")]
    rows = CATALOG | SPREADS
    for name in names:
        if name not in rows:
            known = ", ".join(rows)
            raise CommandError(f"--op {text!r}: unknown operation {name!r}. Use {known}.")
    return names


def parse_axis(text: str | None) -> int | tuple[int, ...] | None:
    """Return the axes named in ``0,1``: None for all, an int for one."""
    if text is None:
        return None
    axes = _integers("--axis", text, "an axis such as 0, or several such as 0,1")
    return axes[0] if len(axes) == 1 else axes


def parse_shape(text: str) -> tuple[int, ...]:
    """Return the extents named in ``4096,4096``; nothing between commas names no axis."""
    shape = _integers("--shape", text, "extents such as 4096,4096") if text.strip() else ()
    for extent in shape:
        if extent < 0:
            raise CommandError(f"--shape {text!r}: extent {extent} is negative.")
    return shape


def _integers(option: str, text: str, expected: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise CommandError(f"{option} {text!r} is not {expected}.") from error
