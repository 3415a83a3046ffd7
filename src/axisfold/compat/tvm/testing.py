# SPDX-License-Identifier: Apache-2.0
"""What te scripts check their results with."""

from __future__ import annotations

from typing import Any

import numpy as np

from axisfold.compat.tvm.device import Device, cpu, cuda
from axisfold.compat.tvm.runtime import enabled


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError unless shapes are equal and values within ``atol + rtol*|desired|``."""
    a, b = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(a.shape, b.shape)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, verbose=True)


device_enabled = enabled


def enabled_targets() -> list[tuple[str, Device]]:
    """Return the targets that run here, with their devices."""
    return [("llvm", cpu(0)), *([("cuda", cuda(0))] if cuda(0).exist else [])]
