# SPDX-License-Identifier: Apache-2.0
"""Every float16 and its neighbours, as machine code; test_semantics.py has all other operations."""

import numpy as np
import pytest
from te_support.kernels import buffer, kernel, lanewise, run, same_bits

from axisfold.dtypes import FLOAT16
from axisfold.ir.expr import Cast


@pytest.mark.parametrize("lanes", [1, 8])
def test_float64_to_float16_rounds_once(lanes):
    halves = np.arange(0, 0x7C00, dtype="uint16").view("float16").astype("float64")
    ties = np.append((halves[1:] + halves[:-1]) / 2, 65520.0)
    near = np.concatenate([ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), halves])
    tiny = [5e-324, 1e-60, 2.0**-25, np.nextafter(2.0**-25, 1), 1e300, np.inf, np.nan, 65519.999]
    values = np.concatenate([near, -near, tiny, np.negative(tiny)])
    values = np.resize(values, -(-len(values) // 24) * 24)
    x, y = buffer("x", "float64", len(values)), buffer("y", "float16", len(values))
    rule = lambda a: Cast(a, FLOAT16.with_lanes(lanes))  # noqa: E731
    found = np.ones(len(values), "float16")
    run(kernel([x, y], [y], lanewise([x], y, lanes, len(values), rule)), values, found)
    with np.errstate(over="ignore"):
        assert same_bits(found, values.astype("float16"))
