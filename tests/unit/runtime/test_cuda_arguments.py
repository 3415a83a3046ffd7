# SPDX-License-Identifier: Apache-2.0
"""Device arrays are checked as NumPy's are, before anything is launched."""

import copy
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from cuda_support import DLPackArray, Interface, install
from cuda_support.libraries import CupyArray, Tensor, install_libraries

from axisfold import te
from axisfold.build import build
from axisfold.errors import ArgumentError, AxisfoldError, DeviceError, DTypeError, ShapeError
from axisfold.interop.libraries import current_stream
from axisfold.runtime.cuda import driver
from axisfold.runtime.cuda.call import Caller
from axisfold.runtime.cuda.streams import stream_handle

A_ADDRESS, B_ADDRESS, ELSEWHERE = 1 << 40, 2 << 40, 3 << 40


def row_sums(target):
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    if target != "llvm":
        xo, xi = s[B].split(B.op.axis[0], factor=64)
        s[B].bind(xo, te.thread_axis("blockIdx.x"))
        s[B].bind(xi, te.thread_axis("threadIdx.x"))
    return build(s, [A, B], target, name="row_sums")


@pytest.fixture(scope="module")
def compiled():
    return row_sums("cuda -arch=sm_90")


@pytest.fixture
def fake(monkeypatch):
    made = install(monkeypatch)
    made.places = {A_ADDRESS: 0, B_ADDRESS: 0, A_ADDRESS + 2: 0, A_ADDRESS + 64: 0, ELSEWHERE: 1}
    return made


@pytest.fixture
def function(compiled, fake):
    for version in (compiled.declared, compiled.general):
        vars(version.program).pop("binary", None)
    compiled._call._records.clear()
    return compiled


def a(address=A_ADDRESS, shape=(1000, 100), dtype="f4", **changes):
    return Interface(np.zeros(shape, dtype), address, **changes)


def b(address=B_ADDRESS, shape=(1000,), **changes):
    return Interface(np.zeros(shape, "f4"), address, **changes)


HOST = "Copy it to the device, as by cupy.asarray(x) or x.cuda(), or build for 'llvm'."
KERNEL = "row_sums_kernel0"
REFUSED = [
    (lambda: (a(),), "A201", "row_sums takes 2 arrays (A, B), but 1 were given."),
    (
        lambda: ([[1.0]], b()),
        "A202",
        (
            "argument 0 (A) is a list, not a CUDA array. Pass an array of PyTorch, CuPy, numba or "
            "any library with DLPack."
        ),
    ),
    (
        lambda: (a(), b(mask=a())),
        "A202",
        (
            "argument 1 (B) has a mask, and the kernel would not see it. Fill its masked elements "
            "first."
        ),
    ),
    (
        lambda: (a(5 << 40), b()),
        "A202",
        (
            "argument 0 (A) says that it lives at address 0x50000000000 of a CUDA device, but the "
            "driver knows no such memory."
        ),
    ),
    (
        lambda: (np.zeros((1000, 100), "f4"), b()),
        "A208",
        (
            "argument 0 (A) is a numpy.ndarray in the memory of the host, but the function was "
            f"built for CUDA. {HOST}"
        ),
    ),
    (
        lambda: (a(), DLPackArray(np.zeros(1000, "f4"), (1, 0))),
        "A208",
        (
            "argument 1 (B) is a cuda_support.DLPackArray in the memory of the host, but the "
            f"function was built for CUDA. {HOST}"
        ),
    ),
    (lambda: (a(shape=(1000,)), b()), "A203", "argument 0 (A) has 1 axes, but the kernel"),
    (
        lambda: (a(), b(data=(B_ADDRESS, True))),
        "A204",
        "argument 1 (B) is an output but read-only. Pass a writable array.",
    ),
    (
        lambda: (a(), b(A_ADDRESS + 64)),
        "A205",
        "argument 1 (B) is an output and shares memory with argument 0 (A). Pass a separate array.",
    ),
    (lambda: (a(), b(strides=(0,))), "A205", "argument 1 (B) is an output whose elements may"),
    (lambda: (a(), b(shape=(3,))), "A206", "argument 1 (B) has extent 3 along axis 0, but 1000"),
    (
        lambda: (a(ELSEWHERE), b()),
        "A209",
        (
            "the arguments of row_sums are on different CUDA devices: A on 1 and B on 0. Copy them "
            "to one device."
        ),
    ),
    (
        lambda: (a(A_ADDRESS + 2), b()),
        "A211",
        (
            "argument 0 (A) has elements that do not lie at multiples of 4 bytes (address "
            "0x10000000002, strides (400, 4)), and a GPU cannot read those. Pass a copy."
        ),
    ),
    (lambda: (a(strides=(402, 4)), b()), "A211", "argument 0 (A) has elements that do not lie"),
    (
        lambda: (a(dtype="i4"), b()),
        "D201",
        "argument 0 (A) has dtype int32, but the kernel was built for float32.",
    ),
    (lambda: (a(dtype=">f4"), b()), "D201", "argument 0 (A) has dtype >f4, but the kernel"),
]


