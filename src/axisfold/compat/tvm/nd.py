# SPDX-License-Identifier: Apache-2.0
"""Arrays of te scripts: a NumPy array under TVM's method names."""

from __future__ import annotations

from typing import Any

import numpy as np

from axisfold.compat.tvm.device import Device, cpu, cuda, device, gpu, refuse_cuda
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError

__all__ = ["Device", "NDArray", "array", "cpu", "cuda", "device", "empty", "gpu"]


class NDArray:
    """An array on a device.

    Attributes
    ----------
    data
        The NumPy array that compiled functions read and write.
    device
        Where it lives.
    """

    __slots__ = ("data", "device")

    def __init__(self, data: np.ndarray[Any, Any], where: Device) -> None:
        if not where.exist:
            raise refuse_cuda(f"an array on {where}")
        self.data, self.device = data, where

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return tuple(self.data.shape)

    @property
    def dtype(self) -> str:
        """Name of the element type."""
        return str(self.data.dtype.name)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.data.ndim

    @property
    def ctx(self) -> Device:
        """The device, under its name until version 0.7."""
        return self.device

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy as a NumPy array."""
        return self.data.copy()

    asnumpy = numpy

    def copyfrom(self, source: Any) -> NDArray:
        """Take the values of an array of the same shape.

        Raises
        ------
        ArgumentError
            ``A322``: the shapes differ.
        """
        values = np.asarray(source)
        if values.shape != self.shape:
            raise ArgumentError(
                f"copyfrom: the array has shape {values.shape}, but {self.shape} is needed.",
                code="A322",
            )
        self.data[...] = values
        return self

    def copyto(self, target: NDArray | Device) -> NDArray:
        """Copy the values to an array, or to a new one on a device."""
        if isinstance(target, Device):
            return NDArray(self.data.copy(), target)
        return target.copyfrom(self.data)

    def __getitem__(self, index: Any) -> Any:
        return self.data[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[index] = np.asarray(value)

    def __len__(self) -> int:
        return len(self.data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.data, dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<NDArray shape={self.shape}, {self.device}>\n{self.data!r}"


def array(values: Any, device: Device | None = None) -> NDArray:
    """Return a copy of an array or a nested list on a device, by default the CPU."""
    return NDArray(np.array(values, order="C"), device or cpu())


def empty(shape: Any, dtype: Any = "float32", device: Device | None = None) -> NDArray:
    """Return an array of the shape whose values are not set."""
    return NDArray(np.empty(shape, parse(dtype).to_numpy()), device or cpu())
