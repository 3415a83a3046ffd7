# SPDX-License-Identifier: Apache-2.0
"""A CUDA driver that only notes what it is asked; device arrays that say where they are."""

from cuda_support.arrays import DLPackArray, Interface
from cuda_support.driver import FakeDriver, install

__all__ = ["DLPackArray", "FakeDriver", "Interface", "install"]
