# SPDX-License-Identifier: Apache-2.0
"""LLVM IR text for the host's CPU; needs no LLVM itself."""

from axisfold.codegen.llvm.function import emit_kernel, symbol
from axisfold.codegen.llvm.machine import Machine
from axisfold.codegen.llvm.outline import PARALLEL
from axisfold.codegen.signature import scalar_parameters

__all__ = ["PARALLEL", "Machine", "emit_kernel", "scalar_parameters", "symbol"]
