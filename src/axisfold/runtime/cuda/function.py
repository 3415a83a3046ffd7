# SPDX-License-Identifier: Apache-2.0
"""Functions of target "cuda": a schedule that GPUs run."""

from __future__ import annotations

from typing import Any

from axisfold.ir.stmt import Kernel
from axisfold.runtime.cuda.call import Caller, Version
from axisfold.runtime.cuda.compile import KernelInfo
from axisfold.runtime.cuda.driver import device
from axisfold.runtime.pickling import NotPickled
from axisfold.target import Target


def this_arch() -> str:
    """Return the architecture of the first GPU.

    Raises
    ------
    DeviceError
        ``X302``: there is none.
    """
    return device(0).arch


class CudaFunction(NotPickled):
    """A compiled schedule; call it with device arrays, outputs are written in place.

    Arrays may have any strides.  Those that do not fit the layout the tensors declare run
    through a second version of the kernel that assumes nothing.

    Attributes
    ----------
    declared, general
        The version for arrays of the declared layout, and for any.
    target
        What it was made for.
    """

    def __init__(self, declared: Version, general: Version, target: Target) -> None:
        self.declared, self.general, self.target = declared, general, target
        self._call = Caller(declared, general)

    @property
    def ir(self) -> Kernel:
        """The loop IR."""
        return self.declared.ir

    @property
    def device(self) -> Kernel:
        """The program of launches."""
        return self.declared.program.kernel

    def source(self) -> str:
        """Return the CUDA C++."""
        return self.declared.program.source

    def sass_info(self) -> dict[str, KernelInfo]:
        """Return registers, spills and shared memory of each kernel by its symbol."""
        return self.declared.program.sass_info()

    def __call__(self, *arrays: Any, stream: Any = None) -> None:
        """Launch on arrays in the order of ``args``, and return without waiting.

        Parameters
        ----------
        arrays
            Arrays on one device: PyTorch tensors, CuPy or numba arrays, or any with DLPack.
        stream
            A stream of any library, or its handle.  By default the current stream of PyTorch or
            CuPy, whichever owns the first array that has one; for other libraries the legacy
            default stream, on which work is ordered with that of all blocking streams.

        Raises
        ------
        ArgumentError
            ``A201`` to ``A205``, as for NumPy arrays; ``A208``: an array in the memory of the
            host; ``A209``: arrays on different devices; ``A211``: elements that are not aligned;
            ``A214``: no stream; ``A215``: a tensor that is part of a gradient.
        DTypeError
            ``D201``: wrong dtype.
        ShapeError
            ``A203``, ``A206``, ``A207``: wrong rank or extents.
        LaunchError
            ``X306``: more blocks, threads or shared memory than the device has.
        DeviceError
            ``X302``: no driver; ``X303``, ``X304``: the driver returned an error.
        """
        self._call(arrays, stream)
