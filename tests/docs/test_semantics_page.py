# SPDX-License-Identifier: Apache-2.0
"""docs/semantics.md names every operation, and the examples in its tables are right."""

import re
from pathlib import Path
from typing import get_args

import pytest
from semantics_support import exact
from semantics_support.table import DTYPES, MACHINE_ULPS, MORE_ULPS, ULPS, array_of, numbers_in

from axisfold.dtypes import BOOL, SUPPORTED
from axisfold.ir import expr, stmt
from axisfold.ir.expr import BinaryOp, CompareOp
from axisfold.ir.intrinsics import INTRINSICS
from axisfold.sim import arithmetic

PAGE = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"
TEXT = PAGE.read_text(encoding="utf-8")


def tables():
    """Return the tables of the page as (header, rows)."""
    found, current = [], []
    for line in [*TEXT.splitlines(), ""]:
        if line.startswith("|"):
            current.append([cell.strip() for cell in line.strip("|").split("|")])
        elif current:
            found.append((current[0], current[2:]))
            current = []
    return found


TABLES = tables()
ROWS = [
    (header, row)
    for header, rows in TABLES
    for row in rows
    if header[0].removeprefix("cast from ") in SUPPORTED
]


def array(text, dtype):
    values = [part.strip() for part in text.strip("`").split(",")]
    number = float if dtype.is_float else int
    return [array_of([number(v)], dtype) for v in values]


def computed(header, operation, operands):
    """Return a result and its dtype."""
    dtype = SUPPORTED[header.removeprefix("cast from ")]
    values = array(operands, dtype)
    if header.startswith("cast"):
        target = SUPPORTED[operation]
        return arithmetic.cast(*values, dtype, target), target
    if operation in INTRINSICS:
        flag = INTRINSICS[operation].result == "bool"
        return arithmetic.call(operation, values, dtype), BOOL if flag else dtype
    if operation in get_args(CompareOp):
        return arithmetic.compare(operation, *values, dtype), BOOL
    return arithmetic.binary(operation, *values, dtype), dtype


@pytest.mark.parametrize(("header", "row"), ROWS, ids=lambda part: part[0])
def test_examples(header, row):
    for operands, expected in zip(header[1:], row[1:], strict=True):
        found, dtype = computed(header[0], row[0], operands)
        (number,) = numbers_in(found, dtype)
        shown = str(float(number) if dtype.is_float else number)
        assert shown == expected, f"{row[0]} of {operands}"


def test_the_functions_and_their_errors():
    header, rows = next(t for t in TABLES if t[0][0] == "function")
    assert header[3:] == ["error", "machine code"]
    assert [row[0] for row in rows] == list(INTRINSICS)
    for name, of, _, error, machine in rows:
        assert of == INTRINSICS[name].takes
        rounded = name in exact.FUNCTIONS or name in ("power", "exp_difference")
        more = " − x" if exact.slack(name, 1) else ""
        most = max(ULPS["float64"], MORE_ULPS.get((name, "float32"), 0))
        assert error == (f"{most}{more}" if rounded else "exact")
        assert machine == (f"{MACHINE_ULPS[name]}{more}" if name in MACHINE_ULPS else error)
    assert ULPS == {"float16": 1, "bfloat16": 1, "float32": 4, "float64": 4}


def test_every_operation_has_an_example():
    shown = {row[0] for _, row in ROWS}
    assert set(get_args(BinaryOp)) - {"and", "or"} <= shown
    assert set(get_args(CompareOp)) <= shown


def nodes(module, base):
    """Return the names of the kinds of nodes that a module's first lines declare."""
    pattern = rf"^    {base} = (.*?)\n(?:\n|    [A-Z]\w+ =)"
    union = re.search(pattern, module.__doc__, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"[A-Z]\w+", union.group(1)))


def test_every_node_has_a_row():
    named = set(re.findall(r"`([A-Z]\w+)`", "\n".join(r[0] for _, rows in TABLES for r in rows)))
    expressions = nodes(expr, "Expr")
    statements = nodes(stmt, "Stmt") - {"ThreadStmt"} | nodes(stmt, "ThreadStmt")
    assert named == expressions | statements
    assert {"Binary", "Load", "Broadcast"} <= expressions
    assert {t.__name__ for t in get_args(stmt.Stmt)} == statements


def test_every_dtype_is_named():
    _, rows = TABLES[0]
    assert sorted(name for row in rows for name in row[0].split(", ")) == sorted(map(str, DTYPES))
