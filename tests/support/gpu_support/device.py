# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays through functions of target "cuda", outputs full of nonsense before."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axisfold.codegen import cuda
from axisfold.runtime.cuda import driver
from axisfold.runtime.cuda.hostplan import Entry
from axisfold.runtime.cuda.memory import DeviceArray
from axisfold.runtime.cuda.program import Program


def on_device(array, dtype=""):
    """Return a copy on the GPU with the same strides, in elements of a dtype."""
    if dtype == "bfloat16":  # NumPy has none: bits as a tensor of PyTorch
        import torch

        bits = torch.from_numpy(np.ascontiguousarray(array).view("int16"))
        return bits.cuda().view(torch.bfloat16)
    if array.flags.c_contiguous or not array.size:
        copy = DeviceArray(array.shape, array.dtype)
        copy.write(array)
        return copy
    return _Strided(array)


class _Strided:
    """A copy of an array in memory with gaps, of positive strides."""

    def __init__(self, array):
        last = zip(array.strides, array.shape, strict=True)
        span = array.itemsize + sum(step * (n - 1) for step, n in last)
        memory = np.zeros(span // array.itemsize, array.dtype)
        as_strided(memory, array.shape, array.strides)[...] = array
        self.memory = on_device(memory)
        self.__cuda_array_interface__ = self.memory.__cuda_array_interface__ | {
            "shape": array.shape,
            "strides": array.strides,
        }


def from_device(array):
    """Return a copy as a NumPy array; bfloat16 as its bits."""
    if isinstance(array, DeviceArray):
        return array.read()
    import torch

    return array.view(torch.int16).cpu().numpy().view("uint16")


def run(function, inputs, outputs, dtypes=(), results=()):
    """Call a function; return its outputs as NumPy arrays.

    ``outputs`` have the shapes and dtypes of the outputs, whose values are overwritten with
    nonsense.  ``dtypes`` and ``results`` name the element types where there is bfloat16.
    """
    given = _all_on_device(inputs, dtypes)
    found = _all_on_device([np.full(o.shape, 77, o.dtype) for o in outputs], results)
    function(*given, *found)
    return [from_device(array) for array in found]


def _all_on_device(arrays, dtypes):
    kinds = dtypes or [""] * len(arrays)
    return [on_device(a, kind) for a, kind in zip(arrays, kinds, strict=True)]


def run_kernel(kernel, arrays, extents=None):
    """Run a kernel at the level of threads, with values of its extents; return its outputs."""
    entries = {
        launch: Entry(cuda.symbol(kernel, launch), *cuda.launch_parameters(kernel, launch))
        for launch in cuda.launches(kernel)
    }
    device = driver.device(0)
    program = Program(kernel, cuda.emit_program(kernel), device.arch, entries)
    given = [on_device(a) for a in arrays]
    program.configure(extents or {}, device).run([a.base for a in given], 0)
    return [given[kernel.params.index(b)].read() for b in kernel.outputs]
