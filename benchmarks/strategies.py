# SPDX-License-Identifier: Apache-2.0
"""Time the reduction strategies of examples/header against the read limit of the GPU.

Run ``python benchmarks/strategies.py`` on a machine with an NVIDIA GPU and the extra ``cuda``.
Every strategy reduces the same float32 array to one number, all of its launches counted. Rates are
input bytes over the median time. The read limit is the best that a kernel reaches which only reads,
over several launch shapes, in the same run. Between timings the second-level cache is overwritten.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, EventOptions, LaunchConfig, Program, ProgramOptions, launch

from axisfold.headers import include_dir

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "header"
FLUSH_BYTES = 256 << 20

FILL = """
extern "C" __global__ void fill(float* x, long long count) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < count;
       i += threads) {
    const unsigned mixed = static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(i >> 13);
    x[i] = static_cast<float>(mixed >> 28);
  }
}
"""

# The result depends on every load, so none is dropped; the store practically never happens.
READ = """
template <int Unroll>
__device__ void read(const uint4* x, unsigned* out, long long vectors) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  uint4 seen[Unroll] = {};
  long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  for (; i + (Unroll - 1) * threads < vectors; i += Unroll * threads) {
    uint4 loaded[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) loaded[u] = x[i + u * threads];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      seen[u].x ^= loaded[u].x;
      seen[u].y ^= loaded[u].y;
      seen[u].z ^= loaded[u].z;
      seen[u].w ^= loaded[u].w;
    }
  }
  for (; i < vectors; i += threads) seen[0].x ^= x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
  unsigned all = 0;
#pragma unroll
  for (int u = 0; u < Unroll; ++u) all ^= seen[u].x ^ seen[u].y ^ seen[u].z ^ seen[u].w;
  if (all == 0x9e3779b9u) *out = all;
}
extern "C" __global__ void read_4(const uint4* x, unsigned* out, long long vectors) {
  read<4>(x, out, vectors);
}
extern "C" __global__ void read_8(const uint4* x, unsigned* out, long long vectors) {
  read<8>(x, out, vectors);
}
"""


class Bench:
    """A device with its compiled kernels and one input array."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.device = Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.multiprocessors: int = self.device.properties.multiprocessor_count
        self._modules: dict[str, Any] = {}
        self._flush = self.allocate(FLUSH_BYTES)
        self.x = self.allocate(4 * count)

    def allocate(self, size: int) -> Any:
        """Return zeroed device memory."""
        buffer = self.device.allocate(size, stream=self.stream)
        self.stream.sync()
        driver.cuMemsetD8(int(buffer.handle), 0, size)
        return buffer

    def kernel(self, source: str, name: str) -> Any:
        """Return a kernel of a source text, or of an example named by its stem."""
        if source not in self._modules:
            text = source if "\n" in source else (EXAMPLES / f"{source}.cu").read_text()
            major, minor = self.device.compute_capability
            options = ProgramOptions(
                arch=f"sm_{major}{minor}", std="c++17", include_path=[str(include_dir())]
            )
            self._modules[source] = Program(text, "c++", options).compile("cubin")
        return self._modules[source].get_kernel(name)

    def start(self, kernel: Any, grid: int, block: int, *arguments: Any) -> None:
        """Launch on the stream of the benchmark."""
        launch(self.stream, LaunchConfig(grid=grid, block=block), kernel, *arguments)

    def fill(self) -> None:
        """Write small integers, whose sum is exact in float64."""
        kernel = self.kernel(FILL, "fill")
        self.start(kernel, 8 * self.multiprocessors, 256, self.x, np.int64(self.count))
        self.stream.sync()

    def expected(self) -> float:
        """Sum the input on the host."""
        total = 0
        for first in range(0, self.count, 1 << 24):
            i = np.arange(first, min(self.count, first + (1 << 24)), dtype=np.uint64)
            mixed = (i * 2654435761 + (i >> 13)) & 0xFFFFFFFF
            total += int((mixed >> 28).sum())
        return float(total)

    def fetch(self, buffer: Any, dtype: str) -> float:
        """Read one number."""
        value = np.zeros(1, dtype)
        self.stream.sync()
        driver.cuMemcpyDtoH(value.ctypes.data, int(buffer.handle), value.nbytes)
        return float(value[0])

    def time(self, run: Callable[[], None], repeats: int) -> float:
        """Return the median time of a call in milliseconds, with a cold second-level cache."""
        options = EventOptions(timing_enabled=True)
        times = []
        for round_ in range(repeats + 2):
            driver.cuMemsetD32Async(
                int(self._flush.handle), round_, FLUSH_BYTES // 4, int(self.stream.handle)
            )
            begin = self.stream.record(options=options)
            run()
            end = self.stream.record(options=options)
            end.sync()
            times.append(end - begin)
        return float(statistics.median(times[2:]))


@dataclass(frozen=True)
class Strategy:
    """A way to reduce the array: the call to time, and where its result lies."""

    name: str
    run: Callable[[], None]
    result: Callable[[], float]


