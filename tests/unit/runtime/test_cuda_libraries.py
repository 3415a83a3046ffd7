# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch and arrays of CuPy, which are read without DLPack."""

from types import SimpleNamespace

import numpy as np
import pytest
from cuda_support import install
from cuda_support.libraries import DTYPES, CupyArray, Tensor, install_libraries
from cuda_support.schedules import row_sums

from axisfold.build import build
from axisfold.dtypes import FLOAT32
from axisfold.errors import AxisfoldError
from axisfold.interop import torch as tensors
from axisfold.interop.views import Form
from axisfold.runtime.cuda.call import Caller

X, Y = 1 << 40, 2 << 40


@pytest.fixture(scope="module")
def compiled():
    return build(*row_sums(), "cuda -arch=sm_90", name="rows")


@pytest.fixture
def torch(monkeypatch):
    return install_libraries(monkeypatch)


@pytest.fixture
def fake(monkeypatch, torch):
    return install(monkeypatch)


@pytest.fixture
def function(compiled, fake):
    for version in (compiled.declared, compiled.general):
        vars(version.program).pop("binary", None)
    compiled._call._records.clear()
    return compiled


@pytest.fixture
def checked(monkeypatch):
    """Count the calls whose arrays are checked."""
    made = []
    bind = Caller._bind
    monkeypatch.setattr(Caller, "_bind", lambda *args: made.append(1) or bind(*args))
    return made


def x(kind=Tensor, address=X, shape=(70, 9), dtype="f4", **state):
    return kind(np.zeros(shape, dtype), address, **state)


def y(kind=Tensor, address=Y, shape=(70,), **state):
    return kind(np.zeros(shape, "f4"), address, **state)


@pytest.mark.parametrize(("kind", "stream"), [(Tensor, 70), (CupyArray, 80)])
def test_the_second_call_only_launches(function, fake, checked, kind, stream):
    fake.parameters = {"rows_kernel0": 2}
    function(x(kind), y(kind))
    fake.calls.clear()
    function(x(kind, X + 256), y(kind, Y + 256))
    assert fake.calls == [
        ("launch", "rows_kernel0", (3, 1, 1, 16, 32, 1, 0), stream, (X + 256, Y + 256))
    ]
    assert len(checked) == 1
    function(x(kind), y(kind), stream=5)
    assert fake.calls[-1][3] == 5


def test_what_a_call_depends_on_is_looked_at_each_time(function, fake, checked):
    calls = [
        (x(), y()),
        (x(shape=(70, 10)), y()),
        (Tensor(np.zeros((9, 70), "f4").T, X), y()),
        (x(device=1), y(device=1)),
        (x(CupyArray), y()),
    ]
    for _ in range(2):
        for arrays in calls:
            function(*arrays)
    assert len(checked) == len(calls)
    launches = [call for call in fake.calls if call[0] == "launch"]
    assert [call[3] for call in launches] == [70, 70, 70, 71, 80] * 2


REFUSED = [
    (lambda: (x(device=-1), y()), "A208", "argument 0 (A) is a cuda_support.Tensor in the memory"),
    (lambda: (x(), y(device=1)), "A209", "the arguments of rows are on different CUDA devices"),
    (lambda: (x(dtype="f8"), y()), "D201", "argument 0 (A) has dtype float64, but the kernel"),
    (lambda: (x(address=X + 1), y()), "A211", "argument 0 (A) has elements that do not lie"),
    (lambda: (x(), y(address=X + 4)), "A205", "argument 1 (B) is an output and shares memory"),
    (
        lambda: (x(requires_grad=True), y()),
        "A215",
        "argument 0 (A) requires a gradient, and the kernel would not record one. Pass x.detach(),",
    ),
    (lambda: (x(is_neg=True), y()), "A215", "argument 0 (A) is a tensor that is negated or"),
    (
        lambda: (x(is_sparse=True), y()),
        "A202",
        "argument 0 (A) is a tensor without plain memory (layout torch.sparse_coo). Pass",
    ),
    (lambda: (x(),), "A201", "rows takes 2 arrays (A, B), but 1 were given."),
]


@pytest.mark.parametrize(("arrays", "code", "text"), REFUSED)
def test_refused_also_after_a_good_call(function, fake, arrays, code, text):
    function(x(), y())
    fake.calls.clear()
    for _ in range(2):
        with pytest.raises(AxisfoldError) as caught:
            function(*arrays())
        assert caught.value.code == code
        assert str(caught.value).startswith(text)
    assert "launch" not in fake.words()


def test_gradients_that_are_not_recorded_are_no_matter(function, fake, torch):
    torch.is_grad_enabled = lambda: False
    function(x(requires_grad=True), y())
    torch.is_grad_enabled = lambda: True
    with pytest.raises(AxisfoldError, match="A215"):
        function(x(requires_grad=True), y())


def test_empty_tensors(function, fake):
    function(x(shape=(0, 9), address=0), y(shape=(0,), address=0))
    assert "launch" not in fake.words()
    function(x(shape=(70, 0), address=0), y())
    assert fake.words()[-1] == "launch"


@pytest.mark.parametrize("current", [0, 1])
def test_results_are_on_the_device_of_the_signature(torch, current):
    made = []

    def new(shape, strides, dtype):
        made.append((shape, strides, dtype))
        return y(address=Y + 16, device=current)

    class Like(Tensor):
        def new_empty_strided(self, shape, strides):
            return y(address=Y + 32, device=self.device)

    torch.float32 = DTYPES["float32"]
    torch._C._dynamo = SimpleNamespace(guards=SimpleNamespace(_empty_strided_cuda=new))
    maker = tensors.maker(Form((70,), (1,)), FLOAT32, 1)
    result, address = maker.allocate(x(kind=Like, device=1))
    assert made == [((70,), (1,), torch.float32)]
    assert (result.device, address) == (1, Y + 16 if current == 1 else Y + 32)
