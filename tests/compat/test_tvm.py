# SPDX-License-Identifier: Apache-2.0
"""The names of the te era: arrays, devices, targets, modules and old spellings."""

import numpy as np
import pytest

import axisfold
import axisfold.compat.tvm as tvm
import axisfold.compat.tvm.testing
from axisfold import te as native
from axisfold.compat.tvm import te, tir
from axisfold.errors import ArgumentError, DeviceError, UnsupportedError
from axisfold.runtime.cuda import driver


def row_sum(n=None, m=None):
    n = te.var("n") if n is None else n
    m = te.var("m") if m is None else m
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return te.create_schedule(B.op), A, B


@pytest.fixture(scope="module")
def built():
    s, A, B = row_sum()
    return tvm.build(s, [A, B], target="llvm", name="row_sum")


def test_te_is_the_one_of_axisfold():
    assert te is native
    assert tvm.TVMError is axisfold.AxisfoldError


def test_arrays():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    a = tvm.nd.array(x, tvm.cpu(0))
    x[:] = 7
    assert (a.shape, a.dtype, a.ndim, len(a)) == ((2, 3), "float32", 2, 2)
    assert a.numpy().tolist() == a.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert a[1, 2] == 5
    a.numpy()[:] = 9  # a copy
    b = tvm.nd.empty((2, 3), "float32", tvm.cpu())
    assert a.copyto(b) is b
    assert (b.numpy() == a.numpy()).all()
    assert a.copyto(tvm.cpu(0)).numpy().tolist() == a.numpy().tolist()
    b.copyfrom(np.ones((2, 3)))
    b[0, 0] = 4
    assert np.asarray(b).sum() == 9
    assert "NDArray shape=(2, 3), cpu(0)" in repr(b)
    with pytest.raises(ArgumentError, match=r"shape \(3,\), but \(2, 3\) is needed"):
        b.copyfrom(np.ones(3))


def test_devices():
    assert tvm.cpu(0) == tvm.device("cpu") == tvm.context("llvm", 0)
    assert tvm.cuda(1) == tvm.gpu(1) == tvm.device("cuda", 1)
    assert tvm.cpu().exist
    assert (tvm.cuda(2).device_type, tvm.cuda(2).device_id) == (2, 2)
    assert tvm.runtime.enabled("llvm")
    tvm.cpu().sync()
    with pytest.raises(ArgumentError, match="there is no device 'tpu'"):
        tvm.device("tpu")


@pytest.fixture
def no_gpu(monkeypatch):
    """Nobody finds a driver, whatever the machine has."""

    def no_library():
        raise driver._no_driver("libcuda.so.1 is missing")

    monkeypatch.setattr(driver, "_api", None)
    monkeypatch.setattr(driver, "_devices", {})
    monkeypatch.setattr(driver, "_initialised", no_library)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tvm.nd.array(np.ones(3), tvm.cuda(0)),
        lambda: tvm.nd.empty((3,), device=tvm.gpu(1)),
        lambda: tvm.build(row_sum()[0], row_sum()[1:], "cuda"),
        lambda: tvm.cuda(0).sync(),
    ],
)
def test_cuda_without_a_gpu_is_one_sentence(no_gpu, call):
    with pytest.raises(DeviceError) as caught:
        call()
    assert str(caught.value) == (
        "no NVIDIA driver with a GPU was found here: libcuda.so.1 is missing. Programs for CUDA "
        "compile anywhere (name the architecture, as in 'cuda -arch=sm_90') but run on a GPU only; "
        "target 'sim' runs them without one. [axisfold-X302]"
    )


def test_programs_for_cuda_are_compiled_without_a_gpu(no_gpu):
    assert (tvm.cuda().exist, tvm.runtime.enabled("cuda")) == (False, False)
    assert tvm.testing.enabled_targets() == [("llvm", tvm.cpu(0))]
    s, A, B = row_sum()
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    with tvm.target.cuda(arch="sm_80") as target:
        assert str(target) == str(tvm.target.Target("cuda -arch=sm_80 -libs=cudnn"))
        f = tvm.build(s, [A, B])
    assert "__global__" in f.imported_modules[0].get_source()
    assert tvm.target.cuda().kind.name == "cuda"


def test_lower_prints_and_builds():
    s, A, B = row_sum()
    module = tvm.lower(s, [A, B], name="f", simple_mode=True)
    assert str(module) == module.astext() == str(axisfold.lower(s, [A, B], "f"))
    assert module["f"] is module.functions["f"]
    out = np.zeros(2, "float32")
    tvm.build(module)(np.ones((2, 5), "float32"), out)
    assert out.tolist() == [5, 5]
    with pytest.raises(UnsupportedError, match=r"binds= of tvm\.lower is not part of axisfold"):
        tvm.lower(s, [A, B], binds={A: None})


def test_built_function(built):
    assert built.entry_name == "row_sum"
    assert built["row_sum"] is built.get_function("row_sum")
    assert "define" in built.get_source()
    assert built.imported_modules[0].get_source() == built.get_source()
    assert "row_sum" in built.get_source("asm")
    a = tvm.nd.array(np.ones((3, 4), "float32"))
    b = tvm.nd.empty((3,))
    built(a, b)
    tvm.testing.assert_allclose(b.numpy(), np.full(3, 4.0), rtol=1e-6)
    with pytest.raises(ArgumentError, match="row_sum takes 2 arrays"):
        built(a)
    with pytest.raises(tvm.TVMError, match="kernel was built for float32"):
        built(tvm.nd.array(np.ones((3, 4))), b)


