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
from axisfold.api.arguments import normalize_axes
from axisfold.api.catalog import CATALOG
from axisfold.api.gradients.pullback import needs_of, pull_back
from axisfold.api.gradients.request import Outcome, decode, encode, outcome
from axisfold.api.options import Request, named_call
from axisfold.api.results import result_type
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


def record(request: Request, inputs: Sequence[Any]) -> Any:
    """Run a request as a step that autograd and tracers see.

    Parameters
    ----------
    request
        What is folded, and how.
    inputs
        Tensors, and what can be made one.
    """
    text = encode(request)
    like = next(x for x in inputs if isinstance(x, torch.Tensor))
    tensors = [torch.as_tensor(x, device=like.device) for x in inputs]
    return _fold_traced(tensors, None, text)


def compile_named(
    name: str, x: Any, given: Sequence[Any], axis: Any, keepdims: Any, options: dict[str, Any]
) -> Any:
    """Run a named reduction while it is compiled: what is made of constants is made once.

    Parameters are as those of :func:`axisfold.api.options.named_call`.
    """
    text = _named_text(name, given, axis, keepdims, tuple(options.items()))
    return _fold_traced([x], None, text)


def compile_fold(inputs: Sequence[Any], reducers: Sequence[Any], *call: Any) -> Any:
    """Run a fold while it is compiled.

    Parameters are as those of :func:`axisfold.api.dispatch.fold_request`.
    """
    given = tuple(item.token if isinstance(item, Reducer) else (item,) for item in reducers)
    return _fold_traced(list(inputs), None, _fold_text(given, *call))


@torch.compiler.assume_constant_result
def _named_text(
    name: str, given: Sequence[Any], axis: Any, keepdims: Any, options: Sequence[tuple[str, Any]]
) -> str:
    return encode(named_call(CATALOG[name], given, axis, keepdims, dict(options))[0])


@torch.compiler.assume_constant_result
def _fold_text(given: Sequence[Any], *call: Any) -> str:
    reducers = [by_token(item) if isinstance(item, str) else item[0] for item in given]
    return encode(dispatch.fold_request(reducers, *call))


class _Packers:
    """What packs results, by their names: attributes, which a compiler reads when it gets there."""


@torch.compiler.assume_constant_result
def _packer(text: str, dtypes: Sequence[Any]) -> str:
    """Return the name of what packs the results of a request; "" for one result as it is."""
    found = outcome(text, tuple(_name(d) for d in dtypes))
    if found.is_single:
        return ""
    name = ",".join(found.names)
    setattr(_Packers, name, result_type(found.names))
    return name


def _fold_traced(tensors: list[Any], where: Any, text: str) -> Any:
    name = _packer(text, tuple(x.dtype for x in tensors))
    results = fold_op(tensors, where, text)
    return getattr(_Packers, name)(*results) if name else results[0]


def _forward(inputs: list[Any], where: Any, request: str) -> list[Any]:
    """Fold plain tensors; results are compact, as the traced shapes say."""
    call = replace(decode(request), is_list=True)
    plain = [x.detach() for x in inputs]
    return [r.contiguous() for r in dispatch.run_unwatched(call, plain)]


def _fake(inputs: list[Any], where: Any, request: str) -> list[Any]:
    """Shapes and dtypes of the results."""
    found = _outcome(inputs, request)
    shape = torch.broadcast_shapes(*(x.shape for x in inputs))
    axes = normalize_axes(found.request.axis, len(shape))
    keepdims = found.request.keepdims
    kept = [1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes]
    dtypes = found.dtypes
    if found.request.dtype is None:
        elements = [parse(_name(x.dtype)) for x in inputs]
        dtypes = tuple(result_dtype(d, elements) for d in dtypes)
    return [inputs[0].new_empty(kept, dtype=torch_dtype(d)) for d in dtypes]


