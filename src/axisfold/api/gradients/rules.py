# SPDX-License-Identifier: Apache-2.0
"""Gradients of the named reductions, written once for PyTorch and JAX.

A rule uses only what ``torch`` and ``jax.numpy`` spell alike, and nothing that looks at values, so
that it can be traced, compiled, batched and differentiated again.  Conventions are PyTorch's: the
gradient of a real loss by a complex element is dL/d(re) + i dL/d(im).

Where a derivative does not exist, the rules choose:

- min, max, ptp, minmax and the norms of order ±inf: the elements that tie share evenly, a NaN that
  became the result among them (as ``torch.amax``);
- prod: each element's gradient is the product of the others, also with zeros among them;
- logsumexp: 0 for a row of −inf; elements at +inf share evenly;
- log_softmax: the shares of a row of −inf are 0, as those of logsumexp;
- std at 0 and norms at 0: 0;
- elements that ``where=`` or a nan-form leaves out: 0, also those of softmax and log_softmax.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold and what came out of it.

    Attributes
    ----------
    xp
        ``torch`` or ``jax.numpy``.
    inputs
        Arrays of one rank, which broadcast to ``shape``, in a dtype fit to compute with.
    shape
        Extents of the folded elements.
    axes
        Folded axes, not negative.
    mask
        Which elements were folded, None for all.
    results, upstream
        Results and the loss's gradients by them, folded axes with extent 1; those of a spread
        have the elements' shape.
    options
        Numbers that the reduction was given, by name.
    initial
        Values folded beside the elements, one for each input; None for none.
    """

    xp: Any
    inputs: tuple[Any, ...]
    shape: tuple[Any, ...]
    axes: tuple[int, ...]
    mask: Any
    results: tuple[Any, ...]
    upstream: tuple[Any, ...]
    options: Mapping[str, Any]
    initial: tuple[Any, ...] | None = None

    def sum(self, values: Any) -> Any:
        """Sum over the folded axes, which stay with extent 1."""
        whole = broadcast(self.xp, values, self.shape)
        # torch takes an empty tuple of axes for all of them.
        return self.xp.sum(whole, self.axes, keepdims=True) if self.axes else whole

    @property
    def count(self) -> Any:
        """Number of elements folded into each result."""
        if self.mask is None:
            return math.prod(self.shape[a] for a in self.axes)
        return self.sum(self.mask)

    @property
    def divisor(self) -> Any:
        """As :attr:`count`, 1 where nothing was folded."""
        count = self.count
        if self.mask is None:
            return count or 1
        return self.xp.where(count == 0, 1, count)

    def folded(self, values: Any, other: float) -> Any:
        """Values of the folded elements, and another number in the place of those left out."""
        return values if self.mask is None else self.xp.where(self.mask, values, other)


Rule: TypeAlias = Callable[[Fold], tuple[Any, ...]]


def broadcast(xp: Any, values: Any, shape: tuple[Any, ...]) -> Any:
    """Return an array broadcast to a shape."""
    # PyTorch's older vmap, by which autograd batches gradients, knows only this one.
    return values.expand(shape) if hasattr(values, "expand") else xp.broadcast_to(values, shape)


def _none(f: Fold) -> tuple[Any, ...]:
    """Of results that move in steps, which autograd never asks for."""
    return tuple(f.xp.zeros_like(x) for x in f.inputs)


def _sum(f: Fold) -> tuple[Any, ...]:
    return f.upstream


def _mean(f: Fold) -> tuple[Any, ...]:
    return (f.upstream[0] / f.divisor,)


def _prod(f: Fold) -> tuple[Any, ...]:
    (x,), (g,) = f.inputs, f.upstream
    others = product_of_others(f, f.folded(x, 1))
    return (g * f.xp.conj(others if f.initial is None else others * f.initial[0]),)


def product_of_others(f: Fold, x: Any) -> Any:
    """Return for each element the product of the others over the folded axes.

    Products from the left times products from the right: without a division, zeros need no care.
    """
    xp = f.xp
    if not f.axes:
        return xp.ones_like(x)
    last = tuple(range(-len(f.axes), 0))
    moved = xp.moveaxis(broadcast(xp, x, f.shape), f.axes, last)
    kept = moved.shape[: len(f.shape) - len(f.axes)]
    lines = moved.reshape((*kept, math.prod(f.shape[a] for a in f.axes)))
    left = _exclusive_product(xp, lines)
    right = xp.flip(_exclusive_product(xp, xp.flip(lines, (-1,))), (-1,))
    return xp.moveaxis((left * right).reshape(moved.shape), last, f.axes)


def _exclusive_product(xp: Any, lines: Any) -> Any:
    first = xp.ones_like(lines[..., :1])
    return xp.cumprod(xp.concatenate((first, lines[..., :-1]), -1), -1)


def _extreme(f: Fold) -> tuple[Any, ...]:
    return (shared(f, f.inputs[0], f.results[0], f.upstream[0]),)


def _minmax(f: Fold) -> tuple[Any, ...]:
    pairs = zip(f.results, f.upstream, strict=True)
    low, high = (shared(f, f.inputs[0], result, g) for result, g in pairs)
    return (low + high,)


def _ptp(f: Fold) -> tuple[Any, ...]:
    """Of the largest and the smallest element, which the result alone does not tell."""
    xp, (x,), (g,) = f.xp, f.inputs, f.upstream
    high = xp.amax(f.folded(x, -math.inf), f.axes, keepdims=True) if f.axes else x
    low = xp.amin(f.folded(x, math.inf), f.axes, keepdims=True) if f.axes else x
    return (shared(f, x, high, g) - shared(f, x, low, g),)


