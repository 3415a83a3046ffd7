# SPDX-License-Identifier: Apache-2.0
"""The limit: reading memory and doing nothing with it, on the threads that kernels run on.

How fast memory can be read depends on how it is asked for, and the best way differs between
machines, so several patterns are tried.  The fastest one is the limit, and is timed as every
library is, once in a round: the best of four times as many times would favour it, since a machine
that is shared with others is now and then faster for some milliseconds.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from axisfold.runtime.cpu import compile_llvm
from axisfold.runtime.threads import pool

BLOCK: Final = 1 << 20
VECTOR: Final = 32
# Streams that a thread reads at once, vectors of each in a round, bytes of prefetch ahead.
PATTERNS: Final = ((1, 8, 0), (2, 4, 512), (4, 2, 0), (8, 1, 0))
TRIALS: Final = 7


def program(streams: int, vectors: int, ahead: int) -> str:
    """Return LLVM IR of ``sweep(context, blocks, vectors of one stream in a block)``."""
    kind = f"<{VECTOR // 8} x i64>"
    names = [f"{s}.{v}" for s in range(streams) for v in range(vectors)]
    held = [f"  %o{n} = phi {kind} [ zeroinitializer, %entry ], [ %n{n}, %next ]" for n in names]
    body = [f"  %a{n} = phi {kind} [ %o{n}, %go ], [ %n{n}, %loop ]" for n in names]
    for s in range(streams):
        body.append(f"  %q{s} = getelementptr i8, ptr %p, i64 {s * BLOCK // streams}")
        body.append(f"  %r{s} = getelementptr i8, ptr %q{s}, i64 %i")
        for line in range(0, vectors * VECTOR if ahead else 0, 64):
            body.append(f"  %f{s}.{line} = getelementptr i8, ptr %r{s}, i64 {ahead + line}")
            body.append(f"  call void @llvm.prefetch.p0(ptr %f{s}.{line}, i32 0, i32 3, i32 1)")
        for v in range(vectors):
            n = f"{s}.{v}"
            body.append(f"  %g{n} = getelementptr i8, ptr %r{s}, i64 {v * VECTOR}")
            body.append(f"  %l{n} = load {kind}, ptr %g{n}, align 8")
            body.append(f"  %n{n} = or {kind} %a{n}, %l{n}")
    total, folds = f"%o{names[0]}", []
    for k, n in enumerate(names[1:]):
        folds.append(f"  %t{k} = or {kind} {total}, %o{n}")
        total = f"%t{k}"
    lines = [
        "define internal i32 @chunk(ptr %context, i64 %begin, i64 %end) nounwind {", "entry:",
        "  %base = load ptr, ptr %context", "  br label %outer", "outer:",
        "  %b = phi i64 [ %begin, %entry ], [ %b2, %next ]", *held,
        "  %more = icmp slt i64 %b, %end", "  br i1 %more, label %go, label %done", "go:",
        f"  %offset = mul i64 %b, {BLOCK}", "  %p = getelementptr i8, ptr %base, i64 %offset",
        "  br label %loop", "loop:", "  %i = phi i64 [ 0, %go ], [ %i2, %loop ]", *body,
        f"  %i2 = add i64 %i, {vectors * VECTOR}",
        f"  %inside = icmp slt i64 %i2, {BLOCK // streams}",
        "  br i1 %inside, label %loop, label %next", "next:", "  %b2 = add i64 %b, 1",
        "  br label %outer", "done:", *folds, "  %sink = getelementptr i8, ptr %context, i64 64",
        f"  store {kind} {total}, ptr %sink, align 8", "  ret i32 0", "}",
        "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
        "declare i32 @axisfold_parallel(ptr, ptr, i64, i64)",
        "define i32 @sweep(ptr %context, i64 %blocks) nounwind {",
        "  %s = call i32 @axisfold_parallel(ptr @chunk, ptr %context, i64 %blocks, i64 40000)",
        "  ret i32 %s", "}",
    ]  # fmt: skip
    return "\n".join(lines)


class Sweep:
    """Reads arrays by the pattern that was the fastest of all in a trial; keeps its best time."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        pool()
        self.spans = [span(a) for a in arrays]
        self.nbytes = sum(size for _, size in self.spans)
        if min(size for _, size in self.spans) < BLOCK:
            raise SystemExit(f"arrays are smaller than {BLOCK} bytes: choose a larger --scale.")
        self.context = (ctypes.c_int64 * 24)()
        functions = [compile_llvm(program(*p), "sweep").function(1, 1) for p in PATTERNS]
        trials = [[self._timed(f) for f in functions] for _ in range(TRIALS)]
        fastest = [min(times) for times in zip(*trials, strict=True)]
        self.function = functions[fastest.index(min(fastest))]
        self.best = float("inf")

    def round(self) -> None:
        """Read everything once."""
        self.best = min(self.best, self._timed(self.function))

    def _timed(self, function: Callable[..., int]) -> float:
        """Return the seconds that a pattern takes, whole blocks standing for all bytes."""
        address = ctypes.addressof(self.context)
        start = time.perf_counter()
        for base, size in self.spans:
            self.context[0] = base
            function(address, size // BLOCK)
        passed = time.perf_counter() - start
        return passed * self.nbytes / sum(size // BLOCK * BLOCK for _, size in self.spans)


def span(array: np.ndarray) -> tuple[int, int]:
    """Return the first address and the size of the memory that an array's elements lie in."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high - low
