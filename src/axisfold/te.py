# SPDX-License-Identifier: Apache-2.0
"""The te facade: ``from axisfold import te`` is all that a script of tensor expressions needs."""

import operator
from typing import Any, Final

from axisfold.errors import UnsupportedError
from axisfold.ir.build import if_then_else, likely
from axisfold.schedule.schedule import Schedule, create_schedule
from axisfold.tensor.axis import Axis, ThreadAxis, reduce_axis, thread_axis
from axisfold.tensor.commreduce import CommReducer, comm_reducer, max, min, sum
from axisfold.tensor.compute import compute
from axisfold.tensor.math import (
    Select,
    abs,
    all,
    any,
    cast,
    ceil,
    const,
    copysign,
    cos,
    erf,
    exp,
    exp2,
    exp_difference,
    exp_nonpositive,
    exp_rounded,
    exp_short,
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
    mulhi,
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

add, subtract, multiply = operator.add, operator.sub, operator.mul
indexdiv = floordiv  # te's names for divisions of indices, which are never negative
indexmod = floormod
nearbyint = round

OUT_OF_SCOPE: Final = frozenset(
    {
        "create_prim_func", "decl_buffer", "decl_tensor_intrin", "extern", "extern_primfunc",
        "gradient", "hybrid", "scan", "schedule", "tag_scope",
    }
)  # fmt: skip


class OutOfScope:
    """Stands for a part of te that axisfold does not have; using it raises a sentence."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _refusal(self) -> UnsupportedError:
        return UnsupportedError(
            f"{self._name} is not part of axisfold, which makes reductions from te.compute and a "
            "schedule.",
            code="X111",
            hint="Say it with te.compute, or keep this part of the program in NumPy.",
        )

    def __call__(self, *_: Any, **__: Any) -> None:
        """Refuse.

        Raises
        ------
        UnsupportedError
            ``X111``: always.
        """
        raise self._refusal()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refusal()


def __getattr__(name: str) -> Any:
    if name in OUT_OF_SCOPE:
        return OutOfScope(f"te.{name}")
    raise AttributeError(f"module 'axisfold.te' has no attribute {name!r}")


__all__ = [
    "Axis",
    "CommReducer",
    "Schedule",
    "Select",
    "Tensor",
    "ThreadAxis",
    "abs",
    "add",
    "all",
    "any",
    "cast",
    "ceil",
    "comm_reducer",
    "compute",
    "const",
    "copysign",
    "cos",
    "create_schedule",
    "erf",
    "exp",
    "exp2",
    "exp_difference",
    "exp_nonpositive",
    "exp_rounded",
    "exp_short",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "if_then_else",
    "imag",
    "indexdiv",
    "indexmod",
    "isfinite",
    "isinf",
    "isnan",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "max_value",
    "maximum",
    "min",
    "min_value",
    "minimum",
    "mulhi",
    "multiply",
    "nearbyint",
    "placeholder",
    "power",
    "real",
    "reduce_axis",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "sin",
    "size_var",
    "sqrt",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "thread_axis",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]  # fmt: skip
