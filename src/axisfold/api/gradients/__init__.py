# SPDX-License-Identifier: Apache-2.0
"""Folds of tensors and arrays that something watches: autograd, compilers, vmap."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from axisfold.api.options import Operands, Request
from axisfold.interop import torch


def is_compiling() -> bool:
    """Return whether PyTorch is reading this very code to compile it."""
    if sys.modules.get("torch._dynamo") is None:  # where no compiler is loaded, as quick as can be
        return False
    compiling: bool = sys.modules["torch"].compiler.is_compiling()
    return compiling


def record(request: Request, inputs: Sequence[Any], operands: Operands) -> Any:
    """Run a request on arrays of which a gradient or a trace depends."""
    if any(torch.owns(x) for x in inputs):
        from axisfold.api.gradients import torch_op

        return torch_op.record(request, inputs, operands)
    from axisfold.api.gradients import jax_call

    return jax_call.record(request, inputs, operands)


def compile_named(name: str, x: Any, *call: Any) -> Any:
    """Run a named reduction while PyTorch compiles it; ``call`` is what named_call takes."""
    from axisfold.api.gradients import torch_op

    return torch_op.compile_named(name, x, *call)


def compile_fold(
    inputs: Sequence[Any], reducers: Sequence[Any], operands: Operands, *call: Any
) -> Any:
    """Run a fold while PyTorch compiles it; ``call`` is the rest of what fold_request takes."""
    from axisfold.api.gradients import torch_op

    return torch_op.compile_fold(inputs, reducers, operands, *call)
