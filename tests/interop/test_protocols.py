# SPDX-License-Identifier: Apache-2.0
"""Arrays of libraries that are not known by name, by the protocols that they have."""

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
import torch
from cuda_support import DLPackArray

import axisfold
from axisfold.errors import ArgumentError, DTypeError
from axisfold.interop import dlpack
from axisfold.interop.libraries import library_of

HOST = (1, 0)
DOT = axisfold.Reducer("dot", {"s": "acc"}, 0, lambda x, y: x * y, lambda a, b: a.s + b.s)


class Foreign:
    """An array of a library that has a namespace of the array API, and nothing else we know."""

    def __init__(self, array):
        self.array = array

    def __array_namespace__(self):
        return SimpleNamespace(from_dlpack=lambda x: Foreign(np.from_dlpack(x)))

    def __dlpack_device__(self):
        return HOST

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class Old(DLPackArray):
    """One made before DLPack had versions."""

    def __dlpack__(self):
        return self.array.__dlpack__()


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
)
def test_dlpack_says_what_numpy_does(dtype):
    x = np.ones((4, 6, 3), dtype)[::-2, 1::2].transpose(2, 0, 1)
    for given in (DLPackArray(x, HOST), Old(x, HOST)):
        v = dlpack.read("x", given, 0)
        assert (v.address, v.shape, v.strides) == (x.ctypes.data, x.shape, x.strides)
        assert (v.dtype, v.itemsize, v.device) == (x.dtype.name, x.itemsize, -1)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dlpack_of_types_that_numpy_does_not_have(name):
    x = torch.ones(3, 4).to(getattr(torch, name))[:, ::2]
    v = dlpack.read("x", SimpleTensor(x), 0)
    assert (v.dtype, v.strides, v.address) == (
        name, tuple(s * x.element_size() for s in x.stride()), x.data_ptr(),
    )  # fmt: skip
    assert axisfold.sum(SimpleTensor(x)) == 6


class SimpleTensor:
    """A tensor of which only DLPack is seen."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)


def test_a_capsule_that_was_only_read_frees_its_memory():
    freed = []

    class Memory(np.ndarray):
        def __del__(self):
            freed.append(self.size)

    x = np.arange(6.0).view(Memory)
    result = axisfold.sum(DLPackArray(x, HOST))
    del x
    assert (result, freed) == (15.0, [6])


def test_results_of_unknown_libraries():
    x = np.arange(6.0).reshape(2, 3)
    result = axisfold.sum(Foreign(x), axis=0)
    assert type(result) is Foreign
    assert result.array.tolist() == [3.0, 5.0, 7.0]
    assert type(axisfold.sum(Foreign(x))) is Foreign
    plain = axisfold.sum(DLPackArray(x, HOST), axis=0)
    assert (type(plain), plain.tolist()) == (np.ndarray, [3.0, 5.0, 7.0])
    assert type(axisfold.sum(DLPackArray(x, HOST))) is np.float64


class WithArray:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


def test_dlpack_comes_first_and_array_last():
    class Refusing(WithArray):
        def __dlpack_device__(self):
            return HOST

        def __dlpack__(self, **options):
            raise BufferError("bits are packed")

    class Both(Refusing):
        def __dlpack__(self, **options):
            return np.ones(5).__dlpack__(**options)

    assert axisfold.sum(WithArray()) == 3
    assert axisfold.sum(Refusing()) == 3
    assert axisfold.sum(Both()) == 5
    interface = SimpleNamespace(__array_interface__=np.arange(4)[::-1].__array_interface__)
    assert axisfold.sum(interface) == 6


def test_numbers_and_lists_go_with_any_library():
    x = torch.tensor([1.0, 2.0])
    result = axisfold.fold(([3.0, 4.0], x), DOT)
    assert (type(result), result.item()) == (torch.Tensor, 11.0)
    assert type(axisfold.fold((2.0, np.ones(3)), DOT)) is np.float64


def test_refused():
    class Elsewhere(DLPackArray):
        def __dlpack__(self, **options):
            raise BufferError("not without a queue")

    with pytest.raises(ArgumentError) as caught:
        axisfold.sum(Elsewhere(np.ones(3), (14, 0)))
    assert str(caught.value) == (
        "x is a Elsewhere whose memory cannot be shared: not without a queue [axisfold-A202]"
    )
    bits = np.ones(3, ml_dtypes.float8_e4m3fn).view("V1")
    with pytest.raises(DTypeError, match="D101"):
        axisfold.sum(bits)


def test_an_unknown_array_is_asked_each_time():
    assert library_of(Foreign(np.ones(3))).NAME == ""
    for n in (3, 4):
        assert axisfold.sum(DLPackArray(np.ones(n), HOST)) == n
