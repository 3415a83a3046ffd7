# SPDX-License-Identifier: Apache-2.0
"""How fast this machine reads memory: measured by kernels of our own that do little else.

How fast memory can be read depends on how it is asked for, and the best way differs between
machines, so several are timed and the fastest counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from axisfold.build import build
from axisfold.config import config
from axisfold.runtime.records import host_name, read_record, write_record
from axisfold.schedule.schedule import Schedule, create_schedule
from axisfold.tensor.axis import reduce_axis
from axisfold.tensor.commreduce import sum as te_sum
from axisfold.tensor.compute import compute
from axisfold.tensor.tensor import Tensor, placeholder, size_var

# Places that a thread reads at once, and vectors of each in a round.
PATTERNS: Final = ((1, 8), (2, 4), (4, 2), (8, 1))
_LANES: Final = 8
_CHUNK_BYTES: Final = 1 << 20
# More than the caches of any processor hold.
BUFFER_BYTES: Final = 256 << 20
_ROUNDS: Final = 5
_KIND: Final = "read-limit"


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """How fast memory is read.

    Attributes
    ----------
    bytes_per_second
        What was reached.
    threads
        Threads that read; 0 for a GPU, all of which reads.
    machine
        Where that was.
    """

    bytes_per_second: float
    threads: int
    machine: str


@contextmanager
def using_threads(threads: int) -> Iterator[None]:
    """Let parallel loops use another number of threads for a while."""
    before = config.threads
    try:
        if threads != before:
            config.threads = threads
        yield
    finally:
        if threads != before:
            config.threads = before


def read_limit(threads: int, *, refresh: bool = False) -> ReadLimit:
    """Return how fast this machine's CPUs read memory; measured once, and kept in the cache folder.

    Parameters
    ----------
    threads
        Threads that read.
    refresh
        Measure again.
    """
    if refresh:
        _measured.pop(threads, None)
    if threads not in _measured:
        about = {"threads": threads, "bytes": BUFFER_BYTES}
        record = None if refresh else read_record(_KIND, about)
        speed = None if record is None else record.get("bytes_per_second")
        if not isinstance(speed, float) or not speed > 0:
            speed = measure_read(threads, BUFFER_BYTES)
            write_record(_KIND, about, {"bytes_per_second": speed})
        _measured[threads] = ReadLimit(speed, threads, host_name())
    return _measured[threads]


_measured: dict[int, ReadLimit] = {}


def measure_read(threads: int, size: int) -> float:
    """Return the bytes a second of the fastest way to read ``size`` bytes of memory.

    Parameters
    ----------
    threads
        Threads that read.
    size
        A multiple of the chunk of 1 MiB.
    """
    memory = np.ones(size // 8, np.int64)  # written, so that every page is there
    with using_threads(threads):
        calls = [reader(memory, *pattern)[0] for pattern in PATTERNS]
        best = min(_best(call) for call in calls)
    return size / best


def _best(call: Callable[[], None]) -> float:
    call()
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def reader(
    memory: np.ndarray[Any, Any], streams: int, vectors: int
) -> tuple[Callable[[], None], np.ndarray[Any, Any]]:
    """Return what reads memory of whole chunks by a pattern, and the sums that it leaves."""
    function = build(*read_schedule(streams, vectors), name="read")
    rounds = _CHUNK_BYTES // 8 // (streams * vectors * _LANES)
    chunks = memory.reshape(-1, streams, rounds, vectors, _LANES)
    sums = np.empty((len(chunks), streams, vectors, _LANES), np.int64)
    return lambda: function(chunks, sums), sums


def read_schedule(streams: int, vectors: int) -> tuple[Schedule, list[Tensor]]:
    """Return a schedule that reads memory, and its arguments.

    A chunk of memory is a few streams, each of rounds of vectors; threads share the chunks, and
    the sums of a chunk are in registers.
    """
    n, m = size_var("n", "int64"), size_var("m", "int64")
    x = placeholder((n, streams, m, vectors, _LANES), "int64", "x")
    k = reduce_axis((0, m), "k")
    total: Any = compute(
        (n, streams, vectors, _LANES),
        lambda c, s, v, i: te_sum(x[c, s, k, v, i], axis=k),
        name="total",
    )
    schedule = create_schedule(total.op)
    held = schedule.cache_write(total, "local")
    stage = schedule[total]
    chunk, stream, vector, lane = stage.op.axis
    stage.parallel(chunk)
    stage.unroll(stream)
    stage.unroll(vector)
    stage.vectorize(lane)
    inner = schedule[held]
    inner.compute_at(stage, chunk)
    _, stream, vector, lane = inner.op.axis
    inner.reorder(inner.op.reduce_axis[0], stream, vector, lane)
    inner.unroll(stream)
    inner.unroll(vector)
    inner.vectorize(lane)
    return schedule, [x, total]
