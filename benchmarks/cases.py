# SPDX-License-Identifier: Apache-2.0
"""The table of cases: what is folded over which axis of which array, and the goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import axisfold

Data = Callable[[float], tuple[np.ndarray, ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table.

    Attributes
    ----------
    name, op, axis
        What is folded.
    data
        From the scale to the inputs.
    goal
        Share of the limit that is wanted.
    group
        ``memory`` (beyond every cache), ``small`` (times of calls) or ``curve``.
    """

    name: str
    op: str
    data: Data
    axis: Any = None
    goal: float = 0.9
    group: str = "memory"


def aligned(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Return an array at a multiple of 64 bytes, so that no library has to copy it."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def scaled(shape: Sequence[int], scale: float) -> tuple[int, ...]:
    """Return a shape with its longest axis scaled."""
    longest = max(range(len(shape)), key=lambda i: shape[i])
    return tuple(max(int(n * scale), 1) if i == longest else n for i, n in enumerate(shape))


def filled(shape: Sequence[int], dtype: str, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Return random numbers; a block of them is repeated, which is quick for large arrays."""
    rng = np.random.default_rng(0)
    array = aligned(shape, dtype)
    flat = array.reshape(-1)
    if np.dtype(dtype).kind in "iu":
        block = rng.integers(-100, 100, 1 << 20).astype(dtype)
    else:
        block = (low + (high - low) * rng.random(1 << 20)).astype(dtype)
        if np.dtype(dtype).kind == "c":
            block += 1j * block[::-1]
    for start in range(0, flat.size, block.size):
        part = flat[start : start + block.size]
        part[...] = block[: part.size]
    return array


def _of(
    shape: Sequence[int], dtype: str = "float32", view: Any = None, copies: int = 1, **limits: Any
) -> Data:
    def make(scale: float) -> tuple[np.ndarray, ...]:
        arrays = [filled(scaled(shape, scale), dtype, **limits) for _ in range(copies)]
        return tuple(a if view is None else view(a) for a in arrays)

    return make


def _bools(size: int, value: bool | None) -> Data:
    def make(scale: float) -> tuple[np.ndarray, ...]:
        array = aligned((int(size * scale),), bool)
        if value is None:
            array[...] = filled(array.shape, "int8") > 0
        else:
            array[...] = value
        return (array,)

    return make


def _nans(shape: Sequence[int]) -> Data:
    def make(scale: float) -> tuple[np.ndarray, ...]:
        array = filled(scaled(shape, scale), "float32")
        array.reshape(-1)[::97] = np.nan
        return (array,)

    return make


def _bfloat16(scale: float) -> tuple[np.ndarray, ...]:
    ml_dtypes = __import__("ml_dtypes")
    return (filled((int((1 << 29) * scale),), ml_dtypes.bfloat16),)


SQUARE: Final = (16384, 16384)
CUBE: Final = (128, 2048, 1024)

MEMORY: Final = (
    Case("sum f32 2^28", "sum", _of((1 << 28,))),
    Case("row sum f32 (16384,16384) axis=1", "sum", _of(SQUARE), 1),
    Case("column sum f32 (16384,16384) axis=0", "sum", _of(SQUARE), 0),
    Case("mean f32 2^28", "mean", _of((1 << 28,))),
    Case("max f32 2^28", "max", _of((1 << 28,))),
    Case("min and max f32 2^28", "minmax", _of((1 << 28,))),
    Case("mean and var f32 2^28", "meanvar", _of((1 << 28,))),
    Case("min f32 (16384,16384) axis=0", "min", _of(SQUARE), 0),
    Case("argmax f32 (16384,16384) axis=1", "argmax", _of(SQUARE), 1),
    Case("argmax f32 (16384,16384) axis=0", "argmax", _of(SQUARE), 0),
    Case("argmax f32 2^28", "argmax", _of((1 << 28,))),
    Case("var f32 (16384,16384) axis=1", "var", _of(SQUARE), 1),
    Case("var f32 (16384,16384) axis=0", "var", _of(SQUARE), 0),
    Case("var f32 2^28", "var", _of((1 << 28,))),
    Case("norm f32 (16384,16384) axis=1", "norm", _of(SQUARE), 1),
    Case("strided x[:, ::2] f32 axis=1", "sum", _of(SQUARE, view=lambda x: x[:, ::2]), 1),
    Case("strided x[:, ::2] f32 axis=0", "sum", _of(SQUARE, view=lambda x: x[:, ::2]), 0),
    Case("transposed f32 full", "sum", _of(SQUARE, view=lambda x: x.T)),
    Case("transposed f32 axis=0", "sum", _of(SQUARE, view=lambda x: x.T), 0),
    Case("middle axis f32 (128,2048,1024) axis=1", "sum", _of(CUBE), 1),
    Case("outer and inner axes f32 (128,2048,1024)", "sum", _of(CUBE), (0, 2)),
    Case("short rows f32 (2^23,32) axis=1", "sum", _of((1 << 23, 32)), 1),
    Case("shorter rows f32 (2^25,8) axis=1", "sum", _of((1 << 25, 8)), 1),
    Case("pairs f32 (2^27,2) axis=1", "sum", _of((1 << 27, 2)), 1),
    Case("tall and narrow f32 (2^25,8) axis=0", "sum", _of((1 << 25, 8)), 0),
    Case("tall and odd f32 (2^26,3) axis=0", "sum", _of((1 << 26, 3)), 0),
    Case("count_nonzero f32 2^28", "count_nonzero", _of((1 << 28,))),
    Case("nansum f32 2^28", "nansum", _nans((1 << 28,))),
    Case("nanmax f32 2^28", "nanmax", _nans((1 << 28,))),
    Case("nanmean f32 (16384,16384) axis=1", "nanmean", _nans(SQUARE), 1),
    Case("sum f64 2^27", "sum", _of((1 << 27,), "float64")),
    Case("row sum f64 (16384,8192) axis=1", "sum", _of((16384, 8192), "float64"), 1),
    Case("column sum f64 (16384,8192) axis=0", "sum", _of((16384, 8192), "float64"), 0),
    Case("prod f64 2^27", "prod", _of((1 << 27,), "float64", low=0.99999, high=1.00001)),
    Case("sum f16 2^29", "sum", _of((1 << 29,), "float16", high=1e-4)),
    Case("sum bf16 2^29", "sum", _bfloat16),
    Case("sum complex64 2^27", "sum", _of((1 << 27,), "complex64")),
    Case("sum((x-y)**2) f32 2 x 2^27", "distance", _of((1 << 27,), copies=2)),
    Case("dot f32 2 x 2^27", "dot", _of((1 << 27,), copies=2)),
    Case("logsumexp f32 (32768,8192) axis=1", "logsumexp", _of((32768, 8192)), 1, 0.5),
    Case("logsumexp f32 (16384,16384) axis=0", "logsumexp", _of(SQUARE), 0, 0.5),
    Case("softmax f32 (32768,8192) axis=1", "softmax", _of((32768, 8192)), 1, 0.28),
    Case("any bool 2^30, all False", "any", _bools(1 << 30, False)),
    Case("all bool 2^30, all True", "all", _bools(1 << 30, True)),
    Case("count_nonzero bool 2^30", "count_nonzero", _bools(1 << 30, None)),
    Case("sum int8 2^30", "sum", _of((1 << 30,), "int8")),
    Case("sum int32 2^28", "sum", _of((1 << 28,), "int32")),
)

SMALL: Final = tuple(
    Case(f"{op} f32 {shape} axis={axis}", op, _of(shape), axis, 0.0, "small")
    for op, shape, axis in (
        ("sum", (16,), None), ("sum", (1024,), None), ("sum", (65536,), None),
        ("sum", (1 << 20,), None), ("sum", (32, 32), 0), ("max", (1024,), None),
        ("sum", (256, 256), 0), ("sum", (256, 256), 1), ("argmax", (4096,), None),
        ("var", (4096,), None),
    )
)  # fmt: skip

CURVE: Final = tuple(
    Case(f"sum f32 (2^{i},2^{26 - i}) axis={axis}", "sum", _of((1 << i, 1 << (26 - i))), axis,
         0.75, "curve")
    for axis in (0, 1)
    for i in range(27)
)  # fmt: skip

CASES: Final = (*MEMORY, *SMALL, *CURVE)


# --- what axisfold says, and what is right -------------------------------------------------------

_DOT: Final = axisfold.Reducer(
    "dot", {"s": "compensated"}, 0,
    lambda x, y: axisfold.te.cast("float64", x) * axisfold.te.cast("float64", y),
    lambda a, b: a.s + b.s,
)  # fmt: skip


def _squared(x: Any, y: Any) -> Any:
    difference = axisfold.te.cast("float64", x) - axisfold.te.cast("float64", y)
    return difference * difference


_DISTANCE: Final = axisfold.Reducer(
    "distance", {"s": "compensated"}, 0, _squared, lambda a, b: a.s + b.s
)


def ours(op: str) -> Callable[..., Any] | None:
    """Return axisfold's function ``f(*arrays, axis)``, or None while there is none."""
    several: dict[str, Callable[..., Any]] = {
        "minmax": lambda x, axis: axisfold.fold(x, ["min", "max"], axis=axis),
        "meanvar": lambda x, axis: axisfold.fold(x, ["mean", "var"], axis=axis),
        "dot": lambda x, y, axis: axisfold.fold((x, y), _DOT),
        "distance": lambda x, y, axis: axisfold.fold((x, y), _DISTANCE),
    }
    if op in several:
        return several[op]
    function = getattr(axisfold, op, None)
    return None if function is None else lambda x, axis: function(x, axis=axis)


def expected(op: str, arrays: Sequence[np.ndarray], axis: Any) -> list[np.ndarray]:
    """Return what is right, in float64 and by NumPy."""
    is_exact = arrays[0].dtype.kind in "biu"
    x, *rest = arrays if is_exact else [_wide(a) for a in arrays]
    match op:
        case "minmax":
            return [np.min(x, axis=axis), np.max(x, axis=axis)]
        case "meanvar":
            return [np.mean(x, axis=axis), np.var(x, axis=axis)]
        case "dot":
            return [np.sum(x * rest[0])]
        case "distance":
            return [np.sum((x - rest[0]) ** 2)]
        case "norm":
            return [np.sqrt(np.sum(x * x, axis=axis))]
        case "logsumexp" | "softmax":
            total = np.sum(np.exp(x), axis=axis, keepdims=True)
            if op == "softmax":
                return [np.exp(x) / total]
            return [np.squeeze(np.log(total), axis)]
        case _:
            return [np.asarray(getattr(np, op)(x, axis=axis))]


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def is_right(found: Any, wanted: Sequence[np.ndarray], dtype: Any) -> bool:
    """Return whether results agree to a few units in the last place of the elements' dtype."""
    parts = found if isinstance(found, tuple) else (found,)
    bits = {"float16": 10, "bfloat16": 7}.get(np.dtype(dtype).name, 23)
    for got, want in zip(parts, wanted, strict=True):
        plain = got.float() if str(getattr(got, "dtype", "")) == "torch.bfloat16" else got
        values = np.asarray(plain, dtype=want.dtype)
        if not np.allclose(values, want, rtol=4 * 2.0**-bits, atol=1e-30, equal_nan=True):
            return False
    return True
