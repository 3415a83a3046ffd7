# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory for programs that have no array library, and a clock on the GPU."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from axisfold.runtime.cuda.driver import Device, api, call, device

Array = np.ndarray[Any, Any]


class DeviceArray:
    """An array in C order in a GPU's memory, which is freed with it.

    Any library takes it as an array through ``__cuda_array_interface__``.

    Parameters
    ----------
    shape
        Extents.
    dtype
        Element type, of NumPy.
    index
        Number of the device.

    Raises
    ------
    ArgumentError
        ``A213``: there is no such device.
    ResourceError
        ``X203``: the device has no memory left.
    """

    __slots__ = ("__weakref__", "_address", "device", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any, index: int = 0) -> None:
        self.shape, self.device = shape, device(index)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._address = 0
        if self.nbytes:
            with self.device.current():
                self._address = int(call("cuMemAlloc", self.nbytes))
            finalizer = weakref.finalize(self, _free, self.device, self._address)
            finalizer.atexit = False  # the driver frees what is left

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "data": (self._address, False),
            "shape": self.shape,
            "strides": None,
            "typestr": self.dtype.str,
        }

    def write(self, values: Any) -> None:
        """Take the values of an array of the same shape; waits for work that still reads them."""
        source = np.ascontiguousarray(values, self.dtype).reshape(self.shape)
        if source.nbytes:
            with self.device.current():
                call("cuMemcpyHtoD", self._address, source.ctypes.data, source.nbytes)

    def read(self) -> Array:
        """Return a copy as a NumPy array; waits for work that still writes the values."""
        values: Array = np.empty(self.shape, self.dtype)
        if values.nbytes:
            with self.device.current():
                call("cuMemcpyDtoH", values.ctypes.data, self._address, values.nbytes)
        return values


def _free(device: Device, address: int) -> None:
    with device.current():
        call("cuMemFree", address)


def synchronize(index: int) -> None:
    """Wait for all work of a device."""
    with device(index).current():
        call("cuCtxSynchronize")


def seconds_on_gpu(index: int, run: Callable[[], object]) -> float:
    """Return the seconds that a GPU spends on what ``run`` puts on its legacy default stream."""
    flags = api().CUevent_flags.CU_EVENT_DEFAULT
    with device(index).current():
        start, end = call("cuEventCreate", flags), call("cuEventCreate", flags)
        try:
            call("cuEventRecord", start, 0)
            run()
            call("cuEventRecord", end, 0)
            call("cuEventSynchronize", end)
            milliseconds: float = call("cuEventElapsedTime", start, end)
        finally:
            call("cuEventDestroy", start)
            call("cuEventDestroy", end)
    return milliseconds / 1e3
