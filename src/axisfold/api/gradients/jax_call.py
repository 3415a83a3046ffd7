# SPDX-License-Identifier: Apache-2.0
"""Folds of JAX's tracers: a custom derivative around a call that XLA makes when the program runs.

On the CPU the call is one of XLA's foreign function interface; elsewhere, and where the interface
is another than the known one, it is ``jax.pure_callback``, which brings the operands to the host.
Axes are counted from the end, so that the batch axes of ``jax.vmap``, which come first, are kept.
Derivatives are in either mode, and of any order: the rule is that of the forward mode, which JAX
transposes for the reverse one, and it is itself the transpose of the gradients that all libraries
share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from axisfold.api import dispatch
from axisfold.api.arguments import normalize_axes
from axisfold.api.gradients import jax_ffi
from axisfold.api.gradients.pullback import pull_back
from axisfold.api.gradients.request import (
    Outcome,
    check_out,
    encode,
    fold_on_host,
    initial_of,
    outcome,
)
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

    def transposed(
        self, function: Callable[..., Sequence[Any]], like: Sequence[Any], values: Sequence[Any]
    ) -> Sequence[Any]:
        """Apply the transpose of a linear function of arrays like some."""
        _, back = jax.vjp(lambda *u: tuple(function(*u)), *map(jnp.zeros_like, like))
        found: Sequence[Any] = back(tuple(values))
        return found


_LIBRARY: Final = JaxLibrary()


def _dtype(dtype: DType) -> Any:
    return jax.dtypes.canonicalize_dtype(dtype.to_numpy())


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


@partial(jax.custom_jvp, nondiff_argnums=(0,))
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


@partial(_fold.defjvp, symbolic_zeros=True)
def _push(text: str, arrays: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return results and their tangents."""
    results = _fold(text, *arrays)
    found = outcome(text, tuple(x.dtype.name for x in arrays))
    given = {
        n: t for n, t in enumerate(tangents)
        if not isinstance(t, SymbolicZero) and _is_smooth(arrays[n])
    }  # fmt: skip
    smooth = [n for n, y in enumerate(results) if _is_smooth(y)]
    pushed = [np.zeros(y.shape, jax.dtypes.float0) for y in results]
    if smooth:

        def by_given(*upstream: Any) -> list[Any]:
            gradients = _gradients(found, arrays, results, dict(zip(smooth, upstream, strict=True)))
            return [gradients[n] for n in given]

        like = [results[n] for n in smooth]
        by_smooth = _LIBRARY.transposed(by_given, like, list(given.values()))
        pushed = [dict(zip(smooth, by_smooth, strict=True)).get(n, t) for n, t in enumerate(pushed)]
    return results, tuple(pushed)


def _gradients(
    found: Outcome, arrays: Sequence[Any], results: Sequence[Any], upstream: dict[int, Any]
) -> list[Any]:
    """Return the gradients by the arrays but the mask, of those by results, as JAX has them."""
    own, mask = (arrays[:-1], arrays[-1]) if found.request.is_masked else (arrays, None)
    work = jnp.result_type(
        jnp.float32, *(x.dtype for x in own), *(results[n].dtype for n in upstream)
    )
    whole = [upstream.get(n) for n in range(len(results))]
    gradients = pull_back(
        found,
        [_widened(x, work) for x in own],
        mask,
        [_widened(y, work) for y in results],
        # Rules follow PyTorch, whose gradients are the conjugates of JAX's cotangents.
        [None if g is None else jnp.conj(_widened(g, work)) for g in whole],
        _LIBRARY,
    )
    return [_narrowed(jnp.conj(g), x.dtype) for g, x in zip(gradients, own, strict=True)]


def _is_smooth(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def _widened(values: Any, work: Any) -> Any:
    """The array in the working dtype, or in its real part."""
    real = jnp.finfo(work).dtype
    dtype = work if jnp.issubdtype(values.dtype, jnp.complexfloating) else real
    return values.astype(dtype)


def _narrowed(gradient: Any, dtype: Any) -> Any:
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        gradient = jnp.real(gradient)
    return gradient.astype(dtype)
