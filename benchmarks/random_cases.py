# SPDX-License-Identifier: Apache-2.0
"""Cases at random beside NumPy: ``python benchmarks/random_cases.py [--seed N] [--seconds S]``.

Reductions, dtypes, shapes of 2^11 to 2^22 elements, layouts and axes are drawn; the cases that are
slowest beside NumPy are printed, then those that read the fewest bytes a second.  This finds the
cliffs that a table of cases has no row for.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import machine

import axisfold

OPS = [
    "sum",
    "prod",
    "mean",
    "var",
    "std",
    "min",
    "max",
    "argmin",
    "argmax",
    "any",
    "all",
    "count_nonzero",
    "ptp",
    "nansum",
    "nanmax",
    "nanmean",
    "nanargmax",
    "nanvar",
]
DTYPES = [
    "float32",
    "float64",
    "int32",
    "int64",
    "int8",
    "uint8",
    "int16",
    "bool",
    "float16",
    "complex64",
]
LAYOUTS = ("C", "C", "C", "Fortran", "permuted", "gaps")
# Reductions that take one axis, or all; and those of an order, which complex numbers lack.
OF_INDICES = ("argmin", "argmax", "nanargmax")
ORDERED = (*OF_INDICES, "min", "max", "ptp", "nanmax")
LARGE = 1 << 16


@dataclass(frozen=True, slots=True)
class Found:
    """What one case took, in seconds a call: the best of many, ours and NumPy's in turn."""

    name: str
    nbytes: int
    ours: float
    numpy: float
    first: float

    def __str__(self) -> str:
        return (
            f"{self.ours / self.numpy:6.2f} of NumPy's time  {self.nbytes / self.ours / 1e9:7.2f} "
            f"GB/s  {self.ours * 1e6:9.1f} us, NumPy {self.numpy * 1e6:9.1f} us, first call "
            f"{self.first * 1e3:4.0f} ms  {self.name}"
        )


def draw(chance: random.Random) -> tuple[str, np.ndarray[Any, Any], Any]:
    """Return a reduction, an array and axes."""
    op, dtype, rank = (
        chance.choice(OPS),
        chance.choice(DTYPES),
        chance.choice([1, 2, 2, 2, 3, 3, 4]),
    )
    if (dtype == "complex64" and op in ORDERED) or (dtype == "bool" and op == "ptp"):
        dtype = "float32"
    size = 2 ** chance.uniform(11, 22)
    cuts = [0.0, *sorted(chance.random() for _ in range(rank - 1)), 1.0]
    shape = [max(round(size ** (b - a)), 1) for a, b in itertools.pairwise(cuts)]
    values = np.random.default_rng(chance.randrange(1 << 30)).random(shape) * 200 - 100
    x = values > 95 if dtype == "bool" else values.astype(dtype)
    match chance.choice(LAYOUTS):
        case "Fortran":
            x = np.asfortranarray(x)
        case "permuted":
            x = x.transpose(chance.sample(range(rank), rank))
        case "gaps":
            x = np.repeat(x, 2, axis=-1)[..., ::2]
    folded = tuple(sorted(chance.sample(range(rank), chance.randint(0, rank))))
    if not folded or (op in OF_INDICES and len(folded) > 1):
        return op, x, None
    return op, x, folded[0] if len(folded) == 1 else folded


def best(function: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Return the best time of a call, and that of the first one."""
    taken, end = [], math.inf
    while len(taken) < 4 or (time.perf_counter() < end and len(taken) < 200):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
        if len(taken) == 1:
            end = time.perf_counter() + seconds
    return min(taken[1:]), taken[0]


def measure(op: str, x: np.ndarray[Any, Any], axis: Any) -> Found:
    """Measure one case, after its values are compared."""
    ours, theirs = getattr(axisfold, op), getattr(np, op)
    name = f"{op} {x.dtype} {x.shape} strides {x.strides} axis={axis}"
    first = best(lambda: ours(x, axis=axis), 0)[1]
    wide = x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))
    right = theirs(wide, axis=axis)
    scale = (
        np.abs(wide).sum(axis=axis) + np.abs(right) if op in ("sum", "mean", "nansum") else right
    )
    eps = 8 * np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 1e-6
    found = ours(x, axis=axis)
    if (
        x.dtype != np.float16
        and op != "prod"
        and not np.allclose(
            found, right, rtol=1e-4, atol=np.max(np.abs(scale)) * eps, equal_nan=True
        )
    ):
        print("DIFFERS", name)
    mine, _ = best(lambda: ours(x, axis=axis), 0.01)
    numpy, _ = best(lambda: theirs(x, axis=axis), 0.01)
    return Found(
        name, x.nbytes, min(mine, best(lambda: ours(x, axis=axis), 0.005)[0]), numpy, first
    )


def main() -> None:
    """Measure for some seconds, and print the worst."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--most", type=int, default=20, help="cases of each kind to print")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chance, end = random.Random(options.seed), time.monotonic() + options.seconds
    found = []
    while time.monotonic() < end:
        found.append(measure(*draw(chance)))
    mean = math.exp(math.fsum(math.log(f.ours / f.numpy) for f in found) / len(found))
    print(machine(), f"threads {axisfold.config.threads}", f"seed {options.seed}", sep="; ")
    print(f"{len(found)} cases; geometric mean {mean:.2f} of NumPy's time; slowest beside NumPy:")
    for case in sorted(found, key=lambda f: f.numpy / f.ours)[: options.most]:
        print(case)
    print(f"fewest bytes a second, of arrays of more than {LARGE} bytes:")
    large = [f for f in found if f.nbytes > LARGE]
    for case in sorted(large, key=lambda f: f.nbytes / f.ours)[: options.most]:
        print(case)


if __name__ == "__main__":
    main()
