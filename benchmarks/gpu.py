# SPDX-License-Identifier: Apache-2.0
"""Time the GPU cases: axisfold, PyTorch, and what reading or copying alone takes, in turn.

Each timing begins with a write of more than the second-level cache, which also lets the host run
ahead: CUDA events around a call then see the device only.
"""

from __future__ import annotations

import json
import statistics
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import cupy
import torch
from benchmarks.gpu_cases import CASES, Case
from benchmarks.strategies import READ

import axisfold

FLUSH_BYTES: Final = 256 << 20
WARM: Final = 2
GRAPH_CALLS: Final = 20


@dataclass(slots=True)
class Outcome:
    """What one case took, in GB/s of input bytes, and of the result where it is as large.

    Attributes
    ----------
    name, nbytes
        The case, and the bytes counted.
    rates
        Of ``axisfold``, ``torch`` and, if asked for, ``torch.compile``.
    graph
        Microseconds of a call in a CUDA graph that makes it many times, for small cases.
    rule
        That planned the kernel.
    first
        Milliseconds of axisfold's first call.
    registers
        Of a thread.
    error
        What went wrong; "" for nothing.
    """

    name: str
    nbytes: int = 0
    rates: dict[str, float] = field(default_factory=dict)
    graph: dict[str, float] = field(default_factory=dict)
    microseconds: float = 0.0
    rule: str = ""
    first: float = 0.0
    registers: int = 0
    error: str = ""


class Clock:
    """Times calls on the current stream, each after a flush of the cache."""

    def __init__(self) -> None:
        self.scratch = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def __call__(self, run: Callable[[], object]) -> float:
        """Return the milliseconds of one call."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.scratch.zero_()
        begin.record()
        run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)


def reader(nbytes: int, clock: Clock) -> Callable[[], None]:
    """Return the fastest launch that only reads so many bytes."""
    module = cupy.RawModule(code=READ, options=("-std=c++17",))
    memory = torch.zeros(nbytes, dtype=torch.uint8, device="cuda")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    count = torch.cuda.get_device_properties("cuda").multi_processor_count
    found = []
    for name in ("read_4", "read_8"):
        kernel = module.get_function(name)
        for per_sm, threads in ((2, 1024), (4, 512), (8, 256), (16, 256), (32, 256)):

            def run(kernel: Any = kernel, per_sm: int = per_sm, threads: int = threads) -> None:
                with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
                    arguments = (memory.data_ptr(), out.data_ptr(), memory.nbytes // 16)
                    kernel((count * per_sm,), (threads,), arguments)

            found.append(run)
    return min(found, key=lambda run: min(clock(run) for _ in range(4)))


def limits(clock: Clock, rounds: int) -> tuple[float, float]:
    """Return GB/s of reading, and of copying, a gigabyte."""
    read = reader(1 << 30, clock)
    source = torch.zeros(1 << 29, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    reads = statistics.median(clock(read) for _ in range(rounds))
    copies = statistics.median(clock(lambda: target.copy_(source)) for _ in range(rounds))
    return (1 << 30) / reads / 1e6, (1 << 30) / copies / 1e6


def in_graph(run: Callable[[], object], rounds: int) -> float:
    """Return the microseconds of a call that a CUDA graph makes GRAPH_CALLS times."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(GRAPH_CALLS):
            run()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(rounds + WARM):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[WARM:]) * 1e3 / GRAPH_CALLS


def host_path(calls: int = 2000) -> dict[str, float]:
    """Return the microseconds that the host spends on a call for 16 elements."""
    x = torch.ones(16, device="cuda")
    runs: dict[str, Callable[[], object]] = {"axisfold": lambda: axisfold.sum(x), "torch": x.sum}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(9):
        for name, run in runs.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                run()
            times[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(t[WARM:]) * 1e6 for name, t in times.items()}


