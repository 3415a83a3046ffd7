# SPDX-License-Identifier: Apache-2.0
"""IEEE 754 and two's complement in exact Python arithmetic: no NumPy, no hardware rounding.

Floats are Python floats, which hold every float16, float32 and float64.  Functions that no
library rounds correctly return a Fraction, right to 50 digits.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

# Dtype: bits of the significand, least and largest exponent of a normal number.
FORMATS = {
    "float16": (11, -14, 15),
    "bfloat16": (8, -126, 127),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
}
NAN, INF = math.nan, math.inf


# --- rounding -----------------------------------------------------------------------------------


def exponent_of(value):
    """Return e with 2**e <= value < 2**(e+1) for a Fraction above zero."""
    e = value.numerator.bit_length() - value.denominator.bit_length()
    return e if value >= Fraction(2) ** e else e - 1


def ulp(value, form):
    """Return the distance of neighbouring floats around a Fraction."""
    precision, least, _ = FORMATS[form]
    e = least if value == 0 else max(exponent_of(abs(value)), least)
    return Fraction(2) ** (e - precision + 1)


def rounded(value, form, zero=0.0):
    """Round a Fraction to nearest, ties to even; ``zero`` is the result for 0."""
    if value == 0:
        return zero
    quantum = ulp(value, form)
    magnitude = round(abs(value) / quantum) * quantum  # Fraction rounds ties to even
    top = Fraction(2) ** (FORMATS[form][2] + 1)
    nearest = INF if magnitude >= top else float(magnitude)
    return -nearest if value < 0 else nearest


def wrap(value, dtype):
    value &= (1 << dtype.bits) - 1
    is_negative = dtype.kind == "int" and value >> (dtype.bits - 1)
    return value - (1 << dtype.bits) if is_negative else value


def limits(dtype):
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


# --- integers -----------------------------------------------------------------------------------


def _truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer(op, a, b, dtype):
    """Return ``a op b`` of integers, wrapped."""
    if op in ("shl", "shr") and not 0 <= b < dtype.bits:
        return -1 if op == "shr" and a < 0 else 0
    if op in ("floordiv", "floormod", "truncdiv", "truncmod") and b == 0:
        return 0
    exact = {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
        "floordiv": lambda: a // b, "floormod": lambda: a % b,
        "truncdiv": lambda: _truncated(a, b), "truncmod": lambda: a - b * _truncated(a, b),
        "min": lambda: min(a, b), "max": lambda: max(a, b),
        "bitand": lambda: a & b, "bitor": lambda: a | b, "bitxor": lambda: a ^ b,
        "shl": lambda: a << b, "shr": lambda: a >> b,
        "mulhi": lambda: a * b >> dtype.bits,
    }[op]  # fmt: skip
    return wrap(exact(), dtype)


# --- floats -------------------------------------------------------------------------------------


def is_negative(x):
    return math.copysign(1.0, x) < 0


def real(op, a, b, form):
    """Return ``a op b`` of floats, rounded once."""
    if math.isnan(a) or math.isnan(b):
        return NAN
    return _REAL[op](a, b, form)


def _add(a, b, form):
    if math.isinf(a) or math.isinf(b):
        return NAN if a == -b else (a if math.isinf(a) else b)
    zero = -0.0 if is_negative(a) and is_negative(b) else 0.0
    return rounded(Fraction(a) + Fraction(b), form, zero)


def _mul(a, b, form):
    sign = -1.0 if is_negative(a) != is_negative(b) else 1.0
    if math.isinf(a) or math.isinf(b):
        return NAN if a == 0 or b == 0 else sign * INF
    return rounded(Fraction(a) * Fraction(b), form, sign * 0.0)


def _div(a, b, form):
    sign = -1.0 if is_negative(a) != is_negative(b) else 1.0
    if math.isinf(a) or b == 0:
        return NAN if math.isinf(b) or a == 0 else sign * INF
    return sign * 0.0 if math.isinf(b) else rounded(Fraction(a) / Fraction(b), form, sign * 0.0)


def _min(a, b, form):
    return (a if is_negative(a) else b) if a == b else (min(b, a))


def _max(a, b, form):
    return (b if is_negative(a) else a) if a == b else (max(b, a))


def _fmod(a, b, form):
    if math.isinf(a) or b == 0:
        return NAN
    if math.isinf(b):
        return a
    rest = abs(Fraction(a)) % abs(Fraction(b))
    return math.copysign(float(rest), a)


_REAL = {
    "add": _add,
    "sub": lambda a, b, form: _add(a, -b, form),
    "mul": _mul,
    "div": _div,
    "min": _min,
    "max": _max,
    "fmod": _fmod,
}


def _whole(rule):
    def function(x, form):
        if not math.isfinite(x) or x == 0:
            return x
        return math.copysign(float(rule(Fraction(x))), x)

    return function


def _sqrt(x, form):
    if math.isnan(x) or x < 0:
        return NAN
    if x == 0 or math.isinf(x):
        return x
    # The root to 800 bits and a bit that says whether there is more: rounds as the exact one.
    scaled = Fraction(x) * Fraction(4) ** 1400
    root = math.isqrt(scaled.numerator // scaled.denominator)
    sticky = Fraction(root * root) != scaled
    return rounded((Fraction(root) + sticky * Fraction(1, 2)) / Fraction(2) ** 1400, form)


EXACT = {
    "abs": lambda x, form: math.fabs(x),
    "sqrt": _sqrt,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "round": _whole(round),
    "isnan": lambda x, form: math.isnan(x),
    "isinf": lambda x, form: math.isinf(x),
    "isfinite": lambda x, form: math.isfinite(x),
    "likely": lambda x, form: x,
}


# --- conversions --------------------------------------------------------------------------------


def converted(value, source, target):
    """Return a value of one dtype as a value of another."""
    if target.is_bool:
        return value != 0
    if target.is_float:
        if source.is_float and (not math.isfinite(value) or value == 0):
            return value
        return rounded(Fraction(value), target.name)
    if not source.is_float:
        return wrap(int(value), target)
    low, high = limits(target)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


COMPARE = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


# --- functions ----------------------------------------------------------------------------------

_HUGE, _TINY = Fraction(2) ** 3000, Fraction(1, 2**3000)  # beyond every format


def _decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def _exp(x):
    if abs(x) > 1500:
        return _HUGE if x > 0 else _TINY
    return Fraction(_decimal(x).exp())


def _series(first, ratio):
    """Sum terms, each the one before times ``ratio(n)``, until they no longer count."""
    total = term = _decimal(first)
    n = 1
    while term and abs(term) > abs(total) * Decimal("1e-58"):
        term *= _decimal(ratio(n))
        total += term
        n += 1
    return Fraction(total)


def _expm1(x):
    return _exp(x) - 1 if abs(x) > 1 else _series(x, lambda n: x / (n + 1))


def _ln(x):
    return Fraction(_decimal(x).ln())


def _log1p(x):
    if abs(x) > Fraction(1, 1000):
        return _ln(1 + x)
    return _series(x, lambda n: -x * n / (n + 1))


@lru_cache
def _pi():
    """Return π to 450 digits (Machin's formula)."""
    one = 10**460

    def arctan_of_inverse(m):
        total, power, n = 0, one // m, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power //= m * m
            n += 2
        return total

    return Fraction(4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)), one)


