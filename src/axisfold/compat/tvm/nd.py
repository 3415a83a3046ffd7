# SPDX-License-Identifier: Apache-2.0
"""Arrays of te scripts: a NumPy array, or one of a GPU, under TVM's method names."""

from __future__ import annotations

from typing import Any

import numpy as np

from axisfold.compat.tvm.device import Device, cpu, cuda, device, gpu
from axisfold.dtypes import parse
from axisfold.errors import ArgumentError
from axisfold.runtime.cuda.memory import DeviceArray

__all__ = ["Device", "NDArray", "array", "cpu", "cuda", "device", "empty", "gpu"]


class NDArray:
    """An array on a device.

    Attributes
    ----------
    data
        The array that compiled functions read and write: of NumPy on the CPU.
    device
        Where it lives.
    """

    __slots__ = ("data", "device")

    def __init__(self, data: np.ndarray[Any, Any] | DeviceArray, where: Device) -> None:
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
        return self.data.read() if isinstance(self.data, DeviceArray) else self.data.copy()

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
        self._write(values)
        return self

    def _write(self, values: np.ndarray[Any, Any]) -> None:
        if isinstance(self.data, DeviceArray):
            self.data.write(values)
        else:
            self.data[...] = values

    def copyto(self, target: NDArray | Device) -> NDArray:
        """Copy the values to an array, or to a new one on a device."""
        if isinstance(target, Device):
            return array(self, target)
        return target.copyfrom(self)

    def __getitem__(self, index: Any) -> Any:
        return (self.numpy() if isinstance(self.data, DeviceArray) else self.data)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        values = self.numpy() if isinstance(self.data, DeviceArray) else self.data
        values[index] = np.asarray(value)
        if values is not self.data:
            self._write(values)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if isinstance(self.data, DeviceArray):
            return np.asarray(self.numpy(), dtype)
        return np.array(self.data, dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"


def array(values: Any, device: Device | None = None) -> NDArray:
    """Return a copy of an array or a nested list on a device, by default the CPU.

    Raises
    ------
    DeviceError
        ``X302``: there is no GPU.
    """
    source = np.array(values, order="C")
    made = empty(source.shape, source.dtype, device)
    made._write(source)
    return made


def empty(shape: Any, dtype: Any = "float32", device: Device | None = None) -> NDArray:
    """Return an array of the shape whose values are not set.

    Raises
    ------
    DeviceError
        ``X302``: there is no GPU.
    """
    where = device or cpu()
    extents = tuple(shape) if np.iterable(shape) else (shape,)
    kind = parse(dtype).to_numpy()
    if where.kind == "cuda":
        return NDArray(DeviceArray(extents, kind, where.index), where)
    return NDArray(np.empty(extents, kind), where)
