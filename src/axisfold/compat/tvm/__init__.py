# SPDX-License-Identifier: Apache-2.0
"""The names of TVM's te era: ``import axisfold.compat.tvm as tvm`` runs a script of that time.

It only renames and wraps; what the names do is told by :mod:`axisfold.te` and
:func:`axisfold.build`.  ``docs/te.md`` lists what differs from TVM.
"""

from __future__ import annotations

from typing import Any, Final

from axisfold import te
from axisfold.compat.tvm import ir, module, nd, runtime, target, testing, tir, topi, transform
from axisfold.compat.tvm.device import cpu, cuda, device, gpu
from axisfold.compat.tvm.module import IRModule, Module, build, lower
from axisfold.compat.tvm.target import Target
from axisfold.compat.tvm.transform import build_config
from axisfold.errors import AxisfoldError
from axisfold.schedule.schedule import Schedule

TVMError = AxisfoldError
Range = ir.Range
context = device
convert = runtime.convert
schedule = te.OutOfScope("tvm.schedule")

__all__ = [
    "IRModule", "Module", "Range", "Schedule", "TVMError", "Target", "build", "build_config",
    "context", "convert", "cpu", "cuda", "device", "gpu", "ir", "lower", "module", "nd", "runtime",
    "schedule", "target", "te", "testing", "tir", "topi", "transform",
]  # fmt: skip

OUT_OF_SCOPE: Final = frozenset(
    {
        "auto_scheduler", "autotvm", "contrib", "driver", "extern", "hybrid", "ir_pass",
        "meta_schedule", "micro", "relax", "relay", "rpc", "scan", "script",
    }
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return te's ``name``: until version 0.6 all of te stood at the top level."""
    if name in OUT_OF_SCOPE:
        return te.OutOfScope(f"tvm.{name}")
    if name in te.__all__:
        return getattr(te, name)
    raise AttributeError(f"module 'axisfold.compat.tvm' has no attribute {name!r}")
