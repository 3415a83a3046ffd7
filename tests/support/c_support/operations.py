# SPDX-License-Identifier: Apache-2.0
"""Kernels that apply every operation of the IR to edge values of every dtype."""

import math

import numpy as np

from axisfold.dtypes import BOOL, INT64, SUPPORTED, highest, lowest
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import Binary, Cast, Compare, Load, Ramp, Var
from axisfold.ir.expr import Call as CallExpr
from axisfold.ir.intrinsics import INTRINSICS, takes
from axisfold.ir.stmt import For, Kernel, Seq, Store
from c_support.compiler import Argument, Call

# NumPy has no bfloat16; the table of semantics has its operations.
DTYPES = [d for d in SUPPORTED.values() if d.kind in ("bool", "int", "uint", "float")]
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
INTEGER = (
    "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max",
    "bitand", "bitor", "bitxor", "shl", "shr",
)  # fmt: skip
BINARY = {
    "bool": ("min", "max", "and", "or"),
    "int": INTEGER,
    "uint": INTEGER,
    "float": ("add", "sub", "mul", "div", "min", "max"),
}
# Where C and LLVM call the same function of the C library they agree; each may also replace it.
LIBRARY = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "erf",
    "power",
}  # fmt: skip

# What is no function, or says nothing of some edges.
UNTOLD = ("likely", "exp_nonpositive", "exp_rounded", "exp_short", "exp_difference")


def edges(dtype):
    """Return values at which operations differ between languages and machines."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        low, high = lowest(dtype), highest(dtype)
        values = [0, 1, 2, 3, 7, 16, high, high - 1, high // 2, low, low + 1]
        values += [-1, -2, -3, -7, -16] if dtype.kind == "int" else []
        return np.array(values, dtype.to_numpy())
    info = np.finfo(dtype.to_numpy())
    values = [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 0.1, -7.3, 0.999, 127.0, 128.0,
        -128.0, -129.0, 255.0, 256.0, 32767.0, 32768.0, 65504.0, float(info.max), float(info.min),
        float(info.tiny), float(info.smallest_subnormal), math.inf, -math.inf, math.nan,
    ]  # fmt: skip
    if dtype.bits > 16:
        values += [65519.9, 65520.0, 2.0**31 - 1, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63)]
        values += [2.0**64, 1e-7, 2.0**-24, 2.0**-25, 2.0**-25 * 1.001, 1 + 2.0**-11, 2049.0]
        values += [1 + 2.0**-11 + 2.0**-20, 0.3 * 2.0**-14, 1023.75 * 2.0**-24]
    if dtype.bits == 64:  # a float32 on the way would turn these into ties of float16
        values += [1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40, 2.0**-25 * (1 + 2.0**-40)]
    return np.array(values, dtype.to_numpy())


class _Maker:
    """Collects stores of results into outputs of their own."""

    def __init__(self, name, dtype, inputs, lanes):
        self.name, self.lanes = name, lanes
        self.n, self.i = Var("n", INT64, is_size=True), Var("i", INT64)
        self.inputs = [self.buffer(f"in{p}", dtype) for p in range(inputs)]
        self.index = self.i if lanes == 1 else Ramp(self.i * lanes, build.const(1, INT64), lanes)
        self.args = [Load(b, self.index) for b in self.inputs]
        self.outputs, self.stores, self.labels = [], [], []

    def buffer(self, name, dtype):
        return Buffer(name, dtype.element, (self.n,), facts=Facts(align=dtype.itemsize))

    def add(self, label, value):
        out = self.buffer(f"out{len(self.outputs)}", value.dtype)
        self.outputs.append(out)
        self.labels.append(label)
        self.stores.append(Store(out, self.index, value))

    def call(self, *values):
        rounds = self.n if self.lanes == 1 else self.n // self.lanes
        loop = For(self.i, build.const(0, INT64), rounds, "serial", Seq(tuple(self.stores)))
        kernel = Kernel(self.name, (*self.inputs, *self.outputs), tuple(self.outputs), loop)
        size = len(values[0]) // self.lanes * self.lanes
        given = [v[:size].copy() for v in values]
        given += [np.zeros(size, b.dtype.to_numpy()) for b in self.outputs]
        places = range(len(values), len(given))
        return Call(kernel, [Argument.of(a) for a in given], [size], list(places)), self.labels


def pairs_of(dtype, lanes=1):
    """Return a call with every operation of two operands, and the names of its outputs."""
    made = _Maker(f"pairs_{dtype}_{lanes}", dtype, 2, lanes)
    for op in BINARY[dtype.kind]:
        made.add(op, Binary(op, *made.args))
    for op in COMPARISONS:
        made.add(op, Compare(op, *made.args))
    for row in INTRINSICS.values():
        if row.arity == 2 and row.name not in UNTOLD and takes(row, dtype):
            made.add(row.name, CallExpr(row.name, tuple(made.args), made.args[0].dtype))
    a, b = np.meshgrid(edges(dtype), edges(dtype))
    return made.call(a.ravel(), b.ravel())


def singles_of(dtype, lanes=1):
    """Return a call with every conversion and every function of one operand."""
    made = _Maker(f"singles_{dtype}_{lanes}", dtype, 1, lanes)
    (value,) = made.args
    for target in DTYPES:
        made.add(f"cast to {target}", Cast(value, target.with_lanes(lanes)))
    for row in INTRINSICS.values():
        if row.arity == 1 and row.name not in UNTOLD and takes(row, dtype) and not dtype.is_bool:
            result = BOOL.with_lanes(lanes) if row.result == "bool" else value.dtype
            made.add(row.name, CallExpr(row.name, (value,), result))
    return made.call(np.repeat(edges(dtype), 4))


def constants_of(dtype):
    """Return a call that has every operation with each of its dtype's edges as a constant."""
    made = _Maker(f"constants_{dtype}", dtype, 1, 1)
    (value,) = made.args
    for edge in edges(dtype).tolist():
        const = build.const(edge, dtype)
        if dtype.is_integer and edge in (0, 1, 2, 7, 16, -1, -7, lowest(dtype), highest(dtype)):
            for op in (*INTEGER[:7], "shl", "shr"):
                made.add(f"{op} {edge}", Binary(op, value, const))
        if dtype.is_float:
            made.add(f"max {edge}", Binary("max", value, const))
        else:
            for op in COMPARISONS:
                made.add(f"{op} {edge}", Compare(op, value, const))
    made.add("itself", Compare("eq", value, value))
    made.add("two constants", Binary("min", const, const))
    return made.call(edges(dtype))


def all_calls():
    """Return every call, with the names of its outputs."""
    found = [f(d) for d in DTYPES for f in (pairs_of, singles_of, constants_of)]
    wide = [SUPPORTED[name] for name in ("float32", "int64", "bool")]
    return found + [f(d, 8) for d in wide for f in (pairs_of, singles_of)]
