# SPDX-License-Identifier: Apache-2.0
"""Time the GPU cases: axisfold, its peers, and what reading or copying alone takes, in turn.

Each timing begins with a write of more than the second-level cache and a wait that lets the host
run ahead: CUDA events around a call then see the device only.
"""

from __future__ import annotations

import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

import cupy
import torch
from benchmarks.cpu import OURS
from benchmarks.cpu import Outcome as Basic
from benchmarks.gpu_cases import CASES, Case
from benchmarks.gpu_first import first_calls
from benchmarks.gpu_peers import installed, milliseconds_in_a_row
from benchmarks.peers import Peer
from benchmarks.strategies import READ

import axisfold

# Several times the second-level cache, and a quarter of a millisecond in which the host runs ahead,
# also where it has just come from another library.
FLUSH_BYTES: Final = 1 << 30
# Cycles that the device waits, so that the host is done with a call before the device begins it.
AHEAD: Final = 600_000
WARM: Final = 2
GRAPH_CALLS: Final = 20
# What a case should reach of the limit that fits it.
GOAL: Final = 0.92
PEERS: Final = "torch.compile,cupy,jax,cuda.compute"
_PACKAGES: Final = {"cuda.compute": "cuda-cccl"}
# Sizes are rounded up to this for the kernel that only reads.
_READ_STEP: Final = 64 << 20
_SHOWN_BYTES: Final = 1 << 30
TITLE: Final = "Performance on a GPU"
COUNTED: Final = "input and output bytes"
METHOD: Final = (
    "Each library folds the same arrays in one process, in turn, and the median of all rounds "
    "counts, by CUDA events after a write of more than the second-level cache; JAX, whose streams "
    "are its own, by the host's clock over six calls in a row. The limit is a kernel that only "
    "reads as many bytes as inputs and results have, for results as large as the input a copy. "
    "cuda.compute keeps its result and its temporary memory. Small cases are calls in a "
    "CUDA graph, of an array that the second-level cache holds. First calls are those of a process "
    "of their own, beside PyTorch alone and with an empty cache on disk; a class that an earlier "
    "case has compiled is known. Results that are not those of "
    "PyTorch, up to its rounding errors, are marked. This page is written by the command below."
)


@dataclass(slots=True)
class Outcome(Basic):
    """What one case took; bytes are those of input, and of the result.

    Attributes
    ----------
    error
        What went wrong; "" for nothing.
    cold
        Microseconds of a call with a cold cache, for small cases.
    """

    error: str = ""
    cold: dict[str, float] = field(default_factory=dict)


