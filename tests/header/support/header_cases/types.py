# SPDX-License-Identifier: Apache-2.0
"""The base layer: 16-bit floats, limits, tuples."""

import numpy as np
from header_support import KERNELS, Machine

SOURCE = KERNELS / "types.cu"


def test_every_half_becomes_its_float(machine: Machine) -> None:
    half, brain = np.zeros((2, 65536), "f4")
    machine.launch(SOURCE, "float_from_half", 256, 256, half, brain)
    bits = np.arange(65536, dtype="u2")
    assert np.array_equal(half, bits.view("f2").astype("f4"), equal_nan=True)
    expected = (bits.astype("u4") << 16).view("f4")
    assert np.array_equal(brain, expected, equal_nan=True)


def test_floats_round_to_the_nearest_half(machine: Machine) -> None:
    draw = np.random.default_rng(0)
    x = draw.integers(0, 2**32, 65536, dtype="u4").view("f4")
    near = draw.integers(0, 2**16, 16384, dtype="u2").view("f2").astype("f4")
    # Halfway points and their neighbours, where rounding decides; also around the subnormals.
    x[:16384] = near
    with np.errstate(invalid="ignore"):
        x[16384:32768] = np.nextafter(near, np.float32(np.inf))
    x[32768:40960] = draw.uniform(-1e-4, 1e-4, 8192)
    x[40960:45056] = draw.uniform(65400, 65600, 4096)
    halfway = draw.integers(1, 0x7BFF, 4096, dtype="u2")
    x[45056:49152] = (
        halfway.view("f2").astype("f8") + (halfway + 1).astype("u2").view("f2").astype("f8")
    ) / 2
    half, brain = np.zeros((2, 65536), "u2")
    machine.launch(SOURCE, "half_from_float", 256, 256, x, half, brain)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        expected = x.astype("f2")
    assert np.array_equal(half.view("f2"), expected, equal_nan=True)
    assert (np.signbit(half.view("f2")) == np.signbit(expected))[~np.isnan(x)].all()
    words = x.view("u4").astype("u8")
    rounded = ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype("u2")
    number = ~np.isnan(x)
    assert (brain[number] == rounded[number]).all()
    assert np.isnan((brain[~number].astype("u4") << 16).view("f4")).all()


def test_limits(machine: Machine) -> None:
    out = np.zeros(45)
    machine.launch(SOURCE, "all_limits", 1, 1, out)
    rows = out[:44].reshape(11, 4)
    for row, dtype in zip(rows, ["i1", "u1", "i2", "u2", "i4", "u4"], strict=False):
        info = np.iinfo(dtype)
        assert row.tolist() == [info.min, info.max, info.min, info.max]
    for row, dtype in zip(rows[6:9], ["f4", "f8", "f2"], strict=True):
        top = float(np.finfo(dtype).max)
        assert row.tolist() == [-top, top, -np.inf, np.inf]
    assert rows[9].tolist() == [
        -(2 - 2.0**-7) * 2.0**127,
        (2 - 2.0**-7) * 2.0**127,
        -np.inf,
        np.inf,
    ]
    assert rows[10].tolist() == [0, 1, 0, 1]
    assert out[44] == np.inf


def test_tuples(machine: Machine) -> None:
    out = np.zeros(3)
    machine.launch(SOURCE, "tuples", 1, 1, out)
    assert out.tolist() == [8, 2.5, 4]
