# SPDX-License-Identifier: Apache-2.0
"""Device arrays of every library, on a device."""

import cupy
import numpy as np
import pytest
import torch
from cuda_support.schedules import close, random, row_sums_on_cpu

from axisfold.build import build
from axisfold.errors import ArgumentError

pytestmark = pytest.mark.gpu

SHAPES = [(1, 1), (1, 1000), (31, 33), (129, 7), (64, 1024), (1000, 1), (257, 4099)]


@pytest.mark.parametrize("shape", SHAPES)
def test_torch(rows, shape):
    x = random(shape)
    out = torch.full((shape[0],), float("nan"), device="cuda")
    rows(torch.from_numpy(x).cuda(), out)
    assert close(out.cpu().numpy(), x)


@pytest.mark.parametrize("shape", SHAPES)
def test_cupy(rows, shape):
    x = random(shape)
    out = cupy.full(shape[0], cupy.nan, "f4")
    rows(cupy.asarray(x), out)
    assert close(out.get(), x)


def test_numba(rows):
    from numba import cuda

    x = random((129, 70))
    out = cuda.to_device(np.full(129, np.nan, "f4"))
    rows(cuda.to_device(x), out)
    assert close(out.copy_to_host(), x)


def test_jax_is_read_but_never_written(rows, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    x = random((129, 70))
    array = jax.device_put(x, jax.devices("gpu")[0])
    out = torch.full((129,), float("nan"), device="cuda")
    rows(array, out)
    assert close(out.cpu().numpy(), x)
    with pytest.raises(ArgumentError, match="A204"):
        rows(array, jax.device_put(x[:, 0], jax.devices("gpu")[0]))


def test_cuda_core_and_others_by_dlpack(rows):
    class Wrapped:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = random((70, 33))
    out = cupy.full(70, cupy.nan, "f4")
    rows(Wrapped(torch.from_numpy(x).cuda()), Wrapped(out))
    assert close(out.get(), x)


def test_strides(rows):
    x = random((130, 90))
    base = cupy.asarray(x)
    for a, b in [
        (base[::2, ::3], x[::2, ::3]),
        (base[::-1, ::-1], x[::-1, ::-1]),
        (base.T, x.T),
        (cupy.broadcast_to(base[:1], (130, 90)), np.broadcast_to(x[:1], (130, 90))),
        (base[1:, 1:], x[1:, 1:]),
    ]:
        memory = cupy.full(2 * b.shape[0], cupy.nan, "f4")
        out = memory[::-2]
        rows(a, out)
        assert close(out.get(), b)
        assert cupy.isnan(memory[::2]).all()
    t = torch.from_numpy(x).cuda()[:, ::2]
    out = torch.full((130,), float("nan"), device="cuda")
    rows(t, out)
    assert close(out.cpu().numpy(), x[:, ::2])


def test_libraries_mix(rows):
    x = random((64, 100))
    out = cupy.full(64, cupy.nan, "f4")
    rows(torch.from_numpy(x).cuda(), out)
    torch.cuda.synchronize()
    assert close(out.get(), x)


def test_empty(rows, total):
    out = torch.full((3,), 7.0, device="cuda")
    rows(torch.empty((3, 0), device="cuda"), out)
    assert out.tolist() == [0, 0, 0]
    rows(torch.empty((0, 3), device="cuda"), torch.empty(0, device="cuda"))
    rows(cupy.empty((0, 3), "f4"), cupy.empty(0, "f4"))
    one = torch.full((), 7.0, device="cuda")
    total(torch.empty(0, device="cuda"), one)
    assert one.item() == 0


def test_refused(rows):
    x = torch.zeros((4, 5), device="cuda")
    out = torch.full((4,), 9.0, device="cuda")
    wrong = [
        ((np.zeros((4, 5), "f4"), out), "A208"),
        ((x.cpu(), out), "A208"),
        ((x, out.cpu()), "A208"),
        ((x.double(), out), "D201"),
        ((x.bfloat16(), out), "D201"),
        ((x, out[:3]), "A206"),
        ((x[0], out), "A203"),
        ((out[:, None].expand(4, 5), out), "A205"),
        ((x, out[:1].expand(4)), "A205"),
        ((x.to_sparse(), out), "A202"),
        ((x.clone().requires_grad_(), out), "A215"),
        ((torch.zeros((4, 5), dtype=torch.complex64, device="cuda").conj().imag, out), "A215"),
        ((x,), "A201"),
    ]
    for _ in range(2):  # what is refused once is refused again
        for arrays, code in wrong:
            with pytest.raises((ArgumentError, TypeError, ValueError)) as caught:
                rows(*arrays)
            assert caught.value.code == code
        assert out.tolist() == [9] * 4
    with torch.no_grad():
        rows(x.clone().requires_grad_(), out)
    assert out.tolist() == [0] * 4
    with pytest.raises(ArgumentError, match="A208"):
        build(*row_sums_on_cpu(), "llvm")(x, np.zeros(4, "f4"))


def test_every_device(rows):
    x = random((200, 50))
    for index in reversed(range(torch.cuda.device_count())):
        with torch.cuda.device((index + 1) % torch.cuda.device_count()):
            before = torch.cuda.current_device()
            out = torch.full((200,), float("nan"), device=f"cuda:{index}")
            rows(torch.from_numpy(x).to(f"cuda:{index}"), out)
            assert torch.cuda.current_device() == before
            assert close(out.cpu().numpy(), x)
