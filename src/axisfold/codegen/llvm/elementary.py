# SPDX-License-Identifier: Apache-2.0
"""Exponentials and logarithms of scalars and vectors, without tables and without branches.

Every function is one internal LLVM function for each number of lanes; all lanes and the scalar
get the same bits.  Errors are below one unit in the last place (tanh: three).

Sources: Cody and Waite, "Software manual for the elementary functions", 1980 (the reductions);
FreeBSD's msun, e_log.c, e_log2.c and s_log1p.c (log(1 + f) by s = f / (2 + f)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

from axisfold.codegen.llvm.coefficients import FLOAT32_COEFFICIENTS, FLOAT64_COEFFICIENTS
from axisfold.codegen.llvm.lanes import Lanes
from axisfold.codegen.llvm.types import suffix, value_type
from axisfold.codegen.llvm.writer import Writer
from axisfold.dtypes import DType
from axisfold.ir.intrinsics import SHORT_LIFT

# So many calls side by side leave no registers for states around them, and share their constants.
_CROWD: Final = 16
_COEFFICIENTS: Final = {32: FLOAT32_COEFFICIENTS, 64: FLOAT64_COEFFICIENTS}


def emit_elementary(
    w: Writer, name: str, dtype: DType, *values: str, lift: int = 0, is_added: bool = False
) -> str:
    """Append a call of one of :data:`ELEMENTARY` on float32 or float64; the module gets its code.

    It stays a call: unrolled loops with copies of it would compile half as long again.  ``lift`` is
    the exponent of a power of two that one of ``LIFTED`` is multiplied by, or 0; where the result
    ``is_added``, it is so to the last one of the values.
    """
    kind = value_type(dtype)
    function = f"axisfold.{name}.{f'{lift}.' * (lift > 0)}{'added.' * is_added}{suffix(dtype)}"
    holds = w.machine.holds_constants
    is_crowded = w.calls >= _CROWD and dtype.lanes > 1 and not holds
    if is_crowded:
        function += ".crowded"
    if function not in w.declarations:
        inner = Writer(w.declarations, machine=w.machine)
        arguments = [inner.fresh("x") for _ in values]
        lanes = Lanes(inner, dtype, "" if is_crowded or holds else f"{function}.constants")
        if name in _POWERS:
            make = partial(_POWERS[name], lift=lift) if lift else _POWERS[name]
            own, addend = arguments[: len(values) - is_added], arguments[-1]
            factors = make(lanes, *own)
            result = lanes.muladd(*factors, addend) if is_added else lanes.mul(*factors)
        else:
            result = _OTHERS[name](lanes, *arguments)
        if lanes.held:
            w.declarations[lanes.table] = lanes.table_text()
        taken = ", ".join(f"{kind} {a}" for a in arguments)
        head = f"define internal {kind} @{function}({taken}) noinline nounwind {{"
        w.declarations[function] = "\n".join(
            [head, *inner.lines, f"  ret {kind} {result}", "}", ""]
        )
    given = ", ".join(f"{kind} {value}" for value in values)
    return w.let(f"call {kind} @{function}({given}){' noinline' * w.is_cold}")


# --- exponentials -------------------------------------------------------------------------------


def _exp(f: Lanes, x: str) -> str:
    """e**x = 2**n · (1 + r + r² P(r)) for x = n · ln 2 + r, |r| <= ln(2) / 2.

    The sum is 1 + (high + (r² P(r) - low)), where high - low = r and high is exact.  Its
    parentheses are below 0.42 and 0.08: their roundings are 1/4 and 1/32 of the last place.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    x = f.clamped(x, *_REACH[f.dtype.bits])
    shifted = f.muladd(x, f.const(c.per_ln2), f.const(f.shifter))
    n, high, low, r = _reduced(f, x, shifted)
    square = f.mul(r, r)
    small = f.muladd(square, f.polynomial(r, square, c.exp), low)
    return _scaled(f, f.add(f.add(high, small), f.const(1.0)), shifted, n)


def _reduced(f: Lanes, x: str, shifted: str) -> tuple[str, str, str, str]:
    """Return n, x - n · ln 2 as a high and a low part, and their sum.

    n times the high part of ln 2 is exact, and so is its difference from x.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    n = f.rounded(shifted)
    high = f.muladd(n, f.const(-c.ln2[0]), x)
    low = f.mul(n, f.const(-c.ln2[1]))
    return n, high, low, f.add(high, low)


def _exp_nonpositive(f: Lanes, x: str, lift: int = 0) -> tuple[str, str]:
    """e**x · 2**lift = 2**(n + k) · (u + u (r + r² P(r))) for n and r of :func:`_exp`.

    k is what :func:`_more` returns, and u = 2**(lift - k).  For x <= 0, and so n <= 0, n + k is the
    exponent of a normal number, and the one product with it rounds subnormal results.  Where these
    would be 0 the power is, too: processors take more than a hundred cycles for a product that is
    subnormal or next to it.  r and the inner sum are rounded, each by 1/4 of the last place where
    e**r < 1, and the outer sum by 1/2: that leaves the polynomial next to nothing.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    more = _more(f, lift)
    x = f.clamped(x, _zero_at(f, more))
    shifted, n = _shifted(f, x, more)
    r = _remainder(f, n, f.muladd(n, f.const(-c.ln2[0]), x))
    return _summed(f, shifted, r, lift - more)


