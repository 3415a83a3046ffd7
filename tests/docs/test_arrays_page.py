# SPDX-License-Identifier: Apache-2.0
"""The table of result dtypes in docs/arrays.md says what the libraries' modules do."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from axisfold.dtypes import parse
from axisfold.interop import cupy, jax, numpy, others, torch
from axisfold.tensor.float8 import FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"


def rows():
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("dtypes: begin -->")[2].partition("<!--")[0].strip()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


@pytest.fixture
def x64(monkeypatch):
    config = SimpleNamespace(jax_enable_x64=False)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=config))
    return config


def test_result_dtypes(x64):
    table = rows()
    assert [row[0] for row in table] == ["uint64", "int64", "float64", "complex128"]
    for of_numpy, of_torch, of_jax, of_others in table:
        dtype = parse(of_numpy)
        assert torch.result_dtype(dtype, (parse("uint8"),)) == of_torch.partition(",")[0]
        assert torch.result_dtype(dtype, (dtype,)) == dtype
        x64.jax_enable_x64 = False
        assert jax.result_dtype(dtype, (dtype,)) == of_jax
        x64.jax_enable_x64 = True
        assert jax.result_dtype(dtype, (dtype,)) == of_others
        for library in (cupy, numpy, others):
            assert library.result_dtype(dtype, (parse("uint8"),)) == of_others


def test_all_other_dtypes_are_numpys(x64):
    named = {row[0] for row in rows()}
    for dtype in ("bool", "int8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"):
        assert dtype not in named
        for library in (torch, jax, cupy, numpy, others):
            assert library.result_dtype(parse(dtype), (parse("uint8"),)) == dtype


def test_formats_of_8_bits_are_named():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in FORMATS)
