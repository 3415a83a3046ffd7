# SPDX-License-Identifier: Apache-2.0
"""The one module that knows both ends: from a schedule to a function that takes arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, overload

from axisfold.codegen import c, cuda
from axisfold.codegen.llvm import PARALLEL, emit_kernel, scalar_parameters, symbol
from axisfold.errors import UnsupportedError
from axisfold.ir.expr import Var
from axisfold.ir.stmt import Kernel
from axisfold.passes.pipelines import device, legible, threads
from axisfold.runtime.binding import LayoutMismatch, bind_layout, check_arrays, host_arrays
from axisfold.runtime.cpu import (
    Effort,
    MachineCode,
    assembly,
    compile_llvm,
    host_machine,
    object_key,
)
from axisfold.runtime.cuda.call import Version
from axisfold.runtime.cuda.function import CudaFunction, this_arch
from axisfold.runtime.cuda.hostplan import Entry
from axisfold.runtime.cuda.program import Program as CudaProgram
from axisfold.runtime.pickling import NotPickled
from axisfold.runtime.simulated import Program, SimFunction
from axisfold.runtime.threads import check_status, pool
from axisfold.schedule.schedule import Schedule
from axisfold.target import Target, parse


def lower(
    schedule: Schedule, args: Sequence[Any], name: str = "main", *, simple_mode: bool = True
) -> Kernel:
    """Return the loop nest of a schedule; ``print`` it to read it.

    Parameters
    ----------
    schedule
        From ``te.create_schedule``.
    args
        Placeholders and outputs in calling order.
    name
        Symbol of the function.
    simple_mode
        Accepted for te scripts; the result is the same.
    """
    return legible(schedule, args, name)


_compiling: Final = threading.RLock()


@dataclass(slots=True)
class Compiled:
    """One kernel and its machine code, made when first needed."""

    ir: Kernel
    effort: Effort = "full"
    _device: Kernel | None = None
    _source: str = ""
    _code: MachineCode | None = None
    _entry: Callable[..., int] | None = None

    @property
    def device(self) -> Kernel:
        """The program that code is generated from."""
        if self._device is None:
            self._device = device(self.ir)
        return self._device

    def source(self) -> str:
        """Return the LLVM IR."""
        if not self._source:
            self._source = emit_kernel(self.device, host_machine(), is_brief=self.effort == "brief")
        return self._source

    def assembly(self) -> str:
        """Return the machine code as text."""
        return assembly(self.source(), symbol(self.device), effort=self.effort)

    def object_key(self) -> str:
        """Return the name that the machine code has on disk."""
        return object_key(self.source(), effort=self.effort)

    @property
    def code(self) -> MachineCode:
        """The machine code."""
        with _compiling:  # a second thread must not replace, and so free, code that is in use
            if self._code is None:
                text = self.source()
                if PARALLEL in text:
                    pool()
                self._code = compile_llvm(text, symbol(self.device), effort=self.effort)
        return self._code

    @property
    def entry(self) -> Callable[..., int]:
        """The machine code as a callable of addresses, extents and strides."""
        if self._entry is None:
            self._entry = self.code.function(len(self.ir.params), len(self.scalars))
        return self._entry

    @property
    def scalars(self) -> tuple[Var, ...]:
        """The extents and strides that ``entry`` takes after the addresses."""
        return scalar_parameters(self.ir)

    def run(self, addresses: Sequence[int], scalars: Sequence[int]) -> None:
        """Run the kernel.

        Raises
        ------
        ResourceError
            ``X201``: an intermediate tensor did not fit in memory; ``X202``: the process forked.
        """
        status = self.entry(*addresses, *scalars)
        if status:
            check_status(status, self.ir.name)


@dataclass(slots=True)
class Function(NotPickled):
    """A compiled schedule; call it with arrays on the host, outputs are written in place.

    Arrays may be of any library and have any strides.  Those that do not fit the layout the tensors
    declare run through a second version of the kernel that assumes nothing.
    """

    declared: Compiled
    general: Compiled
    target: Target

    @property
    def ir(self) -> Kernel:
        """The loop IR."""
        return self.declared.ir

    def source(self) -> str:
        """Return the LLVM IR."""
        return self.declared.source()

    def assembly(self) -> str:
        """Return the machine code as text."""
        return self.declared.assembly()

    def __call__(self, *given: Any) -> None:
        """Run on arrays in the order of ``args``; see :mod:`axisfold.runtime.binding`."""
        arrays = host_arrays(self.ir, given)
        extents = check_arrays(self.ir, arrays)
        compiled = self.declared
        try:
            values = bind_layout(compiled.ir, arrays, extents)
        except LayoutMismatch:
            compiled = self.general
            values = bind_layout(compiled.ir, arrays, extents)
        addresses = [a.ctypes.data for a in arrays]
        compiled.run(addresses, [values[v] for v in compiled.scalars])


@dataclass(frozen=True, slots=True)
class CSource:
    """A schedule as C11 source, for people who compile it themselves.

    Attributes
    ----------
    ir
        The loop IR.
    target
        What it was made for.
    """

    ir: Kernel
    target: Target

    def source(self) -> str:
        """Return the source: one function, and a comment that says how it is called."""
        return c.emit_kernel(device(self.ir))

    def __call__(self, *arrays: Any) -> NoReturn:
        """Refuse: there is source and no machine code.

        Raises
        ------
        UnsupportedError
            ``X102``: always.
        """
        name = c.symbol(self.ir)
        raise UnsupportedError(
            f"kernel {name!r} was built for target 'c', which is source and cannot be called.",
            code="X102",
            hint=f"Write .source() to {name}.c and compile it (cc -std=c11 -O3 -ffp-contract=off "
            f"-c {name}.c), or build for target 'llvm'.",
        )


# A literal "c" is a str too; the first signature that fits counts.
@overload
def build(  # type: ignore[overload-overlap]
    schedule: Schedule, args: Sequence[Any], target: Literal["c"], name: str = ...
) -> CSource: ...
@overload
def build(  # type: ignore[overload-overlap]
    schedule: Schedule, args: Sequence[Any], target: Literal["sim"], name: str = ...
) -> SimFunction: ...
@overload
def build(  # type: ignore[overload-overlap]
    schedule: Schedule, args: Sequence[Any], target: Literal["cuda"], name: str = ...
) -> CudaFunction: ...
@overload
def build(
    schedule: Schedule, args: Sequence[Any], target: Target | str = ..., name: str = ...
) -> Function: ...
def build(
    schedule: Schedule,
    args: Sequence[Any],
    target: Target | str = "llvm",
    name: str = "default_function",
) -> Function | CSource | SimFunction | CudaFunction:
    """Compile a schedule.

    Parameters
    ----------
    schedule
        From ``te.create_schedule``.
    args
        Placeholders and outputs in calling order.
    target
        What to compile for: ``"llvm"`` to run here, ``"c"`` for source, ``"sim"`` to run bound
        axes as the threads of a simulated GPU, ``"cuda"`` to run them on one; with
        ``"cuda -arch=sm_90"`` it compiles where there is none.
    name
        Symbol of the function.

    Returns
    -------
    Function
        Call it with one array for each of ``args``.  Extents are bound from shapes.
        For target ``"c"`` a :class:`CSource`, of which ``source()`` is the program; for ``"sim"``
        a :class:`axisfold.runtime.simulated.SimFunction`; for ``"cuda"`` a
        :class:`axisfold.runtime.cuda.function.CudaFunction`, which takes device arrays.

    Raises
    ------
    DeviceError
        ``X302``: target ``"cuda"`` names no architecture, and there is no GPU to ask.
    UnsupportedError
        ``X103``: a loop is bound to a thread axis, and the target has no such threads; what
        :func:`axisfold.passes.pipelines.threads` refuses.
    """
    chosen = parse(target)
    if chosen.kind == "sim":
        programs = [_threaded(schedule, args, name, chosen, any_layout=a) for a in (False, True)]
        return SimFunction(programs[0], programs[1], chosen)
    if chosen.kind == "cuda":
        return _cuda(schedule, args, name, chosen)
    _check_unbound(schedule, chosen)
    declared = Compiled(legible(schedule, args, name))
    if chosen.kind == "c":
        return CSource(declared.ir, chosen)
    general = Compiled(legible(schedule, args, name, any_layout=True))
    _ = declared.entry  # compile now, so that the first call is as fast as the others
    return Function(declared, general, chosen)


def _threaded(
    schedule: Schedule, args: Sequence[Any], name: str, target: Target, *, any_layout: bool
) -> Program:
    return sim_program(legible(schedule, args, name, any_layout=any_layout, target=target), target)


def sim_program(ir: Kernel, target: Target) -> Program:
    """Return loop IR as a program for the simulator."""
    return Program(ir, threads(ir, target))


def cuda_program(ir: Kernel, target: Target) -> CudaProgram:
    """Return loop IR as a program for GPUs of the target's architecture."""
    kernel = threads(ir, target)
    entries = {
        launch: Entry(cuda.symbol(kernel, launch), *cuda.launch_parameters(kernel, launch))
        for launch in cuda.launches(kernel)
    }
    return CudaProgram(kernel, cuda.emit_program(kernel), target.arch, entries)


def _cuda(schedule: Schedule, args: Sequence[Any], name: str, target: Target) -> CudaFunction:
    chosen = target if target.arch else target.with_arch(this_arch())

    def version(*, any_layout: bool) -> Version:
        def lowered() -> Kernel:
            return legible(schedule, args, name, any_layout=any_layout, target=chosen)

        return Version(lowered, lambda ir: cuda_program(ir, chosen))

    function = CudaFunction(version(any_layout=False), version(any_layout=True), chosen)
    _ = function.declared.program.cubin  # now, so that the first call is as fast as the others
    return function


def _check_unbound(schedule: Schedule, target: Target) -> None:
    for stage in schedule.stages:
        for axis, thread in stage.bindings.items():
            raise UnsupportedError(
                f"axis {axis.name!r} of stage {stage.name!r} is bound to {thread.tag}, and target "
                f"{target.kind!r} has no such threads.",
                code="X103",
                hint="Use parallel() in place of bind(), or read the program with lower().",
            )
