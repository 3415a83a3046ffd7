# SPDX-License-Identifier: Apache-2.0
"""The table: each operation of an expression, with operands of each dtype and its results.

One row is one operation on arrays of operands.  Expected values come from ``exact``, never from
a backend.  Everything that computes expressions is held to it by a few lines::

    for program in programs(TABLE, form="threads"):  # or "loops", for CPUs
        program.check(run(program))

``run`` compiles ``program.kernel``, calls it with ``program.arrays()`` (inputs, then outputs
full of nonsense), and returns the outputs as they are then.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from axisfold.dtypes import BOOL, SUPPORTED, DType
from axisfold.ir import build
from axisfold.ir.expr import Binary, Call, Cast, Compare, Const, Expr, IfThenElse, Not, Select
from axisfold.ir.intrinsics import INTRINSICS, takes
from semantics_support import exact
from semantics_support.operands import bits_of_float, float_of_bits, floats, integers, to_convert

DTYPES = [d for d in SUPPORTED.values() if not d.is_complex]
INTEGERS = [d for d in DTYPES if d.is_integer]
FLOATS = [d for d in DTYPES if d.is_float]
ULPS = {"float16": 1, "bfloat16": 1, "float32": 4, "float64": 4}  # as docs/semantics.md states
# Machine code has functions of its own.
MORE_ULPS = {("exp_short", "float32"): 32}
MACHINE_ULPS = {
    "exp": 1, "exp_nonpositive": 1, "exp_rounded": 1, "exp_short": 1, "exp2": 1, "expm1": 1,
    "log": 1, "log2": 1, "log10": 1, "log1p": 1, "tanh": 3,
}  # fmt: skip

INTEGER_OPS = (
    "add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max",
    "bitand", "bitor", "bitxor", "shl", "shr",
)  # fmt: skip
FLOAT_OPS = ("add", "sub", "mul", "div", "min", "max")
BOOL_OPS = {"and": min, "or": max, "min": min, "max": max}


@dataclass(frozen=True, eq=False)
class Operands:
    """Arrays of operands, one for each argument of an operation."""

    dtypes: tuple[DType, ...]
    values: tuple[list, ...]
    arrays: tuple[np.ndarray, ...] = field(init=False)

    def __post_init__(self):
        made = [array_of(v, d) for v, d in zip(self.values, self.dtypes, strict=True)]
        object.__setattr__(self, "arrays", tuple(made))

    def __len__(self):
        return len(self.values[0])


@dataclass(frozen=True, eq=False)
class Row:
    """One operation, what it is applied to, and what it gives.

    ``make`` builds the expression from operands, which may be vectors.  ``expected`` has a number
    for each place, or a Fraction that the result may miss by ``ulps``.
    """

    name: str
    operands: Operands
    make: Callable[..., Expr]
    result: DType
    expected: list[Any]
    ulps: int = 0

    def check(self, found):
        """Fail and name the operands where results are not as expected."""
        assert found.dtype == self.result.stored, self.name
        got = numbers_in(found, self.result)
        wrong = [n for n, e in enumerate(self.expected) if not self.agrees(got[n], e, n)]
        shown = [
            f"{self.name} of {[v[n] for v in self.operands.values]}: {got[n]!r},"
            f" not {shorter(self.expected[n])}"
            for n in wrong[:8]
        ]
        assert not wrong, "\n".join(shown)

    def agrees(self, found, expected, place):
        if isinstance(expected, Fraction):
            more = exact.slack(self.name.split()[0], self.operands.values[0][place])
            return is_near(found, expected, self.result.name, self.ulps + more)
        if isinstance(expected, float) and self.result.is_float:
            same_sign = exact.is_negative(found) == exact.is_negative(expected)
            return found != found if expected != expected else found == expected and same_sign
        return found == expected


def shorter(expected):
    return float(expected) if isinstance(expected, Fraction) else repr(expected)


def is_near(found, expected, form, ulps):
    """Whether a float is within some units in the last place; infinity counts as 2**(emax+1)."""
    if found != found:
        return False
    top = Fraction(2) ** (exact.FORMATS[form][2] + 1)
    value = Fraction(found) if abs(found) != exact.INF else top * (1 if found > 0 else -1)
    limited = max(min(expected, top), -top)
    inside = min(abs(limited), top - 1)  # beyond the range the last place is that of its end
    return abs(value - limited) <= Fraction(ulps) * exact.ulp(inside, form)


def array_of(values, dtype):
    """Return values, all of them exact in ``dtype``, as an array."""
    if dtype.name == "bfloat16":
        return np.array([bits_of_float(v) for v in values], np.uint16)
    with np.errstate(all="raise"):
        return np.array(values, dtype.stored)


def numbers_in(array, dtype):
    """Return the values of an array."""
    if dtype.name == "bfloat16":
        return [float_of_bits(bits, dtype) for bits in array.tolist()]
    return array.tolist()


# --- rows ---------------------------------------------------------------------------------------


def mapped(function, operands):
    return [function(*values) for values in zip(*operands.values, strict=True)]


def row(name, operands, make, result, function, ulps=0):
    return Row(name, operands, make, result, mapped(function, operands), ulps)


def pairs(dtype, values, seed=0):
    """Return every pair of some values, and some pairs of random bits."""
    chosen = [(a, b) for a in values for b in values]
    dice = random.Random(seed + dtype.bits)
    more = floats(dtype, 60, dice) if dtype.is_float else integers(dtype, 60, dice)
    chosen += [(dice.choice(more), dice.choice(more)) for _ in range(60)]
    a, b = zip(*chosen, strict=True)
    return Operands((dtype, dtype), (list(a), list(b)))


def comparisons(operands, dtype):
    return [
        row(f"{op} {dtype}", operands, lambda a, b, op=op: Compare(op, a, b), BOOL, rule)
        for op, rule in exact.COMPARE.items()
    ]


def integer_rows(dtype):
    operands = pairs(dtype, integers(dtype))
    yield from comparisons(operands, dtype)
    for op in INTEGER_OPS:
        make = lambda a, b, op=op: Binary(op, a, b)  # noqa: E731
        rule = lambda a, b, op=op: exact.integer(op, a, b, dtype)  # noqa: E731
        yield row(f"{op} {dtype}", operands, make, dtype, rule)
    if takes(INTRINSICS["mulhi"], dtype):
        make = lambda a, b: Call("mulhi", (a, b), a.dtype)  # noqa: E731
        rule = lambda a, b: exact.integer("mulhi", a, b, dtype)  # noqa: E731
        yield row(f"mulhi {dtype}", operands, make, dtype, rule)
    single = Operands((dtype,), (integers(dtype),))
    make = lambda a: Call("abs", (a,), a.dtype)  # noqa: E731
    yield row(f"abs {dtype}", single, make, dtype, lambda a: exact.wrap(abs(a), dtype))


def constant_rows(dtype):
    """Return operations with a constant beside the variable: backends treat some of them apart."""
    single = Operands((dtype,), (integers(dtype),))
    low, high = exact.limits(dtype)
    for value in sorted({v for v in (0, 1, 2, 3, 8, -1, -2, -5, low, high) if low <= v <= high}):
        for op in INTEGER_OPS:
            make = lambda a, op=op, v=value: Binary(op, a, constant(v, a.dtype))  # noqa: E731
            rule = lambda a, op=op, v=value: exact.integer(op, a, v, dtype)  # noqa: E731
            yield row(f"{op} {dtype} {value}", single, make, dtype, rule)
        for op, compared in exact.COMPARE.items():
            make = lambda a, op=op, v=value: Compare(op, a, constant(v, a.dtype))  # noqa: E731
            rule = lambda a, c=compared, v=value: c(a, v)  # noqa: E731
            yield row(f"{op} {dtype} {value}", single, make, BOOL, rule)


def constant(value, dtype):
    return build.broadcast(Const(value, dtype.element), dtype.lanes)


def float_rows(dtype):
    form = dtype.name
    operands = pairs(dtype, floats(dtype))
    yield from comparisons(operands, dtype)
    for op in FLOAT_OPS:
        make = lambda a, b, op=op: Binary(op, a, b)  # noqa: E731
        rule = lambda a, b, op=op: exact.real(op, a, b, form)  # noqa: E731
        yield row(f"{op} {dtype}", operands, make, dtype, rule)
    make = lambda a, b: Call("fmod", (a, b), a.dtype)  # noqa: E731
    rule = lambda a, b: exact.real("fmod", a, b, form)  # noqa: E731
    yield row(f"fmod {dtype}", operands, make, dtype, rule)
    signed = Operands(  # the sign of a NaN is open
        (dtype, dtype), tuple(map(list, zip(*_without_nan_signs(operands), strict=True)))
    )
    make = lambda a, b: Call("copysign", (a, b), a.dtype)  # noqa: E731
    yield row(f"copysign {dtype}", signed, make, dtype, exact.math.copysign)
    single = Operands((dtype,), (to_convert(dtype),))
    for name, rule in exact.EXACT.items():
        flag = INTRINSICS[name].result == "bool"
        yield row(
            f"{name} {dtype}",
            single,
            lambda a, name=name, flag=flag: Call(
                name, (a,), BOOL.with_lanes(a.dtype.lanes) if flag else a.dtype
            ),
            BOOL if flag else dtype,
            lambda a, rule=rule: rule(a, form),
        )


def _without_nan_signs(operands):
    return [(a, b) for a, b in zip(*operands.values, strict=True) if b == b]


def function_rows(dtype):
    """Return the functions that no library rounds correctly."""
    for name in exact.FUNCTIONS:
        single = Operands((dtype,), ([v for v in floats(dtype) if exact.is_defined(name, v)],))
        make = lambda a, name=name: Call(name, (a,), a.dtype)  # noqa: E731
        rule = lambda a, name=name: exact.function(name, a)  # noqa: E731
        units = MORE_ULPS.get((name, dtype.name), ULPS[dtype.name])
        yield row(f"{name} {dtype}", single, make, dtype, rule, units)
    whole = [(x, a) for a in (0, 1, -3, 37, -256, 256) for x in floats(dtype) if not x > a + 1]
    operands = Operands((dtype, dtype), tuple(map(list, zip(*whole, strict=True))))
    make = lambda x, a: Call("exp_difference", (x, a), x.dtype)  # noqa: E731
    rule = exact.exp_difference
    yield row(f"exp_difference {dtype}", operands, make, dtype, rule, ULPS[dtype.name])
    make = lambda a, b: Call("power", (a, b), a.dtype)  # noqa: E731
    operands = pairs(dtype, floats(dtype))
    yield row(f"power {dtype}", operands, make, dtype, exact.power, ULPS[dtype.name])


def cast_rows(source):
    single = Operands((source,), (to_convert(source),))
    for target in DTYPES:
        make = lambda a, t=target: Cast(a, t.with_lanes(a.dtype.lanes))  # noqa: E731
        rule = lambda a, t=target: exact.converted(a, source, t)  # noqa: E731
        yield row(f"cast {source} to {target}", single, make, target, rule)


def bool_rows():
    sides = [False, False, True, True], [False, True, False, True]
    operands = Operands((BOOL, BOOL), sides)
    yield from comparisons(operands, BOOL)
    for op, rule in BOOL_OPS.items():
        yield row(f"{op} bool", operands, lambda a, b, op=op: Binary(op, a, b), BOOL, rule)
    yield row("not bool", operands, lambda a, b: Not(a), BOOL, lambda a, b: not a)
    yield row(
        "likely bool", operands, lambda a, b: Call("likely", (b,), b.dtype), BOOL, lambda a, b: b
    )


def choice_rows(dtype):
    values = to_convert(dtype)
    flags = [n % 3 == 0 for n in range(len(values))]
    operands = Operands((BOOL, dtype, dtype), (flags, values, values[::-1]))
    rule = lambda c, a, b: a if c else b  # noqa: E731
    yield row(f"select {dtype}", operands, Select, dtype, rule)
    # A vector has no branches: passes make a Select of it, or branch outside.
    scalar = lambda c, a, b: (Select if c.dtype.lanes > 1 else IfThenElse)(c, a, b)  # noqa: E731
    yield row(f"if_then_else {dtype}", operands, scalar, dtype, rule)


def table():
    """Return all rows."""
    rows = [*bool_rows()]
    for dtype in INTEGERS:
        rows += integer_rows(dtype)
    for name in ("int32", "int64", "uint8", "uint32"):
        rows += constant_rows(SUPPORTED[name])
    for dtype in FLOATS:
        rows += [*float_rows(dtype), *function_rows(dtype)]
    for dtype in DTYPES:
        rows += [*cast_rows(dtype), *choice_rows(dtype)]
    return rows


def in_machine_code(row):
    """Return a row with the bound that machine code keeps."""
    return replace(row, ulps=min(row.ulps, MACHINE_ULPS.get(row.name.split()[0], row.ulps)))


TABLE = table()
