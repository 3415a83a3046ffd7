# SPDX-License-Identifier: Apache-2.0
"""What fuse, tile, bind, caches, groups and placement do to stages; see also tests/golden."""

import numpy as np
import pytest

from axisfold import te
from axisfold.build import build, lower


def rows():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    T = te.compute((n, m), lambda i, j: A[i, j] + 1, name="T")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(T[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, T, B


def names(stage):
    return [axis.name for axis in stage.leaf_axes]


def test_fuse_joins_neighbours_from_the_left():
    n = te.var("n")
    A = te.placeholder((n, 4, 5), name="A")
    B = te.compute((n, 4, 5), lambda i, j, k: A[i, j, k], name="B")
    s = te.create_schedule(B.op)
    i, j, k = B.op.axis
    fused = s[B].fuse(i, j, k)
    assert fused.name == "i.j.fused.k.fused"
    assert str(fused.extent) == "(n*20)"
    assert (fused.kind, names(s[B])) == ("data", [fused.name])


def test_fuse_swaps_a_pair_in_reverse_order():
    s, _, T, _ = rows()
    fused = s[T].fuse(T.op.axis[1], T.op.axis[0])
    assert fused.name == "i.j.fused"


def test_fuse_of_one_is_itself_and_of_none_a_loop_of_one_round():
    s, _, _, B = rows()
    axis = B.op.axis[0]
    assert s[B].fuse(axis) is axis
    singleton = s[B].fuse()
    assert s[B].leaf_axes[0] is singleton
    assert str(singleton.extent) == "1"


def test_a_data_axis_fused_with_a_reduce_axis_is_a_reduce_axis():
    s, _, _, B = rows()
    assert s[B].fuse(*s[B].leaf_axes).kind == "reduce"


def test_tile_puts_inner_parts_inside():
    s, _, T, _ = rows()
    parts = s[T].tile(*T.op.axis, 4, 8)
    assert tuple(s[T].leaf_axes) == parts
    assert names(s[T]) == ["i.outer", "j.outer", "i.inner", "j.inner"]


@pytest.mark.parametrize(
    ("given", "tag", "extent", "name"),
    [
        (("threadIdx.x",), "threadIdx.x", None, "threadIdx.x"),
        ((None, "blockIdx.z"), "blockIdx.z", None, "blockIdx.z"),
        (((0, 32), "threadIdx.y", "ty"), "threadIdx.y", "32", "ty"),
        ((te.var("n"), "threadIdx.x"), "threadIdx.x", "n", "threadIdx.x"),
    ],
)
def test_thread_axis(given, tag, extent, name):
    axis = te.thread_axis(*given)
    assert (axis.tag, axis.name) == (tag, name)
    assert (None if axis.extent is None else str(axis.extent)) == extent
    assert axis.is_block == tag.startswith("blockIdx")


def test_bind_takes_the_place_of_a_loop():
    s, _, _, B = rows()
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(B.op.axis[0], tx)
    assert s[B].bindings == {B.op.axis[0]: tx}
    assert not s[B].is_cross_thread
    s[B].bind(B.op.reduce_axis[0], te.thread_axis("threadIdx.y"))
    assert s[B].is_cross_thread


def test_cache_read_makes_a_stage_after_the_tensor_and_names_it():
    _, A, T, _ = rows()
    U = te.compute(A.shape, lambda i, j: A[i, j] + T[i, j], name="U")
    s = te.create_schedule(U.op)
    first = s.cache_read(A, "shared", [T])
    second = s.cache_read(A, "shared", U)
    third = s.cache_read(first, "local", [T.op])
    assert [t.name for t in (first, second, third)] == [
        "A.shared", "A.d.shared", "A.shared.local",
    ]  # fmt: skip
    assert [stage.name for stage in s.stages] == [
        "A", "A.d.shared", "A.shared", "A.shared.local", "T", "U",
    ]  # fmt: skip
    assert [t.name for t in s[T].op.input_tensors] == ["A.shared.local"]
    assert [t.name for t in s[U].op.input_tensors] == ["A.d.shared", "T"]
    assert s[first].scope == "shared"
    assert names(s[first]) == ["ax0", "ax1"]


def test_cache_read_of_one_output():
    A = te.placeholder((4,), name="A")
    T, U = te.compute((4,), lambda i: (A[i], A[i] + 1), name="T")
    C = te.compute((4,), lambda i: T[i] * U[i], name="C")
    s = te.create_schedule(C.op)
    assert s.cache_read(U, "local", [C]).name == "T.v1.local"
    assert [t.name for t in s[C].op.input_tensors] == ["T.v0", "T.v1.local"]


def test_cache_write_moves_the_computation():
    s, _, _, B = rows()
    cache = s.cache_write(B, "local")
    assert [stage.name for stage in s.stages] == ["A", "T", "B.local", "B"]
    assert names(s[cache]) == ["i.c", "k"]
    assert names(s[B]) == ["i"]
    assert s[B].reduction is None
    assert s[cache].reduction is not None
    assert s[B].is_output
    assert not s[cache].is_output


def test_cache_write_lays_out_as_the_loops_are():
    n = te.var("n")
    A = te.placeholder((n, 12), name="A")
    B = te.compute((n, 12), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[1], factor=4)
    s[B].reorder(inner, B.op.axis[0], outer)
    cache = s.cache_write(B, "global")
    assert [str(e) for e in cache.shape] == ["4", "n", "3"]
    assert str(s[B].op.body[0]) == "B.global[floormod(j, 4), i, floordiv(j, 4)]"
    assert str(cache.op.body[0]) == "A[i.c, ((j.outer.c*4) + j.inner.c)]"


def test_rfactor_then_caches_of_both_stages():
    s, A, _, B = rows()
    first = s.rfactor(B, B.op.reduce_axis[0])
    cache = s.cache_write(first, "local")
    copy = s.cache_read(first, "shared", [B])
    assert [stage.name for stage in s.stages] == [
        "A", "T", "B.rf.local", "B.rf", "B.rf.shared", "B",
    ]  # fmt: skip
    assert names(s[cache]) == ["k.c", "i.c", "k.one"]
    assert names(s[copy]) == ["ax0", "ax1"]
    assert "likely" not in str(lower(s, [A, B]))


def test_inline_and_root():
    s, _, T, B = rows()
    s[T].compute_inline()
    assert s[T].is_inlined
    s[T].compute_at(s[B], B.op.axis[0])
    assert not s[T].is_inlined
    s[T].compute_root()
    assert s[T].attachment is None
    s[T].compute_at(s[B], B.op.axis[0])
    s[T].compute_inline()
    assert s[T].attachment is None


def test_a_group_is_what_lies_between():
    A = te.placeholder((4,), name="A")
    T = te.compute((4,), lambda i: A[i], name="T")
    U = te.compute((4,), lambda i: T[i], name="U")
    V = te.compute((4,), lambda i: A[i], name="V")
    C = te.compute((4,), lambda i: U[i] + V[i], name="C")
    s = te.create_schedule(C.op)

    def members(*given, **more):
        return [stage.name for stage in s.create_group(*given, **more).stages]

    assert members(U, A) == ["T", "U"]
    assert members([U, V], [A]) == ["T", "U", "V"]
    assert members(U, T) == ["U"]
    assert members(U, T, include_inputs=True) == ["T", "U"]
    s.create_group([U, V], A).compute_at(s[C], C.op.axis[0])
    assert [stage.attachment is not None for stage in s.stages] == [False, True, True, True, False]


@pytest.mark.parametrize(("factor", "offset", "stride"), [(32, 1, 65), (4, 0, 64), (8, 7, 71)])
def test_storage_align(factor, offset, stride):
    A = te.placeholder((8, 64), name="A")
    T = te.compute((8, 64), lambda i, j: A[i, j], name="T")
    B = te.compute((8, 64), lambda i, j: T[i, j], name="B")
    s = te.create_schedule(B.op)
    s[T].storage_align(T.op.axis[0], factor, offset)
    assert f"T[((i*{stride}) + j)]" in str(lower(s, [A, B]))


def test_double_buffer_and_scope_are_written_beside_the_allocation():
    s, A, T, B = rows()
    s[T].double_buffer()
    s[T].set_scope("shared")
    text = str(lower(s, [A, B]))
    assert "storage_scope = shared" in text
    assert '"double_buffer_scope" = 1' in text


def test_pragma_names_are_also_those_of_primitives():
    s, _, _, B = rows()
    outer, inner = s[B].split(B.op.axis[0], factor=4)
    s[B].pragma(inner, "vectorize")
    s[B].pragma(outer, "unroll_explicit", 1)
    assert s[B].loop_kinds == {inner: "vectorized"}
    assert s[B].pragmas == {outer: {"unroll_explicit": 1}}


def test_the_padding_of_a_buffer_follows_the_copies_that_partition_makes():
    n = te.var("n")
    A = te.placeholder((n, n), "int64", name="A")

    def body(i):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((n,), body, name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.axis[0], nparts=7)
    copy = s.cache_read(A, "global", [B])
    s[copy].storage_align(s[copy].op.axis[1], 4, 2)
    s[copy].split(s[copy].op.axis[1], nparts=2)
    s[copy].compute_at(s[B], inner)
    function = build(s, [A, B])
    for size in (0, 1, 6, 17):
        a = np.arange(size * size).reshape(size, size)
        found = np.full(size, 77)
        function(a, found)
        np.testing.assert_array_equal(found, np.tril(a).sum(axis=1))


def triangle(n):
    A = te.placeholder((n, n), "int64", name="A")

    def body(i):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k], axis=k)

    return A, te.compute((n,), body, name="B")


