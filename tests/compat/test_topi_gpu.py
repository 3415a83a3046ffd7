# SPDX-License-Identifier: Apache-2.0
"""topi's schedules for GPUs: results in the simulator against NumPy, launches, and the target."""

import numpy as np
import pytest

import axisfold
import axisfold.compat.tvm as tvm
from axisfold.compat.tvm import te, topi
from axisfold.errors import UnsupportedError
from axisfold.ir.build import as_int
from axisfold.ir.stmt import Launch, Ticket
from axisfold.ir.walk import post_order

TAILS = (1, 31, 33, 130, 1000)
GPU = "cuda -arch=sm_90"


def compiled(make, rank, dtype="float32", target="sim", schedule=topi.cuda.schedule_reduce):
    A = te.placeholder([te.var(f"n{i}") for i in range(rank)], dtype, name="A")
    result = make(A)
    return axisfold.build(schedule(result), [A, result], target), result.dtype.name


def run(function, x, shape):
    built, dtype = function
    out = np.full(shape, 77, dtype)
    built(x, out)
    return out


def constant(make, x, target="sim"):
    """Return what a program for constant extents computes, and its launches."""
    A = te.placeholder(x.shape, x.dtype.name, name="A")
    result = make(A)
    built = axisfold.build(topi.cuda.schedule_reduce([result]), [A, result], target)
    out = np.full([int(str(e)) for e in result.shape], 77, result.dtype.name)
    built(x, out)
    return out, launches(built)


def launches(built):
    return [n for n in post_order(built.device.body) if isinstance(n, Launch)]


def integers(shape, dtype="float32", seed=0):
    low, high = (0, 2) if dtype == "bool" else (-3, 4)
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


REDUCTIONS = [
    ("sum", 1, "float64"), ("sum", 0, "int32"), ("prod", 1, "float64"), ("max", 0, "float32"),
    ("min", 1, "int32"), ("all", 1, "bool"), ("any", 0, "int32"), ("argmax", 1, "float32"),
    ("argmin", 0, "int32"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "axis", "dtype"), REDUCTIONS)
def test_reductions_of_any_extents(name, axis, dtype):
    function = compiled(lambda A: getattr(topi, name)(A, axis), 2, dtype)
    for shape in [*((33, m) for m in TAILS), *((n, 31) for n in TAILS)]:
        x = integers(shape, dtype, shape[0])
        x = np.where(x > 0, 2, -1).astype(dtype) if name == "prod" else x  # exact
        wanted = getattr(np, name)(x, axis=axis)
        np.testing.assert_array_equal(run(function, x, wanted.shape), wanted, err_msg=f"{shape}")


@pytest.mark.parametrize(
    ("name", "axis", "keepdims"),
    [("sum", None, False), ("max", (0, 2), True), ("sum", 1, False), ("argmax", (1, 2), False)],
)
def test_several_axes(name, axis, keepdims):
    function = compiled(lambda A: getattr(topi, name)(A, axis, keepdims), 3)
    for shape in [(2, 33, 31), (1, 1, 130)]:
        x = integers(shape)
        if name == "argmax":
            wanted = x.reshape(shape[0], -1).argmax(axis=1)
        else:
            wanted = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
        np.testing.assert_array_equal(run(function, x, wanted.shape), wanted)


@pytest.mark.parametrize(
    ("name", "shape", "axis"),
    [("sum", (70000,), 0), ("argmax", (2, 66000), 1), ("sum", (66000, 3), 0),
     ("argmax", (3, 5000), 1), ("sum", (9, 1000), 1), ("sum", (1000, 1), 0),
     ("argmax", (1000, 5), 1)],
)  # fmt: skip
def test_constant_extents(name, shape, axis):
    x = integers(shape, "int32")
    out, found = constant(lambda A: getattr(topi, name)(A, axis), x)
    np.testing.assert_array_equal(out, getattr(np, name)(x, axis=axis))
    assert len(found) == 1
    # Long folds into a few elements are shared by blocks.
    assert any(isinstance(n, Ticket) for n in post_order(found[0])) == (shape[axis] > 1 << 16)


def softmax(x, axis, log):
    wide = x.astype("float64")
    shifted = wide - wide.max(axis=axis, keepdims=True)
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    return shifted - np.log(total) if log else np.exp(shifted) / total


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    ("axis", "shapes", "dtype"),
    [(-1, [(33, m) for m in TAILS] + [(n, 31) for n in TAILS], "float32"),
     (0, [(33, m) for m in (1, 31, 130)] + [(n, 31) for n in TAILS], "float32"),
     (1, [(2, 33, 31), (1, 130, 1), (3, 1, 33)], "float64"),
     (0, [(1,), (1000,)], "float16")],
)  # fmt: skip
def test_softmax(name, axis, shapes, dtype):
    make = getattr(topi.nn, name)
    function = compiled(
        lambda A: make(A, axis), len(shapes[0]), dtype, schedule=topi.cuda.schedule_softmax
    )
    assert len(launches(function[0])) == 1
    tolerance = {"float16": 2e-3, "float32": 5e-6, "float64": 1e-13}[dtype]
    for shape in shapes:
        x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        wanted = softmax(x, axis, name == "log_softmax")
        got = run(function, x, shape)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=f"{shape}")


def test_softmax_of_rows_that_fit_a_warp():
    x = np.random.default_rng(2).standard_normal((33, 130))
    out, found = constant(topi.nn.softmax, x)
    np.testing.assert_allclose(out, softmax(x, 1, False), rtol=1e-13)
    assert [as_int(e) for e in found[0].extents] == [5, 32, 8]


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_injective(rank):
    def make(A):
        twice = te.compute(A.shape, lambda *i: A[i] * 2.0, name="twice")
        return te.compute(A.shape, lambda *i: twice[i] + 1.0, name="more")

    function = compiled(make, rank, schedule=topi.cuda.schedule_injective)
    assert len(launches(function[0])) == 1
    for n in TAILS:
        x = integers((2, 3, n)[3 - rank :])
        np.testing.assert_array_equal(run(function, x, x.shape), x * 2 + 1)


