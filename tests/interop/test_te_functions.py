# SPDX-License-Identifier: Apache-2.0
"""Functions built from te take host arrays of any library, and write into those that allow it."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import torch
from cuda_support import DLPackArray

from axisfold import te
from axisfold.build import build
from axisfold.errors import ArgumentError, DTypeError

HOST = (1, 0)


def row_sum(dtype="float32"):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return build(te.create_schedule(B.op), [A, B])


@pytest.fixture(scope="module")
def function():
    return row_sum()


def test_tensors_are_written_in_place(function):
    x, y = torch.arange(12.0).reshape(4, 3).T, torch.zeros(6)
    function(x, y[::2])
    assert y.tolist() == [18.0, 0.0, 22.0, 0.0, 26.0, 0.0]


def test_libraries_may_mix(function):
    y = np.zeros(3, "f4")
    for x in (jnp.ones((3, 5)), DLPackArray(np.ones((3, 5), "f4")[::-1], HOST), torch.ones(3, 5)):
        y[:] = -1
        function(x, y)
        assert y.tolist() == [5.0, 5.0, 5.0]


def test_bfloat16_of_every_library():
    function = row_sum("bfloat16")
    x = np.arange(6.0).reshape(2, 3).astype(ml_dtypes.bfloat16)
    for given in (x, torch.arange(6.0).reshape(2, 3).bfloat16(), jnp.asarray(x)):
        y = torch.zeros(2, dtype=torch.bfloat16)
        function(given, y)
        assert y.tolist() == [3.0, 12.0]


@pytest.mark.parametrize(
    ("arrays", "kind", "text"),
    [
        (lambda: (jnp.ones((3, 5)), jnp.ones(3)), ArgumentError,
         "argument 1 (B) is an output but read-only. Pass a writable array. [axisfold-A204]"),
        (lambda: (torch.ones(3, 5, dtype=torch.float64), np.ones(3, "f4")), DTypeError,
         ("argument 0 (A) has dtype float64, but the kernel was built for float32. Convert it with "
          ".astype('float32'). [axisfold-D201]")),
        (lambda: (torch.ones(3, 5, requires_grad=True), np.ones(3, "f4")), ArgumentError,
         ("argument 0 (A) requires a gradient, and the kernel would not record one. Pass "
          "x.detach(), or call under torch.no_grad(). [axisfold-A215]")),
        (lambda: (torch.ones(3, 5), torch.ones(1).expand(3)), ArgumentError,
         ("argument 1 (B) is an output whose elements may overlap (strides (0,)). Pass an array "
          "whose elements all have memory of their own. [axisfold-A205]")),
        (lambda: (torch.ones(3, 5).to_sparse(), np.ones(3, "f4")), ArgumentError,
         ("argument 0 (A) is a tensor without plain memory (layout torch.sparse_coo). Pass "
          "x.to_dense(), or of a nested one x.to_padded_tensor(value). [axisfold-A202]")),
    ],
)  # fmt: skip
def test_refused(function, arrays, kind, text):
    with pytest.raises(kind) as caught:
        function(*arrays())
    assert str(caught.value) == text
