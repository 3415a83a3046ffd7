# SPDX-License-Identifier: Apache-2.0
"""The command line: ``axisfold fold`` and ``axisfold show`` (layer 10)."""

from __future__ import annotations

import io
import sys

EXTRA_MODULES = frozenset({"typer", "rich", "click"})


def main() -> None:
    """Run the command line and exit: 0, 2 for wrong use, 130 after Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may know ASCII only
    try:
        from axisfold.cli.app import run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRA_MODULES:
            raise
        print(
            f"axisfold: the command line needs {missing}. Run: pip install 'axisfold[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