def measure(case: Case, clock: Clock, rounds: int, *, compiled: bool = False) -> Outcome:
    """Return the figures of a case, beside ``torch.compile`` if ``compiled``."""
    inputs = case.inputs()
    touched = sum(x.untyped_storage().nbytes() for x in inputs)
    outcome = Outcome(case.name, touched * (2 if case.is_copy else 1))
    start = time.perf_counter()
    try:
        found = case.ours(*inputs)
        torch.cuda.synchronize()
    except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
        outcome.error = f"{type(error).__name__}: {error}"[:200]
        return outcome
    outcome.first = (time.perf_counter() - start) * 1e3
    expected = case.rival(*inputs)
    outcome.error = "" if agrees(case, found, expected, inputs) else "wrong"
    if not case.is_copy:
        outcome.nbytes += sum(r.nbytes for r in _results(found))
    rivals = {"axisfold": lambda: case.ours(*inputs), "torch": lambda: case.rival(*inputs)}
    if compiled:
        fused = torch.compile(case.rival, dynamic=False)
        rivals["torch.compile"] = lambda: fused(*inputs)
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for number in range(rounds + WARM):
        for name, run in rivals.items():
            elapsed = clock(run)
            if number >= WARM:
                times[name].append(elapsed)
    outcome.rates = {n: outcome.nbytes / statistics.median(t) / 1e6 for n, t in times.items()}
    outcome.microseconds = statistics.median(times["axisfold"]) * 1e3
    if case.group == "small":
        outcome.graph = {n: in_graph(rivals[n], rounds) for n in ("axisfold", "torch")}
    return outcome


def _results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


def agrees(case: Case, found: Any, expected: Any, inputs: list[Any]) -> bool:
    """Return whether results are PyTorch's, up to what its sums of many elements are off."""
    if "argmax" in case.name:
        x, axis = inputs[0], -1 if "row" in case.name else 0
        if "full" in case.name:
            return bool(x.flatten()[found] == x.max())
        return bool(torch.equal(x.gather(axis, found.unsqueeze(axis)), x.amax(axis, keepdim=True)))
    pairs = zip(_results(found), _results(expected), strict=True)
    tolerance = 2e-2 if inputs[0].dtype in (torch.float16, torch.bfloat16) else 2e-3
    for got, want in pairs:
        wide = torch.complex128 if want.is_complex() else torch.float64
        got, want = got.to(wide), want.to(wide)
        if not torch.allclose(got, want, rtol=tolerance, atol=1e-6, equal_nan=True):
            return False
    return True


def main(options: Namespace, wanted: Callable[[str, str], bool]) -> int:
    """Measure and print; the status is 1 if a value is wrong."""
    axisfold.sum(torch.ones(3, 5, 7, device="cuda"), axis=(0, 2))  # loads the compiler
    clock = Clock()
    read, copy = limits(clock, options.repeats)
    peers = json.loads(options.peer_rates.read_text()) if options.peer_rates else {"rows": []}
    best = {r["case"]: max(v for k, v in r.items() if k != "case") for r in peers["rows"]}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"read limit {read:.0f} GB/s, copy limit {copy:.0f} GB/s (cold cache)\n")
    print(f"{'case':32} {'ours':>6} {'torch':>6} {'share':>6} {'peer':>6} {'us':>8} {'first':>6}")
    print("(torch: the faster of the forms asked for; small cases: us in a graph, ours and torch)")
    outcomes, compiled = [], "torch.compile" in options.peers.split(",")
    for case in CASES:
        if not wanted(case.name, case.group):
            continue
        outcome = measure(case, clock, options.repeats, compiled=compiled)
        outcomes.append(outcome)
        limit = copy if case.is_copy else read
        _print(outcome, limit, best.get(case.name))
    host = host_path()
    print(", ".join(f"{name} {us:.1f} us" for name, us in host.items()), "of host for 16 elements")
    if options.json:
        text = {"read": read, "copy": copy, "host": host, "rows": [asdict(o) for o in outcomes]}
        options.json.write_text(json.dumps(text, indent=1) + "\n")
    return int(any(o.error == "wrong" for o in outcomes))


def _print(outcome: Outcome, limit: float, best: float | None) -> None:
    if not outcome.rates:
        print(f"{outcome.name:32} {outcome.error}", flush=True)
        return
    ours = outcome.rates["axisfold"]
    rival = max(rate for name, rate in outcome.rates.items() if name != "axisfold")
    graph = "".join(f" {us:6.1f}" for us in outcome.graph.values())
    share = f"{ours / best:6.2f}" if best else " " * 6
    print(
        f"{outcome.name:32} {ours:6.0f} {rival:6.0f} {ours / limit:6.3f} {share} "
        f"{outcome.microseconds:8.1f} {outcome.first:6.0f}{graph} {outcome.error}",
        flush=True,
    )
