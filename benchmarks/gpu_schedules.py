# SPDX-License-Identifier: Apache-2.0
"""Time hand-written schedules on a GPU, beside PyTorch and the read limit, in one run.

Every round times the read limit, axisfold and PyTorch once, with CUDA events; the table shows
medians.  The read limit is a kernel that only reads the same bytes, at its best launch shape.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy
import hand_schedules
import torch
from strategies import READ

from axisfold.build import build


@dataclass(frozen=True)
class Case:
    """A reduction: its schedule, an input, and PyTorch's form of it."""

    name: str
    schedule: Callable[[], tuple[Any, list[Any]]]
    shape: tuple[int, ...]
    dtype: torch.dtype
    result: torch.dtype
    rival: Callable[[torch.Tensor], torch.Tensor]


F32, BF16 = torch.float32, torch.bfloat16
CASES = [
    Case(
        "sum of 2^28 float32",
        lambda: hand_schedules.full_sum(2**28, blocks=1024),
        (2**28,), F32, F32, lambda x: x.sum(),
    ),
    Case(
        "sum axis=1 of (16384, 16384) float32",
        lambda: hand_schedules.row_sum(16384, 16384),
        (16384, 16384), F32, F32, lambda x: x.sum(1),
    ),
    Case(
        "sum axis=0 of (16384, 16384) float32",
        lambda: hand_schedules.column_sum(16384, 16384),
        (16384, 16384), F32, F32, lambda x: x.sum(0),
    ),
    Case(
        "sum axis=0 of (2^25, 8) float32",
        lambda: hand_schedules.narrow_column_sum(2**25, 8, blocks=512),
        (2**25, 8), F32, F32, lambda x: x.sum(0),
    ),
    Case(
        "argmax axis=1 of (8192, 32000) bfloat16",
        lambda: hand_schedules.row_argmax(8192, 32000),
        (8192, 32000), BF16, torch.int32, lambda x: x.argmax(1),
    ),
]  # fmt: skip


def timed(run: Callable[[], object]) -> float:
    """Return the milliseconds of one call on the current stream."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def readers(x: torch.Tensor) -> list[Callable[[], None]]:
    """Return launches of the kernel that only reads ``x``, in several shapes."""
    module = cupy.RawModule(code=READ, options=("-std=c++17",))
    out = torch.zeros(1, dtype=torch.int32, device=x.device)
    count = torch.cuda.get_device_properties(x.device).multi_processor_count
    found = []
    for name in ("read_4", "read_8"):
        kernel = module.get_function(name)
        for per_sm, threads in ((2, 1024), (4, 512), (8, 256), (16, 256), (32, 256)):

            def run(kernel: Any = kernel, per_sm: int = per_sm, threads: int = threads) -> None:
                stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
                arguments = (x.data_ptr(), out.data_ptr(), x.nbytes // 16)
                with stream:
                    kernel((count * per_sm,), (threads,), arguments)

            found.append(run)
    return found


def check(case: Case, x: torch.Tensor, out: torch.Tensor) -> None:
    """Compare with PyTorch's result, sums with one in float64."""
    if case.dtype is BF16:
        rows = torch.arange(len(x), device=x.device)
        assert torch.equal(x[rows, out.long()], x.amax(1))
        return
    wide = case.rival(x.double() if x.numel() <= 2**28 else x)
    size = case.rival(x.abs()).double()
    assert ((out.double() - wide).abs() <= 1e-6 * size).all()


def measure(case: Case, rounds: int) -> dict[str, Any]:
    """Return the figures of a case."""
    generator = torch.Generator("cuda").manual_seed(1)
    x = torch.randn(case.shape, generator=generator, device="cuda", dtype=F32).to(case.dtype)
    start = time.perf_counter()
    function = build(*case.schedule(), "cuda")
    built = time.perf_counter() - start
    shape = case.rival(x).shape
    out = torch.full(shape, 77, dtype=case.result, device="cuda")
    function(x, out)
    check(case, x, out)
    limits = readers(x)
    best = min(limits, key=lambda run: min(timed(run) for _ in range(5)))
    rivals = {"limit": best, "axisfold": lambda: function(x, out), "torch": lambda: case.rival(x)}
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for round_ in range(rounds + 3):
        for name, run in rivals.items():
            elapsed = timed(run)
            if round_ >= 3:
                times[name].append(elapsed)
    rates = {name: x.nbytes / statistics.median(t) / 1e6 for name, t in times.items()}
    info = next(iter(function.sass_info().values()))
    return {"case": case.name, "build_ms": built * 1e3, "registers": info.registers, **rates}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    build(*hand_schedules.row_sum(8, 4096), "cuda")  # loads the compiler
    rows = [measure(case, options.rounds) for case in CASES if options.only in case.name]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{'case':42} {'limit':>6} {'ours':>6} {'torch':>6}  {'share':>6}  build ms  registers")
    for row in rows:
        share = row["axisfold"] / row["limit"]
        print(
            f"{row['case']:42} {row['limit']:6.0f} {row['axisfold']:6.0f} {row['torch']:6.0f}"
            f"  {share:6.3f}  {row['build_ms']:8.0f}  {row['registers']}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
