# SPDX-License-Identifier: Apache-2.0
"""NVRTC and ptxas, without a device."""

import io
import re

from axisfold.codegen.cuda import OPTIONS


def compile_program(text, arch="sm_90"):
    """Compile a program to machine code; return the bytes of stack of each function."""
    from cuda.core import Program, ProgramOptions

    assert OPTIONS == ("-std=c++17", "-fmad=false")
    log = io.StringIO()
    options = ProgramOptions(arch=arch, std="c++17", fma=False, ptxas_options=["-v"])
    Program(text, "c++", options).compile("cubin", logs=log)
    report = log.getvalue()
    # The table compares unsigned numbers with 0.
    assert not re.search(r"warning #(?!186)", report), report
    return {name: int(stack) for name, stack in _STACK.findall(report)}


_STACK = re.compile(r"Function properties for (\w+)\n\D*(\d+) bytes stack frame")
