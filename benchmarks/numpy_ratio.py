# SPDX-License-Identifier: Apache-2.0
"""Reductions of a (4096, 4096) array beside NumPy's: ``python benchmarks/numpy_ratio.py``.

Arguments name the reductions (default: sum).
"""

from __future__ import annotations

import sys

import numpy as np
from measure import interleaved, machine

import axisfold

# Functions of NumPy that have another name there.
PEERS = {"logsumexp": np.logaddexp.reduce}


def main(ops: list[str]) -> None:
    """Print a line for each case: milliseconds of both, their ratio, bytes a second."""
    print(machine())
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        x = rng.random((4096, 4096)).astype(dtype)
        for op in ops:
            ours, theirs = getattr(axisfold, op), PEERS.get(op) or getattr(np, op)
            for axis in (1, 0, None):
                rivals = {
                    "axisfold": lambda f=ours, a=axis, x=x: f(x, axis=a),
                    "numpy": lambda f=theirs, a=axis, x=x: f(x, axis=a),
                }
                found = interleaved(rivals)
                mine, peer = found["axisfold"], found["numpy"]
                print(
                    f"{op:8} {dtype} axis={axis!s:4}  axisfold {mine * 1e3:7.2f} ms  "
                    f"numpy {peer * 1e3:7.2f} ms  ratio {mine / peer:5.2f}  "
                    f"{x.nbytes / mine / 1e9:5.1f} GB/s"
                )


if __name__ == "__main__":
    main(sys.argv[1:] or ["sum"])
