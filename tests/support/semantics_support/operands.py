# SPDX-License-Identifier: Apache-2.0
"""Operands at which languages, libraries and machines differ."""

import struct
from fractions import Fraction

from semantics_support import exact

_PACK = {"float16": ("e", "H"), "float32": ("f", "I"), "float64": ("d", "Q")}


def integers(dtype, random_ones=0, dice=None):
    """Return edges of an integer dtype, or random values of all magnitudes."""
    low, high = exact.limits(dtype)
    if random_ones:
        shifted = [
            dice.randint(low, high) >> dice.randrange(dtype.bits) for _ in range(random_ones)
        ]
        return [v for v in shifted if low <= v <= high]
    small = [0, 1, 2, 3, 5, 7, -1, -2, -3, -7]
    near_width = [dtype.bits - 1, dtype.bits, dtype.bits + 1, -dtype.bits]
    middle = [1 << (dtype.bits // 2), (1 << (dtype.bits // 2)) - 1, high // 2, high // 2 + 1]
    ends = [high, high - 1, low, low + 1]
    return sorted({v for v in (*small, *near_width, *middle, *ends) if low <= v <= high})


def float_of_bits(pattern, dtype):
    if dtype.name == "bfloat16":  # the upper half of a float32
        return struct.unpack("f", struct.pack("I", pattern << 16))[0]
    value, raw = _PACK[dtype.name]
    return struct.unpack(value, struct.pack(raw, pattern))[0]


def bits_of_float(value):
    """Return the bits of a float that is exact in bfloat16."""
    (pattern,) = struct.unpack("I", struct.pack("f", value))
    assert pattern & 0xFFFF == 0, value
    return pattern >> 16


def floats(dtype, random_ones=0, dice=None):
    """Return edges of a float dtype, or floats of random bits, most of them near 1."""
    form = dtype.name
    precision, least, most = exact.FORMATS[form]
    if random_ones:
        near = [exact.rounded(Fraction(dice.gauss(0, 3)), form) for _ in range(random_ones // 2)]
        raw = [float_of_bits(dice.getrandbits(dtype.bits), dtype) for _ in range(random_ones // 2)]
        return near + raw
    step, smallest = 2.0 ** (1 - precision), 2.0 ** (least - precision + 1)
    top = 2.0**most * (2 - step)
    third, tenths = (exact.rounded(Fraction(*n), form) for n in ((1, 3), (31, 10)))
    positive = [
        0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, 10.0, third, tenths, 1 + step, 1 - step / 2,
        2.0**precision, 2.0**precision + 2, top, 2.0**least, 2.0**least - smallest, smallest,
        exact.INF,
    ]  # fmt: skip
    return [*positive, *(-v for v in positive), exact.NAN]


def to_convert(dtype):
    """Return values to be converted: edges, ends of other ranges, and ties of rounding."""
    if dtype.is_bool:
        return [False, True]
    if dtype.is_integer:
        low, high = exact.limits(dtype)
        near = [2**e + d for e in (7, 8, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64)
                for d in (-1, 0, 1, 2, 3)]  # fmt: skip
        near += [65504, 65519, 65520, 65521, (1 << 62) + (1 << 38), (1 << 62) + (1 << 38) + 1]
        near += [2**e + 2 ** (e - 8) + d for e in (30, 62) for d in (-1, 0, 1)]  # ties of bfloat16
        values = {v for n in near for v in (n, -n) if low <= v <= high}
        return sorted(values | set(integers(dtype)))
    values = {v: None for v in floats(dtype) if v == v and v != 0}
    for exact_value in _ties_and_ends():
        value = exact.rounded(exact_value, dtype.name)
        values.update({value: None, -value: None})
    return [0.0, -0.0, *values, exact.NAN]


def _ties_and_ends():
    """Return positive numbers; those that a narrow dtype does not have are rounded to it."""
    two = Fraction(2)
    found = [Fraction(n, 100) for n in (49, 50, 51, 99, 101, 150, 250)]
    for e in (7, 8, 15, 16, 31, 32, 63, 64):
        found += [two**e + d for d in (-1, Fraction(-1, 2), 0, Fraction(1, 2), 1)]
        found.append(two**e - two ** (e - 24))
    for precision, least, most in exact.FORMATS.values():
        half = two**-precision  # half of the last place of 1
        smallest = two ** (least - precision + 1)
        end = two ** (most + 1) - two ** (most - precision)  # rounds to infinity
        found += [
            1 + half,
            1 + 3 * half,
            smallest / 2,
            smallest * 3 / 2,
            end,
            two**least - smallest / 2,
        ]
        for tie in (1 + half, 1 + 3 * half, smallest / 2, smallest * 3 / 2, end):
            found += [tie * (1 + two**-30), tie * (1 - two**-30), tie * (1 + two**-52)]
    return found
