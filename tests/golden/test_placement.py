# SPDX-License-Identifier: Apache-2.0
"""Programs with fused, cached, placed and bound loops; those that a CPU runs are run."""

import numpy as np
import pytest
from te_support.bound import BOUND, rows
from te_support.interpreter import run_kernel

from axisfold import te
from axisfold.build import build, lower


def row_sums(a):
    return [a.sum(axis=1)]


def fuse_data_and_reduce():
    """The start has loops of its own: rows without elements start too."""
    s, A, B = rows()
    both = s[B].fuse(*s[B].leaf_axes)
    s[B].split(both, factor=5)
    return s, [A, B], row_sums


def fuse_none():
    s, A, B = rows()
    s[B].fuse()
    return s, [A, B], row_sums


def tile():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2, name="B")
    s = te.create_schedule(B.op)
    s[B].tile(*B.op.axis, 4, 8)
    return s, [A, B], lambda a: [a * 2]


def chain():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    T = te.compute((n, m), lambda i, j: A[i, j] * 2, name="T")
    U = te.compute((n, m), lambda i, j: T[i, j] + 1, name="U")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(U[i, k], axis=k), name="B")
    C = te.compute((n, m), lambda i, j: U[i, j] - B[i], name="C")
    return te.create_schedule(C.op), A, T, U, B, C


def less_sums(a):
    u = a * 2 + 1
    return [u - u.sum(axis=1, keepdims=True)]


def inlined():
    s, A, T, U, _, C = chain()
    s[T].compute_inline()
    s[U].compute_inline()
    return s, [A, C], less_sums


def inlined_and_back():
    s, A, T, U, _, C = chain()
    s[T].compute_inline()
    s[U].compute_at(s[C], C.op.axis[0])
    s[T].compute_root()
    s[U].compute_root()
    return s, [A, C], less_sums


def group():
    """B and U are attached together, consumers first, although U has two of them."""
    s, A, T, _, B, C = chain()
    s.create_group(outputs=B, inputs=T).compute_at(s[C], C.op.axis[0])
    s[T].compute_at(s[C], C.op.axis[0])
    return s, [A, C], less_sums


def group_with_inputs():
    s, A, T, _, B, C = chain()
    s.create_group([B], [T], include_inputs=True).compute_at(s[C], C.op.axis[0])
    return s, [A, C], less_sums


def placement():
    s, A, T, U, B, C = chain()
    s[T].compute_inline()
    s[U].compute_at(s[C], C.op.axis[0])
    s[B].compute_at(s[C], C.op.axis[0])
    s[U].set_scope("shared")
    s[U].storage_align(U.op.axis[0], 32, 1)
    s[U].double_buffer()
    s[B].pragma(s[B].op.axis[0], "auto_unroll_max_step", 16)
    return s, [A, C], less_sums


def padded():
    A = te.placeholder((8, 64), "int32", name="A")
    T = te.compute((8, 64), lambda i, j: A[i, j] * 2, name="T")
    B = te.compute((64, 8), lambda i, j: T[j, i], name="B")
    s = te.create_schedule(B.op)
    s[T].storage_align(T.op.axis[0], 32, 1)
    return s, [A, B], lambda a: [a.T * 2]


def predicate():
    """The predicate guards results, not the start of a reduction."""
    s, A, B = rows()
    s[B].set_store_predicate(B.op.reduce_axis[0] < 3)
    return s, [A, B], lambda a: [a[:, :3].sum(axis=1)]


def cache_read():
    s, A, B = rows()
    copy = s.cache_read(A, "shared", [B])
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=8)
    s[copy].compute_at(s[B], outer)
    return s, [A, B], row_sums


def cache_read_twice():
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    T = te.compute((n,), lambda i: A[i] + 1, name="T")
    U = te.compute((n,), lambda i: A[i] * T[n - 1 - i], name="U")
    s = te.create_schedule(U.op)
    s.cache_read(A, "local", [U])
    s.cache_read(A, "local", [T])
    return s, [A, U], lambda a: [a * (a + 1)[::-1]]


def cache_write():
    s, A, B = rows()
    cache = s.cache_write(B, "local")
    outer, _ = s[B].split(s[B].op.axis[0], factor=4)
    s[cache].compute_at(s[B], outer)
    ko, ki = s[cache].split(s[cache].op.reduce_axis[0], factor=5)
    s[cache].reorder(ko, s[cache].op.axis[0], ki)
    return s, [A, B], row_sums


