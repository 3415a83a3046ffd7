# SPDX-License-Identifier: Apache-2.0
"""parallel: what it refuses, what it lowers to, and what passes make of it."""

import re

import numpy as np
import pytest

from axisfold import te
from axisfold.analysis.evaluate import evaluate
from axisfold.build import Compiled, lower
from axisfold.codegen.llvm import emit_kernel
from axisfold.dtypes import FLOAT32, INT64
from axisfold.errors import ScheduleError, VerifyError
from axisfold.ir import build
from axisfold.ir.buffer import Buffer
from axisfold.ir.expr import Binary, Load, Ramp, Var
from axisfold.ir.stmt import WORK, Allocate, Attr, For, Kernel, Seq, Store
from axisfold.ir.verify import verify
from axisfold.ir.walk import free_vars, post_order
from axisfold.passes.pipelines import device
from axisfold.passes.serialize_nested import serialize_nested


def row_sum(n=None, m=None):
    n, m = n or te.var("n"), m or te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return A, B, te.create_schedule(B.op)


def chain():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    T = te.compute((n, m), lambda i, j: A[i, j] * 2, name="T")
    C = te.compute((n, m), lambda x, y: T[x, y] + 1, name="C")
    return A, T, C, te.create_schedule(C.op)


def refusal(call, *args):
    with pytest.raises(ScheduleError) as caught:
        call(*args)
    return str(caught.value)


def loops(kernel):
    return [(node.var.name, node.kind) for node in post_order(kernel.body) if isinstance(node, For)]


def test_prints_and_is_traced():
    A, B, s = row_sum()
    s[B].parallel(B.op.axis[0])
    assert 'for (i: int32, 0, n) "parallel" {' in str(lower(s, [A, B]))
    assert s.trace.as_python({A.op: "A", B.op: "B"}) == "s[B].parallel(s[B].op.axis[0])"


def test_reduce_axis_is_refused():
    A, B, s = row_sum()
    assert refusal(s[B].parallel, B.op.reduce_axis[0]) == (
        "parallel of axis 'k' of stage 'B': it is a reduce axis, whose rounds update the same "
        "element. Make it a data axis first: s.rfactor(B, k). [axisfold-S176]"
    )
    assert not s.trace.steps
    assert loops(lower(s, [A, B])) == [("k", "serial"), ("i", "serial")]


def test_part_of_a_reduce_axis_is_refused():
    _, B, s = row_sum()
    outer, _ = s[B].split(B.op.reduce_axis[0], 4)
    assert "[axisfold-S176]" in refusal(s[B].parallel, outer)


def test_second_loop_of_a_stage_is_refused():
    _, _, C, s = chain()
    x, y = C.op.axis
    s[C].parallel(x)
    s[C].parallel(x)  # once more changes nothing
    assert refusal(s[C].parallel, y) == (
        "parallel of axis 'y' of stage 'C': its axis 'x' is parallel already, and parallel loops "
        "do not nest. Fuse the two axes first, or choose one. [axisfold-S177]"
    )


def test_stage_inside_a_parallel_loop_is_refused():
    _, T, C, s = chain()
    s[C].parallel(C.op.axis[0])
    s[T].compute_at(s[C], C.op.axis[1])
    assert refusal(s[T].parallel, T.op.axis[1]) == (
        "parallel of axis 'j' of stage 'T': the stage is computed inside the parallel loop 'x' of "
        "stage 'C', and parallel loops do not nest. Attach the stage outside of that loop, or "
        "leave its own loops serial. [axisfold-S178]"
    )


def test_loop_around_a_parallel_loop_is_refused():
    _, T, C, s = chain()
    s[T].parallel(T.op.axis[1])
    s[T].compute_at(s[C], C.op.axis[0])
    assert refusal(s[C].parallel, C.op.axis[0]) == (
        "parallel of axis 'x' of stage 'C': stage 'T' is computed inside that loop and its axis "
        "'j' is parallel, and parallel loops do not nest. Attach 'T' outside of the loop, or "
        "choose one of the two. [axisfold-S178]"
    )
    s[C].parallel(C.op.axis[1])  # beside that stage, not around it


@pytest.mark.parametrize(
    ("axis", "code"), [(lambda B: 3, "S101"), (lambda B: te.reduce_axis((0, 2), "z"), "S103")]
)
def test_what_is_no_leaf_is_refused(axis, code):
    _, B, s = row_sum()
    assert f"[axisfold-{code}]" in refusal(s[B].parallel, axis(B))


