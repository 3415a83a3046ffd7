# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays of every kind, and what NumPy makes arrays of."""

import array as arrays
import mmap

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import axisfold
from axisfold.api import launches
from axisfold.errors import ArgumentError

RNG = np.random.default_rng(20)


def records():
    table = np.zeros((5, 6), [("flag", "i1"), ("value", "<f8"), ("pair", "<f4", 2)])
    table["value"] = RNG.standard_normal((5, 6))
    table["pair"] = RNG.standard_normal((5, 6, 2))
    return table


def misaligned():
    memory = np.zeros(30 * 8 + 1, "u1")
    view = memory[1:].view("f8").reshape(5, 6)
    view[:] = RNG.standard_normal((5, 6))
    return view


BASE = RNG.standard_normal((6, 7, 8))
KINDS = {
    "negative steps": lambda: BASE[::-1, ::-2, 1:],
    "transposed": lambda: BASE.transpose(1, 2, 0),
    "repeated": lambda: np.broadcast_to(BASE[:1, :, :1], (6, 7, 8)),
    "overlapping": lambda: as_strided(BASE, (4, 5, 6), (8, 16, 8)),
    "size-1 axes with odd steps": lambda: as_strided(BASE, (4, 1, 6), (448, 3, 8)),
    "field": lambda: records()["value"],
    "field of pairs": lambda: records()["pair"],
    "misaligned": misaligned,
    "byte-swapped": lambda: BASE.astype(">f8")[::2],
    "Fortran order": lambda: np.asfortranarray(BASE),
    "no axes": lambda: np.array(2.5),
    "empty": lambda: BASE[:, :0],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_array(kind):
    x = KINDS[kind]()
    before = x.tobytes()
    for axis in (None, *range(x.ndim), tuple(range(x.ndim)), ()):
        for keepdims in (False, True):
            result = axisfold.sum(x, axis=axis, keepdims=keepdims)
            want = np.sum(x.astype("f8"), axis=axis, keepdims=keepdims)
            assert isinstance(result, np.ndarray) == isinstance(want, np.ndarray)
            assert (result.shape, result.dtype) == (want.shape, x.dtype.newbyteorder("="))
            assert np.allclose(result, want, rtol=1e-6, atol=1e-6)
    assert x.tobytes() == before


def test_random_layouts():
    memory = RNG.standard_normal(4000)
    for _ in range(50):
        rank = RNG.integers(1, 5)
        shape = tuple(RNG.integers(1, 6, rank).tolist())
        # Bytes, so that steps are no multiples of the element either.
        strides = tuple(RNG.integers(-150, 151, rank).tolist())
        low = -sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0)
        x = np.ndarray(shape, "i2", memory.data, low + 4 + int(RNG.integers(0, 9)), strides)
        axes = tuple(a for a in range(rank) if RNG.random() < 0.5)
        keepdims = bool(RNG.random() < 0.3)
        result = axisfold.sum(x, axis=axes, keepdims=keepdims)
        assert np.array_equal(result, np.sum(x, axis=axes, keepdims=keepdims, dtype="i8"))


def test_nothing_is_copied(monkeypatch):
    seen = []
    real = launches.bind_host
    monkeypatch.setattr(
        launches, "bind_host", lambda views, *rest: seen.extend(views) or real(views, *rest)
    )
    launches.forget()
    for kind, make in KINDS.items():
        x = make()
        axisfold.max(x, axis=()) if x.ndim else axisfold.max(x)
        address = x.__array_interface__["data"][0]
        assert (seen.pop().address == address) == (kind != "byte-swapped"), kind


def test_read_only_pages(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(np.arange(24.0).tobytes())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        x = np.frombuffer(pages, "f8").reshape(4, 6)
        for name in ("sum", "max", "var", "argmin"):  # a write would end the process
            assert np.array_equal(getattr(axisfold, name)(x, axis=1), getattr(np, name)(x, axis=1))
        del x
    mapped = np.memmap(path, "f8", "r", shape=(4, 6))
    result = axisfold.sum(mapped, axis=0)
    assert type(result) is np.ndarray
    assert type(axisfold.sum(mapped)) is np.float64
    assert np.array_equal(result, np.sum(np.asarray(mapped), axis=0))


def test_numbers_lists_and_buffers():
    assert axisfold.sum(3) == 3
    assert type(axisfold.sum(2.5)) is np.float64
    assert type(axisfold.max(np.float32(2.5))) is np.float32
    assert axisfold.sum(True).dtype == "int64"
    assert axisfold.sum([[1, 2], [3, 4]], axis=0).tolist() == [4, 6]
    assert axisfold.sum(((1.5, 2.5), (0, 0)), axis=1).tolist() == [4, 0]
    assert axisfold.max(range(5)) == 4
    assert axisfold.sum(arrays.array("d", [1, 2, 3])) == 6
    assert axisfold.sum(memoryview(np.arange(6).reshape(2, 3)), axis=1).tolist() == [3, 12]
    assert axisfold.sum([]) == 0


class Tagged(np.ndarray):
    """A subclass that NumPy's functions give back."""

    def __array_finalize__(self, source):
        self.tag = getattr(source, "tag", None)


def test_subclasses_come_back_as_from_numpy():
    x = BASE[0].view(Tagged)
    x.tag = "mm"
    result, want = axisfold.sum(x, axis=0), np.sum(x, axis=0)
    assert (type(result), result.tag) == (type(want), want.tag) == (Tagged, "mm")
    assert (type(axisfold.sum(x)), axisfold.sum(x).shape) == (type(np.sum(x)), ())
    pair = axisfold.fold(x, ["min", "max"], axis=1)
    assert [type(r) for r in pair] == [Tagged, Tagged]
    assert type(axisfold.sum(BASE[0], axis=0)) is np.ndarray


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices_stay_matrices():
    x = np.matrix([[1.0, 2.0], [3.0, 5.0]])
    for axis in (0, 1, None):
        for name in ("sum", "max", "mean", "argmax"):
            result, want = getattr(axisfold, name)(x, axis=axis), getattr(np, name)(x, axis=axis)
            assert type(result) is type(want)
            assert np.array_equal(result, want)
            assert np.shape(result) == np.shape(want)


def test_masked_arrays_are_refused():
    with pytest.raises(ArgumentError, match=r"x is a masked array.*A309"):
        axisfold.sum(np.ma.masked_array([1.0, 2.0], [True, False]))


def test_bfloat16():
    x = np.arange(12.0).reshape(3, 4).astype(ml_dtypes.bfloat16)[::-1, ::2]
    result = axisfold.sum(x, axis=0)
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == [12.0, 18.0]
