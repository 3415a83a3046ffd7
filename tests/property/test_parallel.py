# SPDX-License-Identifier: Apache-2.0
"""Parallel loops give the bits that serial ones give, for every number of threads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from axisfold import te
from axisfold.build import build
from axisfold.config import config
from axisfold.errors import ScheduleError
from axisfold.runtime.threads import pool

THREADS = (1, 2, 3, 8)
EXTENTS = (0, 1, 2, 3, 7, 13, 31, 61)
FACTORS = (1, 2, 3, 4, 8)


@pytest.fixture(autouse=True)
def _small_chunks():
    before = config.threads
    pool().set_chunk_work(1)  # else problems of this size run on the caller alone
    yield
    pool().set_chunk_work()
    config.threads = before


def row_sum(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    return [A], [te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")]


def column_maximum(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, n), "k")
    return [A], [te.compute((m,), lambda j: te.max(A[k, j], axis=k), name="B")]


def masked_sum(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    body = lambda i: te.sum(A[i, k], axis=k, where=A[i, k] > 0.25)  # noqa: E731
    return [A], [te.compute((n,), body, name="B")]


def moments(n, m):
    """Count, mean and squared deviations of each row, merged in order."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")

    def merge(a, b):
        count = a[0] + b[0]
        share = te.Select(count > 0, b[0] / te.max(count, one), none)
        delta = b[1] - a[1]
        return count, a[1] + delta * share, a[2] + b[2] + delta * delta * a[0] * share

    zero = lambda *types: tuple(te.const(0, t) for t in types)  # noqa: E731
    one, none = te.const(1, "float32"), te.const(0, "float32")
    merging = te.comm_reducer(merge, zero, name="moments")
    results = te.compute((n,), lambda i: merging((one, A[i, k], none), axis=k), name="B")
    return [A], list(results)


def softmax(n, m):
    """Four stages, of which some can be computed inside others."""
    A = te.placeholder((n, m), name="A")
    k, r = te.reduce_axis((0, m), "k"), te.reduce_axis((0, m), "r")
    M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
    E = te.compute((n, m), lambda i, j: te.exp(A[i, j] - M[i]), name="E")
    S = te.compute((n,), lambda i: te.sum(E[i, r], axis=r), name="S")
    return [A], [te.compute((n, m), lambda i, j: E[i, j] / S[i], name="C")]


PROBLEMS = (row_sum, column_maximum, masked_sum, moments, softmax)


def draw_schedule(data, schedule):
    """Apply random primitives, without parallel."""
    for name in data.draw(st.lists(st.sampled_from(NAMES), max_size=8)):
        stages = [s for s in schedule.stages if s.op.body and s.leaf_axes]
        stage = data.draw(st.sampled_from(stages))
        leaf = data.draw(st.sampled_from(stage.leaf_axes))
        try:
            match name:
                case "split" if len(stage.leaf_axes) < 6:
                    stage.split(leaf, data.draw(st.sampled_from(FACTORS)))
                case "reorder":
                    stage.reorder(*data.draw(st.permutations(stage.leaf_axes)))
                case "rfactor" if len(schedule.stages) < 6:
                    schedule.rfactor(stage.op.output(0), leaf)
                case "vectorize" | "unroll":
                    getattr(stage, name)(leaf)
                case "compute_at":
                    parent = data.draw(st.sampled_from(stages))
                    stage.compute_at(parent, data.draw(st.sampled_from(parent.leaf_axes)))
        except ScheduleError:
            pass  # another test asks which refusals are right


NAMES = ("split", "split", "reorder", "rfactor", "vectorize", "unroll", "compute_at", "compute_at")


def draw_parallel(data, schedule):
    """Make a data leaf of some stages parallel."""
    for stage in schedule.stages:
        leaves = [a for a in stage.leaf_axes if a.kind == "data"]
        if not stage.op.body or not leaves or not data.draw(st.booleans()):
            continue
        try:
            stage.parallel(data.draw(st.sampled_from(leaves)))
        except ScheduleError as error:
            if error.code not in {"S177", "S178"}:
                raise


def built(schedule, args):
    try:
        return build(schedule, args)
    except ScheduleError as error:
        if error.code != "S154":  # primitives after compute_at may undo it
            raise
        return None


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda f: f.__name__)
@settings(
    max_examples=18, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large,
                           HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_bits_do_not_depend_on_threads(problem, data):
    is_symbolic = data.draw(st.booleans(), label="symbolic")
    draw = lambda name: data.draw(st.sampled_from(EXTENTS), label=name)  # noqa: E731
    sizes = (te.var("n"), te.var("m")) if is_symbolic else (draw("n"), draw("m"))
    inputs, outputs = problem(*sizes)
    schedule = te.create_schedule([t.op for t in outputs])
    draw_schedule(data, schedule)
    serial = built(schedule, [*inputs, *outputs])
    if serial is None:
        return
    draw_parallel(data, schedule)
    parallel = built(schedule, [*inputs, *outputs])
    note(str(parallel.ir))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    for _ in range(2 if is_symbolic else 1):
        n, m = (draw("n"), draw("m")) if is_symbolic else sizes
        a = rng.standard_normal((n, m), "float32")
        shapes = [(n, m) if len(t.shape) == 2 else (m,) if problem is column_maximum else (n,)
                  for t in outputs]  # fmt: skip
        expected = [np.full(shape, 77, "float32") for shape in shapes]
        serial(a, *expected)
        for threads in THREADS:
            config.threads = threads
            found = [np.full(shape, 78, "float32") for shape in shapes]
            parallel(a, *found)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.view("int32"), other.view("int32"))