def test_split_axis_is_refused():
    _, B, s = row_sum()
    axis = B.op.axis[0]
    s[B].split(axis, 4)
    assert "[axisfold-S102]" in refusal(s[B].parallel, axis)


def test_loop_that_comes_to_lie_inside_another_prints_as_serial():
    A, T, C, s = chain()
    s[T].parallel(T.op.axis[1])
    s[C].parallel(C.op.axis[0])
    s[T].compute_at(s[C], C.op.axis[0])
    kinds = dict(loops(lower(s, [A, C])))
    assert kinds == {"x": "parallel", "y": "serial", "j": "serial"}


@pytest.mark.parametrize("kind", ["vectorize", "unroll"])
def test_loop_inside_a_vectorized_or_unrolled_one_is_serial(kind):
    n = te.var("n")
    A = te.placeholder((4, n), name="A")
    B = te.compute((4, n), lambda i, j: A[i, j] + 1, name="B")
    s = te.create_schedule(B.op)
    getattr(s[B], kind)(B.op.axis[0])
    s[B].parallel(B.op.axis[1])
    assert dict(loops(lower(s, [A, B])))["j"] == "serial"


def test_parallel_loop_of_one_round_leaves_the_loop_in_it_parallel():
    A, T, C, s = chain()
    s[T].parallel(T.op.axis[1])
    x, _ = s[C].split(C.op.axis[0], nparts=1)
    s[C].parallel(x)
    s[T].compute_at(s[C], x)
    assert dict(loops(lower(s, [A, C])))["j"] == "parallel"


def test_a_kernel_without_nests_comes_back_as_it_is():
    A, B, s = row_sum()
    s[B].parallel(B.op.axis[0])
    kernel = lower(s, [A, B])
    assert serialize_nested(kernel) is kernel


def test_partition_keeps_the_interior_parallel_and_the_short_tail_rolled():
    A, B, s = row_sum()
    outer, inner = s[B].split(B.op.axis[0], 8)
    s[B].reorder(outer, B.op.reduce_axis[0], inner)
    s[B].vectorize(inner)
    s[B].parallel(outer)
    kernel = device(lower(s, [A, B]))
    assert [k for name, k in loops(kernel) if name == "i.outer"] == ["parallel", "rolled"]


def test_memory_stays_inside_a_parallel_loop():
    A, T, C, s = chain()
    s[C].parallel(C.op.axis[0])
    s[T].compute_at(s[C], C.op.axis[0])
    kernel = device(lower(s, [A, C]))
    assert isinstance(kernel.body, Attr)
    shared = kernel.body.body
    assert isinstance(shared, For)
    assert shared.kind == "parallel"
    assert isinstance(shared.body, Allocate)


@pytest.mark.parametrize("reduced", [100, 3000])
def test_the_work_of_a_round_counts_what_is_left_of_runs(reduced):
    n, m = te.var("n"), te.var("m")
    X = te.placeholder((n, m), "float32", name="X")
    k = te.reduce_axis((0, m), name="k")
    R = te.compute((n,), lambda i: te.sum(X[i, k], axis=k), name="R")
    s = te.create_schedule(R.op)
    s[R].parallel(R.op.axis[0])
    s[R].split(R.op.reduce_axis[0], factor=4096)
    kernel = device(lower(s, [X, R]))
    (hint,) = (node for node in post_order(kernel.body) if isinstance(node, Attr))
    assert hint.key == WORK
    sizes = {v: {"n": 10, "m": reduced}[v.name] for v in free_vars(hint.value)}
    found = evaluate(hint.value, sizes)
    assert reduced <= found <= 20 * reduced


def test_memory_of_inner_loops_moves_to_the_head_of_the_body():
    A, T, C, s = chain()
    outer, inner = s[C].split(C.op.axis[0], 4)
    s[C].parallel(outer)
    s[T].compute_at(s[C], inner)
    kernel = device(lower(s, [A, C]))
    parallel = [n for n in post_order(kernel.body) if isinstance(n, For) and n.kind == "parallel"]
    assert all(isinstance(loop.body, Allocate) for loop in parallel)


def test_init_loops_inside_a_reduction_are_parallel_too():
    A, B, s = row_sum()
    s[B].reorder(B.op.reduce_axis[0], B.op.axis[0])
    s[B].parallel(B.op.axis[0])
    assert loops(lower(s, [A, B])) == [("i.init", "parallel"), ("i", "parallel"), ("k", "serial")]


