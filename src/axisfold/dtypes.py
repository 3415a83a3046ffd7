# SPDX-License-Identifier: Apache-2.0
"""Element types: names, limits, promotion and accumulators.  No arrays, no expressions.

NumPy has no bfloat16.  An array of it has the dtype of that name of the package ml_dtypes, or is
one of uint16 that holds the bits: :meth:`DType.is_of`.  Who has such an array has imported
ml_dtypes, so only what stands for an array that nobody has made does so here (api/spec.py).
"""

from __future__ import annotations

import math
import struct
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np

from axisfold.errors import DTypeError

Kind = Literal["bool", "int", "uint", "float", "bfloat", "complex"]
Scalar = bool | int | float

_RANK: Final = {"bool": 0, "uint": 1, "int": 2, "float": 3, "bfloat": 3, "complex": 4}


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type, with ``lanes > 1`` for a vector of elements.

    It equals its own name: ``T.dtype == "float32"``.

    Parameters
    ----------
    kind
        Family of the type; ``bfloat`` is a float with the exponent of a float32.
    bits
        Width of one element in memory (8 for bool).
    lanes
        Number of elements in the value.

    Attributes
    ----------
    name
        Text form, ``float32`` or ``float32x8``.
    is_integer
        Whether values are int or uint (bool is not).
    is_float
        Whether values are real floating point.
    is_bool
        Whether values are truth values.
    """

    kind: Kind
    bits: int
    lanes: int = 1
    # Asked for each node of each program, so they are known from the start.
    name: str = field(init=False, repr=False)
    is_integer: bool = field(init=False, repr=False)
    is_float: bool = field(init=False, repr=False)
    is_bool: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = {
            "name": _name(self.kind, self.bits, self.lanes),
            "is_integer": self.kind in ("int", "uint"),
            "is_float": self.kind in ("float", "bfloat"),
            "is_bool": self.kind == "bool",
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory."""
        return self.bits // 8

    @property
    def element(self) -> DType:
        """The same type with one lane."""
        return self if self.lanes == 1 else _dtype(self.kind, self.bits, 1)

    def with_lanes(self, lanes: int) -> DType:
        """Return the same element type with ``lanes`` lanes."""
        return self if lanes == self.lanes else _dtype(self.kind, self.bits, lanes)

    @property
    def is_half(self) -> bool:
        """Whether values are floats of 16 bits, of either kind."""
        return self.is_float and self.bits == 16

    @property
    def is_complex(self) -> bool:
        """Whether values are complex (legalised to two real parts before loop IR)."""
        return self.kind == "complex"

    def to_numpy(self) -> np.dtype[np.generic]:
        """Return the NumPy dtype of one element.

        That of bfloat16 is ml_dtypes' where the program has imported it, else :attr:`stored`.
        """
        extension = sys.modules.get("ml_dtypes") if self.kind == "bfloat" else None
        return self.stored if extension is None else np.dtype(extension.bfloat16)

    @property
    def stored(self) -> np.dtype[np.generic]:
        """The dtype of NumPy itself that holds an element: uint16 for bfloat16."""
        return np.dtype("uint16" if self.kind == "bfloat" else self.element.name)

    def is_of(self, dtype: np.dtype[Any]) -> bool:
        """Return whether arrays of a NumPy dtype hold elements of this one."""
        return dtype == self.stored or (self.kind == "bfloat" and dtype.name == "bfloat16")

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The same, where NumPy looks for it: ``np.zeros(3, T.dtype)``."""
        return self.to_numpy()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, DType):
            return (self.kind, self.bits, self.lanes) == (other.kind, other.bits, other.lanes)
        return isinstance(other, str) and self.name == other

    def __hash__(self) -> int:
        return hash(self.name)  # as its name, which it equals

    def __str__(self) -> str:
        return self.name


@lru_cache(maxsize=256)
def _name(kind: Kind, bits: int, lanes: int) -> str:
    width = "" if kind == "bool" else str(bits)
    return f"{kind}{width}" + (f"x{lanes}" if lanes > 1 else "")


@lru_cache(maxsize=256)
def _dtype(kind: Kind, bits: int, lanes: int) -> DType:
    return DType(kind, bits, lanes)


BOOL: Final = DType("bool", 8)
INT16: Final = DType("int", 16)
INT32: Final = DType("int", 32)
INT64: Final = DType("int", 64)
UINT32: Final = DType("uint", 32)
UINT64: Final = DType("uint", 64)
FLOAT16: Final = DType("float", 16)
BFLOAT16: Final = DType("bfloat", 16)
FLOAT32: Final = DType("float", 32)
FLOAT64: Final = DType("float", 64)

SUPPORTED: Final[dict[str, DType]] = {
    d.name: d
    for d in (
        BOOL,
        *(DType("int", b) for b in (8, 16, 32, 64)),
        *(DType("uint", b) for b in (8, 16, 32, 64)),
        FLOAT16,
        BFLOAT16,
        FLOAT32,
        FLOAT64,
        *(DType("complex", b) for b in (64, 128)),
    )
}


def parse(spec: object) -> DType:
    """Return the DType of a name, a NumPy dtype or scalar type, or a DType.

    Raises
    ------
    DTypeError
        ``D101``: the dtype is not one that axisfold reduces.
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str) and spec in SUPPORTED:
        return SUPPORTED[spec]
    try:
        return _parse(spec)
    except TypeError as error:  # not hashable, so no dtype either
        if isinstance(error, DTypeError):
            raise
        raise _no_dtype(spec) from error