@pytest.mark.parametrize(("arrays", "code", "text"), REFUSED)
def test_refused_before_a_launch(function, fake, arrays, code, text):
    with pytest.raises(AxisfoldError) as caught:
        function(*arrays())
    assert caught.value.code == code
    assert str(caught.value).startswith(text)
    assert isinstance(caught.value, ArgumentError | DTypeError | ShapeError)
    assert "launch" not in fake.words()


def test_refused_arguments_leave_a_function_usable(function, fake):
    for arrays, code, _ in REFUSED:
        with pytest.raises(AxisfoldError) as caught:
            function(*arrays())
        assert caught.value.code == code
    fake.parameters = {KERNEL: 6}
    function(a(), b())
    assert fake.calls[-1] == (
        "launch", KERNEL, (16, 1, 1, 64, 1, 1, 0), 0,
        (A_ADDRESS, B_ADDRESS, 1000, 1, 100, 100),
    )  # fmt: skip


def test_arrays_of_any_strides(function, fake):
    fake.parameters = {KERNEL: 7}
    function(a(strides=(-800, 8)), b(strides=(-4,)))
    *_, values = fake.calls[-1]
    assert values[:2] == (A_ADDRESS, B_ADDRESS)
    assert sorted(values[2:]) == [-200, -1, 2, 100, 1000]


def test_empty_arrays_are_not_launched(function, fake):
    function(a(0, (0, 5)), b(0, (0,)))
    assert "launch" not in fake.words()


def test_dlpack(function, fake):
    fake.parameters = {KERNEL: 2}
    rows, sums = DLPackArray(np.zeros((70, 9), "f4")), DLPackArray(np.zeros(70, "f4"))
    function(rows, sums)
    function(rows, sums, stream=77)
    assert rows.streams == sums.streams == [1, 77]  # 1 is DLPack's name of the default stream
    first, second = (call for call in fake.calls if call[0] == "launch")
    assert first[2] == second[2] == (2, 1, 1, 64, 1, 1, 0)
    assert (first[3], second[3]) == (0, 77)
    assert first[4] == (rows.array.ctypes.data, sums.array.ctypes.data)


def test_layouts_are_checked_once(function, fake, monkeypatch):
    checked = []
    bind = Caller._bind
    monkeypatch.setattr(Caller, "_bind", lambda *args: checked.append(1) or bind(*args))
    rows = np.zeros((7, 9), "f4")
    for _ in range(3):
        function(DLPackArray(rows), DLPackArray(np.zeros(7, "f4")))
        function(a(), b())
    assert len(checked) == 2
    assert fake.words().count("launch") == 6
    for _ in range(2):  # but what overlaps is looked at again
        with pytest.raises(ArgumentError, match="shares memory"):
            function(DLPackArray(rows), DLPackArray(rows[0, :7]))
        with pytest.raises(ArgumentError, match="shares memory"):
            function(a(), b(A_ADDRESS + 64))


