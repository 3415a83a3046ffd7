# SPDX-License-Identifier: Apache-2.0
"""Programs that threads cannot run: code and full message, with the axis and the limit."""

import pytest

from axisfold import te
from axisfold.build import build
from axisfold.errors import ScheduleError, UnsupportedError


def thread(tag):
    return te.thread_axis(tag)


class Rows:
    """B = sum of the rows of T, T = A + 1."""

    def __init__(self, n=None, m=None):
        self.n, self.m = n or te.var("n"), m or te.var("m")
        self.A = te.placeholder((self.n, self.m), "int32", name="A")
        self.T = te.compute((self.n, self.m), lambda i, j: self.A[i, j] + 1, name="T")
        self.k = te.reduce_axis((0, self.m), "k")
        self.B = te.compute((self.n,), lambda i: te.sum(self.T[i, self.k], axis=self.k), name="B")
        self.s = te.create_schedule(self.B.op)
        self.i = self.B.op.axis[0]

    def inlined(self):
        self.s[self.T].compute_inline()
        return self

    def factored(self):
        """Return the stage of partial sums of 8 parts of each row."""
        self.inlined()
        outer, _ = self.s[self.B].split(self.k, nparts=8)
        return self.s.rfactor(self.B, outer)

    def refused(self, kind, code):
        return refused(kind, code, lambda: build(self.s, [self.A, self.B], "sim"))


def refused(kind, code, action):
    with pytest.raises(kind) as caught:
        action()
    assert type(caught.value) is kind
    assert caught.value.code == code, caught.value
    return str(caught.value).removesuffix(f" [axisfold-{code}]")


def test_s233_style():
    p = Rows()
    message = refused(
        ScheduleError, "S233", lambda: p.s[p.B].pragma(p.k, "reduce_style", "butterfly")
    )
    assert message == (
        "pragma reduce_style of axis 'k' of stage 'B': there is no style 'butterfly'. Use one"
        " of shuffle, two-level, interleaved, adjacent."
    )


def test_s291_last_block_of_what_folds_nothing():
    p = Rows()
    assert refused(ScheduleError, "S291", p.s[p.T].last_block) == (
        "last_block of stage 'T': it is no reduction. Name the stage whose last block "
        "computes it: s[B].last_block(s[BF])."
    )
    assert refused(ScheduleError, "S291", lambda: p.s[p.B].last_block(p.s[p.A])) == (
        "last_block of stage 'B': stage 'A' is not computed before it. Name a stage that it "
        "reads, such as the result of rfactor."
    )


