# SPDX-License-Identifier: Apache-2.0
"""A progress bar on a terminal: rich's where it is installed, else a plain one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_WIDTH: Final = 30

Step = Callable[[str], None]


@contextmanager
def progress(title: str, total: int, *, is_shown: bool) -> Iterator[Step]:
    """Return a function that goes on by one of ``total`` steps and says what was done.

    Parameters
    ----------
    title
        What is done.
    total
        Number of steps.
    is_shown
        Whether to draw at all; without a terminal nothing is drawn either.
    """
    if not is_shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        from rich.console import Console  # noqa: PLC0415  (an extra, which may be absent)
        from rich.progress import Progress  # noqa: PLC0415
    except ImportError:
        yield from _plain(title, total)
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda text: bar.update(task, advance=1, description=f"{title}: {text}")


def _plain(title: str, total: int) -> Iterator[Step]:
    done = 0

    def step(text: str) -> None:
        nonlocal done
        done += 1
        filled = "#" * (_WIDTH * done // total)
        sys.stderr.write(f"\r\x1b[K{title} [{filled:<{_WIDTH}}] {done}/{total} {text}")
        sys.stderr.flush()

    try:
        yield step
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
