# SPDX-License-Identifier: Apache-2.0
"""Blocks whose rounds all exist: guards inside of unrolled loops are asked once for all of them."""

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build
from axisfold.ir.stmt import For, If, Launch
from axisfold.ir.walk import post_order


def scaled(unrolled, threads=8, rounds=4):
    """B[i] = 2 A[i], each thread with some elements, as far apart as a block has threads."""
    n = te.size_var("n", "int64")
    a = te.placeholder((n,), "float32", "A")
    b = te.compute((n,), lambda i: a[i] * 2, name="B")
    s = te.create_schedule(b.op)
    block, inside = s[b].split(b.op.axis[0], factor=threads * rounds)
    turn, thread = s[b].split(inside, factor=threads)
    s[b].reorder(block, thread, turn)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    if unrolled:
        s[b].unroll(turn)
    return build(s, [a, b], "sim")


def guards(stmt):
    return [n for n in post_order(stmt) if isinstance(n, If)]


def test_whole_blocks_ask_once():
    (launch,) = (n for n in post_order(scaled(True).device.body) if isinstance(n, Launch))
    assert isinstance(launch.body, If)
    assert str(launch.body.condition) == "(blockIdx.x < floordiv(n, (int64)32))"
    assert not guards(launch.body.then)
    assert len(guards(launch.body.otherwise)) == 1
    kinds = [
        {n.kind for n in post_order(part) if isinstance(n, For)}
        for part in (launch.body.then, launch.body.otherwise)
    ]
    assert kinds == [{"unrolled"}, {"rolled"}]


def test_loops_that_are_split_need_no_copy_of_the_block():
    (launch,) = (n for n in post_order(scaled(False).device.body) if isinstance(n, Launch))
    assert not isinstance(launch.body, If)


@pytest.mark.parametrize("unrolled", [True, False])
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 63, 64, 100])
def test_values(unrolled, n):
    x, out = np.arange(n, dtype="f4"), np.full(n, np.nan, "f4")
    scaled(unrolled)(x, out)
    assert np.array_equal(out, 2 * x)
