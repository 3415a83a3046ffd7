# SPDX-License-Identifier: Apache-2.0
"""Machines that run the header tests: a host shim, and a CUDA device where there is one."""

from header_support.machine import HostMachine, KernelFault, Machine
from header_support.paths import INCLUDE, KERNELS

__all__ = ["INCLUDE", "KERNELS", "HostMachine", "KernelFault", "Machine"]
