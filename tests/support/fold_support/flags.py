# SPDX-License-Identifier: Apache-2.0
"""What a processor notes of the operations of a thread."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from typing import Any

import pytest

IS_X86 = platform.machine().lower() in ("x86_64", "amd64")
UNDERFLOW = 0x10

needs_flags = pytest.mark.skipif(
    sys.platform != "linux" or not IS_X86, reason="asks glibc for x86's flags"
)


def underflows(function: Callable[[], Any]) -> bool:
    """Return whether a result in this thread was subnormal and not exact."""
    libm = ctypes.CDLL("libm.so.6")
    libm.feclearexcept(UNDERFLOW)
    function()
    return libm.fetestexcept(UNDERFLOW) == UNDERFLOW
