# SPDX-License-Identifier: Apache-2.0
"""A trace as Python and as JSON makes the same schedule again; other texts are refused."""

import itertools
import json
import re

import numpy as np
import pytest
from te_support.traces import replays

from axisfold import te
from axisfold.build import lower
from axisfold.errors import AxisfoldError, ScheduleError
from axisfold.ir.buffer import Facts


def rows(dtype="int32"):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), dtype, name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B


def fused():
    s, A, B = rows()
    outer, inner = s[B].split(s[B].op.reduce_axis[0], factor=3)
    both = s[B].fuse(outer, inner)
    s[B].fuse(s[B].op.axis[0])
    assert s[B].fuse() is s[B].leaf_axes[0]
    _, lane = s[B].split(both, nparts=np.int64(7))
    first = s.rfactor(B, lane, factor_axis=-1, negative_zero=True)
    s[first].compute_at(s[B], s[B].op.axis[0])
    return s, [A, B]


def bound():
    s, A, B = rows()
    _, inner = s[B].split(s[B].op.reduce_axis[0], factor=16)
    first = s.rfactor(B, inner)
    outer, row = s[B].split(s[B].op.axis[0], factor=32)
    tx = te.thread_axis((0, 16), "threadIdx.x", name="tx")
    s[B].set_store_predicate(te.all(tx.var.equal(0), s[B].op.axis[0] > 2))
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(row, te.thread_axis("threadIdx.y"))
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[first].compute_at(s[B], s[B].op.reduce_axis[0])
    return s, [A, B]


def shared_threads():
    """Two stages share one thread axis."""
    n = te.var("n")
    A = te.placeholder((n, 64), name="A")
    T = te.compute((n, 64), lambda i, j: A[i, j] * 2, name="T")
    C = te.compute((n, 64), lambda i, j: T[i, 63 - j], name="C")
    s = te.create_schedule(C.op)
    tx = te.thread_axis("threadIdx.x")
    s[C].bind(C.op.axis[1], tx)
    s[T].compute_at(s[C], C.op.axis[0])
    s[T].set_scope("shared")
    s[T].bind(T.op.axis[1], tx)
    return s, [A, C]


def caches():
    s, A, B = rows()
    copy = s.cache_read(A, "shared", [B])
    cache = s.cache_write(B, "local")
    outer, _ = s[B].split(s[B].op.axis[0], factor=4)
    s[cache].compute_at(s[B], outer)
    ko, ki = s[cache].split(s[cache].op.reduce_axis[0], factor=5)
    s[cache].reorder(ko, s[cache].op.axis[0], ki)
    s[copy].compute_at(s[cache], ko)
    s[copy].double_buffer()
    s[copy].storage_align(s[copy].op.axis[0], 32, 1)
    return s, [A, B]


def tuples():
    n, m = te.var("n", "int64"), te.size_var("m", "int64")
    A = te.placeholder((n, m), "int64", name="A")
    k = te.reduce_axis((1, m), "k")

    def better(a, b):
        wins = te.any(a[1] > b[1], te.all(a[1].equal(b[1]), a[0] < b[0]))
        return te.Select(wins, a[0], b[0]), te.Select(wins, a[1], b[1])

    reducer = te.comm_reducer(
        better, lambda t0, t1: (te.const(2**40, t0), te.min_value(t1)), "argmax"
    )
    at, best = te.compute(
        (n,), lambda i: reducer((k.var, A[i, k]), axis=k, where=k > i, init=(7, A[i, 0])), name="B"
    )
    C = te.compute((n,), lambda i: at[i] + best[n - 1 - i], name="C")
    s = te.create_schedule([C.op, at.op])
    first = s.rfactor(at, k)
    s[first[1]].parallel(s[first[1]].op.axis[0])
    caches = s.cache_write([at, best], "global")
    s[caches[0]].pragma(s[caches[0]].op.axis[0], "auto_unroll_max_step", 4)
    return s, [A, C, at, best]


def one_output_in_a_tuple():
    n = te.var("n")
    A = te.placeholder((n,), "float16", name="A", strides=[te.var("step", "int64")], unit="byte")
    X = te.placeholder((), "int32", name="X")
    (B,) = te.compute((n,), lambda i: (A[i] + X[()],), name="B")
    D = te.compute((n,), lambda i: B[i], name="D")
    s = te.create_schedule(D.op)
    (cache,) = s.cache_write([B], "local")
    s[cache].compute_at(s[B], s[B].op.axis[0])
    s.create_group(B, A).compute_at(s[D], D.op.axis[0])
    s[D].set_store_predicate(A[D.op.axis[0]] > 0.5)
    return s, [A, X, D]