def _exp_rounded(f: Lanes, x: str, lift: int = 0) -> tuple[str, str]:
    """e**x as :func:`_exp_short` has it where a product and a sum are rounded once."""
    return (_exp_short if f.w.machine.fuses else _exp_nonpositive)(f, x, lift)


def _exp_short(f: Lanes, x: str, lift: int = round(math.log2(SHORT_LIFT))) -> tuple[str, str]:
    """e**x as :func:`_exp_nonpositive` has it, of an r that is rounded once.

    ln 2 is rounded, which moves e**x by |x| / 16 units (float64: |x| / 4), and by |x| where
    products are rounded; a rounded x has moved it by |x| / 2.  Horner's chain takes no more time
    than pairs, which take an operation more.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    more = _more(f, lift)
    x = f.clamped(x, _zero_at(f, more))
    shifted, n = _shifted(f, x, more)
    r = f.muladd(n, f.const(-c.ln2_rounded), x)
    return _raised(f, shifted, r, lift - more)


def _exp_difference(f: Lanes, x: str, a: str, lift: int = 0) -> tuple[str, str]:
    """e**(x - a) as :func:`_exp_rounded` has it, of the r that is right to its last place.

    For a whole number a of at most 256, n · ln2₀ + a is exact, and so is x less it, unless x is so
    small that what it loses is 1/8 of the last place.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    more = _more(f, lift)
    least = f.add(a, f.const(_zero_at(f, more)))
    x = f.w.select(f.w.compare("olt", f.dtype, x, least), f.dtype, least, x)
    shifted, n = _shifted(f, f.sub(x, a), more)
    r = _remainder(f, n, f.sub(x, f.muladd(n, f.const(c.ln2[0]), a)))
    return (_raised if f.w.machine.fuses else _summed)(f, shifted, r, lift - more)


def _more(f: Lanes, lift: int) -> int:
    """Return what is added to n in the exponent of the power of two that e**x · 2**lift has.

    As many as a mantissa has bits, so that the power is 0 from half of the smallest subnormal
    number on; below a lift one less than it, and so from the smallest normal number on.
    """
    return lift - 1 if lift else f.mantissa_bits


def _zero_at(f: Lanes, more: int) -> float:
    """Return an x of few digits where the exponent field of 2**(n + more) is 0, as the power is."""
    return -round(4 * (f.bias + more) * math.log(2.0)) / 4


def _shifted(f: Lanes, x: str, more: int) -> tuple[str, str]:
    """Return n for x = n · ln 2 + r, in front of it as the exponent of 2**(n + more)."""
    shifter = f.const(f.shifter + f.bias + more)
    shifted = f.muladd(x, f.const(_COEFFICIENTS[f.dtype.bits].per_ln2), shifter)
    return shifted, f.sub(shifted, shifter)


def _remainder(f: Lanes, n: str, high: str) -> str:
    """Append r, for the part of it that n times the high part of ln 2 leaves."""
    return f.muladd(n, f.const(-_COEFFICIENTS[f.dtype.bits].ln2[1]), high)


def _raised(f: Lanes, shifted: str, r: str, unit: int) -> tuple[str, str]:
    """Return e**r · 2**unit, by the fewest operations, which are Horner's, and the power."""
    terms = (1.0, 1.0, *_COEFFICIENTS[f.dtype.bits].short_exp)
    return f.horner(r, [2.0**unit * k for k in terms]), _power_of(f, shifted)


def _summed(f: Lanes, shifted: str, r: str, unit: int) -> tuple[str, str]:
    """Return what :func:`_raised` does by a sum of which all but the last part is small."""
    square = f.mul(r, r)
    part = f.muladd(f.by_pairs(r, square, _COEFFICIENTS[f.dtype.bits].exp), square, r)
    one = f.const(2.0**unit)
    return f.muladd(part, one, one), _power_of(f, shifted)


def _power_of(f: Lanes, shifted: str) -> str:
    """Append the power of two, for what :func:`_shifted` returns."""
    return f.of_bits(f.integer("shl", f.bits(shifted), f.mantissa_bits))


