# SPDX-License-Identifier: Apache-2.0
"""Launch a kernel of a source file on arrays, on the host or on a device."""

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from header_support.paths import INCLUDE, SHIM

Dim = int | tuple[int, ...]
_KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__\w+__\([^)]*\)\s+)?(\w+)\(')
# Kernels that a macro stamps out, one name for each use: KERNEL_xyz(name, …).
_STAMPED = re.compile(r"^KERNEL_\w+\((\w+)", re.MULTILINE)


class KernelFault(Exception):
    """The machine stopped a kernel that misused barriers, shuffles or a checked precondition."""


class Machine(Protocol):
    """What the cases need of a machine."""

    def launch(
        self,
        source: Path,
        kernel: str,
        grid: Dim,
        block: Dim,
        *arguments: Any,
        cluster: int = 1,
        defines: Sequence[str] = (),
    ) -> None:
        """Run a kernel; arrays among the arguments are updated in place."""
        ...


def three(dim: Dim) -> tuple[int, int, int]:
    """Extend a launch dimension to x, y and z."""
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    x, y, z = (*given, 1, 1, 1)[:3]
    return x, y, z


def kernel_names(text: str) -> list[str]:
    """Names of the kernels that a source text defines."""
    defined = "\n".join(re.split(r"(?:#define.*\\\n)(?:.*\\\n)*.*\n", text))
    return [*_KERNEL.findall(defined), *_STAMPED.findall(defined)]


def _build(key: str, suffix: str, command: list[str]) -> Path:
    """Run a compiler once for each content, whichever process comes first."""
    folder = Path(tempfile.gettempdir()) / f"axisfold-header-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise RuntimeError(f"{folder} belongs to another user; its libraries are not loaded")
    target = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}{suffix}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / target.name
            done = subprocess.run(
                [*command, "-o", str(made)], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise RuntimeError(f"the host compiler refused:\n{done.stderr[-6000:]}")
            made.replace(target)
    return target


@cache
def _headers_digest() -> str:
    files = sorted([*INCLUDE.rglob("*.cuh"), *SHIM.rglob("*.*"), *SHIM.parent.glob("kernels/*")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


# Without -fno-gnu-unique, two kernel files would share the shared memory of a common template.
_FLAGS = [
    *("-std=c++17", "-O1", "-shared", "-fPIC", "-pthread", "-fno-gnu-unique", "-Wl,-Bsymbolic"),
    *("-Wall", "-Wextra", "-Werror"),
]


@cache
def _runtime() -> ctypes.CDLL:
    source = SHIM / "runtime.cpp"
    path = _build(_headers_digest(), "-runtime.so", ["g++", *_FLAGS, "-O2", str(source)])
    return ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


@cache
def _library(source: Path, defines: tuple[str, ...]) -> ctypes.CDLL:
    """Compile a kernel file for the host, with a thunk for each kernel."""
    _runtime()
    text = source.read_text()
    thunks = "\n".join(
        f'extern "C" void thunk_{name}(void** arguments) {{ simt::call(&{name}, arguments); }}'
        for name in kernel_names(text)
    )
    anchor = 'extern "C" char* shared_anchor() { return &simt::shared_anchor; }'
    whole = f'#include "simt.hpp"\n#include "{source}"\n{anchor}\n{thunks}\n'
    options = [
        *_FLAGS,
        "-Wno-unknown-pragmas",
        f"-I{SHIM / 'include'}",
        f"-I{INCLUDE}",
        *(f"-D{define}" for define in defines),
    ]
    key = "\n".join([_headers_digest(), text, whole, *options])
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as unit:
        unit.write(whole)
        unit.flush()
        path = _build(key, ".so", ["g++", *options, unit.name])
    return ctypes.CDLL(str(path))


class HostMachine:
    """Runs kernels on the CPU, one fibre for each CUDA thread.

    Every launch is repeated with the threads and blocks in other orders. Results that then differ
    mean that a barrier is missing. Arrays lie between guard zones that no kernel may change.
    """

    orders = (0, 1, 2)

    def launch(
        self,
        source: Path,
        kernel: str,
        grid: Dim,
        block: Dim,
        *arguments: Any,
        cluster: int = 1,
        defines: Sequence[str] = (),
    ) -> None:
        """Run a kernel in three orders; arrays among the arguments are updated in place."""
        library = _library(source, tuple(defines))
        copies = [[_guarded(argument) for argument in arguments] for _ in self.orders]
        for order, given in zip(self.orders, copies, strict=True):
            self._run(library, kernel, three(grid), three(block), cluster, order, given)
            if not all(_is_intact(argument) for argument in given):
                raise KernelFault(f"{kernel}: a write outside of an array")
        for given in copies[1:]:
            for first, other in zip(copies[0], given, strict=True):
                if isinstance(first, np.ndarray) and first.tobytes() != other.tobytes():
                    raise KernelFault(f"{kernel}: the result depends on the order of the threads")
        for argument, made in zip(arguments, copies[0], strict=True):
            if isinstance(argument, np.ndarray):
                argument[...] = made

    @staticmethod
    def _run(
        library: ctypes.CDLL,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: int,
        order: int,
        arguments: list[Any],
    ) -> None:
        cells = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else _scalar(a)
            for a in arguments
        ]
        pointers = (ctypes.c_void_p * max(1, len(cells)))(
            *(ctypes.cast(ctypes.pointer(cell), ctypes.c_void_p) for cell in cells)
        )
        message = ctypes.create_string_buffer(1024)
        failed = _runtime().simt_launch(
            ctypes.cast(library[f"thunk_{kernel}"], ctypes.c_void_p),
            ctypes.cast(library["shared_anchor"], ctypes.c_void_p),
            pointers,
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            ctypes.c_uint(cluster),
            ctypes.c_uint(order),
            message,
            ctypes.c_size_t(len(message)),
        )
        if failed:
            raise KernelFault(message.value.decode())


_GUARD = 256  # bytes; a multiple of every alignment


def _guarded(argument: Any) -> Any:
    """Copy an array into the middle of a buffer whose ends hold NaN (as floats) or -1."""
    if not isinstance(argument, np.ndarray):
        return argument
    buffer = np.full(argument.nbytes + 2 * _GUARD + 16, 0xFF, np.uint8)
    first = _GUARD + -(buffer.ctypes.data + _GUARD) % 16
    inner = buffer[first : first + argument.nbytes].view(argument.dtype).reshape(argument.shape)
    inner[...] = argument
    return inner


def _is_intact(argument: Any) -> bool:
    if not isinstance(argument, np.ndarray):
        return True
    buffer = argument
    while isinstance(buffer.base, np.ndarray):
        buffer = buffer.base
    first = argument.ctypes.data - buffer.ctypes.data
    ends = buffer[:first], buffer[first + argument.nbytes :]
    return all(bool((end == 0xFF).all()) for end in ends)


def _scalar(value: Any) -> Any:
    if not isinstance(value, np.generic):
        raise TypeError(f"pass scalars as NumPy scalars, which name their type: {value!r}")
    kind: Any = value.dtype
    return np.ctypeslib.as_ctypes_type(kind)(value.item())
