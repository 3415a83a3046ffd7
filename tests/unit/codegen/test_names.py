# SPDX-License-Identifier: Apache-2.0
"""Names of tensors and axes that LLVM IR cannot hold as they are."""

import numpy as np
import pytest

import axisfold
from axisfold import te


@pytest.mark.parametrize("name", ["0", "0x1p", "", "-1", "%d", 'x"y', "a\nb", "ünï☃", "x" * 2000])
def test_any_text_is_a_name(name):
    a = te.placeholder((4, 6), name=name)
    k = te.reduce_axis((0, 6), name)
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name=name)
    x, y = np.ones((4, 6), np.float32), np.empty(4, np.float32)
    axisfold.build(te.create_schedule(b.op), [a, b])(x, y)
    assert y.tolist() == [6.0] * 4


def test_names_that_only_differ_behind_a_thousand_characters():
    a = te.placeholder((4, 6), name="A")
    b = te.compute((4, 6), lambda i, j: a[i, j] + 1, name="B")
    s = te.create_schedule(b.op)
    for axis in b.op.axis:
        for _ in range(10):  # each round more than doubles the name
            outer, inner = s[b].split(axis, factor=5)
            axis = s[b].fuse(outer, inner)
    x, y = np.ones((4, 6), np.float32), np.empty((4, 6), np.float32)
    axisfold.build(s, [a, b])(x, y)
    assert (y == 2).all()
