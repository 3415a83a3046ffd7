# SPDX-License-Identifier: Apache-2.0
"""Measuring one case: axisfold, its peers and the limit, interleaved round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from benchmarks.cases import Case, expected, is_right, ours
from benchmarks.peers import Peer
from benchmarks.sweep import Sweep, span

from axisfold.config import config

OURS: Final = "axisfold"
# Threads of other libraries wait awake for a moment; nobody is timed beside them.
PAUSE: Final = 0.05
SMALL_CALLS: Final = 2000


@dataclass(slots=True)
class Outcome:
    """What one case took.

    Attributes
    ----------
    name, group, goal, nbytes
        The case, and how many bytes its inputs lie in.
    limit
        Seconds of the fastest sweep over them; 0 for small cases.
    seconds
        Best time of each library.
    wrong
        Libraries whose result is not right to a few units in the last place of the dtype.
    first
        Seconds that axisfold's first call takes longer than the next: planning and compiling
        (:mod:`benchmarks.cpu_first`).
    written
        Bytes of the results; 0 where ``nbytes`` counts them.
    """

    name: str
    group: str
    goal: float
    nbytes: int
    limit: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    first: float = 0.0
    written: int = 0

    def share(self, library: str) -> float:
        """Return the share of the limit that a library reaches."""
        return self.limit / self.seconds[library]

    def moved(self, library: str) -> float:
        """Return the same where reading and writing a byte count alike."""
        return self.share(library) * (self.nbytes + self.written) / self.nbytes

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return asdict(self)


def measure(
    case: Case, peers: Mapping[str, Peer], scale: float, repeats: int, *, check: bool
) -> Outcome:
    """Measure a case; every round times the limit and each library once."""
    arrays = case.data(scale if case.group == "memory" else 1.0)
    sweep = None if case.group == "small" else Sweep(arrays)
    nbytes = sum(span(a)[1] for a in arrays)
    outcome = Outcome(case.name, case.group, case.goal, nbytes)
    function = ours(case.op)
    rivals: dict[str, Callable[[], Any]] = {}
    if function is not None:
        rivals[OURS] = lambda: function(*arrays, case.axis)
    has_gaps = any(span(a)[1] > a.nbytes for a in arrays)
    for name, peer in peers.items():
        if case.op in peer.operations and (peer.keeps_views or not has_gaps):
            taken = [peer.take(a) for a in arrays]
            operation = peer.operations[case.op]
            rivals[name] = lambda f=operation, t=taken: f(*t, case.axis)
    wanted = expected(case.op, arrays, case.axis) if check else None
    rivals = _warmed(rivals, wanted, arrays[0].dtype, outcome)
    calls = SMALL_CALLS if case.group == "small" else 1
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(repeats):
        if sweep is not None:
            time.sleep(PAUSE)
            sweep.round()
        for name, rival in rivals.items():
            time.sleep(PAUSE)
            best[name] = min(best[name], _timed(rival, calls))
    outcome.limit = 0.0 if sweep is None else sweep.best
    outcome.seconds = best
    return outcome


def _warmed(
    rivals: Mapping[str, Callable[[], Any]], wanted: Any, dtype: Any, outcome: Outcome
) -> dict[str, Callable[[], Any]]:
    """Run everyone once, and return those that can."""
    able = {}
    for name, rival in rivals.items():
        try:
            result = rival()
        except Exception:  # libraries have errors of their own, such as those of Numba's types
            if name == OURS:
                raise
            continue
        if name == OURS:
            outcome.written = sum(r.nbytes for r in _results(result))
        if wanted is not None and not is_right(result, wanted, dtype):
            outcome.wrong.append(name)
        able[name] = rival
    return able


def _results(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _timed(function: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def prepare(threads: int) -> None:
    """Set the number of threads, and load the compiler so that no case pays for it."""
    config.threads = threads
    config.cache_dir = None  # first calls compile
    function = ours("sum")
    if function is not None:
        function(np.ones((2, 3, 4, 5), np.int16), (0, 2))