def _sine(x, quarter):
    """Return sin(x + quarter * π/2)."""
    turns = round(2 * x / _pi())
    rest = x - turns * _pi() / 2
    square = rest * rest
    quarter = (turns + quarter) % 4
    if quarter % 2 == 0:
        value = _series(rest, lambda n: -square / ((2 * n) * (2 * n + 1))) if rest else rest
    else:
        value = _series(Fraction(1), lambda n: -square / ((2 * n - 1) * (2 * n)))
    return -value if quarter >= 2 else value


def _tanh(x):
    if abs(x) > 200:
        return Fraction(math.copysign(1, x)) * (1 - _TINY)
    return _expm1(2 * x) / (_expm1(2 * x) + 2)


def _erf(x):
    if abs(x) > 7:
        return Fraction(math.copysign(1, x)) * (1 - _TINY)
    square = x * x
    terms = _series(x, lambda n: -square * (2 * n - 1) / (n * (2 * n + 1)))
    return terms * 2 / Fraction(_decimal(_pi()).sqrt())


def _power(a, b):
    if a < 0:
        return abs(_power(-a, b)) * (-1 if b % 2 else 1)
    return _exp(b * _ln(a)) if abs(b) * abs(_ln(a)) < 1500 else _exp(1600 * _sign(b * _ln(a)))


