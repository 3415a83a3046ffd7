# SPDX-License-Identifier: Apache-2.0
"""The catalogue on CUDA arrays of every dtype, against NumPy in float64 or exact integers."""

import pytest
import torch
from fold_support import agree, elements, expected

import axisfold

pytestmark = pytest.mark.gpu

NAMES = (
    "sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all",
    "count_nonzero", "logsumexp", "norm",
)  # fmt: skip
DTYPES = ("float32", "float64", "float16", "int32", "uint8", "bool", "complex64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype(name, dtype):
    if name == "logsumexp" and dtype == "complex64":
        with pytest.raises(axisfold.errors.DTypeError, match="D301"):
            getattr(axisfold, name)(torch.zeros(3, dtype=torch.complex64, device="cuda"))
        return
    for axis in (0, 1):
        x = elements((67, 129), dtype, name)
        result = getattr(axisfold, name)(torch.from_numpy(x).cuda(), axis=axis)
        assert isinstance(result, torch.Tensor)
        assert result.is_cuda
        host = result.cpu().numpy()
        own = getattr(axisfold, name)(torch.from_numpy(x), axis=axis).dtype
        assert result.dtype == own  # as on the host: int64 where NumPy has uint64
        agree(name, host, expected(name, x, axis), x, axis)