def _exp2(f: Lanes, x: str) -> str:
    """2**x = 2**n · 2**r for x = n + r, |r| <= 1/2, which is exact.

    2**r = 1 + (r₀ · ln2₀ + (r₁ · ln2₀ + r · ln2₁ + r² Q(r))), where r₀ has so few bits that the
    first product is exact.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    x = f.clamped(x, *(round(limit * c.per_ln2) for limit in _REACH[f.dtype.bits]))
    shifted = f.add(x, f.const(f.shifter))
    n = f.rounded(shifted)
    r = f.sub(x, n)
    short = f.of_bits(f.integer("and", f.bits(r), -1 << _LN2_BITS[f.dtype.bits]))
    small = f.muladd(f.sub(r, short), f.const(c.ln2[0]), f.mul(r, f.const(c.ln2[1])))
    square = f.mul(r, r)
    small = f.muladd(square, f.polynomial(r, square, c.exp2), small)
    high = f.mul(short, f.const(c.ln2[0]))
    return _scaled(f, f.add(f.add(high, small), f.const(1.0)), shifted, n)


# Digits of the high part of ln 2.
_LN2_BITS: Final = {32: 16, 64: 42}
# Arguments beyond these give 0 and infinity, and their exponents have no more bits than counted on.
_REACH: Final = {32: (-110.0, 110.0), 64: (-800.0, 800.0)}


def _scaled(f: Lanes, value: str, shifted: str, n: str) -> str:
    """Append value · 2**n by two factors: only the second product overflows or is rounded."""
    half = f.muladd(n, f.const(0.5), f.const(f.shifter))
    first = f.power_of_two(half)
    rest = f.integer("sub", f.bits(shifted), f.bits(half))
    field = f.integer("shl", f.integer("add", rest, f.bias), f.mantissa_bits)
    return f.mul(f.mul(value, first), f.of_bits(field))


def _expm1(f: Lanes, x: str) -> str:
    """e**x - 1 = 2 · (s + s·high - 1/2 + s·r²/2 + s·(r³ Q(r) + low)) for s = 2**(n - 1).

    The first four terms are added without error, and the last is below 0.01; r²/2 is corrected
    for the rounding of r.  The half keeps s in range; where it would cost digits of a subnormal
    number, e**x - 1 is x.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    near = f.clamped(x, *{32: (-20.0, 89.0), 64: (-45.0, 709.9)}[f.dtype.bits])
    shifted = f.muladd(near, f.const(c.per_ln2), f.const(f.shifter))
    _, high, low, r = _reduced(f, near, shifted)
    square = f.mul(r, r)
    rounding = f.add(f.sub(high, r), low)
    small = f.muladd(r, rounding, low)
    cube = f.mul(square, r)
    small = f.muladd(cube, f.polynomial(r, square, c.expm1), small)
    s = f.power_of_two(shifted, less=1)
    total, lost = f.fast_two_sum(s, f.mul(s, high))
    total, also = f.two_sum(total, f.const(-0.5))
    lost = f.add(lost, also)
    total, also = f.fast_two_sum(total, f.mul(f.mul(s, f.const(0.5)), square))
    lost = f.add(lost, also)
    half = f.add(total, f.muladd(s, small, lost))
    least = 2.0 ** (-f.mantissa_bits - 2)
    return f.where("olt", f.magnitude(x), least, x, f.add(half, half))


def _tanh(f: Lanes, x: str) -> str:
    """Append t / (t + 2), the tanh of |x|, for t = e**(2 |x|) - 1."""
    size = f.clamped(f.magnitude(x), high={32: 10.0, 64: 22.0}[f.dtype.bits])
    t = emit_elementary(f.w, "expm1", f.dtype, f.add(size, size))
    return f.with_sign(f.div(t, f.add(t, f.const(2.0))), x)


# --- logarithms ---------------------------------------------------------------------------------


def _split(f: Lanes, x: str) -> tuple[str, str]:
    """Return k as a float, and m - 1, for a normal number x = 2**k · m, m from 1/√2 to √2."""
    offset = f.raw(1.0) - f.raw(math.sqrt(0.5))
    field = f.integer("lshr", f.integer("add", f.bits(x), offset), f.mantissa_bits)
    # In the low bits of 2**mantissa_bits the field stands for itself.
    ruler = 2.0**f.mantissa_bits
    k = f.sub(f.of_bits(f.integer("or", field, f.raw(ruler))), f.const(ruler + f.bias))
    exponent = f.integer("shl", f.integer("sub", field, f.bias), f.mantissa_bits)
    m = f.of_bits(f.integer("sub", f.bits(x), exponent))
    return k, f.sub(m, f.const(1.0))


def _split_any(f: Lanes, x: str) -> tuple[str, str]:
    """Return what ``_split`` does, also for subnormal numbers."""
    least, digits = 2.0 ** (1 - f.bias), f.mantissa_bits + 2
    large = f.mul(x, f.const(2.0**digits))
    k, part = _split(f, f.where("olt", x, least, large, x))
    return f.where("olt", x, least, f.sub(k, f.const(float(digits))), k), part


