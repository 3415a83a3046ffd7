# SPDX-License-Identifier: Apache-2.0
"""Derivatives of folds of tensors, in reverse and in forward mode, of what a step of autograd kept.

They are made of PyTorch's own operators.  A tangent is the transpose of the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch

from axisfold.api.gradients.pullback import needs_of, pull_back
from axisfold.api.gradients.request import Outcome, outcome
from axisfold.dtypes import DType


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

    def transposed(
        self, function: Callable[..., Sequence[Any]], like: Sequence[Any], values: Sequence[Any]
    ) -> Sequence[Any]:
        """Apply the transpose of a linear function of tensors like some."""
        _, back = torch.func.vjp(lambda *t: tuple(function(*t)), *map(torch.zeros_like, like))
        found: Sequence[Any] = back(tuple(values))
        return found


_LIBRARY: Final = TorchLibrary()


def torch_dtype(dtype: DType) -> Any:
    """Return PyTorch's dtype of the same name."""
    return getattr(torch, dtype.name)


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of PyTorch."""
    return str(dtype).removeprefix("torch.")


def outcome_of(inputs: Sequence[Any], text: str) -> Outcome:
    """Return what a request gives for tensors."""
    return outcome(text, tuple(dtype_name(x.dtype) for x in inputs))


def keep(ctx: Any, inputs: Sequence[Any], request: str, results: Any) -> list[Any]:
    """Save what derivatives read: shapes always, values only where a rule needs them."""
    found = outcome_of(inputs, request)
    needs = needs_of(found)
    ctx.set_materialize_grads(False)
    ctx.outcome, ctx.needs, ctx.has_mask = found, needs, found.request.is_masked
    own = inputs[:-1] if ctx.has_mask else inputs
    ctx.facts = [(x.shape, x.dtype) for x in own]
    ctx.result_facts = [(y.shape, y.dtype) for y in results]
    saved = [*(own if needs.inputs else ()), *(results if needs.results else ())]
    saved += [inputs[-1]] if ctx.has_mask else []
    ctx.save_for_backward(*saved)
    return saved


def gradients(ctx: Any, upstream: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
    """Return the gradient by each input, None where none is wanted."""
    like = next((g for g in upstream if g is not None), None)
    if like is None:
        return [None] * len(wanted)
    pull, work = _pullback(ctx, like)
    gradients = pull([
        None if g is None or not is_smooth(g.dtype) else _widened(g, work) for g in upstream
    ])  # fmt: skip
    found = [
        _narrowed(g, dtype) if want and g is not None else None
        for want, g, (_, dtype) in zip(wanted, gradients, ctx.facts, strict=False)
    ]
    return [*found, None] if ctx.has_mask else found


def tangents_of(ctx: Any, tangents: Sequence[Any]) -> list[Any]:
    """Return the tangent of each result, None where it has none."""
    own = tangents[: len(ctx.facts)]  # a mask has none
    given = {n: t for n, t in enumerate(own) if t is not None and is_smooth(t.dtype)}
    smooth = [n for n, (_, dtype) in enumerate(ctx.result_facts) if is_smooth(dtype)]
    found: list[Any] = [None] * len(ctx.result_facts)
    if not given or not smooth:
        return found
    pull, work = _pullback(ctx, next(iter(given.values())))

    def by_given(*upstream: Any) -> list[Any]:
        whole: list[Any] = [None] * len(found)
        for n, g in zip(smooth, upstream, strict=True):
            whole[n] = g
        gradients = pull(whole)
        return [_narrowed(gradients[n], t.dtype) for n, t in given.items()]

    some = next(iter(given.values()))
    facts = [ctx.result_facts[n] for n in smooth]
    like = [_widened(y, work) for y in _restored(facts, None, some)]
    by_smooth = _LIBRARY.transposed(by_given, like, list(given.values()))
    for n, t, (_, dtype) in zip(smooth, by_smooth, facts, strict=True):
        found[n] = _narrowed(t, dtype)
    return found


def _pullback(ctx: Any, like: Any) -> tuple[Callable[[Sequence[Any]], list[Any]], Any]:
    """Return what makes gradients by inputs of those by results, and the dtype that it takes."""
    saved = list(ctx.saved_tensors)
    mask = saved.pop() if ctx.has_mask else None
    inputs = _restored(ctx.facts, saved if ctx.needs.inputs else None, like)
    rest = saved[len(inputs) :] if ctx.needs.inputs else saved
    results = _restored(ctx.result_facts, rest if ctx.needs.results else None, like)
    work = _working_dtype([x.dtype for x in inputs], [y.dtype for y in results])
    wide = [[_widened(x, work) for x in each] for each in (inputs, results)]

    def pull(upstream: Sequence[Any]) -> list[Any]:
        return pull_back(ctx.outcome, wide[0], mask, wide[1], upstream, _LIBRARY)

    return pull, work


def _restored(facts: Sequence[Any], saved: Sequence[Any] | None, like: Any) -> list[Any]:
    """The saved tensors, or in their place some of the same shape that take no memory."""
    if saved is not None:
        return list(saved[: len(facts)])
    return [like.new_zeros((), dtype=dtype).expand(shape) for shape, dtype in facts]


def is_smooth(dtype: Any) -> bool:
    """Return whether derivatives of a dtype's values exist."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def _working_dtype(inputs: Sequence[Any], results: Sequence[Any]) -> Any:
    """The dtype that holds all, and at least float32; truth values and indices do not count."""
    work = torch.float32
    for dtype in (*inputs, *(d for d in results if is_smooth(d))):
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
