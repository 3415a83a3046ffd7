# SPDX-License-Identifier: Apache-2.0
"""topi: reductions and softmax as te computations, and schedules for them.

``topi.x86`` schedules for CPUs, ``topi.cuda`` for GPUs, and ``topi.generic`` for whichever is the
current target.
"""

from axisfold.compat.tvm.topi import generic, nn
from axisfold.compat.tvm.topi import gpu_schedules as cuda
from axisfold.compat.tvm.topi import schedules as x86
from axisfold.compat.tvm.topi.nn import log_softmax, softmax
from axisfold.compat.tvm.topi.reduction import all, any, argmax, argmin, max, min, prod, sum

__all__ = [
    "all", "any", "argmax", "argmin", "cuda", "generic", "log_softmax", "max", "min", "nn", "prod",
    "softmax", "sum", "x86",
]  # fmt: skip
