# SPDX-License-Identifier: Apache-2.0
"""From CUDA C++ to machine code by NVRTC, which needs no GPU; results are kept on disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from axisfold.codegen.cuda import OPTIONS
from axisfold.errors import CompileError, UnsupportedError
from axisfold.runtime.cuda.driver import missing_extra
from axisfold.runtime.disk import shared_cache

# Without what belongs to textures, cooperative groups and launches from a device.
_OPTIONS: Final = (*OPTIONS, "-minimal", "--ptxas-options=-v")
_FORMAT: Final = "1"
_CONTEXT_LINES: Final = 2
_PACKAGES: Final = ("nvidia_cuda_nvrtc", "cuda_bindings")

_compiling: Final = threading.RLock()
_memory: Final[dict[str, Cubin]] = {}


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code of a program.

    Attributes
    ----------
    key
        Its name on disk.
    source, arch
        What was compiled, and for what.
    code
        The ELF file.
    report
        What the assembler says of each kernel; "" if NVRTC had the code in a cache of its own.
    """

    key: str
    source: str
    arch: str
    code: bytes
    report: str

    def info(self) -> dict[str, KernelInfo]:
        """Return the resources of each kernel by its symbol."""
        report = self.report
        if not report:  # one more variable makes it a program that NVRTC has not seen
            unseen = f"{self.source}\n__device__ int axisfold_{time.time_ns()};\n"
            report = _assembled(_nvrtc(), unseen, self.arch)[1]
        found: dict[str, KernelInfo] = {}
        for part in re.split(r"Compiling entry function '", report)[1:]:
            found[part[: part.index("'")]] = KernelInfo(
                registers=_number(r"Used (\d+) registers", part),
                shared_bytes=_number(r"(\d+) bytes smem", part),
                stack_bytes=_number(r"(\d+) bytes stack frame", part),
                spilled_bytes=_number(r"(\d+) bytes spill stores", part),
                reloaded_bytes=_number(r"(\d+) bytes spill loads", part),
                barriers=_number(r"used (\d+) barriers", part),
            )
        return found


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What a thread or block of a kernel uses.

    Attributes
    ----------
    registers
        32-bit registers of a thread.
    shared_bytes
        Shared memory of a block that is part of the code; what a launch adds is not in it.
    stack_bytes
        Local memory of a thread: arrays that are no registers, and spilled registers.
    spilled_bytes, reloaded_bytes
        Bytes of registers that a thread stores to local memory and reads back.
    barriers
        Hardware barriers of a block.
    """

    registers: int
    shared_bytes: int
    stack_bytes: int
    spilled_bytes: int
    reloaded_bytes: int
    barriers: int


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    return int(match[1]) if match else 0


def compile_cuda(source: str, arch: str) -> Cubin:
    """Compile a program, or find it in memory or on disk.

    Parameters
    ----------
    source
        CUDA C++; its kernels are ``extern "C"``.
    arch
        Architecture, ``sm_90``.

    Raises
    ------
    MissingDependencyError
        ``X301``: NVRTC is not installed.
    UnsupportedError
        ``X307``: NVRTC does not know the architecture.
    CompileError
        ``I203``: NVRTC refused the source.
    """
    with _compiling:  # so that threads do not compile the same program twice
        nvrtc = _nvrtc()
        key = _key(source, arch, _version(nvrtc))
        if key not in _memory:
            _memory[key] = _from_disk(key, source, arch) or _compile(nvrtc, key, source, arch)
        return _memory[key]


def clear_memory() -> None:
    """Forget the programs in memory; those on disk stay."""
    _memory.clear()


def _key(source: str, arch: str, nvrtc: str) -> str:
    release = sys.modules["axisfold"].__version__  # an import would reach above this layer
    parts = (_FORMAT, release, nvrtc, arch, *_OPTIONS, source)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def stored_code(key: str) -> tuple[bytes, str] | None:
    """Return machine code that is on disk, and the report; None if it is not there or not whole."""
    disk = shared_cache("cuda")
    entry = None if disk is None else disk.get(key)
    if entry is None:
        return None
    report, _, code = entry.partition(b"\0")
    return code, report.decode()


@cache
def installed_nvrtc() -> str:
    """Return what tells the installed NVRTC from others, without loading it.

    Those are the names, with their versions, of the packages that bring and find it, as pip leaves
    them on the path: importlib.metadata would take longer than to load a plan.  A toolkit of the
    system's has none, and is told by the release of the package that finds it alone.
    """
    found: set[str] = set()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names = os.listdir(folder or ".")
            found.update(n for n in names if n.startswith(_PACKAGES) and n.endswith("-info"))
    return ", ".join(sorted(found))


def _from_disk(key: str, source: str, arch: str) -> Cubin | None:
    found = stored_code(key)
    return None if found is None else Cubin(key, source, arch, *found)


def _compile(nvrtc: Any, key: str, source: str, arch: str) -> Cubin:
    known = [f"sm_{number}" for number in _call(nvrtc.nvrtcGetSupportedArchs)]
    # A letter, as in sm_90a, stands for features of one architecture alone.
    if arch.rstrip("af") not in known:
        raise UnsupportedError(
            f"NVRTC {_version(nvrtc)} does not compile for {arch!r}.",
            code="X307",
            hint=f"Use one of {', '.join(known)}, or another version of nvidia-cuda-nvrtc.",
        )
    code, report = _assembled(nvrtc, source, arch)
    disk = shared_cache("cuda")
    if disk is not None:
        disk.put(key, report.encode() + b"\0" + code)
    return Cubin(key, source, arch, code, report)


def _assembled(nvrtc: Any, source: str, arch: str) -> tuple[bytes, str]:
    """Return the code of a program, and what the assembler says of it."""
    program = _call(nvrtc.nvrtcCreateProgram, source.encode(), b"axisfold.cu", 0, [], [])
    try:
        options = [f"--gpu-architecture={arch}".encode(), *(o.encode() for o in _OPTIONS)]
        status = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
        log = _text(nvrtc, program)
        if status:
            raise _refusal(source, arch, log or status.name)
        return _bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program), log
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _refusal(source: str, arch: str, log: str) -> CompileError:
    """Return the error with the log and the lines that it speaks of."""
    lines = source.splitlines()
    shown: set[int] = set()
    for match in re.finditer(r"axisfold\.cu\((\d+)\): error", log):
        line = int(match[1]) - 1
        shown.update(range(line - _CONTEXT_LINES, line + _CONTEXT_LINES + 1))
    excerpt = "\n".join(f"{n + 1:5} | {lines[n]}" for n in sorted(shown) if 0 <= n < len(lines))
    return CompileError(
        f"NVRTC refused generated code for {arch}:\n{log.strip()}\n{excerpt}\n",
        code="I203",
        hint="This is a bug of axisfold: please report it with the program that shows it.",
    )


def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise missing_extra("cuda.bindings") from error
    return nvrtc


def _version(nvrtc: Any) -> str:
    try:
        major, minor = _call(nvrtc.nvrtcVersion)
    except RuntimeError as error:  # what its loader raises where there is no library
        raise missing_extra("NVRTC") from error
    return f"{major}.{minor}"


def _call(function: Any, *args: Any) -> Any:
    status, *values = function(*args)
    if status:
        raise CompileError(f"{function.__name__} returned {status.name}.", code="I203")
    return values[0] if len(values) == 1 else values


def _text(nvrtc: Any, program: Any) -> str:
    log = _bytes(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    return log.decode(errors="replace").strip("\0 \n")


def _bytes(size: Any, read: Any, program: Any) -> bytes:
    length = _call(size, program)
    if length <= 1:  # the end of an empty text; Python keeps one object for each such bytes
        return b""
    buffer = bytes(length)  # NVRTC fills it in place
    status = read(program, buffer)[0]
    if status:
        raise CompileError(f"{read.__name__} returned {status.name}.", code="I203")
    return buffer