def relayout_split():
    """B.global is laid out as the loops of B were: [i.inner, i.outer]."""
    s, A, B = rows()
    outer, inner = s[B].split(B.op.axis[0], factor=4)
    s[B].reorder(inner, outer)
    s.cache_write(B, "global")
    return s, [A, B], row_sums


def relayout_fuse():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2, name="B")
    s = te.create_schedule(B.op)
    both = s[B].fuse(*B.op.axis)
    s[B].split(both, factor=4)
    s.cache_write(B, "global")
    return s, [A, B], lambda a: [a * 2]


def cache_write_tuple():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), "int32", name="A")
    k = te.reduce_axis((0, m), "k")
    pair = te.comm_reducer(
        lambda a, b: (a[0] + b[0], te.maximum(a[1], b[1])),
        lambda t, u: (te.const(0, t), te.min_value(u)),
    )
    P, Q = te.compute((n,), lambda i: pair((A[i, k], A[i, k]), axis=k), name="B")
    s = te.create_schedule(P.op)
    caches = s.cache_write([P, Q], "local")
    s[caches[0]].compute_at(s[P], s[P].op.axis[0])
    low = np.iinfo("int32").min
    return s, [A, P, Q], lambda a: [a.sum(axis=1), a.max(axis=1, initial=low)]


def masked_lanes_of_an_array():
    """The last vector reaches beyond B.local, which has just the elements of B."""
    s, A, B = rows()
    s.cache_write(B, "local")
    _, inner = s[B].split(s[B].op.axis[0], factor=8)
    s[B].vectorize(inner)
    return s, [A, B], row_sums


def stores_of_masked_lanes():
    s, A, _, _, B, C = chain()
    s[B].set_scope("local")
    _, inner = s[B].split(B.op.axis[0], factor=8)
    s[B].vectorize(inner)
    s[B].reorder(B.op.reduce_axis[0], inner)
    return s, [A, C], less_sums


def unknown_region():
    """What a part of a fused axis of symbolic extents reads is not known, so all is copied."""
    s, A, B = rows()
    both = s[B].fuse(*s[B].leaf_axes)
    copy = s.cache_read(A, "global", [B])
    outer, _ = s[B].split(both, nparts=5)
    s[copy].compute_at(s[B], outer)
    return s, [A, B], row_sums


def attached_before_its_consumer():
    """T is attached at C while B, its consumer, is yet to be."""
    s, A, T, U, B, C = chain()
    s[T].compute_at(s[C], C.op.axis[0])
    s[U].compute_at(s[C], C.op.axis[0])
    s[B].compute_at(s[C], C.op.axis[0])
    return s, [A, C], less_sums


RUN = (
    fuse_data_and_reduce, fuse_none, tile, inlined, inlined_and_back, group, group_with_inputs,
    placement, padded, predicate, cache_read, cache_read_twice, cache_write, relayout_split,
    relayout_fuse, cache_write_tuple, masked_lanes_of_an_array, stores_of_masked_lanes,
    unknown_region, attached_before_its_consumer,
)  # fmt: skip


def name(function):
    return function.__name__


@pytest.mark.parametrize("made", [*RUN, *BOUND], ids=name)
def test_loop_ir(made, golden):
    schedule, args = made()[:2]
    golden(f"placement/{made.__name__}.txt", str(lower(schedule, args)))


@pytest.mark.parametrize("made", RUN, ids=name)
def test_results(made):
    schedule, args, answer = made()
    function = build(schedule, args)
    shapes = [(0, 0), (1, 1), (5, 7), (33, 17), (3, 0), (0, 4), (16, 64)]
    rank = args[0].ndim
    if made is padded:
        shapes = [(8, 64)]
    for shape in shapes:
        a = np.random.default_rng(0).integers(-9, 9, shape[:rank]).astype("int32")
        wanted = answer(a)
        check(function, a, wanted)
        if a.size < 40:  # which checks every access
            check(lambda *arrays: run_kernel(function.declared.device, arrays), a, wanted)


def check(run, a, wanted):
    found = [np.full(w.shape, 77, "int32") for w in wanted]
    run(a, *found)
    for one, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, expected)
