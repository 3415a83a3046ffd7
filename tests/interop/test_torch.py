# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch on the host: tensors out, no copies, and what is refused."""

import numpy as np
import pytest
import torch

import axisfold
from axisfold.api import launches
from axisfold.errors import ArgumentError, DTypeError

DTYPES = [
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16,
    torch.int32, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex64,
    torch.complex128,
]  # fmt: skip
LAYOUTS = {
    "plain": lambda b: b,
    "transposed": lambda b: b.permute(2, 0, 1),
    "steps": lambda b: b[::2, 1::3, ::2],
    "expanded": lambda b: b[:1].expand(5, -1, -1),
    "overlapping": lambda b: b.as_strided((3, 4, 5), (2, 1, 1)),
    "size-1 axis with an odd stride": lambda b: b.as_strided((3, 1, 5), (7, 1013, 2)),
    "empty": lambda b: b[:, :0],
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_results_are_numpys_as_tensors(dtype):
    x = (torch.arange(-20, 22).reshape(6, 7) % 5).to(dtype)
    for name in ("sum", "argmin"):
        result, want = getattr(axisfold, name)(x, axis=0), getattr(axisfold, name)(x.numpy(), 0)
        assert type(result) is torch.Tensor
        is_narrow = want.dtype == np.uint64 and dtype != torch.uint64
        assert str(result.dtype) == f"torch.{'int64' if is_narrow else want.dtype}"
        assert np.array_equal(result.numpy().astype(want.dtype), want)


@pytest.mark.parametrize("axis", [None, 0, (0, 1), ()])
def test_shapes(axis):
    x = torch.arange(6.0).reshape(2, 3)
    for keepdims in (False, True):
        result = axisfold.max(x, axis=axis, keepdims=keepdims)
        want = np.max(x.numpy(), axis=axis, keepdims=keepdims)
        assert (type(result), result.shape) == (torch.Tensor, np.shape(want))
        assert np.array_equal(result.numpy(), want)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    base = torch.from_numpy(np.random.default_rng(7).standard_normal((9, 14, 11)))
    x = LAYOUTS[layout](base)
    for axis in (None, 0, 1, 2, (0, 2), ()):
        for keepdims in (False, True):
            result = axisfold.sum(x, axis=axis, keepdims=keepdims)
            want = np.sum(x.numpy(), axis=axis, keepdims=keepdims)
            assert result.shape == np.shape(want)
            assert np.allclose(result.numpy(), want, rtol=1e-12, atol=1e-12)


def test_nothing_is_copied(monkeypatch):
    seen = []
    real = launches.bind_host
    monkeypatch.setattr(
        launches, "bind_host", lambda views, *rest: seen.extend(views) or real(views, *rest)
    )
    for n, layout in enumerate(LAYOUTS.values()):
        x = layout(torch.zeros((8 + n, 14, 11)))
        axisfold.sum(x, axis=1)
        assert seen.pop().address == x.data_ptr()


def test_several_results_and_inputs():
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3)
    result = axisfold.fold(x, ["min", "argmax"], axis=1)
    assert [type(r) for r in result] == [torch.Tensor] * 2
    assert (result.min.tolist(), result.argmax.tolist()) == ([0.0, 3.0], [2, 2])
    dot = axisfold.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)
    assert axisfold.fold((x, y), dot, axis=1).tolist() == [3.0, 12.0]
    assert axisfold.fold((x, [1.0, 2.0, 3.0]), dot, axis=1).tolist() == [8.0, 26.0]


def test_bfloat16():
    x = torch.arange(12.0).reshape(3, 4).to(torch.bfloat16)
    result = axisfold.sum(x, axis=0)
    assert result.dtype == torch.bfloat16
    assert result.tolist() == [12.0, 15.0, 18.0, 21.0]


def test_negated_and_conjugated_tensors_are_resolved():
    z = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2]])
    for _ in range(2):
        assert axisfold.sum(z.conj()).item() == 6 - 1.5j
        assert axisfold.sum(z.conj().imag, axis=0).tolist() == [-2.5, 1.0]
        assert axisfold.sum(z).item() == 6 + 1.5j


@pytest.mark.filterwarnings("ignore")  # PyTorch warns that these kinds of tensors will change
@pytest.mark.parametrize(
    ("make", "code", "text"),
    [
        (lambda: torch.eye(3).to_sparse(), "A202",
         ("x is a tensor without plain memory (layout torch.sparse_coo). Pass x.to_dense(), or of "
          "a nested one x.to_padded_tensor(value).")),
        (lambda: torch.eye(3).to_sparse_csr(), "A202", "x is a tensor without plain"),
        (lambda: torch.eye(3).to_mkldnn(), "A202", "x is a tensor without plain"),
        (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "A202", "x is a tens"),
        (lambda: torch.ones(3, device="meta"), "A202",
         ("x is a tensor of device 'meta', which has no memory here. Pass a tensor with values, on "
          "the host or a CUDA device.")),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.quint8), "D101",
         "x has elements of quint8: axisfold reduces numbers and truth values only."),
        (lambda: torch.ones(3, dtype=torch.complex32), "D101", "x has elements of complex32"),
    ],
)  # fmt: skip
def test_refused(make, code, text):
    axisfold.sum(torch.ones(3))
    x = make()
    for _ in range(2):
        with pytest.raises((ArgumentError, DTypeError)) as caught:
            axisfold.sum(x)
        assert caught.value.code == code
        assert str(caught.value).startswith(text)


def test_an_output_that_repeats_elements():
    with pytest.raises(ArgumentError) as caught:
        axisfold.sum(torch.ones(3, 4), axis=0, out=torch.zeros(1).expand(4))
    assert caught.value.code == "A359"


def test_tensors_and_arrays_do_not_mix():
    with pytest.raises(ArgumentError) as caught:
        axisfold.fold((torch.ones(3), np.ones(3)), axisfold.Reducer(
            "dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s))  # fmt: skip
    assert str(caught.value).startswith("the inputs are arrays of numpy and torch, so that")


def test_a_tensor_of_a_gradient_is_taken_where_none_is_recorded():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        result = axisfold.sum(x)
    assert (result.item(), result.requires_grad) == (3.0, False)
    assert axisfold.sum(x.detach()).item() == 3.0
