# SPDX-License-Identifier: Apache-2.0
"""More than 2^31 elements, and the same bits in every run, beside other work on the device."""

import pytest
import torch

import axisfold

pytestmark = pytest.mark.gpu

BEYOND = 2**31 + 4099
# (rows, columns) of more than 2^31 elements: long rows, long columns, and neither.
SHAPES = [(3, 715_829_253), (715_829_253, 3), (46_349, 46_351)]
GENERATOR_SEED = 7


def numbers(count, dtype):
    """Return small integers, whose sums are exact."""
    generator = torch.Generator("cuda").manual_seed(GENERATOR_SEED)
    x = torch.randint(-9, 10, (count,), generator=generator, device="cuda", dtype=torch.int8)
    return x.to(dtype)


@pytest.fixture(autouse=True)
def _free():
    yield
    torch.cuda.empty_cache()


@pytest.mark.parametrize("dtype", [torch.int8, torch.float32])
def test_all_of_them(dtype):
    x = numbers(BEYOND, dtype)
    want = sum(int(part.to(torch.int64).sum()) for part in x.split(1 << 28))
    assert float(axisfold.sum(x)) == (
        want if dtype is torch.int8 else float(torch.tensor(want, dtype=dtype))
    )
    for place in (0, 2**31 - 1, 2**31, BEYOND - 1):
        x[place] = 50
        assert int(axisfold.argmax(x)) == place
        x[place] = -50
        assert int(axisfold.argmin(x)) == place
        x[place] = 0


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.int8, torch.float32])
def test_along_an_axis(dtype, shape, axis):
    rows, columns = shape
    x = numbers(rows * columns, dtype).view(shape)
    found = axisfold.sum(x, axis=axis)
    # PyTorch's own sums, of parts whose places fit 31 bits.
    parts = [part.sum(axis, dtype=torch.float64) for part in x.chunk(8, 1 - axis)]
    want = torch.cat(parts)
    assert torch.equal(found.to(torch.float64), want.to(found.dtype).to(torch.float64))
    last = (rows - 1, columns - 1)
    x[last] = 50
    place = axisfold.argmax(x, axis=axis)[-1]
    assert int(place) == last[axis]


def test_a_place_beyond_2_to_the_31_along_an_axis():
    x = torch.zeros((2, BEYOND), dtype=torch.int8, device="cuda")
    x[0, BEYOND - 2] = x[1, 2**31 + 1] = 3
    assert axisfold.argmax(x, axis=1).tolist() == [BEYOND - 2, 2**31 + 1]


RUNS = [
    ("sum", (1 << 26,), None), ("sum", (3, 1 << 24), 1), ("sum", (1 << 22, 33), 0),
    ("sum", (8192, 4096), 0), ("mean", (300_000, 100), 1), ("var", (5000, 8192), 1),
    ("var", (1 << 26,), None), ("norm", (8192, 8192), 0), ("logsumexp", (4096, 8192), 1),
    ("logsumexp", (8192, 4096), 0), ("softmax", (4096, 8192), 1), ("prod", (65, 1 << 20), 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "axis"), RUNS)
def test_every_run_gives_the_same_bits(name, shape, axis):
    generator = torch.Generator("cuda").manual_seed(GENERATOR_SEED)
    x = torch.rand(shape, generator=generator, device="cuda") + 0.5
    first = getattr(axisfold, name)(x, axis=axis)
    other, side = torch.rand(1 << 24, device="cuda"), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    for number in range(10):
        if number % 2:  # beside work that takes multiprocessors away
            with torch.cuda.stream(side):
                other.sin_()
        again = getattr(axisfold, name)(x, axis=axis)
        assert torch.equal(first.view(torch.int32), again.view(torch.int32))
