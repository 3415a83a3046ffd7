# SPDX-License-Identifier: Apache-2.0
"""Loops that end early: the same results, from no more elements than needed."""

import re
import subprocess
import sys

import numpy as np
import pytest
from te_support.traces import replays

from axisfold import sim, te
from axisfold.build import build, lower
from axisfold.config import config
from axisfold.errors import ScheduleError
from axisfold.ir.expr import Load
from axisfold.ir.stmt import For, If
from axisfold.ir.walk import post_order
from axisfold.runtime.threads import pool
from axisfold.sim.observer import Access

EITHER = te.comm_reducer(
    lambda x, y: x | y, lambda t: te.const(False, "bool"), name="either",
    absorbing=lambda t: te.const(True, "bool"),
)  # fmt: skip
PRODUCT = te.comm_reducer(
    lambda x, y: x * y, lambda t: te.const(1, t), absorbing=lambda t: te.const(0, t)
)


def rows(reducer=EITHER, dtype="bool"):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: reducer(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B


def own(factor=8):
    """Each row ends by itself."""
    s, A, B = rows()
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=factor)
    s[B].stop(outer)
    return s, [A, B]


def side_by_side():
    """Three rows at a time end together; those beyond the last row do not count."""
    s, A, B = rows()
    outer, row = s[B].split(B.op.axis[0], factor=3)
    s[B].parallel(outer)
    k, inner = s[B].split(B.op.reduce_axis[0], factor=4)
    s[B].reorder(outer, k, inner, row)
    s[B].stop(k)
    return s, [A, B]