def symbolic_factor():
    n = te.var("n")
    A = te.placeholder((n, n + 1), name="A", compact=True, align=64, divisible={0: 4})
    k = te.reduce_axis((0, n + 1), "k")
    B = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].split(k, factor=n)
    s[B].tile(*s[B].leaf_axes[:2], te.const(2), n * 2)
    s[B].compute_root()
    return s, [A, B]


def ordered():
    n = te.var("n")
    A = te.placeholder((n, 4), "float16", name="A")
    k = te.reduce_axis((1, 4), "k")
    last = te.comm_reducer(
        lambda a, b: b, lambda t: te.const(float("-inf"), t), "last", ["ordered", "idempotent"]
    )
    B = te.compute((n,), lambda i: last(A[i, k], axis=k, absorb=lambda x: x * -0.0), name="B")
    s = te.create_schedule(B.op)
    s[B].split(k, factor=2)
    return s, [A, B]


def strange_names():
    n = te.var("i")
    A = te.placeholder((n, n, (n + 1) * (n + 1)), "int64", name="i")

    def body(i, lam):
        k = te.reduce_axis((i, n), "lambda")
        h = te.reduce_axis((0, k + 1), "k.l")
        return te.min(A[i, k, h] + lam, axis=[k, h])

    B = te.compute((n, n), body, name='we"ird\n', tag="t\\")
    C = te.compute(
        (n, 2), lambda *i: te.if_then_else(B[i[0], 0] > 0, float("nan"), i[1]), name="args",
        varargs_names=["a.0", "a.0"],
    )  # fmt: skip
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[1])
    return s, [A, C]


def inlined():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    T = te.compute((n,), lambda i: te.exp(A[i]) * te.exp(A[i]), name="T")
    U = te.compute((n,), lambda i: te.likely(T[i] < 3), name="U")
    C = te.compute((n,), lambda i: te.select(~U[i], T[i], -T[n - 1 - i]), name="C")
    s = te.create_schedule(C.op)
    s[T].compute_inline()
    s[U].compute_inline()
    _, lane = s[C].split(C.op.axis[0], 8)
    s[C].vectorize(lane)
    return s, [A, C]


SCHEDULES = (
    fused, bound, shared_threads, caches, tuples, one_output_in_a_tuple, symbolic_factor, ordered,
    strange_names, inlined,
)  # fmt: skip


@pytest.mark.parametrize("made", SCHEDULES, ids=lambda f: f.__name__)
def test_python_and_json_replay(made):
    replays(*made())


def test_a_refused_step_is_not_recorded():
    s, _, B = rows()
    before = str(s.trace), s.trace.to_json()
    with pytest.raises(ScheduleError):
        s[B].vectorize(B.op.axis[0])
    other = te.compute((3,), lambda i: i, name="other")
    with pytest.raises(ScheduleError) as caught:
        s[B].set_store_predicate(other[0] > 0)
    assert caught.value.code == "S002"
    assert (str(s.trace), s.trace.to_json()) == before


def test_promises_of_memory_survive():
    n, m = te.size_var("n"), te.size_var("m")
    facts = Facts(align=16, divisible=(1, 4), index_bits=32, stride_align=16)
    strides = [te.var("s0", "int64"), 4]
    A = te.placeholder((n, m), name="A", strides=strides, unit="byte", facts=facts)
    B = te.compute((n, m), lambda i, j: A[i, j] * 2, name="B")
    loaded = te.Schedule.from_json(te.create_schedule(B.op).trace.to_json())
    assert loaded.trace.args[0].op.facts == facts


def test_the_least_extent_survives():
    n = te.size_var("n", least=64)
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    s[B].pragma(B.op.axis[0], "shift_inwards", 16)
    loaded = te.Schedule.from_json(s.trace.to_json())
    (extent,) = loaded.trace.args[0].shape
    assert (extent.is_size, extent.least) == (True, 64)
    assert 'n = te.size_var("n", "int32", least=64)' in str(loaded.trace)
    assert str(lower(loaded, loaded.trace.args)) == str(lower(s, [A, B]))


def test_a_loaded_schedule_can_be_scheduled_further():
    s, _ = caches()
    loaded = te.Schedule.from_json(s.trace.to_json())
    A, B = loaded.trace.args
    loaded[B].unroll(loaded[B].leaf_axes[1])
    replays(loaded, [A, B])


