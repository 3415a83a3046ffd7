# SPDX-License-Identifier: Apache-2.0
"""place_shared: buffers of a block side by side at the head of the launch."""

from sim_support import TID, allocated, get, kernel, launch, local, put, shared, vector

from axisfold.dtypes import INT32
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.stmt import Allocate, Launch
from axisfold.ir.walk import post_order
from axisfold.passes.place_shared import place_shared, shared_bytes

OUT = vector("out")


def placed(program):
    """Return the size of shared memory, and each buffer with its place."""
    (made,) = (n for n in post_order(place_shared(program).body) if isinstance(n, Launch))
    found, body = {}, made.body
    while isinstance(body, Allocate) and body.offset is not None:
        found[body.buffer.name] = body.offset
        body = body.body
    assert not any(isinstance(n, Allocate) and n.offset is not None for n in post_order(body))
    return made.shared_bytes, found


def test_buffers_start_at_multiples_of_16_bytes():
    a, b, c = shared("a", 33), shared("b", 1), shared("c", 2, scope="cluster")
    body = put(OUT, TID, TID)
    program = kernel(launch(allocated([a], body), allocated([b, c], body)), params=[OUT])
    assert placed(program) == (160 + 8, {"a": 0, "b": 144, "c": 160})


def test_local_memory_is_not_placed():
    program = kernel(launch(put(OUT, TID, TID), memory=[local()]), params=[OUT])
    assert placed(program) == (0, {})
    assert place_shared(program) is program


def test_copies_of_a_loop_share_memory():
    a = shared("a", 8)
    body = allocated([a], put(a, TID, TID), put(OUT, TID, get(a, TID)))
    program = kernel(launch(body, body, block=8), params=[OUT])
    assert placed(program) == (32, {"a": 0})


def test_padding_counts():
    rows = build.const(4), build.const(8)
    padded = Buffer("p", INT32, rows, (build.const(9), build.const(1)), scope="shared")
    assert shared_bytes(padded) == 4 * 9 * 4
