# SPDX-License-Identifier: Apache-2.0
"""Other libraries on a GPU: for each what takes a tensor, and how it says each operation.

Operations are functions of arrays of the library and the axis, as in :mod:`benchmarks.peers`.
PyTorch is the rival of each case itself.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from typing import Any, Final

from benchmarks.compute_peer import compute_peer
from benchmarks.peers import Operation, Peer

# Calls of JAX in a row, which has streams of its own that no event of ours sees.
_ROW: Final = 6


def _along(function: Any) -> Operation:
    return lambda x, axis: function(x, axis=axis)


def _cupy() -> Peer:
    cupy = importlib.import_module("cupy")
    special = importlib.import_module("cupyx.scipy.special")
    names = (
        "sum", "mean", "prod", "max", "min", "var", "argmax", "any", "count_nonzero", "nansum",
    )  # fmt: skip
    return Peer(
        cupy.from_dlpack,
        {
            **{n: _along(getattr(cupy, n)) for n in names},
            "norm": _along(cupy.linalg.norm),
            "logsumexp": _along(special.logsumexp),
            "softmax": _along(special.softmax),
            "minmax": lambda x, axis: (cupy.min(x, axis), cupy.max(x, axis)),
            "distance": lambda x, y, axis: cupy.sum((x - y) ** 2),
        },
    )


def _jax() -> Peer:
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp, nn = jax.numpy, jax.nn

    def jit(f: Any) -> Operation:
        return jax.jit(f, static_argnames="axis")

    names = (
        "sum", "mean", "prod", "max", "min", "var", "argmax", "any", "count_nonzero", "nansum",
    )  # fmt: skip
    return Peer(
        jax.dlpack.from_dlpack,
        {
            **{n: jit(getattr(jnp, n)) for n in names},
            "norm": jit(jnp.linalg.norm),
            "logsumexp": jit(nn.logsumexp),
            "softmax": jit(nn.softmax),
            "minmax": jit(lambda x, axis: (jnp.min(x, axis=axis), jnp.max(x, axis=axis))),
            "distance": jit(lambda x, y, axis: jnp.sum((x - y) ** 2)),
        },
    )


_PEERS: Final[dict[str, Callable[[], Peer]]] = {
    "cupy": _cupy, "jax": _jax, "cuda.compute": compute_peer,
}  # fmt: skip


def installed(wanted: list[str]) -> dict[str, Peer]:
    """Return the peers that are asked for and can be imported."""
    found = {}
    for name in wanted:
        try:
            found[name] = _PEERS[name]()
        except (ImportError, KeyError):
            continue
    return found


def milliseconds_in_a_row(run: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
    """Return the time of a call by the host's clock, of several that follow each other."""
    wait(run())
    start = time.perf_counter()
    for _ in range(_ROW):
        last = run()
    wait(last)
    return (time.perf_counter() - start) / _ROW * 1e3