def shared(f: Fold, x: Any, result: Any, g: Any) -> Any:
    """Return the gradient in equal parts for the elements that are the result."""
    both_nan = (x != x) & (result != result)
    chosen = (x == result) | both_nan
    if f.mask is not None:
        chosen = chosen & f.mask
    count = f.sum(chosen)
    return f.xp.where(chosen, g / f.xp.where(count == 0, 1, count), 0)


def _deviations(f: Fold) -> Any:
    """Each element less the mean, divided by the degrees of freedom."""
    x, *known = f.inputs
    centred = x - (known[0] if known else f.sum(f.folded(x, 0)) / f.divisor)
    freedom = f.count - f.options.get("correction", 0)
    if f.mask is None:
        return centred / (freedom if freedom > 0 else math.nan)
    return centred / f.xp.where(freedom > 0, freedom, math.nan)


def _var(f: Fold) -> tuple[Any, ...]:
    return _by_mean_too(f, f.upstream[0] * 2 * _deviations(f))


def _std(f: Fold) -> tuple[Any, ...]:
    return _by_mean_too(f, _ratio(f.xp, f.upstream[0] * _deviations(f), f.results[0]))


def _by_mean_too(f: Fold, gradient: Any) -> tuple[Any, ...]:
    return (gradient,) if len(f.inputs) == 1 else (gradient, -gradient)


def _logsumexp(f: Fold) -> tuple[Any, ...]:
    xp, (x,), (y,), (g,) = f.xp, f.inputs, f.results, f.upstream
    is_infinite = xp.isinf(y)
    share = xp.exp(x - xp.where(is_infinite, 0, y))
    at_infinity = shared(f, x, y, xp.ones_like(g))
    return (g * xp.where(is_infinite & (y > 0), at_infinity, share),)


def _norm(f: Fold) -> tuple[Any, ...]:
    xp, (x,), (y,), (g,) = f.xp, f.inputs, f.results, f.upstream
    order = f.options.get("ord", 2)
    if order == 0:
        return (xp.zeros_like(x),)
    if order == 2:
        return (_ratio(xp, g * x, y),)
    sign = _sign(xp, x)
    if order == 1:
        return (g * sign,)
    if math.isinf(order):
        return (shared(f, xp.abs(x), y, g) * sign,)
    # At 0 the power of a negative exponent is infinite, and that of a fractional one has no slope.
    size = xp.abs(xp.where(x == 0, 1, x))
    slope = _ratio(xp, size, y) ** (order - 1)
    return (g * xp.where(x == 0, 0, sign * slope),)


def _average(f: Fold) -> tuple[Any, ...]:
    """Of the average, and of the sum of weights where that is a result too."""
    g = f.upstream[0]
    if len(f.inputs) == 1:
        return (g / f.divisor,)
    x, weights = f.inputs
    total = f.sum(f.folded(weights, 0))
    by_weight = g * f.xp.conj((x - f.results[0]) / total)
    return (g * f.xp.conj(weights / total), sum(f.upstream[1:], by_weight))


def _softmax(f: Fold) -> tuple[Any, ...]:
    (y,), (g,) = f.results, f.upstream
    return (y * (g - f.sum(f.folded(g, 0) * y)),)


def _log_softmax(f: Fold) -> tuple[Any, ...]:
    (y,), (g,) = f.results, f.upstream
    return (g - f.xp.exp(y) * f.sum(f.folded(g, 0)),)


def _ratio(xp: Any, a: Any, b: Any) -> Any:
    """``a / b``, and 0 where b is 0; the unused quotient is finite, as must be its derivative."""
    is_zero = b == 0
    return xp.where(is_zero, 0, a / xp.where(is_zero, 1, b))


def _sign(xp: Any, x: Any) -> Any:
    """The sign of a real number, the direction of a complex one."""
    sign: Any = getattr(xp, "sgn", xp.sign)  # torch.sign refuses complex numbers
    return sign(x)


@dataclass(frozen=True, slots=True)
class Gradient:
    """A row: how the gradient of one named reduction is made.

    Attributes
    ----------
    rule
        The formula.
    skips_nan
        Whether NaNs are left out as ``where=`` leaves out elements.
    reads_inputs, reads_results
        Whether the formula needs values, not only shapes.
    """

    rule: Rule
    skips_nan: bool = False
    reads_inputs: bool = True
    reads_results: bool = True

    def seen_by(self, fold: Fold) -> Fold:
        """Return the fold of the elements that count."""
        if not self.skips_nan:
            return fold
        is_number = fold.inputs[0] == fold.inputs[0]
        return replace(fold, mask=is_number if fold.mask is None else fold.mask & is_number)


_RULES: Final[dict[str, Gradient]] = {
    "sum": Gradient(_sum, reads_inputs=False, reads_results=False),
    "prod": Gradient(_prod, reads_results=False),
    "mean": Gradient(_mean, reads_inputs=False, reads_results=False),
    "var": Gradient(_var, reads_results=False),
    "std": Gradient(_std),
    "min": Gradient(_extreme),
    "max": Gradient(_extreme),
}

GRADIENTS: Final[dict[str, Gradient]] = {
    **_RULES,
    **{
        f"nan{name}": replace(row, skips_nan=True, reads_inputs=True)
        for name, row in _RULES.items()
    },
    "ptp": Gradient(_ptp, reads_results=False),
    "minmax": Gradient(_minmax),
    "logsumexp": Gradient(_logsumexp),
    "norm": Gradient(_norm),
    "average": Gradient(_average),
    "softmax": Gradient(_softmax, reads_inputs=False),
    "log_softmax": Gradient(_log_softmax, reads_inputs=False),
    **dict.fromkeys(
        ("any", "all", "count_nonzero", "argmin", "argmax", "nanargmin", "nanargmax"),
        Gradient(_none, reads_inputs=False, reads_results=False),
    ),
}