def test_reads_as_a_person_would_write_it():
    s, _ = bound()
    assert str(s.trace) == (
        "from axisfold import te\n"
        "\n"
        'n = te.var("n", "int32")\n'
        'm = te.var("m", "int32")\n'
        'A = te.placeholder((n, m), "int32", "A")\n'
        "\n"
        'k = te.reduce_axis((0, m), "k")\n'
        'B = te.compute((n,), lambda i: te.sum(A[i, k], axis=[k]), name="B")\n'
        "\n"
        "args = [A, B]\n"
        "\n"
        "s = te.create_schedule(B.op)\n"
        "k_outer, k_inner = s[B].split(s[B].op.reduce_axis[0], factor=16)\n"
        "B_rf = s.rfactor(B, k_inner, factor_axis=0)\n"
        "ax0_outer, ax0_inner = s[B].split(s[B].op.axis[0], factor=32)\n"
        'tx = te.thread_axis((0, 16), "threadIdx.x", name="tx")\n'
        "s[B].set_store_predicate(te.all(tx.equal(0), s[B].op.axis[0] > 2))\n"
        'blockIdx_x = te.thread_axis("blockIdx.x")\n'
        "s[B].bind(ax0_outer, blockIdx_x)\n"
        'threadIdx_y = te.thread_axis("threadIdx.y")\n'
        "s[B].bind(ax0_inner, threadIdx_y)\n"
        "s[B].bind(s[B].op.reduce_axis[0], tx)\n"
        "s[B_rf].compute_at(s[B], s[B].op.reduce_axis[0])\n"
    )


def test_a_graph_of_a_thousand_levels_is_not_recursed_into():
    A = te.placeholder((4,), name="A")

    def body(i):
        value = A[i]
        for _ in range(3000):
            value = value + 1.0
        return value

    B = te.compute((4,), body, name="B")
    s = te.create_schedule(B.op)
    loaded = te.Schedule.from_json(s.trace.to_json())
    assert loaded.trace.to_json() == s.trace.to_json()


def refused(text):
    with pytest.raises(AxisfoldError) as caught:
        te.Schedule.from_json(text)
    return caught.value.code, str(caught.value)


HINT = "Pass the text that s.trace.to_json() returned."


def test_s281_no_json():
    code, message = refused("{")
    assert code == "S281"
    assert message == (
        "this is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 "
        f"(char 1). {HINT} [axisfold-S281]"
    )
    assert refused("[" * 100_000)[0] == "S281"


@pytest.mark.parametrize("text", ["3", "[]", "{}", '{"axisfold": "plan"}'])
def test_s281_other_json(text):
    assert refused(text) == (
        "S281", f"this JSON is no schedule of axisfold. {HINT} [axisfold-S281]"
    )  # fmt: skip


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_s282_unknown_version(version):
    s, _ = fused()
    changed = json.loads(s.trace.to_json()) | {"version": version}
    assert refused(json.dumps(changed))[1] == (
        f"the schedule has version {version!r}, and this release reads version 1. Load it with "
        "the release that wrote it, print(s.trace), and run that program. [axisfold-S282]"
    )


def test_s283_a_missing_part():
    s, _ = fused()
    changed = json.loads(s.trace.to_json())
    del changed["steps"][0]["stage"]
    assert refused(json.dumps(changed))[1] == (
        "the JSON of a schedule is malformed at steps[0]: 'stage' is missing. "
        f"{HINT} [axisfold-S283]"
    )


def test_s283_operands_that_do_not_fit():
    s, _ = fused()
    text = s.trace.to_json().replace('"binary", "add"', '"binary", "div"')
    code, message = refused(text)
    assert code == "S283"
    assert re.search(r"malformed at expressions\[\d+\]: its operands do not fit\.", message)


def test_a_step_that_is_refused_says_why():
    s, _ = fused()
    assert refused(s.trace.to_json().replace('{"factor": 3}', '{"factor": 0}'))[0] == "S112"


@pytest.mark.parametrize("made", SCHEDULES, ids=lambda f: f.__name__)
def test_a_damaged_text_is_refused_or_harmless(made):
    """Change every value of the document, one at a time."""
    s, _ = made()
    whole = json.loads(s.trace.to_json())
    harmless = 0
    for _ in damaged(whole):
        try:
            loaded = te.Schedule.from_json(json.dumps(whole))
            str(loaded.trace)
            lower(loaded, loaded.trace.args)
            harmless += 1
        except AxisfoldError:
            continue
    assert harmless  # names may change


def damaged(whole):
    """Damage the document in place, and repair it after each; two of the values at each place."""
    values = itertools.cycle((None, 1, -1, 10**30, "x", [], {}, True, 0.5))
    stack = [whole]
    while stack:
        part = stack.pop()
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            value = part[key]
            if isinstance(value, (dict, list)):
                stack.append(value)
            for other in itertools.islice(values, 2):
                if type(other) is type(value) and other == value:
                    continue
                part[key] = other
                yield key, other
            part[key] = value
