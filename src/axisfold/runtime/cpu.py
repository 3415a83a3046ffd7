# SPDX-License-Identifier: Apache-2.0
"""Compiling LLVM IR for the host's CPU with llvmlite, which is loaded at the first compile.

Object code is kept on disk, by the text, the CPU and the version of LLVM.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from axisfold.errors import CompileError
from axisfold.runtime.disk import shared_cache

if TYPE_CHECKING:
    from axisfold.codegen.llvm.machine import Machine

WIDE_VECTOR: Final = 64
"""Bytes of the registers of AVX-512, of which there are twice as many as of others."""

_FORMAT: Final = "2"
_HALVES: Final = Path(__file__).with_name("halves.ll")

Effort = Literal["none", "brief", "full"]

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


def add_symbol(name: str, address: int) -> None:
    """Let code that is compiled from now on call a function by name."""
    with _lock:
        _binding().add_symbol(name, address)


def host_vector_bytes() -> int:
    """Return the bytes of the widest vector registers that this machine has."""
    with _lock:
        features = _host()[1].split(",")
    return WIDE_VECTOR if "+avx512f" in features else 32 if "+avx2" in features else 16


def host_machine() -> Machine:
    """Return what a program's text depends on, of this machine.

    All but old x86 round a product and a sum once.  AVX-512 has 32 registers, as others than x86
    have, and AMD's Zen has adders and multipliers apart.
    """
    from axisfold.codegen.llvm.machine import Machine  # a kernel that is on disk needs none

    width = host_vector_bytes()
    with _lock:
        name, fuses, is_short = _host()[0], not _lacks("fma"), _lacks("avx512f")
    return Machine(width, 16 if is_short else 32, fuses, name.startswith("znver") and fuses)


def compile_llvm(text: str, name: str, *, effort: Effort = "full") -> MachineCode:
    """Compile LLVM IR for this machine's instruction set, or find it on disk.

    Parameters
    ----------
    text
        The module.
    name
        The function whose address is wanted.
    effort
        ``"full"``: LLVM's standard pipeline; ``"brief"``: a tenth of its time, for programs whose
        accumulators are indexed by constants; ``"none"`` does for code that hardly matters.

    Raises
    ------
    CompileError
        ``I201``: LLVM refused the text.
    """
    return load_object(object_code(text, name, effort=effort), name)


def object_code(text: str, name: str, *, effort: Effort = "full") -> bytes:
    """Return the object file of a module; the parameters are those of :func:`compile_llvm`."""
    with _lock:
        key = object_key(text, effort=effort)
        code = stored_object(key)
        if code is None:
            machine = _machine(0 if effort == "none" else 3)
            code = machine.emit_object(_module(text, name, machine, effort=effort))
            disk = shared_cache("cpu")
            if disk is not None:
                disk.put(key, code)
    return code


def object_key(text: str, *, effort: Effort = "full") -> str:
    """Return the name of an object file: of the text, the machine and the version of LLVM."""
    return hashlib.sha256(json.dumps([host_key(), effort, text]).encode()).hexdigest()


def stored_object(key: str) -> bytes | None:
    """Return an object file that is on disk, None if it is not there or not whole."""
    disk = shared_cache("cpu")
    return None if disk is None else disk.get(key)


def load_object(code: bytes, name: str) -> MachineCode:
    """Return an object file of this machine's as code that can be called."""
    with _lock:
        binding = _binding()
        # It compiles nothing, so the machine's features, which take as long to read, do not matter.
        machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return MachineCode(int(engine.get_function_address(name)), engine)


def assembly(text: str, name: str, *, effort: Effort = "full") -> str:
    """Return the machine code of a module as text."""
    with _lock:
        machine = _machine(3)
        return str(machine.emit_assembly(_module(text, name, machine, effort=effort)))


def host_key() -> str:
    """Return what code that is compiled here depends on: the CPU, and the version of LLVM."""
    if "key" not in _state:
        binding = _binding()
        _state["key"] = json.dumps((_FORMAT, binding.llvm_version_info, *_host()))
    return str(_state["key"])


def _binding() -> Any:
    """Return the binding of LLVM, loaded once."""
    if "binding" not in _state:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _state["binding"] = binding
    return _state["binding"]


def _host() -> tuple[str, str]:
    """Return the name of this machine's CPU and its features, asked for once."""
    if "host" not in _state:
        binding = _binding()
        _state["host"] = (
            str(binding.get_host_cpu_name()),
            str(binding.get_host_cpu_features().flatten()),
        )
    name, features = _state["host"]
    return name, features


def _machine(level: int) -> Any:
    """Return a new target machine for this host."""
    name, features = _host()
    return (
        _binding()
        .Target.from_default_triple()
        .create_target_machine(
            cpu=name,
            features=features,
            opt=level,
            jit=True,
        )
    )


def _module(text: str, name: str, machine: Any, *, effort: Effort) -> Any:
    """Return a module that is parsed, verified and optimized."""
    binding = _binding()
    if effort == "brief":
        # Short programs with few loops: there the functions of the elementary ones come in line.
        text = text.replace("noinline nounwind", "alwaysinline nounwind")
    try:
        module = binding.parse_assembly(text)
        if "half" in text and _lacks("f16c"):  # LLVM then calls functions
            module.link_in(binding.parse_assembly(_HALVES.read_text(encoding="utf-8")))
        module.verify()
    except RuntimeError as error:
        raise CompileError(
            f"LLVM refused the code of kernel {name!r}: {error}",
            code="I201",
            hint="This is a bug of axisfold; please report it with Function.source().",
        ) from error
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if effort == "full":
        _optimize(machine, module)
    elif effort == "brief":
        _optimize_briefly(machine, module)
    return module


def _lacks(feature: str) -> bool:
    """Return whether this machine is an x86 without some instructions."""
    is_x86 = _binding().get_default_triple().startswith(("x86_64", "i386", "i686"))
    return is_x86 and f"+{feature}" not in _host()[1].split(",")


def _optimize(machine: Any, module: Any) -> None:
    """Run LLVM's standard pipeline without its own vectorizers: schedules decide about lanes."""
    binding = _binding()
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _optimize_briefly(machine: Any, module: Any) -> None:
    """Run the passes that schedules leave something for: loops are as fast as they will be.

    The text computes nothing twice as it is, and addresses differ by constants.
    """
    binding = _binding()
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_loop_rotate_pass()
    passes.add_sccp_pass()  # parts of a state that stay what they were
    passes.add_simplify_cfg_pass()
    options = binding.create_pipeline_tuning_options(speed_level=1)
    passes.run(module, binding.create_pass_builder(machine, options))
