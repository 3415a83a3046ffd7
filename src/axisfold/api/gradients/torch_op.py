# SPDX-License-Identifier: Apache-2.0
"""One operator of PyTorch for every fold: autograd, torch.compile, torch.func and export use it.

Tensors that nothing watches do not come here.  The operator takes the request as text, since a
graph holds only tensors, numbers and text.  Its backward is made of PyTorch's own operators, so
that it can be compiled, batched and differentiated once more.

``torch.library.register_autograd`` makes a function that torch.func refuses, and that has no
forward mode (PyTorch 2.14; pytorch/pytorch#168393).  So calls go through an autograd.Function with
all that torch.func asks for, and only what a compiler made of them calls the operator itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch

from axisfold.api import dispatch
from axisfold.api.arguments import normalize_axes, resolve_row
from axisfold.api.catalog.parameters import parse_signature
from axisfold.api.gradients.request import (
    check_out,
    decode,
    encode,
    fold_plainly,
    initial_of,
    outcome,
)
from axisfold.api.gradients.torch_derivatives import (
    dtype_name,
    gradients,
    is_smooth,
    keep,
    outcome_of,
    tangents_of,
    torch_dtype,
)
from axisfold.api.options import Operands, Request, named_call
from axisfold.api.results import result_type
from axisfold.api.weights import weights_beside
from axisfold.dtypes import parse
from axisfold.errors import UnsupportedError
from axisfold.interop.torch import result_dtype
from axisfold.tensor.reducer import Reducer, by_token


def record(request: Request, inputs: Sequence[Any], operands: Operands) -> Any:
    """Run a request as a step that autograd and tracers see.

    Parameters
    ----------
    request
        What is folded, and how.
    inputs
        Tensors, and numbers that can be made one; the mask is the last, if there is one.
    operands
        The other arrays of the call.

    Raises
    ------
    ArgumentError
        ``A360``: results of a gradient or a trace cannot be written into an array.
    """
    check_out(operands)
    like = next(x for x in inputs if isinstance(x, torch.Tensor))
    tensors = [torch.as_tensor(x, device=like.device) for x in inputs]
    text = encode(request, initial_of(operands))
    results = _step(tensors, text)
    names = outcome_of(tensors, text).packed
    return results[0] if names is None else result_type(names)(*results)


def compile_named(
    name: str, x: Any, given: Sequence[Any], axis: Any, keepdims: Any, options: dict[str, Any]
) -> Any:
    """Run a named reduction while it is compiled: what is made of constants is made once.

    Parameters are as those of :func:`axisfold.api.options.named_call`.
    """
    named = {**dict(zip(_positions(name), given, strict=False)), **options}
    axis, keepdims = named.pop("axis", axis), named.pop("keepdims", keepdims)
    where, weights = named.pop("where", None), named.pop("weights", None)
    where, mean = None if where is True else where, named.pop("mean", None)
    constants = tuple(named.items())
    has = {"where": where is not None, "weights": weights is not None, "mean": mean is not None}
    text = _named_text(name, axis, keepdims, constants, tuple(has.items()))
    inputs = [x] if weights is None else [x, weights_beside(x, weights, axis)]
    inputs += [] if mean is None else [mean]
    return _fold_traced(inputs if where is None else [*inputs, where], text)


def compile_fold(
    inputs: Sequence[Any], reducers: Sequence[Any], operands: Operands, *call: Any
) -> Any:
    """Run a fold while it is compiled.

    Parameters are as those of :func:`axisfold.api.dispatch.fold_request`.
    """
    where, is_masked, has_out = operands.where, operands.where is not None, operands.out is not None
    given = tuple(item.token if isinstance(item, Reducer) else (item,) for item in reducers)
    text = _fold_text(given, is_masked, operands.initial, has_out, *call)
    return _fold_traced([*inputs, where] if is_masked else list(inputs), text)


@torch.compiler.assume_constant_result
def _positions(name: str) -> tuple[str, ...]:
    return parse_signature(resolve_row(name).signature)[0]


@torch.compiler.assume_constant_result
def _named_text(
    name: str,
    axis: Any,
    keepdims: Any,
    constants: Sequence[tuple[str, Any]],
    has: Sequence[tuple[str, bool]],
) -> str:
    options = dict(constants)
    # The tensors themselves do not matter, but that they are there does.
    options.update({operand: _PRESENT for operand, is_there in has if is_there})
    request, operands = named_call(resolve_row(name), (), axis, keepdims, options)
    check_out(operands)
    return encode(request, initial_of(operands))


@torch.compiler.assume_constant_result
def _fold_text(
    given: Sequence[Any], is_masked: bool, initial: Any, has_out: bool, *call: Any
) -> str:
    reducers = [by_token(item) if isinstance(item, str) else item[0] for item in given]
    where, out = (_PRESENT if each else None for each in (is_masked, has_out))
    operands = Operands(where, initial, out)
    check_out(operands)
    return encode(dispatch.fold_request(reducers, operands, *call), initial_of(operands))


_PRESENT: Final = object()


class _Packers:
    """What packs results, by their names: attributes, which a compiler reads when it gets there."""


@torch.compiler.assume_constant_result
def _packer(text: str, dtypes: Sequence[Any]) -> str:
    """Return the name of what packs the results of a request; "" for one result as it is."""
    names = outcome(text, tuple(dtype_name(d) for d in dtypes)).packed
    if names is None:
        return ""
    name = ",".join(names)
    setattr(_Packers, name, result_type(names))
    return name


def _fold_traced(tensors: list[Any], text: str) -> Any:
    name = _packer(text, tuple(x.dtype for x in tensors))
    results = (_step if _is_transformed() else fold_op)(tensors, text)
    return getattr(_Packers, name)(*results) if name else results[0]


@torch.compiler.assume_constant_result
def _is_transformed() -> bool:
    return bool(torch._C._are_functorch_transforms_active())


@torch.compiler.allow_in_graph
def _step(tensors: list[Any], text: str) -> Any:
    """Take the step of autograd.

    Raises
    ------
    UnsupportedError
        ``A361``: forward mode within forward mode, where PyTorch does not look into the inner
        one's formulas, so that the result would be wrong without a word.
    """
    levels = torch._C._functorch.get_interpreter_stack() or ()
    if sum(level.key() == torch._C._functorch.TransformType.Jvp for level in levels) > 1:
        raise UnsupportedError(
            "a forward-mode derivative of a forward-mode derivative was asked for, through a fold, "
            "and PyTorch has none of autograd.Functions.",
            code="A361",
            hint="Let one of them be in reverse mode, as in torch.func.hessian.",
        )
    return _Step.apply(text, *tensors)


def _forward(inputs: list[Any], request: str) -> list[Any]:
    """Fold plain tensors; results are compact, as the traced shapes say."""
    return [r.contiguous() for r in fold_plainly(request, [x.detach() for x in inputs])]


def _fake(inputs: list[Any], request: str) -> list[Any]:
    """Shapes and dtypes of the results."""
    found = outcome_of(inputs, request)
    own = inputs[:-1] if found.request.is_masked else inputs
    shape = torch.broadcast_shapes(*(x.shape for x in own))
    kept = found.result_shape(shape, keepdims=found.request.keepdims)
    dtypes = found.dtypes
    if found.request.dtype is None:
        elements = [parse(dtype_name(x.dtype)) for x in own]
        dtypes = tuple(result_dtype(d, elements) for d in dtypes)
    return [inputs[0].new_empty(kept, dtype=torch_dtype(d)) for d in dtypes]


def _batched(
    size: int, dims: Sequence[int | None], inputs: Sequence[Any], request: str
) -> tuple[list[Any], str]:
    """Return the inputs and the request of a batch: its axis is a kept one, before all others."""
    call, initial = decode(request)
    ranks = [x.ndim - (d is not None) for x, d in zip(inputs, dims, strict=True)]
    rank = max(ranks[:-1] if call.is_masked else ranks)
    axes = tuple(sorted(axis + 1 for axis in normalize_axes(call.axis, rank)))
    batched = [_batch_first(x, d, rank) for x, d in zip(inputs, dims, strict=True)]
    # The result has the batch axis even if only the mask has one.
    batched[0] = batched[0].expand(size, *batched[0].shape[1:])
    return batched, encode(replace(call, axis=axes), initial)


def _batch_first(values: Any, dim: int | None, rank: int) -> Any:
    """Move the batch axis to the front, of extent 1 if there is none, and align the others."""
    moved = values.unsqueeze(0) if dim is None else values.movedim(dim, 0)
    return moved.reshape(moved.shape[0], *(1,) * (rank + 1 - moved.ndim), *moved.shape[1:])


class _Step(torch.autograd.Function):
    """A call of the operator as a step of autograd, in either mode, and of torch.func."""

    @staticmethod
    def forward(request: str, *inputs: Any) -> Any:
        """Fold."""
        return tuple(fold_op(list(inputs), request))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save what the derivatives read."""
        request, *tensors = inputs
        ctx.save_for_forward(*keep(ctx, tensors, request, output))
        ctx.mark_non_differentiable(*(y for y in output if not is_smooth(y.dtype)))

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        """Return the gradients."""
        return None, *gradients(ctx, upstream, ctx.needs_input_grad[1:])

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        """Return the tangents of the results."""
        return tuple(tangents_of(ctx, tangents))

    @staticmethod
    def vmap(info: Any, in_dims: Any, request: str, *inputs: Any) -> Any:
        """Fold a batch."""
        batched, text = _batched(info.batch_size, in_dims[1:], inputs, request)
        results = _Step.apply(text, *batched)
        return results, (0,) * len(results)


def _op_context(ctx: Any, inputs: Any, output: Any) -> None:
    keep(ctx, inputs[0], inputs[1], output)


def _op_backward(ctx: Any, upstream: Sequence[Any]) -> Any:
    return gradients(ctx, upstream, ctx.needs_input_grad[0]), None


def _op_vmap(info: Any, in_dims: Any, inputs: list[Any], request: str) -> Any:
    results = fold_op(*_batched(info.batch_size, in_dims[0], inputs, request))
    return results, [0] * len(results)


_NAME: Final = "axisfold::fold"
_library: Final = torch.library.Library("axisfold", "DEF")
_library.define(
    "fold(Tensor[] inputs, str request) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
fold_op: Final = torch.ops.axisfold.fold.default
_library.impl("fold", _forward, "CompositeExplicitAutograd")
torch.library.register_fake(_NAME, _fake, lib=_library)
torch.library.register_autograd(_NAME, _op_backward, setup_context=_op_context, lib=_library)
torch.library.register_vmap(_NAME, _op_vmap, lib=_library)
