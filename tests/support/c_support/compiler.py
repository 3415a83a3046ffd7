# SPDX-License-Identifier: Apache-2.0
"""The system's gcc: many kernels, one shared object."""

import ctypes
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axisfold.build import Compiled
from axisfold.codegen.c import emit_kernel, symbol

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off"]


@dataclass
class Argument:
    """An array as the bytes that it spans, so that strides and misalignment survive a copy."""

    memory: bytes
    offset: int
    dtype: str
    shape: tuple
    strides: tuple

    @classmethod
    def of(cls, array, shift=0):
        """Describe an array; ``shift`` bytes in front of it spoil its alignment."""
        steps = [s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True)]
        below = -sum(s for s in steps if s < 0)
        size = sum(abs(s) for s in steps) + array.itemsize
        if array.size:
            held = ctypes.string_at(array.ctypes.data - below, size)
        else:
            below, held = 0, bytes(array.itemsize)
        return cls(bytes(shift) + held, below + shift, array.dtype.str, array.shape, array.strides)

    def placed(self):
        """Return an array in memory of its own."""
        memory = np.frombuffer(self.memory, np.uint8).copy()
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)


@dataclass
class Call:
    """A device program and what it is called with; ``outputs`` are positions of arguments."""

    kernel: Any
    arguments: list
    scalars: list
    outputs: list

    def made(self, function):
        """Call a function of addresses and integers; return what it wrote."""
        arrays = [a.placed() for a in self.arguments]
        assert function(*(a.ctypes.data for a in arrays), *self.scalars) == 0
        return [np.ascontiguousarray(arrays[p]) for p in self.outputs]


def gcc(*args):
    """Run gcc, two processes at a time, and fail with what it says."""
    path = shutil.which("gcc")
    if path is None:
        pytest.fail("gcc is not installed, and these tests compile C with it: install gcc.")
    running, said = [], []
    for command in args:
        if len(running) == 2:
            said.append(running.pop(0).communicate()[0])
        running.append(
            subprocess.Popen(
                [path, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
    said += [process.communicate()[0] for process in running]
    assert not any(said), "\n".join(s for s in said if s)


def compiled(kernels, folder, *options):
    """Return the path of a shared object with the functions of device programs."""
    objects, commands = [], []
    for kernel in {k.name: k for k in kernels}.values():
        source = folder / f"{symbol(kernel)}.c"
        source.write_text(emit_kernel(kernel), encoding="utf-8")
        objects.append(str(source.with_suffix(".o")))
        commands.append([*STRICT, *options, "-fPIC", "-c", str(source), "-o", objects[-1]])
    gcc(*commands)
    library = folder / "kernels.so"
    gcc([*options, "-shared", *objects, "-o", str(library), "-lm"])
    return library


def c_function(library, name, pointers, scalars):
    """Return a function of addresses and integers."""
    function = getattr(library, name)
    function.restype = ctypes.c_int32
    function.argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * scalars
    return function


def results_of_c(library, call):
    """Return the outputs that the C function writes."""
    name = symbol(call.kernel)
    return call.made(c_function(library, name, len(call.arguments), len(call.scalars)))


def results_of_llvm(calls):
    """Return the outputs that LLVM's code writes, for each call; a kernel is compiled once."""
    functions = {}
    for kernel in {c.kernel.name: c.kernel for c in calls}.values():
        functions[kernel.name] = Compiled(kernel).entry
    return [call.made(functions[call.kernel.name]) for call in calls]


def assert_same_bits(found, wanted, label):
    """Compare bit for bit; one NaN is as good as another."""
    found, wanted = np.ascontiguousarray(found), np.ascontiguousarray(wanted)
    same = found.view(f"u{found.itemsize}") == wanted.view(f"u{found.itemsize}")
    if found.dtype.kind == "f":
        same |= np.isnan(found) & np.isnan(wanted)
    where = np.flatnonzero(~same.ravel())[:5]
    assert same.all(), f"{label} at {where}: {found.ravel()[where]} and {wanted.ravel()[where]}"


def results_in_process(library, calls, folder, environment):
    """Return the outputs of calls made in a process of their own, as sanitizers need it."""
    tasks = [(symbol(c.kernel), Call(None, c.arguments, c.scalars, c.outputs)) for c in calls]
    given, made = folder / "calls.pickle", folder / "results.pickle"
    given.write_bytes(pickle.dumps(tasks))
    script = "import sys; from c_support.compiler import main; main(*sys.argv[1:])"
    path = os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", script, str(library), str(given), str(made)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return pickle.loads(made.read_bytes())


def main(path, given, made):
    """Make the calls that ``results_in_process`` wrote down."""
    library = ctypes.CDLL(path)
    results = []
    for name, call in pickle.loads(Path(given).read_bytes()):
        function = c_function(library, name, len(call.arguments), len(call.scalars))
        results.append(call.made(function))
    Path(made).write_bytes(pickle.dumps(results))
