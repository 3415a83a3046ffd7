# SPDX-License-Identifier: Apache-2.0
"""For the tests of CUDA: programs, compilers, a driver that takes notes, and device arrays."""

from cuda_support.arrays import DLPackArray, Interface
from cuda_support.driver import FakeDriver, install

__all__ = ["DLPackArray", "FakeDriver", "Interface", "install"]
