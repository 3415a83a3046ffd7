# SPDX-License-Identifier: Apache-2.0
"""Schedules for the target of the innermost ``with tvm.target.Target``: GPUs, else CPUs."""

from __future__ import annotations

from typing import Any

from axisfold import te
from axisfold.compat.tvm import target
from axisfold.compat.tvm.topi import gpu_schedules, schedules


def schedule_injective(outs: Any) -> te.Schedule:
    """Schedule elementwise computations, on a GPU a thread for each element.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.
    """
    return (
        gpu_schedules.schedule_injective(outs) if _is_gpu() else schedules.schedule_injective(outs)
    )


schedule_elemwise = schedule_broadcast = schedule_injective


def schedule_reduce(outs: Any) -> te.Schedule:
    """Schedule reductions; what they read is computed in place.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.
    """
    return gpu_schedules.schedule_reduce(outs) if _is_gpu() else schedules.schedule_reduce(outs)


def schedule_softmax(outs: Any) -> te.Schedule:
    """Schedule softmax or log_softmax.

    Parameters
    ----------
    outs
        Output tensor, or a list of them.
    """
    return gpu_schedules.schedule_softmax(outs) if _is_gpu() else schedules.schedule_softmax(outs)


def _is_gpu() -> bool:
    current = target.Target.current()
    return current is not None and current.native.has_threads
