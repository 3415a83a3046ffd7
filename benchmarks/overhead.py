# SPDX-License-Identifier: Apache-2.0
"""What a call costs besides the work: ``python benchmarks/overhead.py``.

First calls are measured in a process of their own: the first of all (which loads the compiler),
and the first of further layout classes.  Repeated calls are of 16 elements.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from measure import machine, repeated

import axisfold

FIRST_CALL = """
import time, numpy as np
import axisfold
x = np.ones((64, 64), {dtype!r})
for axis in ({axis}, {other}):
    start = time.perf_counter()
    axisfold.{op}(x, axis=axis)
    print(f"{{(time.perf_counter() - start) * 1e3:.0f}}", end=" ")
"""
IMPORT = """
import time, numpy
start = time.perf_counter()
import axisfold
print(f"{(time.perf_counter() - start) * 1e3:.1f}")
"""


def run(code: str) -> list[float]:
    """Return the numbers that a fresh process prints; it may use compiled modules, as users do."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return [float(word) for word in done.stdout.split()]


def median_of(code: str, runs: int = 5) -> list[float]:
    """Return the medians over several fresh processes."""
    columns = zip(*(run(code) for _ in range(runs)), strict=True)
    return [float(np.median(column)) for column in columns]


def main() -> None:
    """Print all figures."""
    print(machine())
    print(f"import axisfold after numpy: {median_of(IMPORT)[0]:.1f} ms")
    cases = (("sum", "float32"), ("sum", "float64"), ("var", "float64"), ("argmax", "float32"))
    for op, dtype in cases:
        for axis, other in ((0, 1), (1, 0)):
            code = FIRST_CALL.format(op=op, dtype=dtype, axis=axis, other=other)
            first, second = median_of(code)
            print(
                f"{op:7} {dtype}: first call of the process, axis={axis}: {first:4.0f} ms; "
                f"next layout class, axis={other}: {second:4.0f} ms"
            )
    x = np.ones(16, np.float32)
    y = np.ones((32, 32), np.float32)
    for label, ours, theirs in (
        ("sum of 16 float32", lambda: axisfold.sum(x), lambda: np.sum(x)),
        ("sum of (32, 32) axis=0", lambda: axisfold.sum(y, axis=0), lambda: np.sum(y, axis=0)),
    ):
        print(
            f"{label}, repeated: axisfold {repeated(ours) * 1e6:.2f} us, "
            f"numpy {repeated(theirs) * 1e6:.2f} us"
        )


if __name__ == "__main__":
    main()
