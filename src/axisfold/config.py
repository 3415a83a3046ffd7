# SPDX-License-Identifier: Apache-2.0
"""Every switch of axisfold: one typed table, each with its environment variable."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def _flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


@dataclass(slots=True)
class Config:
    """Switches that may be changed while a program runs.

    Attributes
    ----------
    verify
        Check every program after every pass (``AXISFOLD_VERIFY``); the tests turn it on.
    """

    verify: bool = field(default_factory=lambda: _flag("AXISFOLD_VERIFY"))


config = Config()
