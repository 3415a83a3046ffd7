# SPDX-License-Identifier: Apache-2.0
"""Scalar maths under its second name: ``tvm.tir.x`` is ``te.x``."""

from __future__ import annotations

import operator
from typing import Any

from axisfold import te
from axisfold.ir.build import cast, logical_not
from axisfold.ir.build import select as Select

Cast = cast
Not = logical_not
Var = te.var
SizeVar = te.size_var
shift_left, shift_right = operator.lshift, operator.rshift

__all__ = ["Cast", "Not", "Select", "SizeVar", "Var", "shift_left", "shift_right"]


def __getattr__(name: str) -> Any:
    if name in te.__all__:
        return getattr(te, name)
    raise AttributeError(f"module 'axisfold.compat.tvm.tir' has no attribute {name!r}")