def folding(bench: Bench, stem: str, per_group: int, groups_of_block: int) -> Strategy:
    """Repeat a kernel that leaves one float for each group, until a single one is left."""
    kernel = bench.kernel(stem, stem)
    threads = 256
    buffers = [bench.allocate(4 * max(1, -(-bench.count // per_group))) for _ in range(2)]

    def run() -> None:
        source, left, turn = bench.x, bench.count, 0
        while left > 1:
            blocks = -(-left // threads)
            target = buffers[turn]
            bench.start(kernel, blocks, threads, source, target, np.int64(left))
            source, left, turn = target, blocks * groups_of_block, 1 - turn
            if left <= groups_of_block and groups_of_block > 1:
                bench.start(kernel, 1, 32, source, buffers[turn], np.int64(left))
                source, left, turn = buffers[turn], 1, 1 - turn
        last.append(source)

    last: list[Any] = []
    return Strategy(stem, run, lambda: bench.fetch(last[-1], "f4"))


def two_launches(bench: Bench, stem: str, kernel_name: str, per_sm: int, threads: int) -> Strategy:
    """Leave a double for each block, then reduce those with one block."""
    first = bench.kernel(stem, kernel_name)
    second = bench.kernel("two_pass", "second_pass")
    blocks = bench.multiprocessors * per_sm
    partials, result = bench.allocate(8 * blocks), bench.allocate(4)

    def run() -> None:
        bench.start(first, blocks, threads, bench.x, partials, np.int64(bench.count))
        bench.start(second, 1, 512, partials, result, np.int64(blocks))

    label = f"{stem} ({per_sm} x {threads} threads)"
    return Strategy(label, run, lambda: bench.fetch(result, "f4"))


def one_launch(bench: Bench, per_sm: int, threads: int) -> Strategy:
    """Let the last block fold the partial results."""
    kernel = bench.kernel("last_block", "last_block_sum")
    blocks = bench.multiprocessors * per_sm
    partials, result, ticket = (bench.allocate(size) for size in (8 * blocks, 4, 4))

    def run() -> None:
        workspace = (bench.x, result, partials, ticket, np.int64(bench.count))
        bench.start(kernel, blocks, threads, *workspace)

    label = f"last_block ({per_sm} x {threads} threads)"
    return Strategy(label, run, lambda: bench.fetch(result, "f4"))


def read_limit(bench: Bench, repeats: int) -> tuple[float, str]:
    """Return the best reading rate in GB/s and the launch shape that reached it."""
    out = bench.allocate(4)
    best = (0.0, "")
    for name in ("read_4", "read_8"):
        kernel = bench.kernel(READ, name)
        for per_sm, threads in ((2, 1024), (4, 512), (8, 256), (16, 256), (32, 256)):
            blocks = bench.multiprocessors * per_sm
            vectors = np.int64(bench.count // 4)

            def run(kernel: Any = kernel, grid: int = blocks, block: int = threads) -> None:
                bench.start(kernel, grid, block, bench.x, out, vectors)  # noqa: B023

            rate = 4e-6 * bench.count / bench.time(run, repeats)
            best = max(best, (rate, f"{name}, {per_sm} x {threads} threads"))
    return best


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return 1 when a result is wrong."""
    parser = argparse.ArgumentParser(description="Time the reduction strategies.")
    parser.add_argument("--log2-count", type=int, default=28)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)

    bench = Bench(1 << options.log2_count)
    bench.fill()
    expected = bench.expected()
    limit, shape = read_limit(bench, options.repeats)
    print(f"{bench.device.name}, {bench.count} float32")
    print(f"{'read limit':42} {limit:7.0f} GB/s   ({shape})")

    shapes = ((4, 512), (8, 256), (16, 256))
    strategies = [
        *(two_launches(bench, "block_reduce", "block_sum", *s) for s in shapes),
        *(two_launches(bench, "kps_sum", "kps_sum", *s) for s in shapes),
        *(two_launches(bench, "two_pass", "first_pass", *s) for s in shapes[1:2]),
        *(one_launch(bench, *s) for s in shapes),
        folding(bench, "warp_shuffle", 32, 8),
        folding(bench, "shared_interleaved", 256, 1),
        folding(bench, "shared_adjacent", 256, 1),
        folding(bench, "global_tree", 256, 1),  # last: it destroys the input
    ]
    rows = [{"strategy": "read limit", "gbps": limit, "of_limit": 1.0, "ms": None}]
    wrong = 0
    for strategy in strategies:
        strategy.run()
        got = strategy.result()
        is_right = abs(got - expected) <= 1e-5 * expected
        wrong += not is_right
        milliseconds = bench.time(strategy.run, options.repeats)
        rate = 4e-6 * bench.count / milliseconds
        rows.append(
            {"strategy": strategy.name, "gbps": rate, "of_limit": rate / limit, "ms": milliseconds}
        )
        note = "" if is_right else f"   WRONG: {got} instead of {expected}"
        share = f"{rate / limit:6.3f} of the limit"
        print(f"{strategy.name:42} {rate:7.0f} GB/s   {share}   {milliseconds:8.3f} ms{note}")
    if options.json:
        device = {"device": bench.device.name, "count": bench.count, "rows": rows}
        options.json.write_text(json.dumps(device, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
