# SPDX-License-Identifier: Apache-2.0
"""The four ways in which threads of a block sum, as CUDA tutorials write them, in loop IR.

Each takes an array of any extent n and leaves one sum for each block; blocks are as many as the
output has elements.
"""

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.expr import Var
from axisfold.ir.stmt import WARP, Allocate, Barrier, For, If, Shuffle
from sim_support import (
    BLOCK,
    TID,
    ZERO,
    allocated,
    get,
    kernel,
    launch,
    local,
    put,
    shared,
    vector,
)

STRATEGIES = ("global", "interleaved", "adjacent", "shuffle")


def block_sum(strategy, block=64, dtype=INT64):
    """Return the kernel of a strategy; ``block`` is a power of two."""
    x, out = vector("x", dtype), vector("out", dtype)
    count, first = x.shape[0], BLOCK * block
    i = Var("i")
    steps = build.const(block.bit_length() - 1)
    if strategy == "shuffle":
        return _shuffles(x, out, block)
    s = shared("s", block, dtype)
    memory, start = (x, first) if strategy == "global" else (s, ZERO)

    def at(place):
        return get(memory, start + place)

    if strategy == "adjacent":
        stride = build.binary("shl", build.const(1), i)
        takes = (TID % (2 * stride)).equal(0)
    else:
        stride = build.binary("shr", build.const(block // 2), i)
        takes = stride > TID
    limit = first + TID + stride < count if strategy == "global" else TID + stride < block
    combine = put(memory, start + TID, at(TID) + at(TID + stride))
    tree = For(
        i, ZERO, steps, "serial", build.seq(If(build.all_of([takes, limit]), combine), Barrier())
    )
    result = If(TID.equal(0), put(out, BLOCK, at(ZERO)))
    if strategy == "global":
        body = launch(tree, result, block=block, grid=out.shape[0])
        return kernel(body, params=[x, out], name="global_tree")
    element = build.if_then_else(first + TID < count, get(x, first + TID), 0)
    body = [put(s, TID, element), Barrier(), tree, result]
    threads = launch(*body, block=block, grid=out.shape[0], memory=[s])
    return kernel(threads, params=[x, out], outputs=[out], name=f"{strategy}_tree")


def _shuffles(x, out, block):
    """Sum each warp by shuffles, then the sums of the warps by the first warp."""
    warps = block // WARP
    total, other = local("total", 1, x.dtype), local("other", 1, x.dtype)
    s = shared("sums", warps, x.dtype)
    place = BLOCK * block + TID
    element = build.if_then_else(place < x.shape[0], get(x, place), 0)

    def halve(width):
        steps = []
        while width > 1:
            width //= 2
            steps.append(Shuffle(other, get(total), "down", build.const(width)))
            steps.append(put(total, 0, get(total) + get(other)))
        return build.seq(*steps)

    again = put(total, 0, build.if_then_else(warps > TID, get(s, TID), 0))
    body = [
        put(total, 0, element),
        halve(WARP),
        If((TID % WARP).equal(0), put(s, TID // WARP, get(total))),
        Barrier(),
        If(TID < WARP, build.seq(again, halve(warps))),
        If(TID.equal(0), put(out, BLOCK, get(total))),
    ]
    threads = launch(
        allocated([s, total], Allocate(other, build.seq(*body))), block=block, grid=out.shape[0]
    )
    return kernel(threads, params=[x, out], outputs=[out], name="shuffle_tree")
