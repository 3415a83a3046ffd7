# SPDX-License-Identifier: Apache-2.0
"""Other libraries: for each what takes its arrays, and how it says each operation.

A library that is not installed, or has no such operation, is left out.  Operations are functions
of the inputs and the axis.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Operation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Peer:
    """A library.

    Attributes
    ----------
    take
        From a NumPy array to the library's own, without a copy where it can.
    operations
        By name: ``f(*arrays, axis)``.
    keeps_views
        Whether a view with gaps stays one: else a copy without them would be measured.
    """

    take: Callable[[np.ndarray], Any]
    operations: Mapping[str, Operation]
    keeps_views: bool = True


def _along(function: Any) -> Operation:
    return lambda x, axis: function(x, axis=axis)


def _numpy(threads: int) -> Peer:
    def minmax(x: Any, axis: Any) -> Any:
        return np.min(x, axis=axis), np.max(x, axis=axis)

    def logsumexp(x: Any, axis: Any) -> Any:
        top = np.max(x, axis=axis, keepdims=True)
        return np.log(np.sum(np.exp(x - top), axis=axis)) + np.squeeze(top, axis)

    def softmax(x: Any, axis: Any) -> Any:
        power = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return power / np.sum(power, axis=axis, keepdims=True)

    names = (
        "sum", "mean", "prod", "max", "min", "var", "argmax", "any", "all", "count_nonzero",
        "nansum", "nanmax", "nanmean",
    )  # fmt: skip
    plain = {n: _along(getattr(np, n)) for n in names}
    return Peer(
        lambda x: x,
        {
            **plain,
            "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
            "minmax": minmax,
            "meanvar": lambda x, axis: (np.mean(x, axis=axis), np.var(x, axis=axis)),
            "dot": lambda x, y, axis: np.dot(x, y),
            "distance": lambda x, y, axis: np.sum((x - y) ** 2),
            "logsumexp": logsumexp,
            "softmax": softmax,
        },
    )


def _bottleneck(threads: int) -> Peer:
    bn = importlib.import_module("bottleneck")
    names = {
        "sum": "nansum", "mean": "nanmean", "max": "nanmax", "min": "nanmin", "var": "nanvar",
        "argmax": "nanargmax", "nansum": "nansum", "nanmax": "nanmax", "nanmean": "nanmean",
    }  # fmt: skip
    return Peer(
        lambda x: x,
        {k: _along(getattr(bn, v)) for k, v in names.items()},
    )


def _numexpr(threads: int) -> Peer:
    ne = importlib.import_module("numexpr")
    ne.set_num_threads(threads)

    def say(text: str) -> Operation:
        def run(*given: Any) -> Any:
            *arrays, axis = given
            names = dict(zip("xy", arrays, strict=False))
            where = "" if axis is None else f", axis={axis}"
            return ne.evaluate(text.replace(")AXIS", f"{where})"), local_dict=names)

        return run

    return Peer(
        lambda x: x,
        {
            "sum": say("sum(x)AXIS"), "prod": say("prod(x)AXIS"), "max": say("max(x)AXIS"),
            "min": say("min(x)AXIS"), "dot": say("sum(x*y)AXIS"),
            "distance": say("sum((x-y)**2)AXIS"),
        },
    )  # fmt: skip


def _torch(threads: int) -> Peer:
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)

    def take(x: np.ndarray) -> Any:
        if x.dtype.name == "bfloat16":
            return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(x)

    def over(f: Any) -> Operation:
        return lambda x, axis: f(x) if axis is None else f(x, dim=axis)

    return Peer(
        take,
        {
            "sum": over(torch.sum), "mean": over(torch.mean), "prod": over(torch.prod),
            "max": over(torch.amax), "min": over(torch.amin), "argmax": over(torch.argmax),
            "any": over(torch.any), "all": over(torch.all),
            "count_nonzero": over(torch.count_nonzero), "nansum": over(torch.nansum),
            "nanmean": over(torch.nanmean), "norm": over(torch.linalg.vector_norm),
            "var": lambda x, axis: torch.var(x, dim=axis, correction=0),
            "minmax": lambda x, axis: torch.aminmax(x, dim=axis),
            "meanvar": lambda x, axis: torch.var_mean(x, dim=axis, correction=0)[::-1],
            "dot": lambda x, y, axis: torch.dot(x, y),
            "distance": lambda x, y, axis: torch.sum((x - y) ** 2),
            "logsumexp": lambda x, axis: torch.logsumexp(x, dim=axis),
            "softmax": lambda x, axis: torch.softmax(x, dim=axis),
        },
    )  # fmt: skip


def _jax(threads: int) -> Peer:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp, nn = jax.numpy, jax.nn

    def jit(f: Any) -> Operation:
        compiled = jax.jit(f, static_argnames="axis")
        return lambda *given: jax.block_until_ready(compiled(*given[:-1], axis=given[-1]))

    names = (
        "sum", "mean", "prod", "max", "min", "var", "argmax", "any", "all", "count_nonzero",
        "nansum", "nanmax", "nanmean",
    )  # fmt: skip
    return Peer(
        jnp.asarray,
        {
            **{n: jit(getattr(jnp, n)) for n in names},
            "norm": jit(jnp.linalg.norm),
            "minmax": jit(lambda x, axis: (jnp.min(x, axis=axis), jnp.max(x, axis=axis))),
            "meanvar": jit(lambda x, axis: (jnp.mean(x, axis=axis), jnp.var(x, axis=axis))),
            "dot": jit(lambda x, y, axis: jnp.dot(x, y)),
            "distance": jit(lambda x, y, axis: jnp.sum((x - y) ** 2)),
            "logsumexp": jit(nn.logsumexp),
            "softmax": jit(nn.softmax),
        },
        keeps_views=False,
    )


def _numba(threads: int) -> Peer:
    importlib.import_module("numba").set_num_threads(threads)
    kernels = importlib.import_module("benchmarks.numba_kernels")
    return Peer(lambda x: x, kernels.OPERATIONS)


def _halide(threads: int) -> Peer:
    os.environ["HL_NUM_THREADS"] = str(threads)
    kernels = importlib.import_module("benchmarks.halide_kernels")
    return Peer(lambda x: x, kernels.OPERATIONS)


_PEERS: Final[dict[str, Callable[[int], Peer]]] = {
    "numpy": _numpy, "bottleneck": _bottleneck, "numexpr": _numexpr, "numba": _numba,
    "torch": _torch, "jax": _jax, "halide": _halide,
}  # fmt: skip
NAMES: Final = tuple(_PEERS)


def installed(threads: int, wanted: tuple[str, ...] = NAMES) -> dict[str, Peer]:
    """Return the peers that can be imported."""
    found = {}
    for name in wanted:
        try:
            found[name] = _PEERS[name](threads)
        except ImportError:
            continue
    return found
