# SPDX-License-Identifier: Apache-2.0
"""Arrays of more than 2^32 elements: sizes and offsets have 64 bits."""

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.gpu

SOURCE = """
#include <axisfold/axisfold.cuh>
using namespace axisfold;

struct widen {
  AXISFOLD_FN int64 operator()(uint8 x) const { return static_cast<int64>(x); }
};

extern "C" __global__ void total(const uint8* x, index_t count, int64* out, int64* partials,
                                 uint32* ticket) {
  int64 value = grid_fold(x, count, widen{}, plus<int64>{});
  value = block_reduce(value, plus<int64>{});
  if (last_block_fold(value, plus<int64>{}, partials, ticket) && thread_rank() == 0) *out = value;
}

// The maximum of each column of [rows, columns], and its last element through ReadDataBc.
extern "C" __global__ void columns(const uint8* x, uint8* y, index_t rows, index_t left) {
  kps::HigherDimReduce<uint8, uint8, uint8>(
      x, y, kps::MaxFunctor<uint8>(), kps::IdentityFunctor<uint8>(), kps::IdentityFunctor<uint8>(),
      0, 1, rows, left, rows);
}

extern "C" __global__ void last_element(const uint8* x, uint8* y, index_t rows, index_t left) {
  const index_t dims[2] = {left, rows};
  const kps::details::BroadcastConfig config(dims, dims, 2);
  uint8 value[1] = {0};
  kps::ReadDataBc<uint8, 1, 1, true>(value, x, rows * left - 1, config, rows * left);
  if (threadIdx.x == 0) y[0] = value[0];
}
"""


class LargeArray:
    """Ones in device memory, with some other values planted."""

    def __init__(self, count: int) -> None:
        from cuda.bindings import driver
        from cuda.core import Device
        from header_support.nvrtc import compile_text

        device = Device()
        device.set_current()
        self._driver = driver
        self._device = device
        self._stream = device.create_stream()
        major, minor = device.compute_capability
        self._code, log = compile_text(SOURCE, f"sm_{major}{minor}")
        assert log == ""
        self.x = self.zeros(count)
        driver.cuMemsetD8(int(self.x.handle), 1, count)

    def zeros(self, size: int) -> Any:
        buffer = self._device.allocate(size, stream=self._stream)
        self._stream.sync()
        self._driver.cuMemsetD8(int(buffer.handle), 0, size)
        return buffer

    def plant(self, index: int, value: int) -> None:
        self._driver.cuMemsetD8(int(self.x.handle) + index, value, 1)

    def launch(self, name: str, grid: int, *arguments: Any) -> None:
        from cuda.core import LaunchConfig, launch

        config = LaunchConfig(grid=grid, block=256)
        launch(self._stream, config, self._code.get_kernel(name), *arguments)
        self._stream.sync()

    def fetch(self, buffer: Any, count: int, dtype: str) -> np.ndarray:
        values = np.zeros(count, dtype)
        self._driver.cuMemcpyDtoH(values.ctypes.data, int(buffer.handle), values.nbytes)
        return values


def test_more_than_four_billion_elements() -> None:
    rows, left = 2**16 + 3, 2**16 + 1
    count = rows * left
    assert count > 2**32
    array = LargeArray(count)
    array.plant(count - 1, 200)
    array.plant(2**32, 100)

    out, partials, ticket = array.zeros(8), array.zeros(8 * 1000), array.zeros(4)
    array.launch("total", 1000, array.x, np.int64(count), out, partials, ticket)
    assert array.fetch(out, 1, "i8")[0] == count + 199 + 99

    result = array.zeros(left)
    array.launch("columns", -(-left // 256), array.x, result, np.int64(rows), np.int64(left))
    expected = np.ones(left, "u1")
    expected[left - 1] = 200
    expected[2**32 % left] = 100
    assert (array.fetch(result, left, "u1") == expected).all()

    array.launch("last_element", 1, array.x, result, np.int64(rows), np.int64(left))
    assert array.fetch(result, 1, "u1")[0] == 200
