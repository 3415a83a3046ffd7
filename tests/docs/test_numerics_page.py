# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/numerics.md say what the functions do."""

from pathlib import Path

import numpy as np
import pytest

import axisfold
from axisfold.api.catalog import CATALOG

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
KINDS = {
    "bool": ["bool"],
    "int8 … int64": ["int8", "int16", "int32", "int64"],
    "uint8 … uint64": ["uint8", "uint16", "uint32", "uint64"],
}
SLOW_KINDS = ["int16", "int32", "uint16", "uint32"]  # tests/numeric folds these


def tables():
    """Return the tables of the page as (header, rows)."""
    found, current = [], []
    for line in [*PAGE.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("|"):
            current.append([cell.strip() for cell in line.strip("|").split("|")])
        elif current:
            found.append((current[0], current[2:]))
            current = []
    return found


def outcome(name, array):
    """Return a result, or the code of the error."""
    try:
        return getattr(axisfold, name)(array)
    except axisfold.AxisfoldError as error:
        return error.code


@pytest.mark.parametrize("table", [0, 1])
def test_every_function_has_a_row(table):
    assert [row[0] for row in tables()[table][1]] == list(CATALOG)


@pytest.mark.parametrize("row", tables()[0][1], ids=lambda row: row[0])
def test_result_dtypes(row):
    for kind, expected in zip(tables()[0][0][1:], row[1:], strict=True):
        for dtype in KINDS.get(kind, [kind]):
            if dtype in SLOW_KINDS:
                continue
            result = outcome(row[0], np.ones(3, dtype))
            shown = result if isinstance(result, str) else str(result.dtype)
            assert shown == (dtype if expected == "same" else expected), dtype


@pytest.mark.parametrize("row", tables()[1][1], ids=lambda row: row[0])
def test_special_values(row):
    for column, expected in zip(tables()[1][0][1:], row[1:], strict=True):
        values = [float(part) for part in column.strip("`[]").split(",") if part]
        assert str(outcome(row[0], np.array(values))) == expected, column
