# SPDX-License-Identifier: Apache-2.0
"""What a block of a function has just read from memory and written to it.

A value that a place has or was given is not read again from there, so that what several fields of
a state make of an element is computed once.  A write that nothing reads before the next one to the
same place is taken back: where a loop is written out, states that it folds into stay in registers.
Buffers do not overlap, so that only accesses of the same one matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from axisfold.ir.buffer import Buffer


class Place(NamedTuple):
    """Where an access goes: a pointer, a value, and a constant, in the buffer's unit.

    ``offset`` is that of the first lane where the lanes are contiguous.
    """

    pointer: str
    offset: str
    constant: int


class Access(NamedTuple):
    """Neighbouring bytes that are read or written at once, as a value of an LLVM type."""

    place: Place
    kind: str
    align: int
    units: int

    def is_apart(self, other: Access) -> bool:
        """Return whether two accesses of a buffer surely have no byte in common."""
        a, b = self.place, other.place
        if (a.pointer, a.offset) != (b.pointer, b.offset):
            return False
        return a.constant + self.units <= b.constant or b.constant + other.units <= a.constant


class Lanes(NamedTuple):
    """Lanes that are apart, or those of neighbouring ones that a mask names."""

    place: Place
    kind: str
    mask: str | None
    is_contiguous: bool


@dataclass(slots=True)
class _Known:
    """A value, and the line of the write that it was given by, None where it was read."""

    value: str
    line: int | None
    is_read: bool = False


class Recent:
    """The reads and writes of a block whose values are still there, by buffer."""

    def __init__(self) -> None:
        self._known: dict[Buffer, dict[Access, _Known]] = {}
        # Reads of lanes that are apart, or of some lanes only: any write may change them.
        self._lanes: dict[Buffer, dict[Lanes, str]] = {}

    def lanes(self, buffer: Buffer, lanes: Lanes) -> str | None:
        """Return what a read of some lanes finds, None if it has to look."""
        for entry in self._known.get(buffer, {}).values():
            entry.is_read = True
        return self._lanes.get(buffer, {}).get(lanes)

    def read_lanes(self, buffer: Buffer, lanes: Lanes, value: str) -> None:
        """Note what a read of some lanes has found."""
        self._lanes.setdefault(buffer, {})[lanes] = value

    def value(self, buffer: Buffer, access: Access) -> str | None:
        """Return what a read finds, None if it has to look."""
        known = self._known.get(buffer, {})
        if access in known:
            return known[access].value
        for other, entry in known.items():
            entry.is_read |= not access.is_apart(other)
        return None

    def read(self, buffer: Buffer, access: Access, value: str) -> None:
        """Note what a read has found."""
        self._known.setdefault(buffer, {})[access] = _Known(value, None)

    def write(self, buffer: Buffer, access: Access, value: str, line: int) -> int | None:
        """Note a write, of a line of text; return the line of a write that it makes needless."""
        self._lanes.pop(buffer, None)
        known = self._known.get(buffer, {})
        hidden = self.needless(buffer, access) if access in known else None
        kept = {other: entry for other, entry in known.items() if access.is_apart(other)}
        self._known[buffer] = kept | {access: _Known(value, line)}
        return hidden

    def needless(self, buffer: Buffer, access: Access) -> int | None:
        """Return the line of a write that nothing reads if another follows, None if there is none.

        Parameters
        ----------
        buffer, access
            A place whose value is known.
        """
        entry = self._known[buffer][access]
        return None if entry.is_read else entry.line

    def take(self, buffer: Buffer, access: Access) -> tuple[str, int | None]:
        """Return the value of a place that is known, and the line of the write that gave it."""
        entry = self._known[buffer].pop(access)
        return entry.value, entry.line

    def forget(self, buffer: Buffer) -> None:
        """Note that a buffer is read or written in other ways."""
        self._known.pop(buffer, None)
        self._lanes.pop(buffer, None)

    def clear(self) -> None:
        """Begin another block."""
        self._known.clear()
        self._lanes.clear()