def test_time_evaluator(built):
    a, b = tvm.nd.array(np.ones((3, 4), "float32")), tvm.nd.empty((3,))
    evaluate = built.time_evaluator(built.entry_name, tvm.cpu(0), number=2, repeat=3)
    result = evaluate(a, b)
    assert len(result.results) == 3
    assert result.min <= result.median <= result.max < 1
    assert result.min <= result.mean <= result.max
    assert result.std >= 0
    long = built.time_evaluator("row_sum", tvm.cpu(0), number=1, repeat=1, min_repeat_ms=5)(a, b)
    assert 0 < long.mean < 0.005


def test_targets():
    with tvm.target.Target("llvm -mcpu=core-avx2") as target:
        assert tvm.target.Target.current() is target
        assert target == tvm.target.create("llvm") == tvm.target.llvm()
        assert (target.kind.name, str(target), hash(target)) == ("llvm", "llvm", hash(target))
    assert tvm.target.Target.current() is None
    assert str(tvm.target.Target.current(allow_none=False)) == "llvm"
    with tvm.target.Target("c"):
        s, A, B = row_sum()
        module = tvm.build(s, [A, B])
    assert "int" in module.get_source()
    with pytest.raises(UnsupportedError, match="target 'opencl' is not available"):
        tvm.target.Target("opencl")


def test_pass_contexts_change_nothing(built):
    s, A, B = row_sum()
    with tvm.transform.PassContext(opt_level=3, config={"tir.x": 1}), tvm.build_config():
        assert tvm.build(s, [A, B], name="row_sum").get_source() == built.get_source()


def test_extents_among_the_arguments():
    n = te.var("n")
    s, A, B = row_sum(n, 4)
    assert str(tvm.lower(s, [n, A, B])) == str(tvm.lower(s, [A, B]))
    f = tvm.build(s, [n, A, B])
    out = np.zeros(3, "float32")
    f(3, np.ones((3, 4), "float32"), out)
    assert out.tolist() == [4, 4, 4]
    with pytest.raises(ArgumentError, match="argument n is 2, but it is 3 in the shapes"):
        f(2, np.ones((3, 4), "float32"), out)


def test_spellings_until_version_0_6():
    n, m = tvm.var("n"), tvm.var("m")
    A = tvm.placeholder((n, m), name="A")
    k = tvm.reduce_axis(tvm.Range(0, m), "k")
    largest = tvm.comm_reducer(lambda x, y: tvm.select(x > y, x, y), tvm.min_value, name="largest")
    B = tvm.compute((n,), lambda i: largest(tvm.exp(A[i, k]) + tvm.const(1, "float32"), axis=k))
    s = tvm.create_schedule(B.op)
    assert isinstance(s, tvm.Schedule)
    f = tvm.build(s, [A, B], "llvm", target_host="llvm")
    x = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    out = tvm.nd.empty((4,))
    f(tvm.nd.array(x, tvm.context("cpu", 0)), out)
    tvm.testing.assert_allclose(out.asnumpy(), (np.exp(x) + 1).max(axis=1), rtol=1e-6)
    assert tvm.thread_axis("threadIdx.x").tag == "threadIdx.x"
    assert tvm.convert(3) == 3
    assert tvm.Range(4) == (0, 4)
    assert tvm.Range(1, 4).extent == 3


def test_tir_is_te_by_another_name():
    for name in ("exp", "log", "sqrt", "if_then_else", "min_value", "max_value", "all", "any"):
        assert getattr(tir, name) is getattr(te, name)
    x = tir.Var("x", "int32")
    assert str(tir.Cast("float32", x)) == "cast(float32, x)"
    assert str(tir.Not(x < 1)) == "!(x < 1)"
    assert tir.const(1.5).dtype == "float32"
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = tir.nothing


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: te.extern((3,), [], lambda i, o: None), "te.extern"),
        (lambda: te.scan(1, 2, 3), "te.scan"),
        (lambda: te.hybrid.script, "te.hybrid"),
        (lambda: te.gradient(1, [2]), "te.gradient"),
        (lambda: te.decl_tensor_intrin(1, 2), "te.decl_tensor_intrin"),
        (lambda: te.schedule.InferBound(1), "te.schedule"),
        (lambda: tvm.relay.build, "tvm.relay"),
        (lambda: tvm.autotvm.task(1), "tvm.autotvm"),
    ],
)
def test_what_is_out_of_scope_says_so(call, name):
    with pytest.raises(UnsupportedError, match=f"^{name} is not part of axisfold, which makes"):
        call()


def test_unknown_names_are_attribute_errors():
    assert not hasattr(tvm, "nothing")
    assert not hasattr(te, "nothing")
    assert callable(te.extern)


def test_dtypes_are_their_names_and_numpys():
    A = te.placeholder((3,), "float16", name="A")
    assert A.dtype == "float16"
    assert A.dtype != "float32"
    assert {A.dtype: 1}["float16"] == 1
    assert np.zeros(3, A.dtype).astype(te.const(1, "int8").dtype).dtype == "int8"


def test_names_for_star_axes_and_attributes_of_compute():
    A = te.placeholder((2, 3), name="A")
    B = te.compute((2, 3), lambda *i: A[i] + 1.0, attrs={"a": 1}, varargs_names=["row", "column"])
    assert [a.name for a in B.op.axis] == ["row", "column"]


def test_assert_allclose_compares_shapes_and_values():
    tvm.testing.assert_allclose([1.0], [1.0 + 1e-8])
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose([1.0], [1.1])
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(np.ones((1, 2)), np.ones(2))
    assert tvm.testing.enabled_targets() == [("llvm", tvm.cpu(0))]
