# SPDX-License-Identifier: Apache-2.0
"""Layer norm and RMS norm over any axes: stages of te in one loop nest.

``python examples/te/layer_norm.py`` prints the program and compares it with NumPy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from axisfold import build, lower, te


def program(
    rank: int,
    axes: Sequence[int],
    dtype: str = "float32",
    epsilon: float = 1e-5,
    is_centred: bool = True,
) -> tuple[Any, ...]:
    """Return a schedule and its arguments, for a tensor of any extents.

    ``is_centred=False`` is RMS norm: no mean is taken off, and there is no bias.  Sums are taken
    in float64.  The mean is computed once, though two stages read it.
    """
    shape = [te.var(f"n{i}") for i in range(rank)]
    X = te.placeholder(shape, dtype, name="X")
    axes = sorted(a % rank for a in axes)
    kept = [i for i in range(rank) if i not in axes]
    weight_shape = [shape[a] for a in axes]
    gamma = te.placeholder(weight_shape, dtype, name="gamma")
    beta = te.placeholder(weight_shape, dtype, name="beta")
    kept_shape = [shape[i] for i in kept]
    count: Any = te.const(1.0, "float64")
    for extent in weight_shape:
        count = count * extent.astype("float64")

    def total(of: Any, name: str) -> Any:
        """Return the mean over ``axes``."""
        folded = [te.reduce_axis((0, shape[a]), f"k{a}") for a in axes]
        place = dict(zip(axes, folded, strict=True))

        def summed(*i: Any) -> Any:
            whole = place | dict(zip(kept, i, strict=True))
            return te.sum(of(*(whole[a] for a in range(rank))), axis=folded)

        return te.compute(kept_shape, summed, name=name)

    def row(i: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(i[a] for a in kept)

    stages = []
    wide = te.compute(shape, lambda *i: X[i].astype("float64"), name="wide")
    if is_centred:
        total_x = total(lambda *i: wide[i], "total")
        centred = te.compute(shape, lambda *i: wide[i] - total_x[row(i)] / count, name="centred")
        stages.append(total_x)
    else:
        centred = te.compute(shape, lambda *i: wide[i], name="centred")
    squares = total(lambda *i: centred[i] * centred[i], "squares")
    stages.append(squares)

    def normalized(*i: Any) -> Any:
        weights = tuple(i[a] for a in axes)
        scaled = centred[i] * te.rsqrt(squares[row(i)] / count + te.const(epsilon, "float64"))
        scaled = scaled * gamma[weights].astype("float64")
        if is_centred:
            scaled = scaled + beta[weights].astype("float64")
        return scaled.astype(dtype)

    Y = te.compute(shape, normalized, name="Y")

    s = te.create_schedule(Y.op)
    s[wide].compute_inline()
    s[centred].compute_inline()
    leaves = [Y.op.axis[i] for i in kept]
    s[Y].reorder(*leaves, *(Y.op.axis[a] for a in axes))
    place = s[Y].fuse(*leaves)  # a loop of one round if every axis is normalized
    if leaves:
        s[Y].parallel(place)
    for stage in reversed(stages):
        s[stage].compute_at(s[Y], place)
    return s, [X, gamma, beta, Y] if is_centred else [X, gamma, Y]


def main() -> None:
    """Print the program of a layer norm over rows, run it, and compare."""
    s, args = program(2, [1])
    print(lower(s, args))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 300)).astype("float32")
    gamma, beta = rng.standard_normal((2, 300)).astype("float32")
    y = np.empty_like(x)
    build(s, args)(x, gamma, beta, y)
    wide = x.astype("float64")
    centred = wide - wide.mean(axis=1, keepdims=True)
    wanted = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + 1e-5)
    print("largest error:", np.abs(y - (wanted * gamma + beta)).max())


if __name__ == "__main__":
    main()
