# SPDX-License-Identifier: Apache-2.0
"""CUDA C++ for NVRTC: readable source that includes no header; needs no compiler itself."""

from axisfold.codegen.cuda.program import (
    OPTIONS,
    emit_program,
    launch_parameters,
    launches,
    symbol,
)

__all__ = ["OPTIONS", "emit_program", "launch_parameters", "launches", "symbol"]