def test_s291_last_block_of_a_stage_that_reads_it():
    p = Rows()
    C = te.compute((p.n,), lambda i: p.B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    for reader in (C, p.B, p.T):
        assert refused(ScheduleError, "S291", lambda r=reader: s[p.T].last_block(s[r])) == (
            f"last_block of stage 'T': stage {reader.op.name!r} is not computed before it. Name a "
            "stage that it reads, such as the result of rfactor."
        )
    s[C].last_block(s[p.T])


def test_s292_last_block_inside_another_stage():
    p = Rows()
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert refused(ScheduleError, "S292", lambda: p.s[p.B].last_block(p.s[p.T])) == (
        "last_block of stage 'B': stage 'T' is not computed at the top level. Use "
        "compute_root for 'T'."
    )


def test_s292_attached_or_inlined_afterwards():
    p = Rows()
    p.s[p.T].bind(p.T.op.axis[0], thread("blockIdx.x"))
    p.s[p.B].last_block(p.s[p.T])
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert p.refused(ScheduleError, "S292") == (
        "the last block of stage 'T' computes 'B', but stage 'T' is computed inside 'B'. Use "
        "compute_root for 'T'."
    )
    p.s[p.T].compute_inline()
    assert p.refused(ScheduleError, "S292") == (
        "the last block of stage 'T' computes 'B', but stage 'T' is inlined. Use compute_root"
        " for 'T'."
    )


def test_s293_two_stages_in_one_last_block():
    p = Rows()
    C = te.compute((p.n,), lambda i: p.B[i] + p.T[i, 0], name="C")
    s = te.create_schedule(C.op)
    s[p.B].last_block(s[p.T])
    assert refused(ScheduleError, "S293", lambda: s[C].last_block(s[p.T])) == (
        "last_block of stage 'C': the last block of 'T' computes 'B' already. Compute 'C' at "
        "an axis of 'B', or the reverse."
    )


def test_s294_reduce_axis_on_blocks():
    p = Rows().inlined()
    p.s[p.B].bind(p.k, thread("blockIdx.x"))
    assert p.refused(ScheduleError, "S294") == (
        "reduce axis 'k' of stage 'B' is bound to blockIdx.x, and blocks cannot wait for each"
        " other. Call s[B].last_block(): the last block folds what the others left. Or factor"
        " the axis with rfactor."
    )


def test_s295_loop_outside_of_blocks():
    p = Rows()
    rf = p.factored()
    p.s[rf].bind(p.s[rf].op.axis[1], thread("blockIdx.x"))
    p.s[p.B].last_block(p.s[rf])
    assert p.refused(ScheduleError, "S295") == (
        "the last block of stage 'B.rf' computes 'B', but its outermost loops are not the "
        "ones over blocks. Bind data axes to blockIdx and reorder them outwards."
    )


def test_s295_blocks_that_the_producer_has_not():
    p = Rows()
    rf = p.factored()
    p.s[rf].bind(p.s[rf].op.axis[0], thread("blockIdx.x"))
    p.s[p.B].last_block(p.s[rf])
    p.s[p.B].bind(p.s[p.B].op.axis[0], thread("blockIdx.y"))
    assert p.refused(ScheduleError, "S295") == (
        "axis 'ax0' of stage 'B' is bound to blockIdx.y, but the last block of stage 'B.rf', "
        "which computes it, is one of blockIdx.x. Bind it to threads, or bind an axis of both"
        " stages to these blocks alike."
    )


def test_s296_part_of_other_blocks():
    p = Rows()
    rf = p.factored()
    p.s[rf].bind(p.s[rf].op.axis[0], thread("blockIdx.x"))
    p.s[p.B].last_block(p.s[rf])
    p.s[p.B].bind(p.s[p.B].op.axis[0], thread("blockIdx.x"))
    assert p.refused(ScheduleError, "S296") == (
        "the last block of stage 'B.rf' computes 'B', and 'B' reads axis 'k.outer' of 'B.rf' "
        "beyond what blocks with the same blockIdx.x have computed. Split and bind this axis "
        "in both stages alike."
    )


def test_s296_result_of_a_later_launch():
    p = Rows()
    C = te.compute((p.n, p.m), lambda i, j: p.T[i, j] - p.B[i], name="C")
    s = te.create_schedule(C.op)
    s[p.T].bind(p.T.op.axis[0], thread("blockIdx.x"))
    s[p.B].bind(p.i, thread("blockIdx.x"))
    s[C].bind(C.op.axis[1], thread("threadIdx.x"))
    s[C].last_block(s[p.T])
    assert refused(ScheduleError, "S296", lambda: build(s, [p.A, C], "sim")) == (
        "the last block of stage 'T' computes 'C', which reads stage 'B', and that is "
        "computed after 'T'. Use the last block of 'B', or compute 'B' inside 'C'."
    )


def test_s297_fold_over_blocks_in_a_loop():
    p = Rows().inlined()
    p.s[p.B].bind(p.k, thread("blockIdx.x"))
    p.s[p.B].last_block()
    assert p.refused(ScheduleError, "S297") == (
        "reduce axis 'k' of stage 'B' is bound to blocks inside the loop over 'i', where "
        "blocks are in different rounds at a time. Bind the data axes too; or factor the "
        "reduction with rfactor and use s[B].last_block(s[…])."
    )


def test_s298_threads_of_variable_extent():
    p = Rows().inlined()
    p.s[p.B].bind(p.i, thread("threadIdx.x"))
    assert p.refused(ScheduleError, "S298") == (
        "axis 'i' of stage 'B' is bound to threadIdx.x, and its extent n is not constant: a "
        "kernel is compiled for one number of threads. Split it by a constant factor and bind"
        " the inner part."
    )


@pytest.mark.parametrize(
    ("tag", "factor", "limit"),
    [("threadIdx.x", 2048, 1024), ("threadIdx.z", 65, 64), ("clusterCtaIdx.x", 9, 8)],
)
def test_s299_more_threads_than_the_target_has(tag, factor, limit):
    p = Rows().inlined()
    _, inner = p.s[p.B].split(p.i, factor=factor)
    p.s[p.B].bind(inner, thread(tag))
    assert p.refused(ScheduleError, "S299") == (
        f"axis 'i.inner' of stage 'B' is bound to {tag} and has {factor} rounds, but target sim "
        f"has at most {limit}. Split it by a smaller factor."
    )


def test_s299_more_blocks_than_the_target_has():
    p = Rows(n=70000, m=4).inlined()
    p.s[p.B].bind(p.i, thread("blockIdx.y"))
    assert p.refused(ScheduleError, "S299") == (
        "axis 'i' of stage 'B' is bound to blockIdx.y and has 70000 rounds, but target sim "
        "has at most 65535. Split it by a smaller factor."
    )


def test_s300_local_memory_that_other_threads_fill():
    p = Rows(n=8, m=32)
    p.s[p.B].bind(p.i, thread("blockIdx.x"))
    p.s[p.T].compute_at(p.s[p.B], p.i)
    p.s[p.T].set_scope("local")
    p.s[p.T].bind(p.T.op.axis[1], thread("threadIdx.x"))
    assert p.refused(ScheduleError, "S300") == (
        "stage 'T' is in local memory, of which each thread has its own, and bound to "
        "threadIdx.x, but 'B' reads axis 'j' of it beyond what the same thread computes. Use "
        "set_scope('shared'), or leave it unbound."
    )


def test_s300_shared_memory_that_other_blocks_fill():
    p = Rows(n=8, m=32)
    outer, inner = p.s[p.B].split(p.i, factor=4)
    p.s[p.B].bind(inner, thread("threadIdx.x"))
    p.s[p.T].compute_at(p.s[p.B], outer)
    p.s[p.T].set_scope("shared")
    p.s[p.T].bind(p.T.op.axis[1], thread("blockIdx.x"))
    assert p.refused(ScheduleError, "S300") == (
        "stage 'T' is in shared memory, of which each block has its own, and bound to "
        "blockIdx.x, but 'B' reads axis 'j' of it beyond what the same block computes. Bind "
        "'B' to blockIdx.x in the same way, or leave 'T' unbound."
    )


def test_x121_nothing_bound():
    p = Rows()
    p.s[p.B].bind(p.i, thread("blockIdx.x"))
    assert p.refused(UnsupportedError, "X121") == (
        "nothing of the nest that writes 'T' is bound to threads. Bind one of its axes, as in"
        ' s[B].bind(axis, te.thread_axis("blockIdx.x")).'
    )


def test_x123_local_memory_at_the_top_level():
    p = Rows()
    p.s[p.T].set_scope("local")
    p.s[p.T].bind(p.T.op.axis[0], thread("blockIdx.x"))
    p.s[p.B].bind(p.i, thread("blockIdx.x"))
    assert p.refused(UnsupportedError, "X123") == (
        "stage 'T' is computed at the top level, where memory of scope 'local' would have to "
        "outlive a launch. Use compute_at to compute it inside a bound loop, or scope "
        "'global'."
    )


def test_x123_global_memory_inside_blocks():
    p = Rows()
    p.s[p.B].bind(p.i, thread("blockIdx.x"))
    p.s[p.T].compute_at(p.s[p.B], p.i)
    p.s[p.T].set_scope("global")
    assert p.refused(UnsupportedError, "X123") == (
        "stage 'T' is computed inside a loop over blocks, and its memory is global, or is "
        "local with extents that are not small constants. Use set_scope('shared') or 'local' "
        "with constant extents, or compute it at the top level."
    )


def test_x123_memory_of_variable_extent():
    p = Rows()
    p.s[p.B].bind(p.i, thread("blockIdx.x"))
    p.s[p.T].compute_at(p.s[p.B], p.i)
    assert p.refused(UnsupportedError, "X123") == (
        "stage 'T' is computed inside a loop over blocks or threads in shared memory, whose "
        "size is fixed when a kernel is compiled, but its extents are 1 x m. Split the loop "
        "that it is computed at by a constant and compute it further inside, or compute it at"
        " the top level."
    )


def test_x124_style_that_does_not_fit():
    p = Rows().inlined()
    _, inner = p.s[p.B].split(p.k, factor=48)
    p.s[p.B].bind(inner, thread("threadIdx.x"))
    p.s[p.B].pragma(inner, "reduce_style", "shuffle")
    assert p.refused(UnsupportedError, "X124") == (
        "style 'shuffle' does not fit a team of 48 threads, 1 teams a block: the threads of a"
        " team must lie in one warp, a power of two of them or one team alone. Use one of "
        "two-level, interleaved, adjacent, or leave the choice to axisfold."
    )


def test_x125_barrier_in_divergent_flow():
    n = te.var("n")
    A = te.placeholder((32, n), "int32", name="A")
    T = te.compute((32, n), lambda i, j: A[i, j] + 1, name="T")

    def body(i):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(T[31 - i, k], axis=k)

    B = te.compute((32,), body, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], thread("threadIdx.x"))
    s[T].compute_at(s[B], B.op.reduce_axis[0])
    s[T].set_scope("shared")
    assert refused(UnsupportedError, "X125", lambda: build(s, [A, B], "sim")) == (
        "memory 'T' is shared between threads, and a barrier is needed where not all of them "
        "arrive: the loop k of (threadIdx.x + 1) rounds differs between threads. Compute the "
        "stage outside of it, or bind other axes to the threads."
    )