def _no_dtype(spec: object) -> DTypeError:
    return DTypeError(
        f"{spec!r} is not a dtype.", code="D101", hint=f"Use one of {', '.join(SUPPORTED)}."
    )


@lru_cache(maxsize=256)
def _parse(spec: object) -> DType:
    if spec is None:  # NumPy reads it as float64
        raise _no_dtype(spec)
    try:
        dtype = np.dtype(spec)  # type: ignore[call-overload]
    except TypeError as error:
        raise _no_dtype(spec) from error
    found = SUPPORTED.get(dtype.name)
    if found is None:
        raise DTypeError(
            f"dtype {dtype} is not supported: axisfold reduces numbers and truth values only.",
            code="D101",
            hint=f"Convert to one of {', '.join(SUPPORTED)}, or use NumPy for this array.",
        )
    return found


def lowest(dtype: DType) -> Scalar:
    """Return the value below or equal to every other: −inf, the least integer, or False."""
    if dtype.is_float:
        return -math.inf
    if dtype.kind == "bool":
        return False
    return 0 if dtype.kind == "uint" else -(1 << (dtype.bits - 1))


def highest(dtype: DType) -> Scalar:
    """Return the value above or equal to every other: +inf, the largest integer, or True."""
    if dtype.is_float:
        return math.inf
    if dtype.kind == "bool":
        return True
    return (1 << (dtype.bits - (dtype.kind == "int"))) - 1


def is_same_kind(source: DType, target: DType) -> bool:
    """Return whether NumPy casts values by its rule ``same_kind``: to the same kind or a higher."""
    return _RANK[source.kind] <= _RANK[target.kind]


def finite_range(dtype: DType) -> tuple[Scalar, Scalar]:
    """Return the least and the largest finite value (te's min_value and max_value)."""
    if dtype.kind == "bfloat":
        largest = float.fromhex("0x1.fep127")
        return -largest, largest
    if dtype.kind == "float":
        info = np.finfo(dtype.name)
        return float(info.min), float(info.max)
    return lowest(dtype), highest(dtype)


def fits(value: Scalar, dtype: DType) -> bool:
    """Return whether ``value`` can be held in ``dtype`` without wrapping or losing infinity."""
    if dtype.kind == "bool":
        return value in (0, 1)
    if dtype.is_float or dtype.is_complex:
        return True
    if isinstance(value, float):
        return value.is_integer() and fits(int(value), dtype)
    if dtype.kind == "uint":
        return 0 <= value < 1 << dtype.bits
    return -(1 << (dtype.bits - 1)) <= value < 1 << (dtype.bits - 1)


def holds(dtype: DType, value: Any) -> bool:
    """Whether a dtype holds a number, as far as its range goes."""
    if isinstance(value, complex):
        return dtype.is_complex
    if not (dtype.is_float or dtype.is_complex):
        return fits(value, dtype)
    part = DType("float", dtype.bits // 2) if dtype.is_complex else dtype
    return not math.isfinite(value) or abs(value) <= finite_range(part)[1]


def wrap(value: int, dtype: DType) -> int:
    """Reduce an integer to the range of an integer dtype (two's complement)."""
    value &= (1 << dtype.bits) - 1
    if dtype.kind == "int" and value >> (dtype.bits - 1):
        value -= 1 << dtype.bits
    return value


def bit_pattern(value: Scalar, dtype: DType) -> int:
    """Return the bits of a constant, so that 0.0 and -0.0 differ and a NaN equals itself."""
    if dtype.is_float:
        return int.from_bytes(struct.pack("<d", float(value)), "little")
    return int(value)


def accumulator(dtype: DType) -> DType:
    """Return the dtype in which values of ``dtype`` are summed (the numerical contract)."""
    if dtype.kind in ("bool", "int"):
        return INT64
    if dtype.kind == "uint":
        return UINT64
    return DType("complex", 128) if dtype.kind == "complex" else FLOAT64


def promote(a: DType, b: DType) -> DType:
    """Return te's common dtype of two scalars: the higher kind wins, then the wider.

    Unlike NumPy, int32 with float32 is float32: te scripts rely on it.  float16 with bfloat16 is
    float32, as neither holds the other.
    """
    if a.is_half and b.is_half and a.kind != b.kind:
        return FLOAT32
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    if a.is_float and b.is_float:  # a bfloat16 and a wider float
        return a if a.bits > b.bits else b
    high, low = (a, b) if _RANK[a.kind] >= _RANK[b.kind] else (b, a)
    if high.kind == "complex" and low.is_float and low.bits > high.bits // 2:
        return DType("complex", 128)
    if high.kind == "int" and low.kind == "uint":
        return high if high.bits >= low.bits else DType("int", low.bits)
    return high
