# SPDX-License-Identifier: Apache-2.0
"""One operator of PyTorch for every fold: autograd, torch.compile, torch.func and export use it.

Tensors that nothing watches do not come here.  The operator takes the request as text, since a
graph holds only tensors, numbers and text.  Its backward is made of PyTorch's own operators, so
that it can be compiled, batched and differentiated once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd.forward_ad import _set_fwd_grad_enabled
from torch.autograd.function import _SingleLevelFunction

from axisfold.api import dispatch
from axisfold.api.arguments import normalize_axes, resolve_row
from axisfold.api.catalog.parameters import parse_signature
from axisfold.api.gradients.pullback import needs_of, pull_back
from axisfold.api.gradients.request import (
    Outcome,
    check_out,
    decode,
    encode,
    fold_plainly,
    initial_of,
    outcome,
)
from axisfold.api.options import Operands, Request, named_call
from axisfold.api.results import result_type
from axisfold.api.weights import weights_beside
from axisfold.dtypes import DType, parse
from axisfold.interop.torch import result_dtype
from axisfold.tensor.reducer import Reducer, by_token


class TorchLibrary:
    """What PyTorch spells its own way."""

    xp: Final = torch

    def cast(self, values: Any, dtype: DType) -> Any:
        """Convert a tensor."""
        return values.to(torch_dtype(dtype))

    def number(self, value: Any, dtype: DType, like: Any) -> Any:
        """Return a tensor of no axes on the device of another."""
        return torch.full((), value, dtype=torch_dtype(dtype), device=like.device)

    def arange(self, extent: Any, like: Any) -> Any:
        """Return the integers from 0 on the device of another tensor."""
        return torch.arange(extent, device=like.device)


_LIBRARY: Final = TorchLibrary()


def torch_dtype(dtype: DType) -> Any:
    """Return PyTorch's dtype of the same name."""
    return getattr(torch, dtype.name)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _outcome(inputs: Sequence[Any], text: str) -> Outcome:
    return outcome(text, tuple(_name(x.dtype) for x in inputs))


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
    return _fold_traced(tensors, encode(request, initial_of(operands)))


def compile_named(
    name: str, x: Any, given: Sequence[Any], axis: Any, keepdims: Any, options: dict[str, Any]
) -> Any:
    """Run a named reduction while it is compiled: what is made of constants is made once.

    Parameters are as those of :func:`axisfold.api.options.named_call`.
    """
    named = {**dict(zip(_positions(name), given, strict=False)), **options}
    axis, keepdims = named.pop("axis", axis), named.pop("keepdims", keepdims)
    where, weights = named.pop("where", None), named.pop("weights", None)
    where = None if where is True else where
    constants = tuple(named.items())
    text = _named_text(name, axis, keepdims, constants, where is not None, weights is not None)
    inputs = [x] if weights is None else [x, weights_beside(x, weights, axis)]
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
    is_masked: bool,
    has_weights: bool,
) -> str:
    options = dict(constants)
    # The tensors themselves do not matter, but that they are there does.
    options.update({"where": _PRESENT} if is_masked else {})
    options.update({"weights": _PRESENT} if has_weights else {})
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
    names = outcome(text, tuple(_name(d) for d in dtypes)).packed
    if names is None:
        return ""
    name = ",".join(names)
    setattr(_Packers, name, result_type(names))
    return name


def _fold_traced(tensors: list[Any], text: str) -> Any:
    name = _packer(text, tuple(x.dtype for x in tensors))
    results = fold_op(tensors, text)
    return getattr(_Packers, name)(*results) if name else results[0]


def _forward(inputs: list[Any], request: str) -> list[Any]:
    """Fold plain tensors; results are compact, as the traced shapes say."""
    return [r.contiguous() for r in fold_plainly(request, [x.detach() for x in inputs])]


def _fake(inputs: list[Any], request: str) -> list[Any]:
    """Shapes and dtypes of the results."""
    found = _outcome(inputs, request)
    own = inputs[:-1] if found.request.is_masked else inputs
    shape = torch.broadcast_shapes(*(x.shape for x in own))
    kept = found.result_shape(shape, keepdims=found.request.keepdims)
    dtypes = found.dtypes
    if found.request.dtype is None:
        elements = [parse(_name(x.dtype)) for x in own]
        dtypes = tuple(result_dtype(d, elements) for d in dtypes)
    return [inputs[0].new_empty(kept, dtype=torch_dtype(d)) for d in dtypes]


def _keep(ctx: Any, inputs: Sequence[Any], request: str, results: Any) -> None:
    """Save what the backward reads: shapes always, values only where a rule needs them."""
    found = _outcome(inputs, request)
    needs = needs_of(found)
    ctx.set_materialize_grads(False)
    ctx.outcome, ctx.needs, ctx.has_mask = found, needs, found.request.is_masked
    own = inputs[:-1] if ctx.has_mask else inputs
    ctx.facts = [(x.shape, x.dtype) for x in own]
    ctx.result_facts = [(y.shape, y.dtype) for y in results]
    saved = [*(own if needs.inputs else ()), *(results if needs.results else ())]
    ctx.save_for_backward(*saved, *([inputs[-1]] if ctx.has_mask else ()))


