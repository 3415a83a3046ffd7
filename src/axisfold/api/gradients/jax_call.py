# SPDX-License-Identifier: Apache-2.0
"""Folds of JAX's tracers: a custom derivative around a call that XLA makes when the program runs.

On the CPU the call is one of XLA's foreign function interface; elsewhere, and where the interface
is another than the known one, it is ``jax.pure_callback``, which brings the operands to the host.
Axes are counted from the end, so that the batch axes of ``jax.vmap``, which come first, are kept.
The derivative is in reverse mode, of any order; ``jax.jvp`` and ``jax.jacfwd`` need another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from axisfold.api import dispatch
from axisfold.api.arguments import normalize_axes
from axisfold.api.gradients import jax_ffi
from axisfold.api.gradients.pullback import needs_of, pull_back
from axisfold.api.gradients.request import check_out, encode, fold_on_host, initial_of, outcome
from axisfold.api.options import Operands, Request
from axisfold.api.results import result_type
from axisfold.dtypes import DType
from axisfold.interop.views import compact_strides


class JaxLibrary:
    """What JAX spells its own way; without its 64-bit mode it gives 32 bits for 64."""

    xp: Final = jnp

    def cast(self, values: Any, dtype: DType) -> Any:
        """Convert an array."""
        return values.astype(_dtype(dtype))

    def number(self, value: Any, dtype: DType, like: Any) -> Any:
        """Return an array of no axes."""
        return jnp.full((), value, _dtype(dtype))

    def arange(self, extent: Any, like: Any) -> Any:
        """Return the integers from 0."""
        return jnp.arange(extent)


_LIBRARY: Final = JaxLibrary()


def _dtype(dtype: DType) -> Any:
    return jax.dtypes.canonicalize_dtype(dtype.to_numpy())


@jax.tree_util.register_static
@dataclass(frozen=True, slots=True)
class _Facts:
    """Shape and dtype of an array whose values nobody needs any more."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True, slots=True)
class _Layout:
    """What a plan depends on of an array in C order."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    itemsize: int

    @classmethod
    def of(cls, array: Any) -> _Layout:
        """Return that of a tracer."""
        size = array.dtype.itemsize
        return cls(array.shape, compact_strides(array.shape, size), array.dtype, size)


def record(request: Request, inputs: Sequence[Any], operands: Operands) -> Any:
    """Run a request as a step that JAX's transformations see.

    Parameters
    ----------
    request
        What is folded, and how.
    inputs
        Tracers, and what can be made an array; the mask is the last, if there is one.
    operands
        The other arrays of the call.
    """
    check_out(operands)
    arrays = [jnp.asarray(x) for x in inputs]
    rank = max(x.ndim for x in (arrays[:-1] if request.is_masked else arrays))
    arrays = [x.reshape((1,) * (rank - x.ndim) + x.shape) for x in arrays]
    axes = tuple(sorted(axis - rank for axis in normalize_axes(request.axis, rank)))
    text = encode(replace(request, axis=axes), initial_of(operands))
    found = outcome(text, tuple(x.dtype.name for x in arrays))
    # What is wrong with the call is said now, and not by XLA when the program runs.
    dispatch.plan_request(found.request, [_Layout.of(x) for x in arrays])
    results = _fold(text, *arrays)
    return results[0] if found.packed is None else result_type(found.packed)(*results)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _fold(text: str, *arrays: Any) -> tuple[Any, ...]:
    found = outcome(text, tuple(x.dtype.name for x in arrays))
    own = arrays[:-1] if found.request.is_masked else arrays
    shape = jnp.broadcast_shapes(*(x.shape for x in own))
    kept = found.result_shape(shape, keepdims=found.request.keepdims)
    shapes = [jax.ShapeDtypeStruct(kept, _dtype(d)) for d in found.dtypes]

    def on_host(*operands: Any) -> Any:
        values = fold_on_host(text, *(np.asarray(x) for x in operands))
        return [np.asarray(v, s.dtype) for v, s in zip(values, shapes, strict=True)]

    def by_callback(*operands: Any) -> Any:
        return jax.pure_callback(on_host, shapes, *operands, vmap_method="expand_dims")

    if not jax_ffi.is_registered():
        return tuple(by_callback(*arrays))
    call = jax.ffi.ffi_call(jax_ffi.TARGET, shapes, vmap_method="expand_dims")
    by_ffi = partial(call, request=text)
    return tuple(jax.lax.platform_dependent(*arrays, cpu=by_ffi, default=by_callback))


def _forward(text: str, *arrays: Any) -> Any:
    results = _fold(text, *arrays)
    found = outcome(text, tuple(x.dtype.name for x in arrays))
    needs = needs_of(found)
    own, mask = (arrays[:-1], arrays[-1]) if found.request.is_masked else (arrays, None)
    kept = (
        own if needs.inputs else _facts(own),
        mask,
        results if needs.results else _facts(results),
    )
    return results, kept


def _facts(arrays: Sequence[Any]) -> tuple[_Facts, ...]:
    return tuple(_Facts(x.shape, x.dtype) for x in arrays)


def _backward(text: str, kept: Any, upstream: Any) -> Any:
    inputs, mask, results = kept
    given = inputs if mask is None else (*inputs, mask)
    found = outcome(text, tuple(x.dtype.name for x in given))
    work = jnp.result_type(
        jnp.float32, *(x.dtype for x in inputs), *(y.dtype for y in results if _is_smooth(y))
    )
    gradients = pull_back(
        found,
        [_widened(x, work) for x in inputs],
        mask,
        [_widened(y, work) for y in results],
        # Rules follow PyTorch, whose gradients are the conjugates of JAX's cotangents.
        [
            jnp.conj(_widened(g, work)) if _is_smooth(y) else None
            for g, y in zip(upstream, results, strict=True)
        ],
        _LIBRARY,
    )
    by_inputs = (
        None if g is None or not _is_smooth(x) else _narrowed(jnp.conj(g), x.dtype)
        for g, x in zip(gradients, inputs, strict=True)
    )
    return (*by_inputs, *(() if mask is None else (None,)))


def _is_smooth(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def _widened(values: Any, work: Any) -> Any:
    """The array in the working dtype, or in its real part; zeros for one that was not kept."""
    real = jnp.finfo(work).dtype
    dtype = work if jnp.issubdtype(values.dtype, jnp.complexfloating) else real
    if isinstance(values, _Facts):
        return jnp.broadcast_to(jnp.zeros((), dtype), values.shape)
    return values.astype(dtype)


def _narrowed(gradient: Any, dtype: Any) -> Any:
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        gradient = jnp.real(gradient)
    return gradient.astype(dtype)


_fold.defvjp(_forward, _backward)
