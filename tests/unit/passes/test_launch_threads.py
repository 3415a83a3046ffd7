# SPDX-License-Identifier: Apache-2.0
"""launch_threads: one launch for a nest, idle threads, one writer, and what is refused."""

import pytest
from sim_support import ZERO, allocated, get, put, vector

import axisfold
from axisfold import te
from axisfold.dtypes import INT32
from axisfold.errors import UnsupportedError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.combiner import Combiner
from axisfold.ir.expr import Var
from axisfold.ir.stmt import AllReduce, For, If, Kernel
from axisfold.passes.launch_threads import launch_threads

OUT = vector("out")
N = OUT.shape[0]


def bound(tag, extent, body, name=None):
    """Return a bound loop; ``body`` gets its variable."""
    var = Var(name or tag)
    return For(var, ZERO, build.as_expr(extent), "bound", body(var), thread=tag)


def serial(extent, body, name="i"):
    var = Var(name)
    return For(var, ZERO, build.as_expr(extent), "serial", body(var))


def launched(*body, params=(OUT,)):
    """Return the lines of a program from its first launch on."""
    program = launch_threads(Kernel("main", params, params, build.seq(*body)))
    lines = [line.strip() for line in str(program).splitlines()]
    first = next(n for n, line in enumerate(lines) if line.startswith("launch"))
    return [line for line in lines[first:] if line != "}"]


def test_loops_of_one_tag_share_threads():
    nest = bound(
        "blockIdx.x",
        N,
        lambda b: build.seq(
            bound("threadIdx.x", 64, lambda t: put(OUT, t, b)),
            bound("threadIdx.x", 32, lambda t: put(OUT, b, t)),
        ),
    )
    assert launched(nest) == [
        "launch main_kernel0(blockIdx.x: int32 < out.n, threadIdx.x: int32 < 64) {",
        "out_2[threadIdx.x] = blockIdx.x",
        "if @tir.likely((threadIdx.x < 32), dtype=bool) {",
        "out_2[blockIdx.x] = threadIdx.x",
    ]


def test_each_nest_is_a_launch():
    nests = [bound("blockIdx.x", 4, lambda b: put(OUT, b, b)) for _ in range(2)]
    lines = launched(*nests)
    assert [line.split("(")[0] for line in lines if "launch" in line] == [
        "launch main_kernel0",
        "launch main_kernel1",
    ]


def test_one_thread_of_an_index_that_a_store_does_not_use():
    nest = bound(
        "blockIdx.x",
        4,
        lambda b: build.seq(put(OUT, b, b), bound("threadIdx.x", 8, lambda t: put(OUT, t, t))),
    )
    lines = launched(nest)
    assert lines[1:3] == ["if (threadIdx.x == 0) {", "out_2[blockIdx.x] = blockIdx.x"]


def test_shared_memory_is_written_by_one_thread_of_each_block():
    own = Buffer("own", INT32, (build.const(1),), scope="shared")
    nest = bound(
        "blockIdx.x",
        4,
        lambda b: allocated(
            [own],
            put(own, 0, b),
            bound("blockIdx.y", 2, lambda c: bound("threadIdx.x", 8, lambda t: put(OUT, t, c))),
        ),
    )
    lines = launched(nest)
    at = lines.index("own[0] = blockIdx.x")
    assert lines[at - 1] == "if (threadIdx.x == 0) {"  # not blockIdx.y: each block has its own


def test_idle_threads_reach_an_all_reduce():
    total = Buffer("total", INT32, (build.const(1),), scope="local")
    lhs, rhs = Var("x"), Var("y")
    add = Combiner((lhs,), (rhs,), (lhs + rhs,), (ZERO,))

    def fold(t):
        reduce = AllReduce(add, (t,), build.TRUE, (total,), (t,), "block")
        return allocated([total], reduce, If(t.equal(0), put(OUT, 0, get(total))))

    nest = build.seq(
        bound("threadIdx.x", 64, lambda t: put(OUT, t, t)), bound("threadIdx.x", 40, fold)
    )
    lines = launched(bound("blockIdx.x", 1, lambda b: nest))
    (reduce,) = (line for line in lines if "allreduce" in line)
    assert "(threadIdx.x < 40)" in reduce
    assert not any(
        line.startswith("if") and "< 40" in line for line in lines[: lines.index(reduce)]
    )


def refused(*body):
    with pytest.raises(UnsupportedError) as caught:
        launched(*body)
    return caught.value.code, str(caught.value).split(" [axisfold")[0]


def test_x121_nothing_bound():
    code, message = refused(serial(4, lambda i: put(OUT, i, i)))
    assert code == "X121"
    assert message == (
        "nothing of the nest that writes 'out' is bound to threads. Bind one of its axes, as in "
        's[B].bind(axis, te.thread_axis("blockIdx.x")).'
    )


@pytest.mark.parametrize("tag", ["threadIdx.x", "blockIdx.x"])
def test_x122_extents_that_depend_on_a_loop(tag):
    nest = bound(
        "blockIdx.y", 4, lambda _: serial(4, lambda i: bound(tag, i, lambda t: put(OUT, t, i)))
    )
    code, message = refused(nest)
    assert code == "X122"
    assert message.startswith(f"the extent i of {tag} depends on a loop, but threads are started")


def test_x122_threads_of_variable_extent():
    code, message = refused(bound("threadIdx.x", N, lambda t: put(OUT, t, t)))
    assert code == "X122"
    assert message == (
        "the extent out.n of threadIdx.x is not constant, but threads are started once, as many "
        "for every call. Split the axis by a constant factor and bind the inner part."
    )


@pytest.mark.parametrize(("scope", "extent"), [("global", 4), ("shared", N), ("local", N)])
def test_x123_memory_inside_a_block(scope, extent):
    memory = Buffer("memory", INT32, (build.as_expr(extent),), scope=scope)
    nest = bound("blockIdx.x", 4, lambda b: allocated([memory], put(memory, 0, b)))
    code, message = refused(nest)
    assert code == "X123"
    assert message.startswith("stage 'memory' is computed inside a loop over blocks")


def test_resident_blocks():
    """A hint for launches; other programs do without it."""
    x = te.placeholder((256,), "float32", name="x")
    y = te.compute((256,), lambda i: x[i] * 2, name="y")
    for target in ("cuda -arch=sm_90", "llvm"):
        s = te.create_schedule(y.op)
        block, thread = s[y].split(y.op.axis[0], factor=64)
        s[y].pragma(block, "resident", 4)
        if target != "llvm":
            s[y].bind(block, te.thread_axis("blockIdx.x"))
            s[y].bind(thread, te.thread_axis("threadIdx.x"))
        made = axisfold.build(s, [x, y], target)
        assert '"pragma_resident" = 4' in str(axisfold.lower(s, [x, y]))
        if target.startswith("cuda"):
            assert "__launch_bounds__(64, 4)" in made.source()
