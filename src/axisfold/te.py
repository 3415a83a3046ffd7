# SPDX-License-Identifier: Apache-2.0
"""The te facade: ``from axisfold import te`` is all that a script of tensor expressions needs."""

from axisfold.ir.build import if_then_else
from axisfold.ir.build import select as Select  # noqa: N812  (te's own spelling)
from axisfold.schedule.schedule import Schedule, create_schedule
from axisfold.tensor.axis import Axis, reduce_axis
from axisfold.tensor.commreduce import CommReducer, comm_reducer, max, min, sum
from axisfold.tensor.compute import compute
from axisfold.tensor.math import (
    abs,
    all,
    any,
    cast,
    ceil,
    const,
    cos,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floordiv,
    floormod,
    fmod,
    imag,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    max_value,
    maximum,
    min_value,
    minimum,
    power,
    real,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from axisfold.tensor.tensor import Tensor, placeholder, size_var, var

__all__ = [
    "Axis", "CommReducer", "Schedule", "Select", "Tensor", "abs", "all", "any", "cast", "ceil", "comm_reducer",
    "compute", "const", "cos", "create_schedule", "erf", "exp", "exp2", "expm1", "floor", "floordiv", "floormod",
    "fmod", "if_then_else", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "max", "max_value", "maximum", "min", "min_value", "minimum", "placeholder", "power", "real",
    "reduce_axis", "round", "rsqrt", "select", "sigmoid", "sin", "size_var", "sqrt", "sum", "tan",
    "tanh", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip
