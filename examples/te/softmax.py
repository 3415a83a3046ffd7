# SPDX-License-Identifier: Apache-2.0
"""Softmax and log-softmax over any axis: three stages of te in one loop nest.

``python examples/te/softmax.py`` prints the program and compares it with NumPy.
"""

from typing import Any

import numpy as np

from axisfold import build, lower, te


def program(rank: int, axis: int, dtype: str = "float32", log: bool = False) -> tuple[Any, ...]:
    """Return a schedule and its arguments, for a tensor of any extents.

    The largest value and the sum of exponentials of a row are computed where the row is
    normalized, and stay in the first-level cache or in registers.  float16 is computed in float32.
    """
    shape = [te.var(f"n{i}") for i in range(rank)]
    X = te.placeholder(shape, dtype, name="X")
    axis %= rank
    kept = [e for i, e in enumerate(shape) if i != axis]

    def element(place: Any, index: Any) -> Any:
        x = X[(*place[:axis], index, *place[axis:])]
        return x.astype("float32") if dtype == "float16" else x

    k = te.reduce_axis((0, shape[axis]), "k")
    largest = te.compute(kept, lambda *i: te.max(element(i, k), axis=k), name="largest")
    j = te.reduce_axis((0, shape[axis]), "j")
    total = te.compute(
        kept,
        lambda *i: te.sum(te.exp(element(i, j) - largest[i]).astype("float64"), axis=j),
        name="total",
    )

    def normalized(*i: Any) -> Any:
        row = (*i[:axis], *i[axis + 1 :])
        shifted = element(row, i[axis]) - largest[row]
        if log:
            return (shifted - te.log(total[row])).astype(dtype)
        return (te.exp(shifted) / total[row]).astype(dtype)

    Y = te.compute(shape, normalized, name="Y")

    s = te.create_schedule(Y.op)
    leaves = list(Y.op.axis)
    along = leaves.pop(axis)
    s[Y].reorder(*leaves, along)
    row = s[Y].fuse(*leaves)  # a loop of one round if there is no other axis
    if leaves:
        s[Y].parallel(row)
    s[total].compute_at(s[Y], row)
    s[largest].compute_at(s[Y], row)
    return s, [X, Y]


def main() -> None:
    """Print the program of a softmax over rows, run it, and compare."""
    s, args = program(2, 1)
    print(lower(s, args))
    x = np.random.default_rng(0).standard_normal((1000, 300)).astype("float32")
    y = np.empty_like(x)
    build(s, args)(x, y)
    e = np.exp(x.astype("float64") - x.max(axis=1, keepdims=True))
    print("largest error:", np.abs(y - e / e.sum(axis=1, keepdims=True)).max())


if __name__ == "__main__":
    main()
