# SPDX-License-Identifier: Apache-2.0
"""What becomes of results: tuples of them, and refusals on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from axisfold.api.catalog import Row
from axisfold.api.fold import Check
from axisfold.api.options import Item, Request
from axisfold.api.results import result_type
from axisfold.tensor.trace import Member, Result


def packed_names(request: Request, results: Sequence[Result]) -> tuple[str, ...] | None:
    """Return the fields of the tuple that the caller gets; None if that is the first result."""
    names = tuple(r.name for r in results)
    if request.is_list or len(request.items) > 1:
        return names
    item = request.items[0]
    if len(names) == 1 or (item.row is not None and not dict(item.arguments).get("returned", True)):
        return None
    return names if item.row is None else item.row.fields


def packer_of(request: Request, results: Sequence[Result]) -> Callable[..., Any] | None:
    """Return what makes of the results what the caller gets; None for a single one."""
    names = packed_names(request, results)
    if names is not None:
        return result_type(names)
    return None if len(results) == 1 else _first


def _first(*results: Any) -> Any:
    return results[0]


def checks_of(
    items: Sequence[Item], members: Sequence[Member], widths: Sequence[int], *, is_masked: bool
) -> tuple[Check, ...]:
    """Return what refuses results, of folds that may have such."""
    found: list[Check] = []
    start = 0
    for item, member, width in zip(items, members, widths, strict=True):
        part = slice(start, start + width)
        start += width
        if item.row is None or item.row.check is None:
            continue
        if is_masked or width > 1 or _passes_over(item.row, member):
            found.append(partial(_check, item.row, part))
    return tuple(found)


def _passes_over(row: Row, member: Member) -> bool:
    """Return whether a member folds only some elements, by its condition or its reducer."""
    plain = [make() for make in (row.make_plain, row.make_truth) if make is not None]
    is_plain = any(member.reducer is each for each in plain)
    return member.condition is not None or (row.nan_by == "reducer" and not is_plain)


def _check(row: Row, part: slice, results: Sequence[Any]) -> None:
    if row.check is not None:
        row.check(row.name, results[part])
