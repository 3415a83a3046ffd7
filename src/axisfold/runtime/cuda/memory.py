# SPDX-License-Identifier: Apache-2.0
"""Arrays in a GPU's memory for programs that have no array library, and a clock on the GPU."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axisfold.interop.views import View, compact_strides
from axisfold.runtime.cuda.driver import Device, api, call, device, missing_extra
from axisfold.runtime.cuda.streams import LEGACY_STREAM, wait_for

Array = np.ndarray[Any, Any]

# DLPack's number of device memory.
DLPACK_CUDA: Final = 2


class DeviceArray:
    """An array in a GPU's memory, which is freed with it.

    Any library takes it as an array through ``__cuda_array_interface__`` or DLPack.

    Parameters
    ----------
    shape
        Extents.
    dtype
        Element type, of NumPy.
    index
        Number of the device.
    strides
        Steps in elements; None for C order.
    first
        Elements of the memory before the first one.
    is_ordered
        Allocate and free in the order of the legacy default stream, without waiting for others.

    Raises
    ------
    ArgumentError
        ``A213``: there is no such device.
    ResourceError
        ``X203``: the device has no memory left.
    """

    __slots__ = ("__weakref__", "base", "device", "dtype", "first", "shape", "strides")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        index: int = 0,
        *,
        strides: tuple[int, ...] | None = None,
        first: int = 0,
        is_ordered: bool = False,
    ) -> None:
        self.shape, self.device = shape, device(index)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        size = self.dtype.itemsize
        self.strides = None if strides is None else tuple(step * size for step in strides)
        self.first, self.base = first * size, 0
        if self.nbytes:
            in_order = is_ordered and self.device.has_pools
            with self.device.current():
                self.base = int(
                    call("cuMemAllocAsync", self.nbytes, 0)
                    if in_order
                    else call("cuMemAlloc", self.nbytes)
                )
            finalizer = weakref.finalize(self, _free, self.device, self.base, in_order)
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
            "data": (self.base + self.first, False),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "stream": LEGACY_STREAM,
        }

    def device_view(self) -> View:
        """Return the array as plain data."""
        strides = self.strides
        return View(
            self.base + self.first, self.shape,
            compact_strides(self.shape, self.dtype.itemsize) if strides is None else strides,
            str(self.dtype.name), self.dtype.itemsize, self.device.index,
            stream=LEGACY_STREAM, owner=self,
        )  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CUDA, self.device.index

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        try:
            from cuda.core import Buffer
            from cuda.core.utils import StridedMemoryView
        except ImportError as error:
            raise missing_extra("cuda.core") from error
        size = self.dtype.itemsize
        strides = None if self.strides is None else tuple(step // size for step in self.strides)
        if strides is not None and min(strides, default=0) < 0:
            raise BufferError(
                f"the array has negative strides {self.strides}, which not every library takes by "
                "DLPack: use __cuda_array_interface__, as by cupy.asarray(x)."
            )
        memory = Buffer.from_handle(self.base + self.first, self.nbytes - self.first, owner=self)
        view = StridedMemoryView.from_buffer(memory, self.shape, strides, dtype=self.dtype)
        if stream not in (None, -1):
            with self.device.current():
                wait_for(stream, LEGACY_STREAM)
        return view.__dlpack__(stream=-1, **options)

    def write(self, values: Any) -> None:
        """Take the values of an array of the same shape; waits for work that still reads them."""
        source = np.ascontiguousarray(values, self.dtype).reshape(self.shape)
        if source.nbytes:
            with self.device.current():
                call("cuMemcpyHtoD", self.base, source.ctypes.data, source.nbytes)

    def read(self) -> Array:
        """Return a copy as a NumPy array; waits for work that still writes the values."""
        values: Array = np.empty(self.shape, self.dtype)
        if values.nbytes:
            with self.device.current():
                call("cuMemcpyDtoH", values.ctypes.data, self.base, values.nbytes)
        if self.strides is None:
            return values
        return np.ndarray(self.shape, self.dtype, values.data, self.first, self.strides)


def _free(device: Device, address: int, in_order: bool) -> None:
    with device.current():
        if in_order:
            call("cuMemFreeAsync", address, 0)
        else:
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
