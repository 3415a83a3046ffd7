# SPDX-License-Identifier: Apache-2.0
"""Device arrays of every library: the same library out, its stream, and none of its memory lost."""

from types import SimpleNamespace

import cupy
import numpy as np
import pytest
import torch

import axisfold

pytestmark = pytest.mark.gpu

X = np.arange(3 * 4096, dtype="f4").reshape(3, 4096) % 7


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax")
    try:
        module.devices("gpu")
    except RuntimeError:
        pytest.skip("JAX was installed without CUDA")
    return module


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), ()])
def test_jax(jax, axis):
    x = jax.numpy.asarray(X)
    for keepdims in (False, True):
        result = axisfold.sum(x, axis=axis, keepdims=keepdims)
        assert isinstance(result, jax.Array)
        assert result.devices() == x.devices()
        assert result.dtype == "float32"
        assert np.array_equal(result, X.sum(axis, keepdims=keepdims))


def test_jax_dtypes(jax):
    for dtype, total in [("bfloat16", "bfloat16"), ("int8", "int32"), ("uint8", "uint32")]:
        result = axisfold.sum(jax.numpy.asarray(X % 3, dtype), axis=0)
        assert result.dtype == total
        assert np.array_equal(np.asarray(result, "f4"), (X % 3).sum(0))
    assert axisfold.argmax(jax.numpy.asarray(X)).dtype == "int32"


def test_jax_memory_is_kept_until_it_was_read(jax):
    fill = jax.jit(lambda value: jax.numpy.full((1 << 24,), value, "float32"))
    for value in range(40):  # each input is dropped at once, and its memory used for the next
        result = axisfold.sum(fill(float(value)))
        fill(-1.0)
        assert float(result) == value * 2.0**24


def test_results_without_axes_stay_on_the_device():
    for x, kind in [(torch.from_numpy(X).cuda(), torch.Tensor), (cupy.asarray(X), cupy.ndarray)]:
        for name in ("sum", "max", "argmax", "mean"):
            result = getattr(axisfold, name)(x)
            assert isinstance(result, kind)
            assert result.shape == ()
            assert result.item() == getattr(np, name)(X.astype("f8"))


def test_unsigned_sums_of_pytorch_are_int64():
    x = torch.full((5, 3), 200, dtype=torch.uint8, device="cuda")
    assert axisfold.sum(x).dtype == torch.int64
    assert axisfold.sum(x.to(torch.uint64)).dtype == torch.uint64
    assert axisfold.sum(x, dtype="uint64").item() == 3000


def test_float8():
    x = torch.from_numpy(X).cuda().to(torch.float8_e4m3fn)
    result = axisfold.sum(x, axis=1)
    assert result.dtype == torch.float32
    assert np.array_equal(result.cpu().numpy(), X.sum(1))


def test_conjugated_tensors_are_resolved():
    z = torch.tensor([1 + 2j, 3 - 1j], device="cuda")
    assert axisfold.sum(z.conj()).item() == 4 - 1j


def test_arrays_with_dlpack_only():
    x = torch.from_numpy(X).cuda()

    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

    result = axisfold.sum(Foreign(x[:, ::2]), axis=1)
    assert np.array_equal(result.read(), X[:, ::2].sum(1))

    class WithNamespace(Foreign):
        def __array_namespace__(self):
            return SimpleNamespace(from_dlpack=torch.from_dlpack)

    result = axisfold.sum(WithNamespace(x), axis=0)
    assert isinstance(result, torch.Tensor)
    assert np.array_equal(result.cpu().numpy(), X.sum(0))


def test_the_stream_of_a_side():
    axisfold.sum(torch.ones(1 << 20, device="cuda"), axis=0)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x = torch.zeros(1 << 20, device="cuda")
        torch.cuda._sleep(20_000_000)
        x += 1  # not before the sleep
        result = axisfold.sum(x, axis=0)
    side.synchronize()
    assert result.item() == 1 << 20


def test_inputs_are_never_written():
    x = cupy.asarray(X)
    for name in ("sum", "var", "argmin", "logsumexp", "prod"):
        for axis in (None, 0, 1):
            getattr(axisfold, name)(x, axis=axis)
    assert np.array_equal(x.get(), X)