def _series(f: Lanes, part: str) -> tuple[str, str]:
    """Return f²/2 and s · (f²/2 + R(s)), whose difference is f - log(1 + f), for s = f / (2 + f).

    At most 0.09 and 0.02, so that their roundings are small beside the rest of a sum.
    """
    c = _COEFFICIENTS[f.dtype.bits]
    s = f.div(part, f.add(part, f.const(2.0)))
    z = f.mul(s, s)
    half_square = f.mul(f.mul(part, f.const(0.5)), part)
    remainder = f.mul(z, f.polynomial(z, f.mul(z, z), c.log))
    return half_square, f.mul(s, f.add(half_square, remainder))


def _in_domain(f: Lanes, x: str, end: float, result: str) -> str:
    """Append -inf at the end of a logarithm's domain, NaN below it, and inf at inf."""
    outside = f.where("olt", x, end, f.const(math.nan), x)
    outside = f.where("oeq", x, end, f.const(-math.inf), outside)
    inside = f.where("ogt", x, end, result, outside)
    return f.where("oeq", x, math.inf, x, inside)


def _log_of_parts(f: Lanes, k: str, part: str, more: str | None) -> str:
    """Append k · ln 2 + log(1 + part) + more; ``part`` is added to k · ln 2 without error."""
    c = _COEFFICIENTS[f.dtype.bits]
    half_square, product = _series(f, part)
    total, lost = f.fast_two_sum(f.mul(k, f.const(c.ln2[0])), part)
    small = f.muladd(k, f.const(c.ln2[1]), product)
    small = small if more is None else f.add(small, more)
    return f.add(total, f.add(lost, f.sub(small, half_square)))


def _log(f: Lanes, x: str) -> str:
    return _in_domain(f, x, 0.0, _log_of_parts(f, *_split_any(f, x), None))


def _log1p(f: Lanes, x: str) -> str:
    """log(u) + error / u for u + error = 1 + x; near 1, where k = 0, x itself is u - 1."""
    u, error = f.two_sum(f.const(1.0), x)
    k, part = _split(f, u)
    part = f.where("oeq", k, 0.0, x, part)
    more = f.where("oeq", k, 0.0, f.const(0.0), f.div(error, u))
    result = f.with_sign(_log_of_parts(f, k, part, more), x)  # for -0
    return _in_domain(f, x, -1.0, result)


def _log_to(
    f: Lanes, x: str, unit: tuple[float, float] | None, inverse: tuple[float, float]
) -> str:
    """Append k · unit + log(m) · inverse, the product with twice the digits.

    ``unit`` is the logarithm of 2, or None for 1.
    """
    k, part = _split_any(f, x)
    half_square, product = _series(f, part)
    kept = -1 << (f.mantissa_bits + 2) // 2
    high = f.of_bits(f.integer("and", f.bits(f.sub(part, half_square)), kept))
    low = f.add(f.sub(f.sub(part, high), half_square), product)
    scaled_low = f.mul(f.add(low, high), f.const(inverse[1]))
    scaled_low = f.muladd(low, f.const(inverse[0]), scaled_low)
    scaled = f.mul(high, f.const(inverse[0]))
    if unit is not None:
        scaled_low = f.muladd(k, f.const(unit[1]), scaled_low)
        k = f.mul(k, f.const(unit[0]))
    total, lost = f.fast_two_sum(k, scaled)
    return _in_domain(f, x, 0.0, f.add(total, f.add(lost, scaled_low)))


def _log2(f: Lanes, x: str) -> str:
    return _log_to(f, x, None, _COEFFICIENTS[f.dtype.bits].per_ln2_parts)


def _log10(f: Lanes, x: str) -> str:
    c = _COEFFICIENTS[f.dtype.bits]
    return _log_to(f, x, c.log10_2, c.per_ln10)


# These take a ``lift``, and return two factors, of which the second is a power of two.
LIFTED: Final[dict[str, Callable[..., tuple[str, str]]]] = {
    "exp_nonpositive": _exp_nonpositive, "exp_difference": _exp_difference,
    "exp_rounded": _exp_rounded,
}  # fmt: skip
_POWERS: Final[dict[str, Callable[..., tuple[str, str]]]] = {**LIFTED, "exp_short": _exp_short}
_OTHERS: Final[dict[str, Callable[..., str]]] = {
    "exp": _exp, "exp2": _exp2, "expm1": _expm1, "tanh": _tanh,
    "log": _log, "log2": _log2, "log10": _log10, "log1p": _log1p,
}  # fmt: skip
ELEMENTARY: Final = frozenset({*_POWERS, *_OTHERS})
