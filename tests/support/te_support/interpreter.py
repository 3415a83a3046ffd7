# SPDX-License-Identifier: Apache-2.0
"""A slow, plain reading of axisfold/ir/expr.py: what each node means, with every access checked.

Values are NumPy arrays of one axis, one entry for each lane (one for a scalar).
"""

import math

import numpy as np

from axisfold.ir.expr import (
    Binary,
    Broadcast,
    Call,
    Cast,
    Compare,
    Const,
    IfThenElse,
    Load,
    Not,
    Ramp,
    Select,
    Var,
)
from axisfold.ir.stmt import Allocate, Attr, For, If, Let, Seq, Store

COMPARE = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def wrap(value, dtype):
    value &= (1 << dtype.bits) - 1
    is_negative = dtype.kind == "int" and value >> (dtype.bits - 1)
    return value - (1 << dtype.bits) if is_negative else value


def trunc_div(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGER = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "floormod": lambda a, b: a % b if b else 0,
    "truncdiv": trunc_div,
    "truncmod": lambda a, b: a - trunc_div(a, b) * b if b else 0,
    "min": min,
    "max": max,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
}


def shifted(op, a, b, bits):
    if not 0 <= b < bits:
        return -1 if op == "shr" and a < 0 else 0
    return a << b if op == "shl" else a >> b


FLOAT = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def float_extreme(op, a, b):
    """IEEE 754-2019 minimum and maximum: a NaN wins, −0 < +0."""
    pick = np.minimum if op == "min" else np.maximum
    zeros = (a == 0) & (b == 0)
    signs = np.signbit(a) | np.signbit(b) if op == "min" else np.signbit(a) & np.signbit(b)
    zero = np.where(signs, -0.0, 0.0).astype(a.dtype)
    return np.where(zeros, zero, pick(a, b))


def binary(op, a, b, dtype):
    if dtype.kind == "float":
        with np.errstate(all="ignore"):
            return float_extreme(op, a, b) if op in ("min", "max") else FLOAT[op](a, b)
    if dtype.kind == "bool":
        return np.logical_and(a, b) if op in ("and", "min") else np.logical_or(a, b)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    if op in ("shl", "shr"):
        values = [wrap(shifted(op, x, y, dtype.bits), dtype) for x, y in pairs]
    else:
        values = [wrap(INTEGER[op](x, y), dtype) for x, y in pairs]
    return np.array(values, dtype.to_numpy())


def cast(value, source, target):
    """Convert; a float becomes an integer by truncation, saturated, NaN as 0."""
    if target.is_bool:
        return value != 0
    if target.is_float:
        with np.errstate(all="ignore"):
            return value.astype(target.to_numpy())
    if source.is_float:
        low = -(1 << (target.bits - 1)) if target.kind == "int" else 0
        high = (1 << (target.bits - (target.kind == "int"))) - 1
        return np.array([saturated(float(v), low, high) for v in value], target.to_numpy())
    return np.array([wrap(int(v), target) for v in value.tolist()], target.to_numpy())


def saturated(value, low, high):
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


LIBRARY = {
    "exp_nonpositive": np.exp,
    "exp_rounded": np.exp,
    "exp_short": lambda x: (np.exp(x.astype("f8")) * 2.0**64).astype(x.dtype),
    "exp_difference": lambda x, a: np.exp(x.astype("f8") - a).astype(x.dtype),
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "power": np.power, "fmod": np.fmod, "copysign": np.copysign,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "likely": lambda x: x,
}  # fmt: skip


def call(name, args, dtype):
    if name == "abs":
        if dtype.kind == "int":
            return np.array([wrap(abs(v), dtype) for v in args[0].tolist()], dtype.to_numpy())
        return np.abs(args[0])
    if name == "mulhi":
        pairs = zip(*(a.tolist() for a in args), strict=True)
        return np.array([x * y >> dtype.bits for x, y in pairs], dtype.to_numpy())
    with np.errstate(all="ignore"):
        if name == "erf":
            return np.array([math.erf(float(v)) for v in args[0]], args[0].dtype)
        return LIBRARY[name](*args)


