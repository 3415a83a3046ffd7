# SPDX-License-Identifier: Apache-2.0
"""Programs for threads, written by hand: short ways to say launches, trees and tickets."""

import re

import numpy as np
import pytest

from axisfold import sim
from axisfold.dtypes import BOOL, INT32, UINT32
from axisfold.errors import SimulationError
from axisfold.ir import build, threads
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Load, Var
from axisfold.ir.stmt import Allocate, Barrier, If, Kernel, Store, Ticket
from axisfold.ir.verify import verify

TID, BLOCK, RANK = Var("threadIdx.x"), Var("blockIdx.x"), Var("clusterCtaIdx.x")
ZERO, ONE = build.const(0), build.const(1)
QUOTE = re.compile(r"line (\d+): `(.*?)`")


def shared(name="s", size=64, dtype=INT32, scope="shared"):
    return Buffer(name, dtype, (build.const(size),), scope=scope)


def local(name="r", size=1, dtype=INT32):
    return Buffer(name, dtype, (build.const(size),), scope="local")


def vector(name, dtype=INT32):
    """Return a parameter of one axis and any extent."""
    return Buffer(name, dtype, (Var(f"{name}.n"),))


def put(buffer, index, value):
    """Store a value, which may be a Python number."""
    return Store(buffer, build.as_expr(index), build.as_expr(value, buffer.dtype))


def get(buffer, index=0):
    return Load(buffer, build.as_expr(index))


def allocated(buffers, *body, zeroed=False):
    stmt = build.seq(*body)
    for buffer in reversed(buffers):
        stmt = Allocate(buffer, stmt, zeroed=zeroed)
    return stmt


def launch(*body, block=32, grid=1, cluster=0, memory=()):
    """Return a launch of one-dimensional blocks whose body has the given memory."""
    indices = {"blockIdx.x": (BLOCK, grid), "threadIdx.x": (TID, block)}
    if cluster:
        indices["clusterCtaIdx.x"] = (RANK, cluster)
    return threads.launch("threads", indices, allocated(memory, *body))


def kernel(*body, params=(), outputs=None, name="program"):
    """Return a verified kernel; all parameters are outputs unless said otherwise."""
    outputs = params if outputs is None else outputs
    made = Kernel(name, tuple(params), tuple(outputs), build.seq(*body))
    verify(made)
    return made


def fault(program, arrays, code, *parts, lines=(), **options):
    """Check that a run is refused with a message, and that it leaves the arrays as they were.

    ``lines``: beginnings of the statements that it quotes, in order; their numbers must be those
    of the printed program.
    """
    before = [a.copy() for a in arrays]
    with pytest.raises(SimulationError) as caught:
        sim.run(program, arrays, **options)
    message = str(caught.value)
    assert caught.value.code == code, message
    assert message.startswith(f"{program.name}, line ")
    for part in parts:
        assert part in message
    quotes = QUOTE.findall(message)
    text = str(program).splitlines()
    assert all(text[int(number) - 1].strip() == quote for number, quote in quotes)
    assert len(quotes) >= max(1, len(lines))
    for (_, quote), begin in zip(quotes, lines, strict=False):
        assert quote.startswith(begin), message
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    return message


def last_block(*, barrier=True, wait=True, block=32, grid=4, total=None):
    """Return a kernel in which the last block copies what each block has left in a workspace."""
    out = vector("out")
    partial = Buffer("partial", INT32, (build.const(64),))
    counter = Buffer("counter", UINT32, (ONE,))
    is_last = shared("is_last", 1, BOOL)
    tickets = build.const(grid if total is None else total)
    body = launch(
        If(TID.equal(block - 1), put(partial, BLOCK, BLOCK + 1)),
        Barrier() if barrier else None,
        If(TID.equal(0), Ticket(is_last, counter, ZERO, tickets)),
        Barrier() if wait else None,
        If(get(is_last), If(grid > TID, put(out, TID, get(partial, TID)))),
        block=block,
        grid=grid,
        memory=[is_last],
    )
    return kernel(allocated([partial], allocated([counter], body, zeroed=True)), params=[out])
