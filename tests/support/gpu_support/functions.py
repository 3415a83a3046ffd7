# SPDX-License-Identifier: Apache-2.0
"""axisfold's functions of NumPy arrays, which are on a device while they are folded."""

import ctypes
from functools import partial

import cupy
import ml_dtypes
import numpy as np
import torch

import axisfold

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class Functions:
    """Each function by its name: CuPy's arrays, and of bfloat16 PyTorch's tensors."""

    def __getattr__(self, name):
        return partial(self._call, getattr(axisfold, name))

    @staticmethod
    def _call(function, x, *args, **options):
        is_bfloat = np.dtype(options.get("dtype") or "f4") == BFLOAT16
        send = _tensor if is_bfloat else on_device
        given = tuple(map(send, x)) if isinstance(x, tuple) else send(x)
        for name, value in options.items():
            if isinstance(value, np.ndarray):
                options[name] = on_device(value)
        found = function(given, *args, **options)
        if isinstance(found, tuple):
            return type(found)(*map(on_host, found))
        return on_host(found)


def on_device(array):
    """Return a copy on the GPU with the same strides, whatever they are."""
    if array.dtype == BFLOAT16:
        return _tensor(array)
    if array.size == 0:
        return cupy.empty(array.shape, array.dtype)
    memory, first = _bytes_of(array)
    copy = cupy.asarray(memory)
    return cupy.ndarray(array.shape, array.dtype, copy.data + first, array.strides)


def _tensor(array):
    """Return a tensor, of the same strides unless one of them is negative."""
    if array.size == 0 or min(array.strides, default=0) < 0:
        array = np.ascontiguousarray(array)
    bits = array.view("i2") if array.dtype == BFLOAT16 else array
    if array.size == 0:
        tensor = torch.empty(array.shape, dtype=torch.from_numpy(np.empty(0, bits.dtype)).dtype)
    else:
        memory, first = _bytes_of(bits)
        steps = [step // bits.itemsize for step in bits.strides]
        flat = torch.from_numpy(memory.view(bits.dtype).copy())
        tensor = flat.cuda().as_strided(bits.shape, steps, first // bits.itemsize)
    tensor = tensor.cuda()
    return tensor.view(torch.bfloat16) if array.dtype == BFLOAT16 else tensor


def _bytes_of(array):
    """Return the memory that an array spans, and where in it the first element is."""
    reach = [step * (extent - 1) for step, extent in zip(array.strides, array.shape, strict=True)]
    low = sum(r for r in reach if r < 0)
    size = sum(r for r in reach if r > 0) - low + array.itemsize
    address, _ = array.__array_interface__["data"]
    memory = (ctypes.c_char * size).from_address(address + low)
    return np.frombuffer(memory, "u1"), -low


def on_host(array):
    """Return a copy as a NumPy array."""
    if isinstance(array, cupy.ndarray):
        return array.get()
    if array.dtype == torch.bfloat16:
        return array.view(torch.int16).cpu().numpy().view(BFLOAT16)
    return array.cpu().numpy()
