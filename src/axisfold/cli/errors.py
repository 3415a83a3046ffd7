# SPDX-License-Identifier: Apache-2.0
"""What a command line can get wrong beyond what the library checks."""

from __future__ import annotations


class CommandError(Exception):
    """A file, option or output is wrong; the text says how to repair it."""


def one_line(error: BaseException) -> str:
    """Return an error's text as one line."""
    return " ".join(str(error).split())