def attached():
    """As side_by_side, in memory of the thread: of rows beyond the last one it is not started."""
    m, n = te.var("m"), te.var("n")
    A = te.placeholder((n, m), "bool", name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: EITHER(A[i, k], axis=k), name="B")
    C = te.compute((n,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    outer, row = s[C].split(C.op.axis[0], factor=4)
    s[C].vectorize(row)
    s[B].compute_at(s[C], outer)
    k, inner = s[B].split(k, factor=4)
    s[B].reorder(k, inner, B.op.axis[0])
    s[B].unroll(B.op.axis[0])
    s[B].stop(k)
    return s, [A, C]


def parts(part=16, run=4):
    """Parts of a row, which threads share, tell each other."""
    s, A, B = rows()
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=part)
    BF = s.rfactor(B, outer, factor_axis=-1)
    s[BF].parallel(s[BF].fuse(*s[BF].op.axis))
    outer, _ = s[BF].split(s[BF].op.reduce_axis[0], factor=run)
    s[BF].stop(outer, s[B])
    return s, [A, B]


def whole(part=16, run=4):
    """Parts of one element: also those that were not begun are left out."""
    m = te.var("m")
    A = te.placeholder((m,), "bool", name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((1,), lambda i: EITHER(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=part)
    BF = s.rfactor(B, outer)
    s[BF].stop(s[BF].op.axis[0], s[B])
    s[BF].reorder(*s[BF].op.axis)
    inner, _ = s[BF].split(s[BF].op.reduce_axis[0], factor=run)
    s[BF].stop(inner, s[B])
    s[BF].parallel(s[BF].op.axis[0])
    return s, [A, B]


def matches(length):
    """Yield arrays with no match, and with one around the edges of tiles and parts."""
    yield np.zeros(length, bool)
    for place in sorted({0, 3, 4, 7, 8, 15, 16, 17, 31, 32, length // 2, length - 1}):
        if place < length:
            row = np.zeros(length, bool)
            row[place] = True
            yield row


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("schedule", [own, side_by_side, attached, parts])
def test_rows(schedule, threads, monkeypatch):
    monkeypatch.setattr(config, "threads", threads)
    f = build(*schedule())
    for length in (1, 16, 53, 96):
        x = np.array(list(matches(length)))
        out = np.full(len(x), True)
        f(x, out)
        np.testing.assert_array_equal(out, x.any(axis=1))
    x, out = np.zeros((5, 0), bool), np.full(5, True)
    f(x, out)
    assert not out.any()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_whole_of_one_element(threads, monkeypatch):
    monkeypatch.setattr(config, "threads", threads)
    f = build(*whole())
    for length in (0, 1, 16, 53, 4097):
        for x in matches(length) if length else [np.zeros(0, bool)]:
            for _ in range(3):
                out = np.array([not x.any()])
                f(x, out)
                assert out[0] == x.any(), (length, x.argmax())


@pytest.mark.parametrize("schedule", [own, side_by_side, parts, whole])
def test_replay(schedule):
    replays(*schedule())


def test_text():
    lines = [line.strip() for line in str(lower(*own())).splitlines()]
    assert "for (k.outer: int32, 0, floordiv((m + 7), 8)) until (bool*)B_2[(i*stride)] {" in lines
    text = str(lower(*whole()))
    assert re.search(r"for \(k.outer: .*\"parallel\" until \(bool\*\)B.stop\[0\] \{", text)
    assert re.search(r"until \(\(bool\*\)B.rf\[k.outer\] \|\| \(bool\*\)B.stop\[0\]\) \{", text)


def test_a_state_of_numbers():
    s, A, B = rows(PRODUCT, "int32")
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=4)
    s[B].stop(outer)
    x = np.array([[3, -2, 1, 1, 5], [2, 0, 7, 7, 7], [1, 1, 1, 1, 0]], np.int32)
    out = np.full(3, 9, np.int32)
    build(s, [A, B])(x, out)
    assert out.tolist() == [-30, 0, 0]


def test_where_and_init():
    m = te.var("m")
    A = te.placeholder((m,), "bool", name="A")
    k = te.reduce_axis((0, m), "k")
    never = te.const(False, "bool")
    B = te.compute((1,), lambda i: EITHER(A[k], axis=k, where=k % 3 > 0, init=never), name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(k, factor=4)
    s[B].stop(outer)
    f = build(s, [A, B])
    for x in matches(50):
        out = np.array([True])
        f(x, out)
        assert out[0] == x[np.arange(50) % 3 > 0].any()


def threads_of_a_block():
    """Each thread of a GPU ends its own rows."""
    s, A, B = rows()
    block, thread = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].stop(outer)
    return s, [A, B]


def test_threads_of_a_gpu_read_no_more_than_they_need():
    s, (A, B) = threads_of_a_block()
    program = build(s, [A, B], "sim")
    x = np.zeros((40, 64), bool)
    x[np.arange(40), np.arange(40)] = np.arange(40) != 5
    out = np.ones(40, bool)
    read = np.zeros(40, int)

    def observe(event):
        if isinstance(event, Access) and event.buffer.name == "A" and event.kind == "load":
            np.add.at(read, event.elements // 64, 1)

    sim.run(program.device, [x, out], observer=observe)
    np.testing.assert_array_equal(out, x.any(axis=1))
    np.testing.assert_array_equal(read, np.where(x.any(1), np.arange(40) // 8 * 8 + 8, 64))


def test_cuda_source():
    s, args = threads_of_a_block()
    text = build(s, args, "cuda -arch=sm_90").source()
    assert re.search(r"if \(.*\) \{\s*break;", text)


def test_flags_are_read_anew():
    body = lower(*parts()).body
    flags = [n for n in post_order(body) if isinstance(n, Load) and n.buffer.name == "B.stop"]
    assert {f.cache for f in flags} == {"volatile"}
    assert any(isinstance(n, For) and n.stop is not None for n in post_order(body))
    assert "load atomic i8" in build(*parts()).source()


SCRIPT = """
import ctypes, mmap, sys
import numpy as np
import axisfold as af

af.config.threads = int(sys.argv[1])
MIB = 1 << 20
memory = mmap.mmap(-1, 64 * MIB)
x = np.frombuffer(memory, np.uint8)
x[:] = {no}
x[{place}] = 1 - {no}
libc = ctypes.CDLL(None, use_errno=True)
start = ctypes.c_void_p(x.ctypes.data + MIB)
assert libc.mprotect(start, ctypes.c_size_t(63 * MIB), 0) == 0  # PROT_NONE: a read is a fault
if "{name}".startswith("arg"):
    assert af.{name}(x.view("bool")) == {place}
else:
    for dtype in ("bool", "uint8"):
        assert af.{name}(x.view(dtype)) == (not {no})
    assert af.fold(x, "{name}") == (not {no})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect is POSIX")
@pytest.mark.parametrize(("name", "no"), [("any", 0), ("all", 1), ("argmax", 0), ("argmin", 1)])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_follows_an_early_match_is_not_read(name, no, threads):
    script = SCRIPT.format(name=name, no=no, place=4000)
    subprocess.run([sys.executable, "-c", script, str(threads)], check=True)


def refused(code, action):
    with pytest.raises(ScheduleError) as caught:
        action()
    assert caught.value.code == code
    return str(caught.value).removesuffix(f" [axisfold-{code}]")


def first_true(n=48):
    """Return a schedule of the place of the first true element, and its tensors."""
    x, k = te.placeholder((n,), "bool", name="x"), te.reduce_axis((0, n), "k")
    first = te.comm_reducer(
        lambda a, b: te.select(a < b, a, b),
        lambda t: te.const(1 << 20, t), "first", facts=["first", "exact"],
    )  # fmt: skip
    place = te.select(x[k], te.cast("int32", k), te.const(1 << 20, "int32"))
    return x, k, te.compute((1,), lambda i: first(place, axis=k), name="B")


def test_the_first_state_counts():
    x, k, B = first_true()
    s = te.create_schedule(B.op)
    s[B].stop(k)
    assert "until" in str(lower(s, [x, B]))
    found = np.empty(1, "int32")
    for place in (0, 1, 31, 47):
        given = np.zeros(48, bool)
        given[[place, -1]] = True
        build(s, [x, B])(given, found)
        assert found[0] == place
    build(s, [x, B])(np.zeros(48, bool), found)
    assert found[0] == 1 << 20


def test_s318_elements_out_of_order():
    _, k, B = first_true()
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(k, factor=4)
    text = refused("S318", lambda: s[B].stop(outer))
    assert text.startswith(f"stop of axis {outer.name!r} of stage 'B': the first state counts, and")
    BF = s.rfactor(B, inner)
    refused("S318", lambda: s[BF].stop(s[BF].op.reduce_axis[0], s[B]))
    refused("S318", lambda: s[B].stop(s[B].op.reduce_axis[0]))  # by every fourth element
    s[BF].stop(s[BF].op.reduce_axis[0])


def test_a_state_that_stops_in_private_memory():
    x, k, B = first_true()
    C = te.compute((1,), lambda i: B[i] + 1, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].stop(k)
    found, given = np.empty(1, "int32"), np.zeros(48, bool)
    given[[5, 40]] = True
    build(s, [x, C])(given, found)
    assert found[0] == 6


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_after_the_first_state_end(monkeypatch, request, threads):
    monkeypatch.setattr(config, "threads", threads)
    request.addfinalizer(pool().set_chunk_work)
    pool().set_chunk_work(1)
    x, k, B = first_true(4000)
    s = te.create_schedule(B.op)
    part, _ = s[B].split(k, factor=10)
    BF = s.rfactor(B, part)
    s[BF].parallel(s[BF].op.axis[0])
    for axis in (s[BF].op.axis[0], s[BF].op.reduce_axis[0]):
        s[BF].stop(axis, s[B])
    text = str(lower(s, [x, B]))
    assert '"parallel" until ((int64*)B.stop[0] < ' in text
    assert "until ((int32*)B_2[0] != 1048576)" in text  # parts behind the first may not be there
    replays(s, [x, B])
    run, found = build(s, [x, B]), np.empty(1, "int32")
    rng = np.random.default_rng(3)
    for first in (0, 9, 10, 399, 1234, 3999, *rng.integers(0, 4000, 20)):
        given = np.zeros(4000, bool)
        given[first:] = rng.random(4000 - first) < 0.01
        given[first] = True
        run(given, found)
        assert found[0] == first
    run(np.zeros(4000, bool), found)
    assert found[0] == 1 << 20


def test_s311_no_absorbing_state():
    s, _, B = rows(te.sum, "int32")
    assert refused("S311", lambda: s[B].stop(B.op.reduce_axis[0])) == (
        "stop of axis 'k' of stage 'B': its reducer has no absorbing state. Tell the state that no "
        "other changes: te.comm_reducer(…, absorbing=lambda t: …)."
    )
    C = te.compute((3,), lambda i: i * 2, name="C")
    s = te.create_schedule(C.op)
    assert "it is no reduction" in refused("S311", lambda: s[C].stop(C.op.axis[0]))


def test_s312_a_data_axis():
    s, _, B = rows()
    assert refused("S312", lambda: s[B].stop(B.op.axis[0])) == (
        "stop of axis 'i' of stage 'B': it is made of a data axis, whose rounds fold different "
        "elements. Stop a reduce axis."
    )
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=4)
    BF = s.rfactor(B, outer)
    refused("S312", lambda: s[BF].stop(s[BF].op.axis[0], s[B]))


def test_s313_a_loop_of_another_kind():
    s, _, B = rows()
    _, inner = s[B].split(B.op.reduce_axis[0], factor=4)
    s[B].unroll(inner)
    assert refused("S313", lambda: s[B].stop(inner)) == (
        "stop of axis 'k.inner' of stage 'B': it is already unrolled. Split it first, and stop the "
        "outer part."
    )


def test_what_a_stopped_loop_refuses():
    s, _, B = rows()
    outer, inner = s[B].split(B.op.reduce_axis[0], factor=4)
    s[B].stop(inner)
    text = "of stage 'B': its loop is to end early. Split it first, and stop the outer part."
    assert refused("S142", lambda: s[B].unroll(inner)) == f"unroll of axis 'k.inner' {text}"
    assert "already to end early" in refused("S114", lambda: s[B].split(inner, factor=2))
    assert "already to end early" in refused("S173", lambda: s[B].fuse(outer, inner))
    thread = te.thread_axis("threadIdx.x")
    assert "it is to end early already" in refused("S242", lambda: s[B].bind(inner, thread))
    s, _, B = rows()
    s[B].stop(B.op.reduce_axis[0])
    refused("S265", lambda: s.cache_write(B, "local"))


def test_parts_that_end_early_are_no_lanes():
    m = te.var("m")
    A = te.placeholder((m,), "bool", name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((1,), lambda i: EITHER(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, lane = s[B].split(k, factor=8)
    BF = s.rfactor(B, lane)
    s[BF].stop(s[BF].op.axis[0], s[B])
    assert refused("S133", lambda: s[BF].vectorize(s[BF].op.axis[0])) == (
        "vectorize of axis 'k.inner' of stage 'B.rf': its loop is to end early. Split it first, "
        "and stop the outer part."
    )


def test_s314_another_whole():
    s, _, B = rows()
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=4)
    BF = s.rfactor(B, outer)
    k = s[BF].op.reduce_axis[0]
    assert refused("S314", lambda: s[BF].stop(k, s[BF])) == (
        "stop of stage 'B.rf': 'B.rf' does not fold its elements, all of them and by the same "
        "reducer, or something else reads them. Give the stage that rfactor was called for."
    )


def test_s314_a_second_reader():
    m = te.var("m")
    A = te.placeholder((m, 8), "bool", name="A")
    k, j = te.reduce_axis((0, m), "k"), te.reduce_axis((0, 8), "j")
    P = te.compute((8,), lambda i: EITHER(A[k, i], axis=k), name="P")
    B = te.compute((1,), lambda i: EITHER(P[j], axis=j), name="B")
    C = te.compute((8,), lambda i: te.any(P[i], B[0]), name="C")
    s = te.create_schedule([B.op, C.op])
    refused("S314", lambda: s[P].stop(k, s[B]))


def test_s315_parts_inside_another_stage():
    s, A, B = rows()
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=4)
    BF = s.rfactor(B, outer)
    s[BF].stop(s[BF].op.reduce_axis[0], s[B])
    s[BF].compute_at(s[B], s[B].op.axis[0])
    assert refused("S315", lambda: lower(s, [A, B])) == (
        "stop of stage 'B.rf' with the whole 'B': it is computed inside 'B', so that its parts "
        "cannot tell each other. Leave the whole out: each part then stops by itself."
    )
    s[BF].compute_root()
    s[BF].bind(s[BF].op.axis[1], te.thread_axis("blockIdx.x"))
    assert "its axes are bound to threads of a GPU" in refused("S315", lambda: lower(s, [A, B]))


def test_s316_many_elements_at_a_time():
    s, A, B = rows()
    s[B].reorder(B.op.reduce_axis[0], B.op.axis[0])
    s[B].stop(B.op.reduce_axis[0])
    assert refused("S316", lambda: lower(s, [A, B])) == (
        "stop of axis 'k' of stage 'B': data axis 'i' lies inside, so that a round folds more than "
        "16 elements. Split it, and reorder the outer part outwards."
    )


def test_s317_threads_that_fold_parts():
    s, A, B = rows()
    outer, inner = s[B].split(B.op.reduce_axis[0], factor=32)
    s[B].stop(outer)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    assert refused("S317", lambda: lower(s, [A, B])) == (
        "stop of axis 'k.outer' of stage 'B': threads fold a part of each element, and would leave "
        "the loop in different rounds. Factor the reduce axis by the threads: s.rfactor(…), and "
        "stop the parts' loop."
    )


def test_s317_threads_that_meet_inside():
    s, A, B = rows()
    copy = s.cache_read(A, "shared", [B])
    block, thread = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].stop(outer)
    s[copy].compute_at(s[B], outer)
    assert refused("S317", lambda: lower(s, [A, B])) == (
        "stop of axis 'k.outer' of stage 'B': threads compute stage 'A.shared' inside the loop "
        "together, and would leave it in different rounds. Compute it outside of the loop, or stop "
        "a loop inside it."
    )


def test_parts_that_were_not_begun_are_not_read():
    s, args = whole()
    (choice,) = [n for n in post_order(lower(s, args).body) if isinstance(n, If) and n.otherwise]
    assert isinstance(choice.condition, Load)
    assert choice.condition.buffer.name == "B.stop"
    assert not any(n.buffer.name == "B.rf" for n in post_order(choice.then) if isinstance(n, Load))
    assert any(n.buffer.name == "B.rf" for n in post_order(choice.otherwise) if isinstance(n, Load))