def test_memory_that_was_lent_is_kept_until_it_was_read(function, fake):
    freed = []

    class Lent(np.ndarray):
        def __del__(self):
            freed.append(self.size)

    fake.busy = 600  # the driver's word for work that is not done
    function(DLPackArray(np.zeros((7, 9), "f4").view(Lent)), b(shape=(7,)))
    function(DLPackArray(np.zeros((7, 8), "f4").view(Lent)), b(shape=(7,)))
    assert freed == []
    fake.busy = 0
    function(DLPackArray(np.zeros((7, 7), "f4").view(Lent)), b(shape=(7,)))
    assert freed == [63, 56]


def test_work_of_another_stream_is_waited_for(function, fake):
    function(a(stream=5), b(stream=9), stream=9)
    assert [call for call in fake.calls if call[0] in ("record", "wait", "launch")][:2] == [
        ("record", 5),
        ("wait", 9),
    ]
    fake.calls.clear()
    function(a(stream=1), b(stream=None))  # the default stream under its other name
    assert "wait" not in fake.words()


def test_other_devices(function, fake):
    fake.places = {A_ADDRESS: 1, B_ADDRESS: 1}
    function(a(), b())
    programs = [vars(version.program) for version in (function.declared, function.general)]
    assert {i for made in programs if "binary" in made for i in made["binary"]._loaded} == {1}


def test_streams():
    handles = [
        7,
        SimpleNamespace(__cuda_stream__=lambda: (0, 7)),
        SimpleNamespace(cuda_stream=7),
        SimpleNamespace(ptr=7),
        SimpleNamespace(handle=SimpleNamespace(value=7)),
    ]
    assert [stream_handle(h) for h in handles] == [7] * 5
    assert stream_handle(SimpleNamespace(handle=SimpleNamespace(value=None))) == 0
    for wrong in ("default", -1, True, 1.0, object()):
        with pytest.raises(ArgumentError, match=r"stream=.* is no CUDA stream\. Pass a stream of"):
            stream_handle(wrong)


def test_current_stream_is_that_of_the_library(monkeypatch):
    install_libraries(monkeypatch)
    tensor, array = Tensor(np.zeros(3, "f4"), A_ADDRESS, 2), CupyArray(np.zeros(3), B_ADDRESS, 2)
    other = a()
    for arrays, handle in [((tensor,), 72), ((other, array, tensor), 82), ((other,), 0)]:
        assert current_stream(arrays)() == handle


def test_a_gpu_array_is_no_argument_of_a_cpu_function():
    function = row_sums("llvm")
    with pytest.raises(ArgumentError) as caught:
        function(DLPackArray(np.zeros((3, 4), "f4")), np.zeros(3, "f4"))
    assert str(caught.value) == (
        "argument 0 (A) is in the memory of a GPU, but the function was built for the CPU. Copy it "
        "to the host, as by x.cpu() or cupy.asnumpy(x), or build for 'cuda'. [axisfold-A208]"
    )
    with pytest.raises(ArgumentError, match="A208"):
        function(np.zeros((3, 4), "f4"), Interface(np.zeros(3, "f4"), B_ADDRESS))


def test_a_call_without_a_driver_says_so(compiled, monkeypatch):
    def no_library():
        raise driver._no_driver("libcuda.so.1 is missing")

    monkeypatch.setattr(driver, "_api", None)
    monkeypatch.setattr(driver, "_initialised", no_library)
    assert "__global__" in compiled.source()
    assert compiled.sass_info()[KERNEL].registers > 0
    with pytest.raises(DeviceError, match="no NVIDIA driver with a GPU was found here"):
        compiled(a(), b())


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(driver, "_api", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(ImportError) as caught:
        driver.api()
    assert str(caught.value) == (
        "CUDA needs cuda.bindings, which is not installed. Run: pip install 'axisfold[cuda]'. "
        "[axisfold-X301]"
    )


@pytest.mark.parametrize("action", [pickle.dumps, copy.deepcopy])
def test_a_compiled_function_is_neither_pickled_nor_copied(compiled, action):
    with pytest.raises(AxisfoldError, match=r"a CudaFunction cannot be pickled .*X104"):
        action(compiled)
