# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the named reductions, written from their rows."""

from __future__ import annotations

import textwrap

from axisfold.api.catalog import PARAMETERS, Row

_WIDTH = 88


def _wrapped(text: str, indent: str = "    ") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)


def _entry(heading: str, text: str) -> str:
    return f"{heading}\n{_wrapped(text)}"


def _section(title: str, entries: list[str]) -> str:
    return "\n".join([title, "-" * len(title), *entries])


def _parameters(row: Row) -> list[str]:
    names = [name for name in row.signature.split(", ") if name != "*"]
    return [
        _entry("x : array_like", "Input of any strides and order."),
        *(_entry(f"{name} : {PARAMETERS[name].kind}", PARAMETERS[name].text) for name in names),
    ]


def _returns(row: Row) -> list[str]:
    return [
        _entry(
            "array or scalar",
            f"Of the kept axes' shape; its dtype is {row.result.text}.  Of an input on a CUDA "
            "device, an array of the same library there, also of no axes.",
        )
    ]


def _raises(row: Row) -> list[str]:
    entries = [
        _entry("ArgumentTypeError", "``A303``: an axis that is no integer."),
        _entry("AxisError", "``A301`` out of range, ``A302`` named twice."),
        _entry(
            "DTypeError",
            "``D101``: dtype not supported."
            + ("" if row.takes_complex else "  ``D301``: complex elements."),
        ),
    ]
    entries.append(_entry("KeywordError", "``A340``: no such argument, or one given twice."))
    if row.needs_elements:
        entries.append(
            _entry("EmptyError", "``A308``: no elements are folded into an element of the result.")
        )
    return entries


def _notes(row: Row) -> list[str]:
    empty = "is refused" if row.empty is None else f"gives {row.empty}"
    rules = [
        f"Computes ``{row.formula}``.",
        row.numerics,
        f"A NaN {row.nan}.",
        f"Folding no elements {empty}.",
        row.ties,
    ]
    return [_wrapped("  ".join(r for r in rules if r), "")]


def docstring(row: Row) -> str:
    """Return the NumPy-style docstring of a row's function."""
    call, printed = row.example
    sections = [
        row.summary,
        _section("Parameters", _parameters(row)),
        _section("Returns", _returns(row)),
        _section("Raises", _raises(row)),
        _section("Notes", _notes(row)),
        _section("Examples", [">>> import axisfold", f">>> {call}", printed]),
    ]
    return "\n\n".join(sections) + "\n"
