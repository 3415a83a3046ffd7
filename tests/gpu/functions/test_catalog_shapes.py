# SPDX-License-Identifier: Apache-2.0
"""The catalogue on CUDA arrays of every kind of shape, against NumPy in float64 or integers."""

import cupy
import pytest
from fold_support import agree, elements, expected

import axisfold

pytestmark = pytest.mark.gpu

NAMES = (
    "sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all",
    "count_nonzero", "logsumexp", "norm",
)  # fmt: skip
# Each kind of length that a rule is chosen by, with and without a tail.
SHAPES = [(1, 1), (31, 33), (33, 31), (5, 1025), (1000, 32), (1, 1000), (1023, 3), (2, 70001)]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_float32_of_every_shape(name, axis):
    for shape in SHAPES:
        x = elements(shape, "float32", name)
        result = getattr(axisfold, name)(cupy.asarray(x), axis=axis)
        assert isinstance(result, cupy.ndarray)
        agree(name, result.get(), expected(name, x, axis), x, axis)
