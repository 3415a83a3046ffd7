# SPDX-License-Identifier: Apache-2.0
"""Where an array lives, asked of the array alone: no library is imported for it."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

# DLPack's numbers of device memory and of memory that host and devices share.
_CUDA: Final = 2
_CUDA_MANAGED: Final = 13


def is_tensor(array: Any) -> bool:
    """Whether an object is a tensor of PyTorch."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(array, tensor)


def is_on_gpu(array: Any) -> bool:
    """Whether an object is an array in the memory of a CUDA device."""
    if isinstance(array, np.ndarray | np.generic):
        return False
    if is_tensor(array):
        return bool(array.is_cuda)
    try:
        kind = array.__dlpack_device__()[0]
    except AttributeError:
        return has_interface(array)
    return kind in (_CUDA, _CUDA_MANAGED)


def has_interface(array: Any) -> bool:
    """Whether an object has the attribute by which CUDA arrays are exchanged."""
    return getattr(array, "__cuda_array_interface__", None) is not None