def _gradients(ctx: Any, upstream: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """Return the gradient by each input, None where none is wanted."""
    saved = list(ctx.saved_tensors)
    mask = saved.pop() if ctx.has_mask else None
    like = next((g for g in upstream if g is not None), None)
    if like is None:
        return [None] * len(wanted)
    inputs = _restored(ctx.facts, saved if ctx.needs.inputs else None, like)
    rest = saved[len(inputs) :] if ctx.needs.inputs else saved
    results = _restored(ctx.result_facts, rest if ctx.needs.results else None, like)
    work = _working_dtype([x.dtype for x in inputs], [y.dtype for y in results])
    gradients = pull_back(
        ctx.outcome,
        [_widened(x, work) for x in inputs],
        mask,
        [_widened(y, work) for y in results],
        [None if g is None or not _is_smooth(g.dtype) else _widened(g, work) for g in upstream],
        _LIBRARY,
    )
    found = [
        _narrowed(g, dtype) if want and g is not None else None
        for want, g, (_, dtype) in zip(wanted, gradients, ctx.facts, strict=False)
    ]
    return [*found, None] if ctx.has_mask else found


def _restored(facts: Sequence[Any], saved: Sequence[Any] | None, like: Any) -> list[Any]:
    """The saved tensors, or in their place some of the same shape that take no memory."""
    if saved is not None:
        return list(saved[: len(facts)])
    return [like.new_zeros((), dtype=dtype).expand(shape) for shape, dtype in facts]


def _is_smooth(dtype: Any) -> bool:
    return bool(dtype.is_floating_point or dtype.is_complex)


def _working_dtype(inputs: Sequence[Any], results: Sequence[Any]) -> Any:
    """The dtype that holds all, and at least float32; truth values and indices do not count."""
    work = torch.float32
    for dtype in (*inputs, *(d for d in results if _is_smooth(d))):
        work = torch.promote_types(work, dtype)
    return work


def _widened(values: Any, work: Any) -> Any:
    """Convert real numbers to the real part of the working dtype, complex ones to itself."""
    if values.dtype.is_complex:
        return values.to(work)
    return values.to(work.to_real() if work.is_complex else work)


def _narrowed(gradient: Any, dtype: Any) -> Any:
    if gradient.is_complex() and not dtype.is_complex:
        gradient = gradient.real
    return gradient.to(dtype)


def _vmap(info: Any, in_dims: Any, inputs: list[Any], request: str) -> Any:
    """A batch axis is one more kept axis, before all others."""
    dims = in_dims[0]
    call, initial = decode(request)
    ranks = [x.ndim - (d is not None) for x, d in zip(inputs, dims, strict=True)]
    rank = max(ranks[:-1] if call.is_masked else ranks)
    axes = tuple(sorted(axis + 1 for axis in normalize_axes(call.axis, rank)))
    batched = [_batch_first(x, d, rank) for x, d in zip(inputs, dims, strict=True)]
    # The result has the batch axis even if only the mask has one.
    batched[0] = batched[0].expand(info.batch_size, *batched[0].shape[1:])
    results = fold_op(batched, encode(replace(call, axis=axes), initial))
    return results, [0] * len(results)


def _batch_first(values: Any, dim: int | None, rank: int) -> Any:
    """Move the batch axis to the front, of extent 1 if there is none, and align the others."""
    moved = values.unsqueeze(0) if dim is None else values.movedim(dim, 0)
    return moved.reshape(moved.shape[0], *(1,) * (rank + 1 - moved.ndim), *moved.shape[1:])


class _Step(_SingleLevelFunction):
    """A step of autograd, in the way that the operators of PyTorch itself take one.

    ``torch.library.register_autograd`` makes a function that torch.func refuses (PyTorch 2.13;
    pytorch/pytorch#168393).  This one belongs to the level of the transform at hand.
    """

    @staticmethod
    def forward(ctx: Any, keys: Any, request: str, *inputs: Any) -> Any:
        """Fold and save what the backward reads."""
        # What runs here is of outer levels, which record on their own.
        with torch.enable_grad(), _set_fwd_grad_enabled(True):
            results = _below_autograd(keys, list(inputs), request)
        _keep(ctx, inputs, request, results)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        """Return the gradients."""
        return None, None, *_gradients(ctx, upstream, ctx.needs_input_grad[2:])


def _autograd(keys: Any, inputs: list[Any], request: str) -> list[Any]:
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        with enable_single_level_autograd_function():
            return list(_Step.apply(keys, request, *inputs))
    return _below_autograd(keys, inputs, request)


def _below_autograd(keys: Any, inputs: list[Any], request: str) -> list[Any]:
    with torch._C._AutoDispatchBelowAutograd():
        rest = keys & torch._C._after_autograd_keyset
        results: list[Any] = fold_op.redispatch(rest, inputs, request)
    return results


_NAME: Final = "axisfold::fold"
_library: Final = torch.library.Library("axisfold", "DEF")
_library.define(
    "fold(Tensor[] inputs, str request) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
fold_op: Final = torch.ops.axisfold.fold.default
_library.impl("fold", _forward, "CompositeExplicitAutograd")
_library.impl("fold", _autograd, "Autograd", with_keyset=True)
torch.library.register_fake(_NAME, _fake, lib=_library)
torch.library.register_vmap(_NAME, _vmap, lib=_library)
