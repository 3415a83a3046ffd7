# SPDX-License-Identifier: Apache-2.0
"""Results that are written past the caches: the pragma by hand, and the rules that use it."""

import numpy as np
import pytest

import axisfold as af
from axisfold import te
from axisfold.api import launches
from axisfold.build import build, lower
from axisfold.plan import planner, sizes_cpu
from axisfold.runtime.cpu import WIDE_VECTOR, host_vector_bytes

NAN = np.nan


def normal(*shape, dtype="float32", seed=3):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def doubled(count, lanes=8, value=1):
    x = te.placeholder((count,), name="x", dtype="float32")
    y = te.compute((count,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    outer, lane = s[y].split(y.op.axis[0], factor=lanes)
    s[y].vectorize(lane)
    s[y].pragma(outer, "stream", value)
    return s, [x, y]


def aligned(count, offset=0):
    """Return float32 memory that begins so many elements after a multiple of 64 bytes."""
    memory = np.full(count + 32, NAN, "float32")
    start = (-memory.ctypes.data % 64) // 4 + offset
    return memory[start : start + count]


# --- by hand -------------------------------------------------------------------------------------


def test_a_pragma_of_a_schedule_of_ones_own():
    s, args = doubled(67)
    assert '"pragma_stream" = 1' in str(lower(s, args))
    made = build(s, args)
    text = made.source()
    assert "!nontemporal !0" in text
    assert "!0 = !{i32 1}" in text
    assert text.index("!nontemporal") < text.index("fence seq_cst") < text.rindex("ret i32 0")
    for offset in (0, 1, 4, 5):  # memory that is not aligned is written by the other version
        x, y = normal(67), aligned(67, offset)
        made(x, y)
        np.testing.assert_array_equal(y, x * 2)


def test_a_value_of_0_changes_nothing():
    s, args = doubled(64, value=0)
    text = build(s, args).source()
    assert "nontemporal" not in text
    assert "fence" not in text


def test_short_vectors_stay_in_the_caches():
    s, args = doubled(64, lanes=2)
    assert "nontemporal" not in build(s, args).source()


def test_a_schedule_comes_back_from_json():
    s, args = doubled(40)
    again = te.Schedule.from_json(s.trace.to_json())
    (y,) = (op.output(0) for op in again.outputs)
    assert str(lower(again, [*y.op.input_tensors, y])) == str(lower(s, args))


def test_other_targets_know_their_own_way_or_none():
    s, args = doubled(64)
    assert "nontemporal" not in build(s, args, "c").source()
    x = te.placeholder((64,), name="x", dtype="float32")
    y = te.compute((64,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    block, thread = s[y].split(y.op.axis[0], factor=32)
    s[y].bind(block, te.thread_axis("blockIdx.x"))
    s[y].bind(thread, te.thread_axis("threadIdx.x"))
    s[y].pragma(block, "stream", 1)
    assert "__stcs(&y[" in build(s, [x, y], "cuda -arch=sm_90").source()
    given, found = normal(64), aligned(64, 1)
    build(s, [x, y], "sim")(given, found)
    np.testing.assert_array_equal(found, given * 2)


def test_lanes_with_gaps_are_not_read_as_if_they_were_aligned():
    x = te.placeholder((256,), name="x", dtype="float32", align=64)
    y = te.compute((128,), lambda i: x[i * 2] + 1.0, name="y")
    s = te.create_schedule(y.op)
    _, lane = s[y].split(y.op.axis[0], factor=8)
    s[y].vectorize(lane)
    made = build(s, [x, y])
    reads = [line for line in made.source().splitlines() if "load <8 x float>" in line]
    assert len(reads) == 2
    assert all(line.endswith("align 4") for line in reads)


# --- by rules ------------------------------------------------------------------------------------


@pytest.fixture
def plans(monkeypatch):
    """The plans of the calls in a test, in which no result is too small."""
    used, real = [], planner.plan
    monkeypatch.setattr(sizes_cpu, "LARGE_RESULTS", 1 << 10)
    monkeypatch.setattr(sizes_cpu, "SMALLEST_WIDE_PART", sizes_cpu.SMALLEST_PART)
    monkeypatch.setattr(
        "axisfold.api.fold.plan", lambda *a, **k: used.append(real(*a, **k)) or used[-1]
    )
    launches.forget()
    yield used
    launches.forget()


def with_nan(*shape):
    x = normal(*shape)
    x.reshape(-1)[5::97] = NAN
    return x


CASES = [
    ("sum", normal(16_387, 2), 1, "short_row"),
    ("max", with_nan(11_003, 3), 1, "short_row"),
    ("sum", normal(4101, 16), 1, "short_row"),
    ("sum", with_nan(8211, 4), 1, "short_row"),
    ("argmax", normal(8211, 4), 1, "short_row"),
    ("sum", normal(1, 4099), 0, "shallow_column"),
    ("max", with_nan(7, 4099), 0, "shallow_column"),
    ("sum", normal(9, 3, 4096), 1, "shallow_column"),
    ("var", normal(16, 1031), 0, "column_of_passes"),
    ("var", normal(5, 1031, dtype="float64"), 0, "column_of_passes"),
    ("argmin", normal(16, 1031), 0, "column_of_passes"),
    ("any", normal(6, 2111) > 1, 0, "column_of_passes"),
]


@pytest.mark.parametrize(("name", "x", "axis", "rule"), CASES, ids=lambda v: str(v)[:12])
def test_large_results_are_streamed_and_right(plans, vectors, name, x, axis, rule):
    vectors(max(host_vector_bytes(), 32))  # half of them are whole stores: sums are float64
    function = getattr(af, name)
    found = function(x, axis)
    (plan,), (launch,) = plans, launches.launches.values()
    assert (plan.rule.name, plan.layout.stores) == (rule, "stream")
    assert launch.direct.align == (64 if rule == "short_row" else 16)
    wide = x.astype("float64") if x.dtype.kind == "f" else x
    wanted = getattr(np, name)(wide, axis=axis)
    np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=3e-6)
    assert "!nontemporal" in plan.compiled.source()
    size, step = found.size, found.itemsize
    for offset in (0, 1, 16 // step):
        memory = np.zeros((size + 64) * step, "uint8")
        start = -memory.ctypes.data % 64 + offset * step
        out = memory[start : start + size * step].view(found.dtype).reshape(found.shape)
        assert function(x, axis, out=out) is out
        np.testing.assert_array_equal(out, found)
        assert not memory[:start].any()
        assert not memory[start + size * step :].any()


@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("rows", [1, 4, 5, 16])
def test_few_rows_are_asked_for_ahead(plans, vectors, rows, width):
    vectors(width)
    x = normal(rows, 4099)
    np.testing.assert_allclose(af.sum(x, 0), x.sum(0, dtype="f8"), rtol=3e-6, atol=3e-6)
    text = plans[0].compiled.source()
    assert ("call void @llvm.prefetch" in text) == (rows < 5 or width >= WIDE_VECTOR)
    found = af.argmax(x, 0)  # wide tiles of passes are for the fewest rows alone
    np.testing.assert_array_equal(found, x.argmax(0))
    assert (plans[1].layout.outputs == "wide") == (rows < 5)


def test_parts_of_complex_results_are_written_one_by_one(plans):
    x = normal(8001, 12).view("complex64")
    np.testing.assert_allclose(af.sum(x, 1), x.sum(1), rtol=1e-5, atol=1e-5)
    assert plans[0].layout.stores == "stream"
    assert "!nontemporal" not in plans[0].compiled.source()


def test_rows_that_do_not_begin_aligned_stay_in_the_caches(plans):
    x = normal(9, 3, 4100)
    np.testing.assert_allclose(af.sum(x, 1), x.sum(1, dtype="f8"), rtol=3e-6, atol=3e-6)
    assert plans[0].layout.stores == ""
    assert "!nontemporal" not in plans[0].compiled.source()


@pytest.mark.parametrize("shape", [(17, 4096), (2, 100)])
def test_small_results_stay_in_the_caches(plans, shape):
    af.sum(normal(*shape), 0)
    assert plans[0].layout.stores == ""


def test_an_explanation_tells_how_results_are_written(plans):
    text = str(af.explain(normal(2, 8192), "sum", 0, measure=False))
    assert "stores: stream" in text
    assert 'pragma(i0_outer, "stream", 1)' in text.replace("'", '"')


# --- results of the inputs' shape ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "dtype", "stores"),
    [
        ((9, 772), "float32", "stream"),
        ((3, 5, 40), "float32", "stream"),
        ((9, 776), "float16", "stream"),
        ((9, 772), "float16", ""),  # rows begin at multiples of 8 bytes
        ((9, 773), "float32", ""),
        ((7, 32), "float32", ""),  # small
        ((9, 772), "float64", ""),  # by another rule
    ],
)
def test_softmax_of_rows(plans, shape, dtype, stores):
    x = normal(*shape, dtype=dtype)
    wide = np.exp(x.astype("f8") - x.max(-1, keepdims=True))
    want = wide / wide.sum(-1, keepdims=True)
    for offset in (0, 3):
        memory = aligned(2 * x.size + 32, offset).view(dtype)
        memory[:] = NAN
        out = memory[: x.size].reshape(shape)
        af.softmax(x, -1, out=out)
        np.testing.assert_allclose(out, want, rtol=2e-3 if dtype == "float16" else 1e-6)
        assert np.isnan(memory[x.size :]).all()
    np.testing.assert_array_equal(af.softmax(x, -1), out)
    assert plans[0].layout.stores == stores
    assert ("nontemporal" in plans[0].compiled.source()) == bool(stores)
