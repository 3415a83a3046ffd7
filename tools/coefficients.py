# SPDX-License-Identifier: Apache-2.0
"""Compute the constants of the exponentials and logarithms, in decimals of 60 digits.

``python tools/coefficients.py`` writes src/axisfold/codegen/llvm/coefficients.py again.

A polynomial interpolates a power series at Chebyshev nodes, which is within a factor of about two
of the best polynomial of its degree.  Its coefficients are rounded at the very end.
"""

import itertools
import math
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src/axisfold/codegen/llvm/coefficients.py"
DIGITS = 60
Series = Callable[[int], Decimal]

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Constants of the exponentials and logarithms; written by tools/coefficients.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Constants for one width of floats; ``high`` and ``low`` sum up to a longer number.

    Attributes
    ----------
    per_ln2, ln2_rounded
        1 / ln 2, and ln 2.
    ln2, log10_2
        High and low part; a whole number of at most ``64 - precision`` bits times the high part
        is exact.
    per_ln2_parts, per_ln10
        1 / ln 2 and 1 / ln 10: high part of half the digits, and low part.
    exp
        (e**r - 1 - r) / r**2 for |r| <= ln(2) / 2, lowest power first.
    expm1
        (e**r - 1 - r - r**2 / 2) / r**3 for the same r.
    exp2
        (2**r - 1 - r ln 2) / r**2 for |r| <= 1 / 2.
    short_exp
        The function of ``exp``, by a degree less.
    log
        (2 artanh(s) - 2 s) / s**3 in powers of s**2, for (1 + s) / (1 - s) from 1/√2 to √2.
    """

    per_ln2: float
    ln2_rounded: float
    ln2: tuple[float, float]
    log10_2: tuple[float, float]
    per_ln2_parts: tuple[float, float]
    per_ln10: tuple[float, float]
    exp: tuple[float, ...]
    expm1: tuple[float, ...]
    exp2: tuple[float, ...]
    short_exp: tuple[float, ...]
    log: tuple[float, ...]


_HEX: Final = float.fromhex
'''


def interpolated(series: Series, low: Decimal, high: Decimal, degree: int) -> list[Decimal]:
    """Return the polynomial that equals a power series at Chebyshev nodes of an interval."""
    count = degree + 1
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [
        middle + half * Decimal(math.cos(math.pi * (2 * n + 1) / (2 * count))) for n in range(count)
    ]
    slopes = [sum((series(k) * x**k for k in range(1, 60)), series(0)) for x in nodes]
    for step in range(1, count):  # Newton's divided differences
        for n in range(count - 1, step - 1, -1):
            slopes[n] = (slopes[n] - slopes[n - 1]) / (nodes[n] - nodes[n - step])
    result = [slopes[-1]]
    for node, slope in zip(reversed(nodes[:-1]), reversed(slopes[:-1]), strict=True):
        result = [
            slope - node * result[0],
            *(a - node * b for a, b in itertools.pairwise(result)),
            result[-1],
        ]
    return result


def rounded(value: Decimal, precision: int) -> float:
    """Round to nearest with some bits of precision."""
    quantum = Fraction(2) ** (math.frexp(value)[1] - precision)
    return float(round(Fraction(value) / quantum) * quantum)


def parts(value: Decimal, bits: int, precision: int) -> tuple[float, float]:
    """Return a number as a high part of some bits and the rest."""
    high = rounded(value, bits)
    return high, rounded(value - Decimal(high), precision)


def coefficients(
    precision: int, exp_degree: int, expm1_degree: int, log_degree: int
) -> dict[str, object]:
    """Return the constants for one precision by their names."""
    ln2, ln10 = Decimal(2).ln(), Decimal(10).ln()
    # Exponents, with those of subnormal numbers, have 11 bits in float64 and 8 in float32.
    short = precision - (11 if precision == 53 else 8)
    square = ((Decimal(2).sqrt() - 1) / (Decimal(2).sqrt() + 1)) ** 2
    half = Decimal("0.5")
    polynomials = {
        # Its product with r**2 is added to 1 + r, and below 0 that counts most at the end.
        **{
            name: interpolated(
                lambda k: 1 / Decimal(math.factorial(k + 2)),
                -ln2 / 2 * Decimal("1.1"),
                ln2 / 2,
                degree - 2,
            )
            for name, degree in (("exp", exp_degree), ("short_exp", exp_degree - 1))
        },
        "expm1": interpolated(
            lambda k: 1 / Decimal(math.factorial(k + 3)), -ln2 / 2, ln2 / 2, expm1_degree - 3
        ),
        "exp2": interpolated(
            lambda k: ln2 ** (k + 2) / math.factorial(k + 2), -half, half, exp_degree - 2
        ),
        "log": interpolated(lambda k: 2 / Decimal(2 * k + 3), Decimal(0), square, log_degree),
    }
    return {
        "per_ln2": rounded(1 / ln2, precision),
        "ln2_rounded": rounded(ln2, precision),
        "ln2": parts(ln2, short, precision),
        "log10_2": parts(ln2 / ln10, short, precision),
        "per_ln2_parts": parts(1 / ln2, precision // 2, precision),
        "per_ln10": parts(1 / ln10, precision // 2, precision),
        **{n: tuple(rounded(c, precision) for c in p) for n, p in polynomials.items()},
    }


def written(name: str, constants: dict[str, object]) -> str:
    """Return the constants as Python."""
    lines = [f"{name}: Final = Coefficients("]
    for field, value in constants.items():
        if isinstance(value, tuple):
            lines.append(f"    {field}=(")
            lines += [f'        _HEX("{c.hex()}"),' for c in value]
            lines.append("    ),")
        else:
            assert isinstance(value, float)
            lines.append(f'    {field}=_HEX("{value.hex()}"),')
    return "\n".join([*lines, ")", ""])


def text() -> str:
    """Return the whole module."""
    with localcontext() as context:
        context.prec = DIGITS
        narrow = written("FLOAT32_COEFFICIENTS", coefficients(24, 7, 7, 3))
        wide = written("FLOAT64_COEFFICIENTS", coefficients(53, 12, 12, 6))
    return "\n".join([HEAD, narrow + wide]).replace("\n\nFLOAT32", "\nFLOAT32")


def main(options: list[str]) -> int:
    """Write the module, or with ``--check`` fail if it is not what would be written."""
    if options == ["--check"]:
        return int(TARGET.read_text(encoding="utf-8") != text())
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