class Clock:
    """Times calls on the current stream, each after a flush of the cache."""

    def __init__(self) -> None:
        self.scratch = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def __call__(self, run: Callable[[], object]) -> float:
        """Return the milliseconds of one call."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.scratch.zero_()
        torch.cuda._sleep(AHEAD)
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


class Limits:
    """Milliseconds of reading, and of copying, as many bytes as a case."""

    def __init__(self, clock: Clock, rounds: int) -> None:
        self.clock, self.rounds = clock, rounds
        self._known: dict[tuple[int, bool], float] = {}

    def __call__(self, nbytes: int, is_copy: bool = False) -> float:
        """Return what the fastest kernel takes; a copy reads half of the bytes."""
        size = -(-nbytes // _READ_STEP) * _READ_STEP
        if (size, is_copy) not in self._known:
            run = _copier(size) if is_copy else reader(size, self.clock)
            times = [self.clock(run) for _ in range(self.rounds)]
            self._known[size, is_copy] = statistics.median(times)
        return self._known[size, is_copy] * nbytes / size


def _copier(nbytes: int) -> Callable[[], object]:
    source = torch.zeros(nbytes // 2, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


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


def measure(
    case: Case, clock: Clock, rounds: int, peers: dict[str, Peer], *, compiled: bool = False
) -> Outcome:
    """Return the figures of a case beside its peers, and ``torch.compile`` if ``compiled``."""
    inputs = case.inputs()
    touched = sum(x.untyped_storage().nbytes() for x in inputs)
    outcome = Outcome(case.name, case.group, GOAL, touched * (2 if case.is_copy else 1))
    try:
        found = case.ours(*inputs)
    except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
        outcome.error = f"{type(error).__name__}: {error}"[:200]
        return outcome
    expected = case.rival(*inputs)
    if not case.is_copy:
        outcome.nbytes += sum(r.nbytes for r in _results(found))
    rivals = {OURS: lambda: case.ours(*inputs), "torch": lambda: case.rival(*inputs)}
    if compiled:
        fused = torch.compile(case.rival, dynamic=False)
        rivals["torch.compile"] = lambda: fused(*inputs)
    if case.group == "memory":
        able = {n: p for n, p in peers.items() if case.op in p.operations}
        rivals |= {n: _of_peer(p, case, inputs) for n, p in able.items()}
    times: dict[str, list[float]] = {}
    for name, run in rivals.items():
        result, error = _tried(name, run)
        if error:
            print(f"  {case.name}: {name}: {error}", file=sys.stderr)
            continue
        times[name] = []
        if not agrees(case, _as_torch(result), expected, inputs):
            outcome.wrong.append(name)
    del result
    names = list(times)
    for number in range(rounds + WARM):
        # Each comes first as often as the others: what ran before leaves its clocks and its waits.
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            elapsed = _timed(name, rivals[name], clock)
            if number >= WARM:
                times[name].append(elapsed)
    outcome.seconds = {n: statistics.median(t) / 1e3 for n, t in times.items()}
    if case.group == "small":
        outcome.cold = {n: s * 1e6 for n, s in outcome.seconds.items()}
        outcome.seconds = {n: in_graph(rivals[n], rounds) / 1e6 for n in (OURS, "torch")}
    return outcome


def _of_peer(peer: Peer, case: Case, inputs: list[Any]) -> Callable[[], Any]:
    """Return the call of a library that has the operation; the first one takes the arrays."""
    operation, taken = peer.operations[case.op], []

    def run() -> Any:
        if not taken:
            taken.extend(peer.take(x) for x in inputs)
        return operation(*taken, axis=case.axis)

    return run


def _tried(name: str, run: Callable[[], Any]) -> tuple[Any, str]:
    """Return the result, or what went wrong where others cannot do a case."""
    try:
        return run(), ""
    except Exception as error:  # libraries have errors of their own
        if name == OURS:
            raise
        return None, repr(error)[:200]


def _as_torch(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_as_torch, found))
    return found if isinstance(found, torch.Tensor) else torch.from_dlpack(found)


def _timed(name: str, run: Callable[[], Any], clock: Clock) -> float:
    if name != "jax":
        return clock(run)
    torch.cuda.synchronize()
    return milliseconds_in_a_row(run, sys.modules["jax"].block_until_ready)


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


def run(
    options: Namespace, wanted: Callable[[str, str], bool]
) -> tuple[list[Basic], tuple[str, ...]]:
    """Measure and print; return the outcomes, and lines on the machine and what it reaches."""
    chosen = [case for case in CASES if wanted(case.name, case.group)]
    firsts = first_calls([case.name for case in chosen])
    clock = Clock()
    limits = Limits(clock, options.repeats)
    read, copy = (_SHOWN_BYTES / limits(_SHOWN_BYTES, is_copy) / 1e6 for is_copy in (False, True))
    names = (PEERS if options.peers is None else options.peers).split(",")
    peers = installed(names)
    about = [f"{torch.cuda.get_device_name()}; read limit {read:.0f} GB/s, copy {copy:.0f} GB/s"]
    about.append(", ".join(f"{n} {_version(n)}" for n in ("axisfold", "torch", *peers)))
    print("\n".join(about), end="\n\n")
    print("us: of axisfold; for small cases in a graph, and PyTorch's")
    print(f"{'case':32} {'ours':>6} {'best':>6} {'by':13} {'share':>6} {'us':>8} {'first':>6}")
    outcomes: list[Basic] = []
    for case in chosen:
        compiled = "torch.compile" in names and case.group == "memory"
        outcome = measure(case, clock, options.repeats, peers, compiled=compiled)
        outcome.first = firsts.get(case.name, 0.0)
        if case.group != "small":
            outcome.limit = limits(outcome.nbytes, case.is_copy) / 1e3
        outcomes.append(outcome)
        _print(outcome)
    host = host_path()
    about.append("host's time for a sum of 16 elements: " + _microseconds(host))
    print(about[-1])
    return outcomes, tuple(about)


def _version(name: str) -> str:
    """Return the version of a library, which for CuPy has no package of this name."""
    module = sys.modules.get(name)
    return str(getattr(module, "__version__", None) or version(_PACKAGES.get(name, name)))


def _microseconds(times: dict[str, float]) -> str:
    return ", ".join(f"{name} {us:.1f} us" for name, us in times.items())


def _print(outcome: Outcome) -> None:
    if OURS not in outcome.seconds:
        print(f"{outcome.name:32} {outcome.error}", flush=True)
        return
    own = outcome.seconds[OURS]
    best, by = min((s, n) for n, s in outcome.seconds.items() if n != OURS)
    rates = [outcome.nbytes / s / 1e9 for s in (own, best)]
    share = f"{outcome.share(OURS):6.3f}" if outcome.limit else " " * 6
    wrong = f" wrong: {', '.join(outcome.wrong)}" if outcome.wrong else ""
    times = f"{own * 1e6:8.1f} {outcome.first * 1e3:6.0f}"
    if outcome.group == "small":
        times += f"  torch {best * 1e6:.1f}, ratio {own / best:.2f}"
    print(
        f"{outcome.name:32} {rates[0]:6.0f} {rates[1]:6.0f} {by:13} {share} {times}{wrong}",
        flush=True,
    )
