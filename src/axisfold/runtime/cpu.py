# SPDX-License-Identifier: Apache-2.0
"""Compiling LLVM IR for the host's CPU with llvmlite, which is loaded at the first compile."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from axisfold.errors import CompileError

# One compile at a time: LLVM's global context, which llvmlite uses, is not made for threads.
_lock = threading.Lock()
_state: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A compiled function; keeps its code alive.

    Attributes
    ----------
    address
        Address of the function.
    """

    address: int
    _engine: Any
    _machine: Any
    _module: Any

    def function(self, pointers: int, scalars: int) -> Callable[..., int]:
        """Return a callable of addresses and then integers, which releases the GIL."""
        kinds = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * scalars
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self.address)
        # The code must live as long as someone can call it.
        function.machine_code = self  # type: ignore[attr-defined]
        return function

    def address_of(self, name: str) -> int:
        """Return the address of another function of the same code."""
        return int(self._engine.get_function_address(name))

    def assembly(self) -> str:
        """Return the machine code as text."""
        with _lock:
            return str(self._machine.emit_assembly(self._module))


def add_symbol(name: str, address: int) -> None:
    """Let code that is compiled from now on call a function by name."""
    with _lock:
        _host()[1].add_symbol(name, address)


def compile_llvm(text: str, name: str, *, is_hot: bool = True) -> MachineCode:
    """Compile LLVM IR for this machine's instruction set.

    Parameters
    ----------
    text
        The module.
    name
        The function whose address is wanted.
    is_hot
        Optimize it; a tenth of the time does for code that hardly matters.

    Raises
    ------
    CompileError
        ``I201``: LLVM refused the text.
    """
    with _lock:
        machine, binding = _host(3 if is_hot else 0)
        try:
            module = binding.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CompileError(
                f"LLVM refused the code of kernel {name!r}: {error}",
                code="I201",
                hint="This is a bug of axisfold; please report it with Function.source().",
            ) from error
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        if is_hot:
            _optimize(binding, machine, module)
        engine = binding.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        address = engine.get_function_address(name)
    return MachineCode(address, engine, machine, module)


def _host(level: int = 3) -> tuple[Any, Any]:
    """Return a target machine for this host and the binding of LLVM, loaded once."""
    if not _state:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple()
        _state["binding"] = binding
        _state["new"] = lambda opt: target.create_target_machine(
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
            opt=opt,
            jit=True,
        )
    return _state["new"](level), _state["binding"]


def _optimize(binding: Any, machine: Any, module: Any) -> None:
    """Run LLVM's standard pipeline without its own vectorizers: schedules decide about lanes."""
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
