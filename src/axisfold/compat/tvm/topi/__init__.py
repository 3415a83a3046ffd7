# SPDX-License-Identifier: Apache-2.0
"""topi: reductions and softmax as te computations, and schedules for them.

Schedules have one home: ``topi.generic``, ``topi.x86`` and ``topi.cuda`` are names of it, and all
of them schedule for CPUs.
"""

from axisfold.compat.tvm.topi import nn, schedules
from axisfold.compat.tvm.topi.nn import log_softmax, softmax
from axisfold.compat.tvm.topi.reduction import all, any, argmax, argmin, max, min, prod, sum

generic = x86 = cuda = schedules

__all__ = [
    "all", "any", "argmax", "argmin", "cuda", "generic", "log_softmax", "max", "min", "nn", "prod",
    "schedules", "softmax", "sum", "x86",
]  # fmt: skip