def _sign(x):
    return (x > 0) - (x < 0)


_LN2 = Fraction(
    "0.693147180559945309417232121458176568075500134360255254120680009493393621969694716"
)

# For finite arguments other than 0.
_INSIDE = {
    "exp": _exp,
    "exp_nonpositive": _exp,
    "exp_rounded": _exp,
    "exp_short": lambda x: _exp(x) * 2**64,
    "exp2": lambda x: _exp(x * _LN2),
    "expm1": _expm1,
    "log": lambda x: NAN if x < 0 else _ln(x),
    "log2": lambda x: NAN if x < 0 else _ln(x) / _LN2,
    "log10": lambda x: NAN if x < 0 else Fraction(_decimal(x).log10()),
    "log1p": lambda x: NAN if x < -1 else -INF if x == -1 else _log1p(x),
    "sin": lambda x: _sine(x, 0),
    "cos": lambda x: _sine(x, 1),
    "tan": lambda x: _sine(x, 0) / _sine(x, 1),
    "tanh": _tanh,
    "erf": _erf,
}
# Results for 0 (of either sign; "same" keeps it), -inf and inf.
_AT = {
    "exp": (1.0, 0.0, INF), "exp_nonpositive": (1.0, 0.0, INF),
    "exp_rounded": (1.0, 0.0, INF), "exp_short": (Fraction(2) ** 64, 0.0, INF),
    "exp2": (1.0, 0.0, INF), "expm1": ("same", -1.0, INF),
    "log": (-INF, NAN, INF), "log2": (-INF, NAN, INF), "log10": (-INF, NAN, INF),
    "log1p": ("same", NAN, INF), "sin": ("same", NAN, NAN), "cos": (1.0, NAN, NAN),
    "tan": ("same", NAN, NAN), "tanh": ("same", -1.0, 1.0), "erf": ("same", -1.0, 1.0),
}  # fmt: skip
FUNCTIONS = tuple(_INSIDE)


def is_defined(name, x):
    """Return whether a function says anything of an argument."""
    if name == "exp_short" and -800 < x < -131:  # its result may be subnormal
        return False
    return name not in ("exp_nonpositive", "exp_rounded", "exp_short") or not x > 0


def slack(name, x):
    """Return how many units more than others a result may be off by, for a finite argument."""
    return abs(x) if name in ("exp_rounded", "exp_short") else 0.0


def function(name, x):
    """Return a function of a float: a float where IEEE 754 or C fixes it, else a Fraction."""
    zero, below, above = _AT[name]
    if math.isnan(x):
        return NAN
    if x == 0:
        return x if zero == "same" else zero
    if math.isinf(x):
        return above if x > 0 else below
    with localcontext(Context(prec=64, Emin=-99999, Emax=99999)):
        return _INSIDE[name](Fraction(x))


def exp_difference(x, a):
    """Return e**(x - a) of a finite a, and an x that is not inf: 0 or NaN, else a Fraction."""
    if not math.isfinite(x):
        return NAN if math.isnan(x) else 0.0
    with localcontext(Context(prec=64, Emin=-99999, Emax=99999)):
        return _exp(Fraction(x) - Fraction(a))


def power(a, b):
    """Return C's pow (C11, F.10.4.4): a float where that fixes it, else a Fraction."""
    if a == 1 or b == 0:
        return 1.0
    if math.isnan(a) or math.isnan(b):
        return NAN
    is_odd = math.isfinite(b) and b == math.trunc(b) and math.trunc(b) % 2 == 1
    if a == 0 or math.isinf(a):
        grows = (b > 0) == math.isinf(a)
        return math.copysign(INF if grows else 0.0, a if is_odd else 1.0)
    if math.isinf(b):
        return 1.0 if a == -1 else INF if (abs(a) > 1) == (b > 0) else 0.0
    if a < 0 and b != math.trunc(b):
        return NAN
    with localcontext(Context(prec=64, Emin=-99999, Emax=99999)):
        return _power(Fraction(a), Fraction(b))
