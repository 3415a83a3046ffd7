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


def run(function, inputs, outputs, dtypes=()):
    """Call a function; return its outputs, which are like the given ones, as NumPy arrays."""
    kinds = dtypes or [""] * len(inputs)
    given = [on_device(a, d) for a, d in zip(inputs, kinds, strict=True)]
    results = [on_device(np.full(o.shape, 77, o.dtype)) for o in outputs]
    function(*given, *results)
    return [r.read() for r in results]


def run_kernel(kernel, arrays):
    """Run a kernel of constant extents at the level of threads; return its outputs."""
    entries = {
        launch: Entry(cuda.symbol(kernel, launch), *cuda.launch_parameters(kernel, launch))
        for launch in cuda.launches(kernel)
    }
    device = driver.device(0)
    program = Program(kernel, cuda.emit_program(kernel), device.arch, entries)
    given = [on_device(a) for a in arrays]
    program.configure({}, device).run([a.base for a in given], 0)
    return [given[kernel.params.index(b)].read() for b in kernel.outputs]
