# SPDX-License-Identifier: Apache-2.0
"""Reading patterns such as ``"b (h p) c -> b h 1"``: from text to the axes of each array."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from axisfold.errors import ArgumentError, AxisError

ELLIPSIS: Final = "..."
UNIT: Final = "1"

# An axis of an array: the names that it is split into or merged from; () is an axis of extent 1.
Group: TypeAlias = tuple[str, ...]
Side: TypeAlias = tuple[Group, ...]

_TOKEN: Final = re.compile(r"\s*(->|\.\.\.|…|[^\W\d]\w*|\d+|\S)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as read: the axes of each input and of the result."""

    text: str
    inputs: tuple[Side, ...]
    output: Side


def read_pattern(text: str) -> Pattern:
    """Return a pattern as read.

    Raises
    ------
    ArgumentError
        ``A331``: it cannot be read.
    AxisError
        ``A332``: an axis is named twice on a side, or is no axis of an input.
    """
    tokens = [(m.group(1), m.start(1)) for m in _TOKEN.finditer(text)]
    arrows = [place for token, place in tokens if token == "->"]
    if len(arrows) != 1:
        place = arrows[1] if arrows else len(text)
        found = "a second '->'" if arrows else "there is no '->'"
        raise _unreadable(text, place, f"{found}.", 'Write "axes of the input -> axes to keep".')
    sides: list[list[Group]] = [[]]
    reading = _Group(text)
    for token, place in tokens:
        if token in ("->", ","):
            reading.check_closed()
            if token == "," and place > arrows[0]:
                raise _unreadable(text, place, "there is one result.", "Leave the comma out.")
            sides.append([])
            reading.is_output = token == "->"
        else:
            group = reading.take(token, place)
            if group is not None:
                sides[-1].append(group)
    reading.check_closed()
    *inputs, output = [tuple(side) for side in sides]
    pattern = Pattern(text, tuple(inputs), output)
    _check_names(pattern)
    return pattern


class _Group:
    """Puts tokens together to axes: one name, or names in parentheses."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_output = False
        self.opened: int | None = None
        self.names: list[str] = []

    def take(self, token: str, place: int) -> Group | None:
        """Take a token that is part of an axis; return the axis if it is complete."""
        if token == "(":
            if self.opened is not None:
                raise _unreadable(self.text, place, "groups do not nest.", "Use one pair of ().")
            self.opened, self.names = place, []
            return None
        if token == ")":
            if self.opened is None:
                raise _unreadable(self.text, place, "')' closes no group.", "Write '(' before.")
            self.opened = None
            # (...) is one axis, while ... alone are several: 1 in the group tells them apart.
            return (ELLIPSIS, UNIT) if self.names == [ELLIPSIS] else tuple(self.names)
        names = self._names(token, place)
        if self.opened is None:
            return names
        self.names += names
        return None

    def check_closed(self) -> None:
        """Refuse a group that goes on over the end of a side."""
        if self.opened is not None:
            raise _unreadable(self.text, self.opened, "'(' is never closed.", "Write ')' after.")

    def _names(self, token: str, place: int) -> Group:
        if token in (ELLIPSIS, "…"):
            if self.opened is not None and not self.is_output:
                fact = "'...' is in a group of an input."
                hint = "Axes without names are not split: write ... outside of the parentheses."
                raise _unreadable(self.text, place, fact, hint)
            return (ELLIPSIS,)
        if token == UNIT:
            return ()
        if token.isidentifier():
            return (token,)
        fact = f"{token!r} is no name of an axis."
        hint = "Names are as Python's; 1 is an axis of extent 1, ... are axes without a name."
        raise _unreadable(self.text, place, fact, hint)


def _unreadable(text: str, place: int, fact: str, hint: str) -> ArgumentError:
    line = text.replace("\n", " ")
    return ArgumentError(
        f"a pattern cannot be read at the place marked:\n    {line}\n    {' ' * place}^\n{fact}",
        code="A331",
        hint=hint,
    )


def _check_names(pattern: Pattern) -> None:
    for side in (*pattern.inputs, pattern.output):
        names = [name for group in side for name in group]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise AxisError(
                f"axis {twice!r} of the pattern {pattern.text!r} is named twice on one side.",
                code="A332",
                hint="Name each axis of an array once.",
            )
    known = {UNIT, *(name for side in pattern.inputs for group in side for name in group)}
    for name in (name for group in pattern.output for name in group):
        if name not in known:
            raise AxisError(
                f"axis {name!r} of the pattern {pattern.text!r} is no axis of an input.",
                code="A332",
                hint="A fold keeps axes and makes none; an axis of extent 1 is written 1.",
            )
