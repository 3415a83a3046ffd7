# SPDX-License-Identifier: Apache-2.0
"""What the thread pool costs: ``python benchmarks/threads.py``.

A chunk that only waits for a given time stands for work that never meets a memory limit.  The
first table is the cost of a loop without work: a start, four chunks, and an end.  The second tells
from how much work on a second thread pays, which is what ``runtime/threads.py`` is set by: "awake"
calls follow each other at once, "asleep" ones after a pause, when the workers sleep.

All figures are medians of alternating blocks, since other programs may run; where they keep all
CPUs busy, no second thread can pay.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable

from measure import machine

from axisfold.config import available_cpus, config
from axisfold.runtime.cpu import compile_llvm
from axisfold.runtime.threads import CHUNK_WORK, CHUNKS_WORTH_SHARING, pool

# A round is a step of a chain of multiplications, which takes about a nanosecond.
CHUNK = """
define i32 @"benchmark.chunk"(ptr %context, i64 %begin, i64 %end) nounwind {
entry:
  %sink = alloca i64
  %empty = icmp sge i64 %begin, %end
  br i1 %empty, label %leave, label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %x = phi i64 [ %begin, %entry ], [ %y, %loop ]
  %z = mul i64 %x, 6364136223846793005
  %y = add i64 %z, 1442695040888963407
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  store volatile i64 %y, ptr %sink
  br label %leave
leave:
  ret i32 0
}
"""
BLOCKS = 7

Call = Callable[[int], float]


def calls() -> tuple[Call, Call]:
    """Return functions of a number of rounds: run them in the pool, or directly; seconds."""
    code = compile_llvm(CHUNK, "benchmark.chunk")
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    share = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, integer, integer)(
        pool().code.address
    )
    direct = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, integer, integer)(code.address)

    def pooled(rounds: int) -> float:
        # At least as many chunks as are ever shared, however little there is to do.
        effort = max(1, CHUNKS_WORTH_SHARING * CHUNK_WORK // rounds + 1)
        start = time.perf_counter()
        share(code.address, None, rounds, effort)
        return time.perf_counter() - start

    def alone(rounds: int) -> float:
        start = time.perf_counter()
        direct(None, 0, rounds)
        return time.perf_counter() - start

    return pooled, alone


def medians(rounds: int, repeats: int, counts: list[int]) -> dict[str, float]:
    """Return median microseconds of each way to run some rounds, in blocks that alternate."""
    pooled, alone = calls()
    times: dict[str, list[float]] = {"alone": []}
    for count in counts:
        times[f"{count} threads"] = []
        if count > 1:
            times[f"{count} asleep"] = []
    for _ in range(BLOCKS):
        times["alone"] += [alone(rounds) for _ in range(repeats)]
        for count in counts:
            config.threads = count
            for _ in range(5):  # workers that are new start here
                pooled(rounds)
            times[f"{count} threads"] += [pooled(rounds) for _ in range(repeats)]
            if count > 1:
                for _ in range(repeats // 4):
                    time.sleep(0.0005)
                    times[f"{count} asleep"].append(pooled(rounds))
    return {name: statistics.median(values) * 1e6 for name, values in times.items()}


def main() -> None:
    """Print both tables; an argument is the number of threads to measure."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else max(2, available_cpus())
    print(machine())
    counts = sorted({1, 2, most})
    found = medians(4, 200, counts)
    print("a loop without work, microseconds with the call from Python:")
    print("  " + ", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    print("microseconds of work: alone, and with threads")
    for exponent in range(10, 20):
        found = medians(1 << exponent, 40, counts)
        print("  " + ", ".join(f"{name} {value:7.1f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