def test_bounds_that_read_an_axis_count_the_start_of_its_region_once():
    A, B = triangle(te.var("n"))
    s = te.create_schedule(B.op)
    cache = s.cache_write(B, "shared")
    outer, _ = s[B].split(s[B].op.axis[0], factor=2)
    s[cache].compute_at(s[B], outer)
    assert "for (k: int32, 0, ((i.c + (i.outer*2)) + 1)) {" in str(lower(s, [A, B]))


def test_guards_of_a_cross_thread_reduction_count_the_start_of_its_region_once():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k, where=i > 2), name="B")
    s = te.create_schedule(B.op)
    cache = s.cache_write(B, "shared")
    outer, _ = s[B].split(s[B].op.axis[0], factor=2)
    s[cache].compute_at(s[B], outer)
    s[cache].bind(s[cache].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    text = str(lower(s, [A, B]))
    assert "((i.c + (i.outer*2)) < n)" in text
    assert "((i.c + (i.outer*2)) > 2)" in text
    assert "i.outer*4" not in text


def test_the_start_is_guarded_although_the_reduction_has_no_rounds():
    A = te.placeholder((33, 0), "int64", name="A")
    k = te.reduce_axis((0, 0), "k")
    B = te.compute((33,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, _, _, _ = s[B].tile(k, B.op.axis[0], 4, 4)
    s[B].fuse(ko, s[B].leaf_axes[1])
    text = str(lower(s, [A, B]))
    assert "if @tir.likely((((i.outer.init*4) + i.inner.init) < 33), dtype=bool) {" in text


def test_rfactor_of_an_axis_fused_with_a_part_of_a_loop_of_one_round():
    s, A, _, B = rows()
    singleton = s[B].fuse()
    _, inner = s[B].split(singleton, nparts=1)
    s[B].reorder(B.op.axis[0], inner)
    both = s[B].fuse(inner, B.op.reduce_axis[0])
    assert both.kind == "reduce"
    first = s.rfactor(B, both)
    assert names(s[first]) == [both.name, "i", f"{both.name}.one"]
    lower(s, [A, B])
