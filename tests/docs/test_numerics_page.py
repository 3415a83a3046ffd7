# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/numerics.md say what the functions do."""

from pathlib import Path

import numpy as np
import pytest

import axisfold
from axisfold.api.arguments import item_of, member_of
from axisfold.api.catalog import CATALOG
from axisfold.dtypes import parse
from axisfold.tensor.trace import trace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
KINDS = {
    "bool": ["bool"],
    "int8 … int64": ["int8", "int16", "int32", "int64"],
    "uint8 … uint64": ["uint8", "uint16", "uint32", "uint64"],
}


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


def result_dtype(name, dtype):
    """Return the dtype of a result, or the code of the error; tests/numeric runs all of them."""
    try:
        member = member_of(item_of(name), [parse(dtype)], None)
        return str(trace([member], [parse(dtype)]).results[0].dtype)
    except axisfold.AxisfoldError as error:
        return error.code


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
            assert result_dtype(row[0], dtype) == (dtype if expected == "same" else expected)


@pytest.mark.parametrize("row", tables()[1][1], ids=lambda row: row[0])
def test_special_values(row):
    for column, expected in zip(tables()[1][0][1:], row[1:], strict=True):
        values = [float(part) for part in column.strip("`[]").split(",") if part]
        result = outcome(row[0], np.array(values))
        shown = ", ".join(map(str, result)) if isinstance(result, tuple) else str(result)
        assert shown == expected, column
