# SPDX-License-Identifier: Apache-2.0
"""States of axisfold side by side, in turns, which tells whether a change pays.

``python -m benchmarks.duel --only 'var' BEFORE AFTER`` loads the packages of two checkouts (folders
that have ``src/axisfold``) into one process, so that both read the same pages of memory, and prints
each state's median share of the sweep.  ``--first`` times first calls instead, each state in new
processes in turns; small cases are timed in microseconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.cpu_first import first_call

REPEATED: Final = 1000
"""Calls of a small case in a round."""


class State:
    """One checkout's package, kept apart from those of others in this process."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder = folder
        self._modules: dict[str, Any] = {}
        _forget()
        sys.path.insert(0, str(folder / "src"))
        try:
            self.cpu = importlib.import_module("benchmarks.cpu")
            self.cases = importlib.import_module("benchmarks.cases")
            if not Path(sys.modules["axisfold"].__file__ or "").is_relative_to(folder.resolve()):
                raise SystemExit(f"{folder} has no src/axisfold")
            self.cpu.prepare(threads)
        finally:
            sys.path.pop(0)
            self._modules = _forget()

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function while modules that it imports are this state's."""
        _forget()
        sys.modules.update(self._modules)
        sys.path.insert(0, str(self.folder / "src"))
        try:
            return function()
        finally:
            sys.path.pop(0)
            self._modules = _forget()


def _forget() -> dict[str, Any]:
    """Take the modules of a state out of Python's table, and return them."""
    ours = ("axisfold", "benchmarks.")
    names = [n for n in sys.modules if n.startswith(ours) and n != "benchmarks.duel"]
    return {name: sys.modules.pop(name) for name in names}


def duel(states: Sequence[State], options: argparse.Namespace) -> None:
    """Time all cases that are wanted, every round each state once, and print medians."""
    for case, arrays in _wanted(states[0], options):
        small = case.group == "small"
        calls = [_call(state, case.op, arrays, case.axis) for state in states]
        for state, call in zip(states, calls, strict=True):
            state.run(call)
        sweep = None if small else states[0].run(partial(states[0].cpu.Sweep, arrays))
        count = REPEATED if small else 1
        times: list[list[float]] = [[] for _ in states]
        for _ in range(options.rounds):
            if sweep is not None:
                sweep.round()
            for taken, call in zip(times, calls, strict=True):
                taken.append(_seconds(call, count))
        medians = [statistics.median(t) for t in times]
        if sweep is None:
            shown = "".join(f"{m * 1e6:9.2f}" for m in medians)
        else:
            shown = "".join(f"{sweep.best / m:9.3f}" for m in medians)
        ratios = "".join(f"{m / medians[0]:8.3f}" for m in medians[1:])
        print(f"{case.name:44}{shown}  times of the first:{ratios}", flush=True)


def _wanted(state: State, options: argparse.Namespace) -> Iterator[tuple[Any, Any]]:
    """Return the cases that are wanted, each with its arrays."""
    for case in state.cases.CASES:
        if case.group in options.group.split(",") and re.search(options.only, case.name):
            yield case, case.data(1.0 if case.group == "small" else options.scale)


def _call(state: State, op: str, arrays: Any, axis: Any) -> Callable[[], Any]:
    function = state.run(lambda: state.cases.ours(op))  # modules are imported when first used
    return lambda: function(*arrays, axis)


def _seconds(call: Callable[[], Any], count: int) -> float:
    time.sleep(0.02 if count == 1 else 0)
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def first_calls(folders: Sequence[Path], options: argparse.Namespace, given: list[str]) -> None:
    """Time first calls, each state in a new process every round, and print medians."""
    times: dict[str, dict[Path, list[float]]] = {}
    plain = [g for g in given if g not in map(str, folders)]
    for _ in range(options.rounds):
        for folder in folders:
            command = [sys.executable, "-m", "benchmarks.duel", *plain, "--one", str(folder)]
            out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            for name, seconds in json.loads(out.splitlines()[-1]).items():
                times.setdefault(name, {}).setdefault(folder, []).append(seconds)
    total = [0.0] * len(folders)
    for name, taken in times.items():
        medians = [statistics.median(taken[f]) * 1e3 for f in folders]
        total = [t + m for t, m in zip(total, medians, strict=True)]
        print(f"{name:44}" + "".join(f"{m:9.1f}" for m in medians))
    print(f"{'sum, ms':44}" + "".join(f"{t:9.1f}" for t in total))


def _one(state: State, options: argparse.Namespace) -> None:
    """Print what first calls of one state take in this process."""
    taken = {}
    for case, arrays in _wanted(state, options):
        call = _call(state, case.op, arrays, case.axis)
        taken[case.name] = state.run(partial(first_call, call))
    print(json.dumps(taken))


def main(given: list[str]) -> None:
    """Read the arguments, and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duel", description=__doc__)
    parser.add_argument("states", nargs="+", type=Path, help="folders of checkouts")
    parser.add_argument("--only", default="", help="regular expression that names must contain")
    parser.add_argument("--group", default="memory,small", help="of memory, small, curve")
    parser.add_argument("--scale", type=float, default=0.25, help="of the large arrays")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--first", action="store_true", help="time first calls")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.one:
        _one(State(options.states[0], options.threads), options)
    elif options.first:
        first_calls(options.states, options, given)
    else:
        duel([State(folder, options.threads) for folder in options.states], options)


if __name__ == "__main__":
    main(sys.argv[1:])