class Memory:
    """The elements of a buffer as bytes, with a record of which were written."""

    def __init__(self, buffer, array=None, base=0):
        self.buffer, self.array, self.base = buffer, array, base
        self.unit = buffer.dtype.itemsize if buffer.unit == "element" else 1
        self.written = None

    @classmethod
    def allocated(cls, buffer, elements):
        memory = cls(buffer, np.zeros(max(elements, 0) * buffer.dtype.itemsize, "uint8"))
        memory.written = np.zeros(len(memory.array), bool)
        return memory

    def span(self, offset):
        start = self.base + int(offset) * self.unit
        end = start + self.buffer.dtype.itemsize
        is_inside = start >= 0 and end <= len(self.array)
        assert is_inside, f"{self.buffer.name}[{offset}] is out of bounds"
        return slice(start, end)

    def read(self, offset):
        span = self.span(offset)
        if self.written is not None:
            assert self.written[span].all(), f"{self.buffer.name}[{offset}] is read unwritten"
        return self.array[span].view(self.buffer.dtype.to_numpy())[0]

    def write(self, offset, value):
        span = self.span(offset)
        if self.written is not None:
            self.written[span] = True
        self.array[span].view(self.buffer.dtype.to_numpy())[0] = value


class Interpreter:
    """Runs statements; ``values`` binds variables, ``memory`` buffers."""

    def __init__(self, values=None, memory=None):
        self.values = {v: np.array([x], v.dtype.to_numpy()) for v, x in (values or {}).items()}
        self.memory = dict(memory or {})

    def run(self, stmt):
        match stmt:
            case Seq():
                for part in stmt.body:
                    self.run(part)
            case Store():
                self.store(stmt)
            case If():
                if self.expr(stmt.condition)[0]:
                    self.run(stmt.then)
                elif stmt.otherwise is not None:
                    self.run(stmt.otherwise)
            case For():
                low, extent = int(self.expr(stmt.min)[0]), int(self.expr(stmt.extent)[0])
                for value in range(low, low + extent):
                    self.values[stmt.var] = np.array([value], stmt.var.dtype.to_numpy())
                    if stmt.stop is not None and self.expr(stmt.stop)[0]:
                        break
                    self.run(stmt.body)
            case Allocate():
                extents = [int(self.expr(e)[0]) for e in stmt.buffer.allocated_extents]
                elements = math.prod(max(e, 0) for e in extents)
                self.memory[stmt.buffer] = Memory.allocated(stmt.buffer, elements)
                self.run(stmt.body)
            case Let():
                self.values[stmt.var] = self.expr(stmt.value)
                self.run(stmt.body)
            case Attr():  # a hint
                self.run(stmt.body)
            case _:
                raise NotImplementedError(type(stmt).__name__)

    def store(self, stmt):
        index, value = self.expr(stmt.index), self.expr(stmt.value)
        mask = [True] * len(index) if stmt.mask is None else self.expr(stmt.mask)
        for offset, element, is_on in zip(index, value, mask, strict=True):
            if is_on:
                self.memory[stmt.buffer].write(offset, element)

    def load(self, node):
        index = self.expr(node.index)
        mask = [True] * len(index) if node.mask is None else self.expr(node.mask)
        read = self.memory[node.buffer].read
        values = [read(i) if on else 0 for i, on in zip(index, mask, strict=True)]
        return np.array(values, node.dtype.to_numpy())

    def expr(self, node):
        match node:
            case Var():
                return self.values[node]
            case Const():
                return np.array([node.value], node.dtype.to_numpy())
            case Cast():
                return cast(self.expr(node.value), node.value.dtype, node.dtype)
            case Binary():
                return binary(node.op, self.expr(node.a), self.expr(node.b), node.dtype)
            case Compare():
                return COMPARE[node.op](self.expr(node.a), self.expr(node.b))
            case Not():
                return ~self.expr(node.a)
            case Select():
                parts = (node.condition, node.true_value, node.false_value)
                return np.where(*map(self.expr, parts))
            case IfThenElse():
                chosen = self.expr(node.condition)[0]
                return self.expr(node.true_value if chosen else node.false_value)
            case Call():
                return call(node.name, [self.expr(a) for a in node.args], node.dtype)
            case Load():
                return self.load(node)
            case Ramp():
                lanes = np.arange(node.lanes, dtype=node.dtype.to_numpy())
                return self.expr(node.base) + self.expr(node.stride) * lanes
            case Broadcast():
                return np.repeat(self.expr(node.value), node.lanes)


def run_kernel(kernel, arrays):
    """Run a kernel on C-ordered arrays, outputs in place."""
    values, memory = {}, {}
    for buffer, array in zip(kernel.params, arrays, strict=True):
        unit = array.itemsize if buffer.unit == "element" else 1
        steps = [s // unit for s in array.strides]
        known = [*zip(buffer.shape, array.shape, strict=True)]
        if buffer.strides:
            known += zip(buffer.strides, steps, strict=True)
        values.update({expr: value for expr, value in known if isinstance(expr, Var)})
        memory[buffer] = Memory(buffer, array.reshape(-1).view("uint8"))
    Interpreter(values, memory).run(kernel.body)
