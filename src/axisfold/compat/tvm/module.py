# SPDX-License-Identifier: Apache-2.0
"""``tvm.lower`` and ``tvm.build``, and what they return."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from axisfold import te
from axisfold.build import CSource, Function
from axisfold.build import build as compile_schedule
from axisfold.build import lower as lower_schedule
from axisfold.compat.tvm import target as targets
from axisfold.compat.tvm.nd import NDArray
from axisfold.ir.stmt import Kernel
from axisfold.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class IRModule:
    """A lowered schedule; print it to read it, or give it to :func:`build`."""

    schedule: Schedule
    args: tuple[Any, ...]
    kernel: Kernel

    def __str__(self) -> str:
        return str(self.kernel)

    def __getitem__(self, name: str) -> Kernel:
        if name != self.kernel.name:
            raise KeyError(name)
        return self.kernel

    @property
    def functions(self) -> dict[str, Kernel]:
        """The one function by its name."""
        return {self.kernel.name: self.kernel}

    def astext(self) -> str:
        """Return the text."""
        return str(self)


def lower(
    sch: Schedule,
    args: Sequence[Any],
    name: str = "main",
    binds: Any = None,
    simple_mode: bool = False,
) -> IRModule:
    """Return the loop nest of a schedule; ``simple_mode`` makes no difference.

    Raises
    ------
    UnsupportedError
        ``X111``: ``binds`` is given.
    """
    if binds:
        te.OutOfScope("binds= of tvm.lower")()
    return IRModule(sch, tuple(args), lower_schedule(sch, args, name))


def build(
    inputs: Schedule | IRModule,
    args: Sequence[Any] | None = None,
    target: Any = None,
    target_host: Any = None,
    name: str = "default_function",
    binds: Any = None,
) -> Module:
    """Compile a schedule, or what :func:`lower` made of one.

    Parameters
    ----------
    inputs
        A schedule, with ``args``; or a lowered one, without.
    args
        Placeholders and outputs in calling order.
    target
        ``"llvm"`` or ``"c"``; by default that of the innermost ``with tvm.target.Target``.
    target_host
        Accepted for te scripts and not read.
    name
        Symbol of the function.
    binds
        Must be empty.

    Raises
    ------
    UnsupportedError
        ``X101``, ``X112``: the target is not in this release; ``X111``: ``binds`` is given.
    """
    if binds:
        te.OutOfScope("binds= of tvm.build")()
    if isinstance(inputs, IRModule):
        schedule, args = inputs.schedule, inputs.args
    else:
        schedule = inputs
    chosen = targets.Target.current(allow_none=False) if target is None else target
    native = targets.Target(str(chosen)).native
    return Module(compile_schedule(schedule, args or (), native, name), name)


class Module:
    """A compiled schedule: call it with arrays in the order of ``args``.

    Attributes
    ----------
    function
        The function of axisfold.
    entry_name
        Its name.
    """

    def __init__(self, function: Function | CSource, entry_name: str) -> None:
        self.function, self.entry_name = function, entry_name

    def __call__(self, *arrays: Any) -> None:
        """Run; outputs are written in place.  NumPy arrays are taken too."""
        self.function(*(a.data if isinstance(a, NDArray) else a for a in arrays))

    def __getitem__(self, name: str) -> Module:
        if name not in (self.entry_name, "main"):
            raise KeyError(name)
        return self

    get_function = __getitem__

    @property
    def imported_modules(self) -> list[Module]:
        """The modules of device code: on a CPU, this one."""
        return [self]

    def get_source(self, fmt: str = "") -> str:
        """Return the LLVM IR, or the C source; with ``"asm"`` the machine code as text."""
        if fmt in ("asm", "s") and isinstance(self.function, Function):
            return self.function.assembly()
        return self.function.source()

    def time_evaluator(
        self,
        func_name: str,
        dev: Any,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        **_: Any,
    ) -> Callable[..., BenchmarkResult]:
        """Return a function that takes the arrays and measures the calls.

        Parameters
        ----------
        func_name, dev
            Accepted for te scripts and not read.
        number
            Calls in one measurement, whose mean is taken.
        repeat
            Number of measurements.
        min_repeat_ms
            Shortest duration of a measurement; ``number`` grows until it is reached.
        """

        def evaluate(*arrays: Any) -> BenchmarkResult:
            self(*arrays)
            calls = max(number, 1)
            results: list[float] = []
            while len(results) < repeat:
                start = time.perf_counter()
                for _ in range(calls):
                    self(*arrays)
                seconds = time.perf_counter() - start
                if seconds * 1e3 >= min_repeat_ms:
                    results.append(seconds / calls)
                else:
                    wanted = min_repeat_ms / max(seconds * 1e3, 1e-3)
                    calls = max(calls + 1, math.ceil(min(wanted * 1.1, 100) * calls))
            return BenchmarkResult(tuple(results))

        return evaluate


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Seconds of one call, measured several times.

    Attributes
    ----------
    results
        One mean for each measurement.
    """

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the measurements."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Median of the measurements."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """Shortest of the measurements."""
        return min(self.results)

    @property
    def max(self) -> float:
        """Longest of the measurements."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Standard deviation of the measurements."""
        return statistics.pstdev(self.results)