def test_two_outputs_of_which_one_is_read():
    A = te.placeholder((5, 70), name="A")
    B = te.compute((5, 70), lambda i, j: A[i, j] + 1.0, name="B")
    C = topi.sum(B, axis=1)
    x = integers((5, 70))
    b, c = np.full((5, 70), 77, "f4"), np.full(5, 77, "f4")
    axisfold.build(topi.cuda.schedule_elemwise([B, C]), [A, B, C], "sim")(x, b, c)
    np.testing.assert_array_equal(b, x + 1)
    np.testing.assert_array_equal(c, (x + 1).sum(axis=1))


def mean(A):
    """Read the sums in place, through another stage."""
    total = topi.sum(A, axis=1)
    scaled = te.compute(total.shape, lambda i: total[i] / 4.0, name="scaled")
    return te.compute(total.shape, lambda i: scaled[i] + 1.0, name="mean")


def reverse(A):
    """Read the sums, but not in place."""
    total = topi.sum(A, axis=1)
    return te.compute(total.shape, lambda i: total[total.shape[0] - 1 - i], name="reverse")


def centred(A):
    """Read each sum for a whole row."""
    total = topi.sum(A, axis=1, keepdims=True)
    return te.compute(A.shape, lambda i, j: A[i, j] - total[i, 0] / 4.0, name="centred")


def chained(A):
    """Fold the results of a reduction."""
    return topi.max(topi.sum(A, axis=1), axis=0)


def quotient(A):
    """Read two reductions in place."""
    total, largest = topi.sum(A, axis=1), topi.max(A, axis=1)
    return te.compute(total.shape, lambda i: total[i] - largest[i], name="quotient")


@pytest.mark.parametrize(
    ("make", "answer", "count"),
    [
        (mean, lambda x: x.sum(axis=1) / 4 + 1, 1),
        (reverse, lambda x: x.sum(axis=1)[::-1], 2),
        (centred, lambda x: x - x.sum(axis=1, keepdims=True) / 4, 2),
        (chained, lambda x: x.sum(axis=1).max(), 2),
        (quotient, lambda x: x.sum(axis=1) - x.max(axis=1), 3),
    ],
)
def test_what_follows_a_reduction(make, answer, count):
    function = compiled(make, 2)
    assert len(launches(function[0])) == count
    for shape in [(1, 1), (33, 130)]:
        x = integers(shape)
        wanted = np.asarray(answer(x))
        np.testing.assert_array_equal(run(function, x, wanted.shape), wanted)


def test_a_reduction_with_a_start_and_one_of_a_triangle():
    A = te.placeholder((33, 40), "int32", name="A")
    k = te.reduce_axis((0, 40), "k")
    started = te.compute((33,), lambda i: te.sum(A[i, k], axis=k, init=[te.const(5, "int32")]))
    r = te.reduce_axis((0, 33), "r")
    c = te.reduce_axis((0, r.var + 1), "c")
    triangle = te.compute((1,), lambda _: te.sum(A[r, c], axis=[r, c]))
    x = integers((33, 40), "int32")
    for result, wanted in ((started, x.sum(axis=1) + 5), (triangle, np.tril(x).sum())):
        out = np.full([int(str(e)) for e in result.shape], 77, "int32")
        axisfold.build(topi.cuda.schedule_reduce(result), [A, result], "sim")(x, out)
        np.testing.assert_array_equal(out, wanted)


def test_nan_and_ties():
    x = np.zeros((3, 300), "float32")
    x[0, [70, 200]] = np.nan
    x[1, [5, 290]] = 4
    assert run(compiled(lambda A: topi.argmax(A, 1), 2), x, 3).tolist() == [70, 5, 0]
    last = compiled(lambda A: topi.argmax(A, 1, select_last_index=True), 2)
    assert run(last, x, 3)[1:].tolist() == [290, 299]


@pytest.mark.parametrize(
    "make",
    [topi.sum, lambda A: topi.argmax(A, 0), topi.softmax],
)
def test_cuda_source(make):
    pytest.importorskip("cuda.bindings.nvrtc")
    built, _ = compiled(make, 2, target=GPU)
    assert "threadIdx.x" in built.source()


def test_generic_follows_the_target():
    A = te.placeholder((5, 70), name="A")
    for name in ("reduce", "injective", "elemwise", "broadcast"):
        schedule = getattr(topi.generic, f"schedule_{name}")
        total = topi.sum(A, axis=1)
        with tvm.target.Target("cuda"):
            on_gpu = schedule(total)
        assert on_gpu[total].bindings
        for target in (None, tvm.target.Target("llvm")):
            if target is None:
                on_cpu = schedule(total)
            else:
                with target:
                    on_cpu = schedule(total)
            assert not any(stage.bindings for stage in on_cpu.stages)
    P = topi.softmax(A)
    with tvm.target.cuda():
        assert topi.generic.schedule_softmax(P)[P].bindings
    assert not topi.generic.schedule_softmax(P)[P].bindings


def test_a_schedule_for_cpus_is_refused():
    A = te.placeholder((5, 70), name="A")
    total = topi.sum(A, axis=1)
    with pytest.raises(UnsupportedError, match="is bound to threads") as caught:
        tvm.build(te.create_schedule(total.op), [A, total], GPU)
    assert caught.value.code == "X121"
