# SPDX-License-Identifier: Apache-2.0
"""Results as tables: small ones in full, large ones in a line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

import axisfold
from axisfold.cli.files import Array, InputArray
from axisfold.cli.terminal import print_table

MOST_ROWS: Final = 24
MOST_COLUMNS: Final = 12


def print_results(
    console: Console,
    source: InputArray,
    axes: int | tuple[int, ...] | None,
    results: Mapping[str, Any],
    written: Path | None,
) -> None:
    """Print the results of a fold, and where they were written."""
    over = "all axes" if axes is None else f"axis {axes}"
    console.print(f"{source.name}: {source.data.dtype}, shape {source.data.shape}, {over}")
    arrays = {name: np.asarray(value) for name, value in results.items()}
    first = next(iter(arrays.values()))
    is_full = not console.is_terminal
    if first.ndim == 0:
        rows = [[name, str(a.dtype), _cell(a, is_full)] for name, a in arrays.items()]
        print_table(console, "", ["op", "dtype", "value"], rows)
    elif first.ndim == 1 and 0 < first.size <= MOST_ROWS:
        rows = [
            [str(i), *(_cell(a[i], is_full) for a in arrays.values())] for i in range(first.size)
        ]
        print_table(console, "", ["index", *arrays], rows)
    elif first.ndim == 2 and 0 < len(first) <= MOST_ROWS and 0 < first.shape[1] <= MOST_COLUMNS:
        for name, a in arrays.items():
            rows = [[str(i), *(_cell(v, is_full) for v in row)] for i, row in enumerate(a)]
            print_table(console, name, ["", *map(str, range(a.shape[1]))], rows)
    else:
        rows = [_summary(name, a, is_full) for name, a in arrays.items()]
        print_table(console, "", ["op", "dtype", "shape", "min", "mean", "max"], rows)
    if written is not None:
        console.print(f"wrote {written}")


def _summary(name: str, array: Array, is_full: bool) -> list[str]:
    shape = "x".join(map(str, array.shape))
    if array.size == 0:
        return [name, str(array.dtype), shape, "-", "-", "-"]
    row = axisfold.fold(array, ["min", "mean", "max"])
    return [name, str(array.dtype), shape, *(_cell(np.asarray(v), is_full) for v in row)]


def _cell(value: Array, is_full: bool) -> str:
    """Return a number: six digits for people, all of them for programs."""
    kind = value.dtype.kind
    if kind == "f" and not is_full:
        return f"{float(value):.6g}"
    if kind == "c" and not is_full:
        return f"{complex(value):.6g}"
    return str(value[()])