def _keep(ctx: Any, inputs: Sequence[Any], where: Any, request: str, results: Any) -> None:
    """Save what the backward reads: shapes always, values only where a rule needs them."""
    found = _outcome(inputs, request)
    needs = needs_of(found)
    ctx.set_materialize_grads(False)
    ctx.outcome, ctx.needs, ctx.has_mask = found, needs, where is not None
    ctx.facts = [(x.shape, x.dtype) for x in inputs]
    ctx.result_facts = [(y.shape, y.dtype) for y in results]
    saved = [*(inputs if needs.inputs else ()), *(results if needs.results else ())]
    ctx.save_for_backward(*saved, *([where] if ctx.has_mask else ()))


def _gradients(ctx: Any, upstream: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """Return the gradient by each input, None where none is wanted."""
    saved = list(ctx.saved_tensors)
    mask = saved.pop() if ctx.has_mask else None
    like = next((g for g in upstream if g is not None), None)
    if like is None:
        return [None] * len(ctx.facts)
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
    return [
        _narrowed(g, dtype) if want and g is not None else None
        for want, g, (_, dtype) in zip(wanted, gradients, ctx.facts, strict=True)
    ]


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


def _vmap(info: Any, in_dims: Any, inputs: list[Any], where: Any, request: str) -> Any:
    dims, where_dim, _ = in_dims
    results = fold_op(*_batched(info.batch_size, inputs, dims, where, where_dim, request))
    return results, [0] * len(results)


def _batched(
    size: int,
    inputs: Sequence[Any],
    dims: Sequence[int | None],
    where: Any,
    where_dim: int | None,
    request: str,
) -> tuple[list[Any], Any, str]:
    """Return the fold of a batch: its axis is one more kept axis, before all others."""
    ranks = [x.ndim - (d is not None) for x, d in zip(inputs, dims, strict=True)]
    rank = max(ranks)
    call = decode(request)
    axes = tuple(sorted(axis + 1 for axis in normalize_axes(call.axis, rank)))
    aligned = [_batch_first(x, d, rank) for x, d in zip(inputs, dims, strict=True)]
    # The result has the batch axis even if only the mask has one.
    aligned[0] = aligned[0].expand(size, *aligned[0].shape[1:])
    mask = None if where is None else _batch_first(where, where_dim, rank)
    return aligned, mask, encode(replace(call, axis=axes))


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
    def forward(ctx: Any, keys: Any, where: Any, request: str, *inputs: Any) -> Any:
        """Fold and save what the backward reads."""
        # What runs here is of outer levels, which record on their own.
        with torch.enable_grad(), _set_fwd_grad_enabled(True):
            results = _below_autograd(keys, list(inputs), where, request)
        _keep(ctx, inputs, where, request, results)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        """Return the gradients."""
        return None, None, None, *_gradients(ctx, upstream, ctx.needs_input_grad[3:])


def _autograd(keys: Any, inputs: list[Any], where: Any, request: str) -> list[Any]:
    if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
        with enable_single_level_autograd_function():
            return list(_Step.apply(keys, where, request, *inputs))
    return _below_autograd(keys, inputs, where, request)


def _below_autograd(keys: Any, inputs: list[Any], where: Any, request: str) -> list[Any]:
    with torch._C._AutoDispatchBelowAutograd():
        rest = keys & torch._C._after_autograd_keyset
        results: list[Any] = fold_op.redispatch(rest, inputs, where, request)
    return results


_NAME: Final = "axisfold::fold"
_library: Final = torch.library.Library("axisfold", "DEF")
_library.define(
    "fold(Tensor[] inputs, Tensor? where, str request) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
fold_op: Final = torch.ops.axisfold.fold.default
_library.impl("fold", _forward, "CompositeExplicitAutograd")
_library.impl("fold", _autograd, "Autograd", with_keyset=True)
torch.library.register_fake(_NAME, _fake, lib=_library)
torch.library.register_vmap(_NAME, _vmap, lib=_library)
