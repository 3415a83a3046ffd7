# SPDX-License-Identifier: Apache-2.0
"""Columns of small square matrices whose rows are vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axisfold.codegen.llvm.types import memory_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import DType

# Elements change places within so many bytes first: everywhere these are the cheapest moves.
BLOCK_BYTES: Final = 16


def column(w: Writer, dtype: DType, rows: Sequence[str], number: int) -> str:
    """Append one column of a matrix as a vector; there are as many rows as lanes, a power of two.

    Rows are joined two by two, and of what is joined that half is kept that the column is in.
    Other columns join the same rows, so that a whole matrix takes few moves more than one column.
    """
    lanes, size = len(rows), 1
    block = max(min(BLOCK_BYTES // dtype.itemsize, lanes), 1)
    kind, parts, columns = memory_type(dtype), list(rows), list(range(lanes))
    while len(parts) > 1:
        # Groups of `size` elements of one column each; half of the groups of each block stay.
        span = block // size if size < block else len(columns)
        is_late = columns.index(number) % span >= span // 2
        kept = [g for g in range(len(columns)) if (g % span >= span // 2) == is_late]
        order = [half + g * size + i for g in kept for half in (0, lanes) for i in range(size)]
        mask = f"<{lanes} x i32> <{', '.join(f'i32 {i}' for i in order)}>"
        parts = [
            w.let(f"shufflevector {kind} {a}, {kind} {b}, {mask}")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        columns, size = [columns[g] for g in kept], 2 * size
    return parts[0]
