# SPDX-License-Identifier: Apache-2.0
"""NVRTC through cuda.core, without a device."""

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from header_support.paths import INCLUDE


def compile_text(
    text: str,
    arch: str,
    defines: Sequence[str] = (),
    *,
    default_device: bool = False,
    is_quick: bool = False,
) -> tuple[Any, str]:
    """Compile to cubin; return the object code and the compiler's log.

    ``is_quick`` leaves out most of the optimizer, which takes four fifths of the time.
    """
    from cuda.core import Program, ProgramOptions

    log = io.StringIO()
    options = ProgramOptions(
        arch=arch,
        std="c++17",
        include_path=[str(INCLUDE)],
        define_macro=[_macro(define) for define in defines] or None,
        device_as_default_execution_space=default_device,
        ofast_compile="max" if is_quick else None,
    )
    code = Program(text, "c++", options).compile("cubin", logs=log)
    return code, log.getvalue().strip().strip("\0")


def _macro(define: str) -> Any:
    name, _, value = define.partition("=")
    return (name, value) if value else name


@cache
def compile_file(
    path: Path, arch: str, defines: tuple[str, ...] = (), *, is_quick: bool = False
) -> tuple[Any, str]:
    """Compile a file, with the files beside it inlined.

    NVRTC has no current folder; a kernel's own ``#include "common.cuh"`` is replaced by the text. A
    file that mentions the option ``-default-device`` is compiled with it.
    """
    text = path.read_text()
    for other in path.parent.glob("*.cuh"):
        text = text.replace(f'#include "{other.name}"', other.read_text())
    needs_option = "-default-device" in text
    return compile_text(text, arch, defines, default_device=needs_option, is_quick=is_quick)
