# SPDX-License-Identifier: Apache-2.0
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
FLOAT32_COEFFICIENTS: Final = Coefficients(
    per_ln2=_HEX("0x1.7154760000000p+0"),
    ln2_rounded=_HEX("0x1.62e4300000000p-1"),
    ln2=(
        _HEX("0x1.62e4000000000p-1"),
        _HEX("0x1.7f7d1c0000000p-20"),
    ),
    log10_2=(
        _HEX("0x1.3442000000000p-2"),
        _HEX("-0x1.95ec100000000p-19"),
    ),
    per_ln2_parts=(
        _HEX("0x1.7160000000000p+0"),
        _HEX("-0x1.7135a80000000p-13"),
    ),
    per_ln10=(
        _HEX("0x1.bcc0000000000p-2"),
        _HEX("-0x1.09d5b20000000p-15"),
    ),
    exp=(
        _HEX("0x1.0000000000000p-1"),
        _HEX("0x1.5555540000000p-3"),
        _HEX("0x1.5554d80000000p-5"),
        _HEX("0x1.1113aa0000000p-7"),
        _HEX("0x1.6d59320000000p-10"),
        _HEX("0x1.9bdd1a0000000p-13"),
    ),
    short_exp=(
        _HEX("0x1.fffffe0000000p-2"),
        _HEX("0x1.5554c80000000p-3"),
        _HEX("0x1.5558960000000p-5"),
        _HEX("0x1.121eec0000000p-7"),
        _HEX("0x1.68acc40000000p-10"),
    ),
    expm1=(
        _HEX("0x1.5555560000000p-3"),
        _HEX("0x1.55551a0000000p-5"),
        _HEX("0x1.1110f60000000p-7"),
        _HEX("0x1.6d10fc0000000p-10"),
        _HEX("0x1.a0f8620000000p-13"),
    ),
    exp2=(
        _HEX("0x1.ebfbe00000000p-3"),
        _HEX("0x1.c6b08e0000000p-5"),
        _HEX("0x1.3b2a540000000p-7"),
        _HEX("0x1.5d87c00000000p-10"),
        _HEX("0x1.44138a0000000p-13"),
        _HEX("0x1.008a200000000p-16"),
    ),
    log=(
        _HEX("0x1.5555560000000p-1"),
        _HEX("0x1.9999ec0000000p-2"),
        _HEX("0x1.245c440000000p-2"),
        _HEX("0x1.ddced80000000p-3"),
    ),
)
FLOAT64_COEFFICIENTS: Final = Coefficients(
    per_ln2=_HEX("0x1.71547652b82fep+0"),
    ln2_rounded=_HEX("0x1.62e42fefa39efp-1"),
    ln2=(
        _HEX("0x1.62e42fefa3800p-1"),
        _HEX("0x1.ef35793c76730p-45"),
    ),
    log10_2=(
        _HEX("0x1.34413509f7800p-2"),
        _HEX("0x1.fef311f12b358p-46"),
    ),
    per_ln2_parts=(
        _HEX("0x1.7154768000000p+0"),
        _HEX("-0x1.6a3e80f444178p-27"),
    ),
    per_ln10=(
        _HEX("0x1.bcb7b18000000p-2"),
        _HEX("-0x1.6c8d78e6acaa4p-29"),
    ),
    exp=(
        _HEX("0x1.0000000000000p-1"),
        _HEX("0x1.5555555555558p-3"),
        _HEX("0x1.555555555550bp-5"),
        _HEX("0x1.111111110fc51p-7"),
        _HEX("0x1.6c16c16c3fb5ep-10"),
        _HEX("0x1.a01a01ae1e4f7p-13"),
        _HEX("0x1.a01a00a9e4cc6p-16"),
        _HEX("0x1.71ddfbeb71c20p-19"),
        _HEX("0x1.27e74871d4165p-22"),
        _HEX("0x1.af599f200abf6p-26"),
        _HEX("0x1.1b516978e8739p-29"),
    ),
    short_exp=(
        _HEX("0x1.0000000000001p-1"),
        _HEX("0x1.555555555550bp-3"),
        _HEX("0x1.5555555553617p-5"),
        _HEX("0x1.1111111133d71p-7"),
        _HEX("0x1.6c16c17b172ecp-10"),
        _HEX("0x1.a01a008eb3213p-13"),
        _HEX("0x1.a019b03164f5dp-16"),
        _HEX("0x1.71e13e0567cb5p-19"),
        _HEX("0x1.289afd521706cp-22"),
        _HEX("0x1.a91f7dda6e26fp-26"),
    ),
    expm1=(
        _HEX("0x1.5555555555556p-3"),
        _HEX("0x1.5555555555555p-5"),
        _HEX("0x1.11111111109b5p-7"),
        _HEX("0x1.6c16c16c167e2p-10"),
        _HEX("0x1.a01a01a7c2efep-13"),
        _HEX("0x1.a01a01a47a591p-16"),
        _HEX("0x1.71de0db2f6b19p-19"),
        _HEX("0x1.27e4e1f7222cbp-22"),
        _HEX("0x1.af389ecfc4b9cp-26"),
        _HEX("0x1.1f66d948a47d2p-29"),
    ),
    exp2=(
        _HEX("0x1.ebfbdff82c58fp-3"),
        _HEX("0x1.c6b08d704a0c2p-5"),
        _HEX("0x1.3b2ab6fba4e78p-7"),
        _HEX("0x1.5d87fe78a5276p-10"),
        _HEX("0x1.430912f86bf52p-13"),
        _HEX("0x1.ffcbfc670dcd4p-17"),
        _HEX("0x1.62c022401b97dp-20"),
        _HEX("0x1.b524fae627834p-24"),
        _HEX("0x1.e4cf1cd08d4b8p-28"),
        _HEX("0x1.e9d3fe3952179p-32"),
        _HEX("0x1.c48f769ad2c46p-36"),
    ),
    log=(
        _HEX("0x1.5555555555558p-1"),
        _HEX("0x1.99999999952e2p-2"),
        _HEX("0x1.2492492df148dp-2"),
        _HEX("0x1.c71c62e5800a1p-3"),
        _HEX("0x1.7462b4ab2ef6bp-3"),
        _HEX("0x1.39fe606542ddep-3"),
        _HEX("0x1.2b584aae78a57p-3"),
    ),
)
