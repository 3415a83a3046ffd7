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
from axisfold.errors import ArgumentError
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel
from axisfold.runtime.cuda.function import CudaFunction
from axisfold.runtime.cuda.memory import seconds_on_gpu
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
    return IRModule(sch, tuple(args), lower_schedule(sch, _tensors(args), name))


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
        Placeholders and outputs in calling order, and ``te.var`` that stand for extents.
    target
        ``"llvm"``, ``"c"`` or ``"cuda"``; by default that of the innermost
        ``with tvm.target.Target``.
    target_host
        Accepted for te scripts and not read.
    name
        Symbol of the function.
    binds
        Must be empty.

    Raises
    ------
    UnsupportedError
        ``X101``: the target is not in this release; ``X111``: ``binds`` is given.
    DeviceError
        ``X302``: target ``"cuda"`` names no architecture, and there is no GPU.
    """
    if binds:
        te.OutOfScope("binds= of tvm.build")()
    if isinstance(inputs, IRModule):
        schedule, args = inputs.schedule, inputs.args
    else:
        schedule = inputs
    chosen = targets.Target.current(allow_none=False) if target is None else target
    native = targets.Target(str(chosen)).native
    function = compile_schedule(schedule, _tensors(args or ()), native, name)
    return Module(function, name, tuple(a if isinstance(a, Var) else None for a in args or ()))


def _tensors(args: Sequence[Any]) -> list[Any]:
    """Return the arguments without the extents, which are bound from shapes."""
    return [a for a in args if not isinstance(a, Var)]


class Module:
    """A compiled schedule: call it with arrays in the order of ``args``.

    Attributes
    ----------
    function
        The function of axisfold.
    entry_name
        Its name.
    """

    def __init__(
        self,
        function: Function | CSource | CudaFunction,
        entry_name: str,
        extents: tuple[Var | None, ...] = (),
    ) -> None:
        self.function, self.entry_name, self._extents = function, entry_name, extents

    def __call__(self, *args: Any) -> None:
        """Run; outputs are written in place.  Arrays of other libraries are taken too.

        Raises
        ------
        ArgumentError
            ``A325``: an extent among the arguments is not that of the arrays.
        """
        arrays = [a.data if isinstance(a, NDArray) else a for a in args]
        if any(v is not None for v in self._extents) and len(args) == len(self._extents):
            named = [(v, a) for v, a in zip(self._extents, args, strict=True) if v is not None]
            arrays = [a for v, a in zip(self._extents, arrays, strict=True) if v is None]
            self._check_extents(named, arrays)
        self.function(*arrays)

    def _check_extents(self, named: list[tuple[Var, Any]], arrays: list[Any]) -> None:
        extents = {
            expr: extent
            for buffer, array in zip(self.function.ir.params, arrays, strict=False)
            for expr, extent in zip(buffer.shape, getattr(array, "shape", ()), strict=False)
            if isinstance(expr, Var)
        }
        for var, value in named:
            if extents.get(var) != value:
                raise ArgumentError(
                    f"argument {var.name} is {value!r}, but it is {extents.get(var)} in the "
                    "shapes of the arrays.",
                    code="A325",
                    hint="Pass the extent of the arrays; no other scalars are taken.",
                )

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
        """Return LLVM IR, C or CUDA source; with ``"asm"`` the machine code of a CPU as text."""
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
        func_name
            Accepted for te scripts and not read.
        dev
            The GPU whose clock measures functions of target ``"cuda"``.
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
                seconds = self._seconds(arrays, calls, dev)
                if seconds * 1e3 >= min_repeat_ms:
                    results.append(seconds / calls)
                else:
                    wanted = min_repeat_ms / max(seconds * 1e3, 1e-3)
                    calls = max(calls + 1, math.ceil(min(wanted * 1.1, 100) * calls))
            return BenchmarkResult(tuple(results))

        return evaluate

    def _seconds(self, arrays: Sequence[Any], calls: int, dev: Any) -> float:
        def run() -> None:
            for _ in range(calls):
                self(*arrays)

        if isinstance(self.function, CudaFunction):
            return seconds_on_gpu(getattr(dev, "index", 0), run)
        start = time.perf_counter()
        run()
        return time.perf_counter() - start


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
