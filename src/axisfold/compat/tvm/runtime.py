# SPDX-License-Identifier: Apache-2.0
"""Small questions that te scripts ask the runtime."""

from __future__ import annotations

from typing import Any

from axisfold.compat.tvm.device import Device, cpu, cuda, device, gpu
from axisfold.compat.tvm.module import Module
from axisfold.compat.tvm.nd import NDArray

__all__ = ["Device", "Module", "NDArray", "convert", "cpu", "cuda", "device", "enabled", "gpu"]


def enabled(target: str) -> bool:
    """Return whether programs for a target can run here."""
    kind = target.split()[:1]
    return kind in (["llvm"], ["cpu"]) or (kind == ["cuda"] and cuda(0).exist)


def convert(value: Any) -> Any:
    """Return the value: Python's own numbers, tuples and functions need no conversion."""
    return value
