# SPDX-License-Identifier: Apache-2.0
"""Pass contexts of te scripts, which change nothing here."""

from __future__ import annotations

from typing import Any


class PassContext:
    """Accepts any options and does nothing: the pipelines of axisfold have none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> PassContext:
        return self

    def __exit__(self, *_: object) -> None:
        pass


build_config = PassContext