def test_x126_more_threads_than_a_block_has():
    p = Rows().inlined()
    _, row = p.s[p.B].split(p.i, factor=64)
    _, inner = p.s[p.B].split(p.k, factor=32)
    p.s[p.B].bind(row, thread("threadIdx.y"))
    p.s[p.B].bind(inner, thread("threadIdx.x"))
    assert p.refused(UnsupportedError, "X126") == (
        "launch default_function_kernel0: a block has 32 (threadIdx.x) x 64 (threadIdx.y) = "
        "2048 threads, and target sim has at most 1024. Split the bound axis by a smaller "
        "factor."
    )


def test_x127_more_shared_memory_than_a_block_has():
    p = Rows(n=8, m=60000)
    p.s[p.B].bind(p.i, thread("blockIdx.x"))
    p.s[p.T].compute_at(p.s[p.B], p.i)
    p.s[p.T].set_scope("shared")
    assert p.refused(UnsupportedError, "X127") == (
        "launch default_function_kernel0 needs 240000 bytes of shared memory for a block (T "
        "240000), and target sim has 232448. Compute these stages in smaller tiles, further "
        "inside."
    )


def test_s301_a_fold_inside_a_loop_of_its_own_threads():
    A = te.placeholder((8, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    T = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="T")
    B = te.compute((8,), lambda i: T[i] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[T].compute_at(s[B], B.op.axis[0])
    s[T].bind(k, te.thread_axis("threadIdx.x"))
    with pytest.raises(ScheduleError) as caught:
        build(s, [A, B], "sim")
    assert str(caught.value) == (
        "reduce axis 'k.outer' of stage 'T' is bound to threadIdx.x, and the stage is computed "
        "inside a loop that is bound to it too: each of these threads would fold for a round of "
        "its own. Compute the stage outside of that loop, or bind another index. [axisfold-S301]"
    )
