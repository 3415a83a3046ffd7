# SPDX-License-Identifier: Apache-2.0
"""Objects that say, by the protocols of device arrays, that they are in a GPU's memory."""


class Interface:
    """What numba's arrays show of themselves, with the layout of a NumPy array."""

    def __init__(self, like, address, **changes):
        self.shape = like.shape
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": like.shape,
            "strides": None if like.flags.c_contiguous else like.strides,
            "typestr": like.dtype.str,
        } | changes


class DLPackArray:
    """A NumPy array that claims a device; its memory is the host's, which nobody notices."""

    def __init__(self, array, device=(2, 0)):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, **options):
        self.streams.append(stream)
        return self.array.__dlpack__(**options)
