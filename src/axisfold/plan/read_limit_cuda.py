# SPDX-License-Identifier: Apache-2.0
"""How fast a GPU reads its memory: measured there by a kernel of our own that does little else."""

from __future__ import annotations

from typing import Any, Final

from axisfold.build import build as build_schedule
from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.plan.read_limit import ReadLimit
from axisfold.runtime.cuda.driver import Device, call
from axisfold.runtime.cuda.timing import name_of, seconds_on_device
from axisfold.runtime.records import read_record, write_record
from axisfold.schedule.schedule import Schedule, create_schedule
from axisfold.target import Target
from axisfold.tensor.axis import reduce_axis, thread_axis
from axisfold.tensor.commreduce import sum as te_sum
from axisfold.tensor.compute import compute
from axisfold.tensor.tensor import Tensor, placeholder, size_var

THREADS: Final = 256
# Loads of a thread that are under way at once, and elements of each: 16 bytes.
LOADS: Final = 4
LANES: Final = 4
# Blocks that a multiprocessor holds at once.
_BLOCKS: Final = 8
# More than the second-level cache of any card.
_BUFFER_BYTES: Final = 1 << 30
_ROUNDS: Final = 10
_KIND: Final = "read-limit"
_LEGACY_STREAM: Final = 1

_measured: dict[int, ReadLimit] = {}


def cuda_read_limit(device: Device, *, refresh: bool = False) -> ReadLimit:
    """Return how fast a device reads its memory; measured once, and kept in the cache folder."""
    name = name_of(device)
    if refresh or device.index not in _measured:
        about = {"device": name, "bytes": _BUFFER_BYTES}
        record = None if refresh else read_record(_KIND, about)
        speed = None if record is None else record.get("bytes_per_second")
        if not isinstance(speed, float) or not speed > 0:
            speed = _measure(device)
            write_record(_KIND, about, {"bytes_per_second": speed})
        _measured[device.index] = ReadLimit(speed, 0, name)
    return _measured[device.index]


def _measure(device: Device) -> float:
    target = Target("cuda", arch=device.arch)
    function: Any = build_schedule(*read_schedule(), target, name="read")
    blocks = _BLOCKS * device.attribute("MULTIPROCESSOR_COUNT")
    of_round = blocks * LOADS * THREADS * LANES * 4
    with device.current():
        free, _ = call("cuMemGetInfo")
        rounds = max(min(_BUFFER_BYTES, free // 2) // of_round, 1)
        size = rounds * of_round
        memory = call("cuMemAlloc", size + blocks * THREADS * LANES * 4)
        try:
            call("cuMemsetD8", memory, 0, size)
            x = _Memory(int(memory), (rounds, blocks, LOADS, THREADS, LANES))
            total = _Memory(int(memory) + size, (blocks, THREADS, LANES))
            times = seconds_on_device(
                lambda: function(x, total, stream=_LEGACY_STREAM), device, _LEGACY_STREAM, _ROUNDS
            )
        finally:
            call("cuMemFree", memory)
    return float(size / min(times))


class _Memory:
    """Device memory as an array of int32."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "data": (address, False), "shape": shape, "typestr": "<i4",
        }  # fmt: skip


def read_schedule() -> tuple[Schedule, list[Tensor]]:
    """Return a schedule that reads memory on a GPU, and its arguments.

    In each round every thread of the grid loads a few vectors, neighbours beside each other, and
    adds them to sums in registers.
    """
    rounds, blocks = size_var("rounds", "int64"), size_var("blocks", "int64")
    # Of the same type as the variables, so that indices stay sums without casts.
    loads, threads, lanes = (build.const(n, INT64) for n in (LOADS, THREADS, LANES))
    shape = (rounds, blocks, loads, threads, lanes)
    x = placeholder(shape, "int32", "x", compact=True, align=LANES * 4)
    r, u = reduce_axis((0, rounds), "r"), reduce_axis((0, loads), "u")
    total: Any = compute(
        (blocks, threads, lanes),
        lambda b, t, i: te_sum(x[r, b, u, t, i], axis=[r, u]),
        name="total",
    )
    schedule = create_schedule(total.op)
    held = schedule.cache_write(total, "local")
    stage = schedule[total]
    block, thread, lane = stage.op.axis
    stage.bind(block, thread_axis("blockIdx.x"))
    stage.bind(thread, thread_axis("threadIdx.x"))
    stage.vectorize(lane)
    inner = schedule[held]
    inner.compute_at(stage, thread)
    outer, load = inner.op.reduce_axis
    inner.reorder(outer, load, inner.op.axis[-1])
    inner.unroll(load)
    inner.vectorize(inner.op.axis[-1])
    return schedule, [x, total]
