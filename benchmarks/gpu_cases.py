# SPDX-License-Identifier: Apache-2.0
"""The table of GPU cases: arrays of PyTorch, what axisfold says and what PyTorch says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch

import axisfold

Run = Callable[..., Any]

F32, F64, F16, BF16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
BOOL, I8, C64 = torch.bool, torch.int8, torch.complex64


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table.

    Attributes
    ----------
    name
        What is folded.
    shape, dtype
        Of each input.
    ours, rival
        The two forms of the operation.
    copies
        Number of inputs.
    view
        From the array made to the one folded.
    group
        ``memory``, ``small`` or ``curve``.
    is_copy
        Whether the result is as large as the input.
    op, axis
        How :mod:`benchmarks.gpu_peers` calls it, and the folded axes.
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any
    ours: Run
    rival: Run
    copies: int = 1
    view: Run = lambda x: x
    group: str = "memory"
    is_copy: bool = False
    op: str = ""
    axis: Any = None

    def inputs(self) -> list[Any]:
        """Return the arrays, of uniform numbers."""
        return [self.view(_filled(self.shape, self.dtype, seed)) for seed in range(self.copies)]


def _filled(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    generator = torch.Generator("cuda").manual_seed(seed)
    if dtype is BOOL:
        return torch.zeros(shape, dtype=dtype, device="cuda")
    if dtype is I8:
        return torch.randint(-100, 100, shape, generator=generator, device="cuda", dtype=dtype)
    return torch.rand(shape, generator=generator, device="cuda", dtype=dtype)


def _op(
    name: str, shape: tuple[int, ...], dtype: Any, op: str, axis: Any = None, **more: Any
) -> Case:
    function = getattr(axisfold, op, None)

    def ours(x: Any) -> Any:
        if function is None:
            raise NotImplementedError(op)
        return function(x, axis=axis)

    return Case(name, shape, dtype, ours, _torch(op, axis), op=op, axis=axis, **more)


def _torch(op: str, axis: Any) -> Run:
    special: dict[str, Run] = {
        "max": lambda x: x.amax() if axis is None else x.amax(axis),
        "min": lambda x: x.amin() if axis is None else x.amin(axis),
        "var": lambda x: x.var(axis, correction=0),
        "logsumexp": lambda x: torch.logsumexp(x, axis),
        "softmax": lambda x: torch.softmax(x, axis),
        "norm": lambda x: torch.linalg.vector_norm(x, dim=axis),
        "count_nonzero": lambda x: torch.count_nonzero(x, axis),
    }
    function = getattr(torch, op, None)
    plain: Run = lambda x: function(x) if axis is None else function(x, axis)  # noqa: E731
    return special.get(op, plain)


def _square(x: Any) -> Any:
    return x * x


_DISTANCE: Final = axisfold.Reducer(
    "distance",
    {"s": "compensated"},
    0,
    lambda x, y: _square(axisfold.te.cast("float64", x) - axisfold.te.cast("float64", y)),
    lambda a, b: a.s + b.s,
)


SQUARE: Final = (16384, 16384)

MEMORY: Final = (
    _op("sum_full_f32_2^28", (1 << 28,), F32, "sum"),
    _op("sum_full_f64_2^27", (1 << 27,), F64, "sum"),
    _op("sum_full_bf16_2^29", (1 << 29,), BF16, "sum"),
    _op("sum_full_f16_2^29", (1 << 29,), F16, "sum"),
    _op("sum_row_f32_16k_16k", SQUARE, F32, "sum", 1),
    _op("sum_col_f32_16k_16k", SQUARE, F32, "sum", 0),
    _op("sum_mid_f32_64_2048_2048", (64, 2048, 2048), F32, "sum", 1),
    _op("sum_mid_f32_4096_512_33", (4096, 2048, 33), F32, "sum", 1),
    _op("sum_row_f32_8M_32", (1 << 23, 32), F32, "sum", 1),
    _op("sum_row_f32_32M_8", (1 << 25, 8), F32, "sum", 1),
    _op("sum_row_f32_90M_3", (90_000_000, 3), F32, "sum", 1),
    _op("sum_row_f32_8_32M", (8, 1 << 25), F32, "sum", 1),
    _op("sum_row_f32_300k_1000", (300_000, 1000), F32, "sum", 1),
    _op("sum_row_f32_269k_997", (269_000, 997), F32, "sum", 1),
    _op("sum_col_f32_32M_8", (1 << 25, 8), F32, "sum", 0),
    _op("sum_col_f32_90M_3", (90_000_000, 3), F32, "sum", 0),
    _op("sum_col_f32_1M_257", (1 << 20, 257), F32, "sum", 0),
    _op("sum_col_bf16_64k_4096", (65536, 4096), BF16, "sum", 0),
    _op("sum_nchw_to_c_f32", (64, 256, 128, 128), F32, "sum", (0, 2, 3)),
    _op("mean_nhwc_hw_bf16", (64, 128, 128, 256), BF16, "mean", (1, 2)),
    _op("sum_f32_axes02_256_1024_1024", (256, 1024, 1024), F32, "sum", (0, 2)),
    _op("max_full_f32", (1 << 28,), F32, "max"),
    _op("min_col_f32", SQUARE, F32, "min", 0),
    _op("prod_row_f32", SQUARE, F32, "prod", 1),
    _op("argmax_row_f32", SQUARE, F32, "argmax", 1),
    _op("argmax_col_f32", SQUARE, F32, "argmax", 0),
    _op("argmax_full_f32", (1 << 28,), F32, "argmax"),
    _op("argmax_row_bf16_vocab", (8192, 32000), BF16, "argmax", 1),
    _op("var_row_f32", SQUARE, F32, "var", 1),
    _op("var_col_f32", SQUARE, F32, "var", 0),
    _op("var_full_f32", (1 << 28,), F32, "var"),
    _op("any_full_bool_2^30", (1 << 30,), BOOL, "any"),
    _op("any_row_bool_32k_32k", (32768, 32768), BOOL, "any", 1),
    _op("count_nonzero_f32", (1 << 28,), F32, "count_nonzero"),
    _op("logsumexp_row_f32", (32768, 8192), F32, "logsumexp", 1),
    _op("logsumexp_col_f32", (32768, 8192), F32, "logsumexp", 0),
    _op("softmax_row_f32_8k_32k", (8192, 32768), F32, "softmax", 1, is_copy=True),
    _op("softmax_row_bf16_64k_4k", (65536, 4096), BF16, "softmax", 1, is_copy=True),
    _op("norm_row_f32", SQUARE, F32, "norm", 1),
    _op("sum_int8_to_int64_2^30", (1 << 30,), I8, "sum"),
    Case(
        "sqdiff_two_inputs_f32_2^27", (1 << 27,), F32,
        lambda x, y: axisfold.fold((x, y), _DISTANCE),
        lambda x, y: ((x - y) ** 2).sum(), copies=2, op="distance",
    ),
    _op("nansum_row_f32", SQUARE, F32, "nansum", 1),
    _op("strided_row_f32", (16384, 32768), F32, "sum", 1, view=lambda x: x[:, ::2]),
    _op("transposed_full_f32", SQUARE, F32, "sum", view=lambda x: x.T),
    _op("complex64_full_2^27", (1 << 27,), C64, "sum"),
    Case(
        "sum_minmax_both_f32", (1 << 28,), F32, lambda x: axisfold.fold(x, ["min", "max"]),
        torch.aminmax, op="minmax",
    ),
)  # fmt: skip

SMALL: Final = (
    _op("small_sum_1M_f32", (1 << 20,), F32, "sum", group="small"),
    _op("small_row_1024_1024_f32", (1024, 1024), F32, "sum", 1, group="small"),
    _op("small_col_1024_1024_f32", (1024, 1024), F32, "sum", 0, group="small"),
    _op("mid_row_4096_4096_f32", (4096, 4096), F32, "sum", 1, group="small"),
    _op("mid_col_4096_4096_f32", (4096, 4096), F32, "sum", 0, group="small"),
    _op("sum_2^16_f32", (1 << 16,), F32, "sum", group="small"),
    _op("sum_2^18_f32", (1 << 18,), F32, "sum", group="small"),
    _op("sum_2^22_f32", (1 << 22,), F32, "sum", group="small"),
)

CURVE: Final = tuple(
    _op(f"curve_2^{i}_2^{28 - i}_axis{axis}", (1 << i, 1 << (28 - i)), F32, "sum", axis,
        group="curve")
    for axis in (0, 1)
    for i in range(29)
)  # fmt: skip

CASES: Final = (*MEMORY, *SMALL, *CURVE)
