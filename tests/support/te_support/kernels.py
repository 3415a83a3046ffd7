# SPDX-License-Identifier: Apache-2.0
"""Kernels written as loop IR, run as machine code."""

import numpy as np

from axisfold.build import Compiled
from axisfold.dtypes import INT64, parse
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Load, Ramp, Var
from axisfold.ir.stmt import For, Kernel, Store


def buffer(name, dtype, *shape, **more):
    return Buffer(name, parse(dtype), tuple(build.const(e, INT64) for e in shape), **more)


def index(value):
    return build.const(value, INT64)


def loop(extent, body, name="i"):
    """Return a serial loop; ``body`` gets its variable."""
    var = Var(name, INT64)
    return For(var, index(0), build.as_expr(extent, INT64), "serial", body(var))


def kernel(params, outputs, *statements, name="main"):
    return Kernel(name, tuple(params), tuple(outputs), build.seq(*statements))


def run(program, *arrays, scalars=()):
    """Run a kernel as machine code on the addresses of arrays."""
    Compiled(program).run([a.ctypes.data for a in arrays], list(scalars))


def lanewise(inputs, output, lanes, count, rule):
    """Return ``output[i] = rule(inputs[i]…)`` for ``count`` elements, ``lanes`` at a time."""

    def body(i):
        at = i if lanes == 1 else Ramp(build.binary("mul", i, index(lanes)), index(1), lanes)
        return Store(output, at, rule(*(Load(b, at) for b in inputs)))

    return loop(count // lanes, body)


def same_bits(found, wanted):
    """Whether arrays are equal bit by bit, any NaN for any NaN."""
    if found.dtype.kind != "f":
        return np.array_equal(found, wanted)
    kind = f"u{found.dtype.itemsize}"
    same = found.view(kind) == wanted.astype(found.dtype).view(kind)
    return bool(np.all(same | (np.isnan(found) & np.isnan(wanted))))
