# SPDX-License-Identifier: Apache-2.0
"""Compiled functions stay where they were compiled."""

from __future__ import annotations

from typing import NoReturn

from axisfold.errors import UnsupportedError


class NotPickled:
    """A base of what holds code loaded into this process."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        """Refuse ``pickle`` and ``copy``.

        Raises
        ------
        UnsupportedError
            ``X104``: always.
        """
        raise UnsupportedError(
            f"a {type(self).__name__} cannot be pickled or copied: its code is loaded into this "
            "process.",
            code="X104",
            hint="Pickle the text s.trace.to_json() of its schedule s, and build "
            "Schedule.from_json(text) again.",
        )