def test_a_parallel_loop_is_a_function_of_the_code():
    A, B, s = row_sum()
    s[B].parallel(B.op.axis[0])
    text = Compiled(lower(s, [A, B])).source()
    assert 'define internal i32 @"axisfold.main.chunk.1"(ptr %context, i64 %begin' in text
    assert 'define internal i32 @"axisfold.main.rounds.1"(ptr noalias %B, ' in text
    assert 'call i32 @axisfold_parallel(ptr @"axisfold.main.chunk.1", ' in text


def test_chunks_of_a_brief_compilation_hold_the_loop_themselves():
    """No pass asks whether their buffers overlap; names of the context's parts may be any."""
    context, p0 = (te.placeholder((6,), "int64", name=name) for name in ("context", "p0"))
    n = te.placeholder((6,), "int64", name="begin")
    B = te.compute((6,), lambda i: context[i] + p0[i] * n[i], name="end")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    program = Compiled(lower(s, [context, p0, n, B]), "brief")
    assert re.findall(r"^define.*?@(\S+)\(", program.source(), re.MULTILINE) == [
        '"axisfold.main"', '"axisfold.main.chunk.1"',
    ]  # fmt: skip
    arrays = [np.arange(6) + n for n in (3, 5, 7)] + [np.zeros(6, "int64")]
    program.run([a.ctypes.data for a in arrays], [1] * len(program.scalars))
    np.testing.assert_array_equal(arrays[3], arrays[0] + arrays[1] * arrays[2])


def test_the_work_of_a_round_has_no_bounds_that_hold_anyway():
    n, m = te.size_var("n"), te.size_var("m")
    X = te.placeholder((n, m, 5), "float32", name="X")
    k, j = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, 5), name="j")
    R = te.compute((n,), lambda i: te.sum(X[i, k, j], axis=[k, j]), name="R")
    s = te.create_schedule(R.op)
    s[R].parallel(R.op.axis[0])
    s[R].split(R.op.reduce_axis[0], factor=4096)
    kernel = device(lower(s, [X, R]))
    (hint,) = (node for node in post_order(kernel.body) if isinstance(node, Attr))
    ops = [n.op for n in post_order(hint.value) if isinstance(n, Binary)]
    assert (ops.count("min"), ops.count("max")) == (1, 2)
    assert evaluate(hint.value, dict.fromkeys(free_vars(hint.value), -4)) >= 0


def handmade(*kinds, stop=None):
    """Return loops around one store, outermost first."""
    out = Buffer("out", FLOAT32, (build.const(8, INT64),))
    body = Store(out, build.const(0, INT64), build.const(0, FLOAT32))
    for depth, kind in enumerate(reversed(kinds)):
        var = Var(f"i{depth}", INT64)
        body = For(var, build.const(0, INT64), build.const(2, INT64), kind, body, stop)
    return Kernel("main", (out,), (out,), body)


def test_verifier_refuses_nests_in_device_programs():
    verify(handmade("serial", "parallel", "serial"), level="device")
    nest = handmade("parallel", "serial", "parallel")
    verify(nest)
    with pytest.raises(VerifyError, match="a parallel loop lies inside another"):
        verify(nest, level="device")


def test_verifier_allows_neighbours():
    first, second = handmade("parallel"), handmade("parallel")
    store = second.body.body
    same = For(second.body.var, second.body.min, second.body.extent, "parallel", Store(
        first.params[0], store.index, store.value
    ))  # fmt: skip
    both = Kernel("main", first.params, first.outputs, Seq((first.body, same)))
    verify(both, level="device")


def test_verifier_allows_an_early_end():
    verify(handmade("parallel", stop=build.FALSE), level="device")


def test_lanes_masked_out_of_shared_memory_are_not_rewritten():
    """Another thread may be writing them, also where the memory is some function's stack."""
    lanes, zero = 8, build.const(0, INT64)
    out = Buffer("out", FLOAT32, (build.const(64, INT64),))
    held = Buffer("held", FLOAT32, (build.const(64, INT64),), scope="local")
    var = Var("i", INT64)
    index = Ramp(var * lanes, build.const(1, INT64), lanes)
    mask = build.compare("lt", index, build.broadcast(build.const(61, INT64), lanes))
    value = build.broadcast(build.const(1, FLOAT32), lanes)
    loop = For(var, zero, build.const(8, INT64), "parallel", Store(held, index, value, mask))
    read = Store(out, zero, Load(held, zero))
    kernel = Kernel("main", (out,), (out,), Allocate(held, build.seq(loop, read)))
    verify(kernel, level="device")
    assert "call void @llvm.masked.store.v8f32.p0(" in emit_kernel(kernel)
