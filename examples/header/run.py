# SPDX-License-Identifier: Apache-2.0
"""Run the example kernels on a GPU and compare them with NumPy.

``python examples/header/run.py`` runs all of them through cuda.core; ``--with cupy`` through CuPy's
RawModule; a name such as ``softmax`` runs one. For nvcc, each file is a program of its own::

    nvcc -std=c++17 -I "$(python -c 'import axisfold; print(axisfold.include_dir())')" softmax.cu
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from axisfold.headers import include_dir

HERE = Path(__file__).resolve().parent
Dim = int | tuple[int, ...]
#: ``launch(file stem, kernel, grid, block, *arguments)``: arrays are updated in place.
Launch = Callable[..., None]


@dataclass(frozen=True)
class Example:
    """One file, and what it should compute.

    Parameters
    ----------
    stem : str
        Name of the file without ``.cu``.
    run : callable
        Takes a ``launch`` function and a size; returns the result and the expected one.
    """

    stem: str
    run: Callable[[Launch, int], tuple[np.ndarray, np.ndarray]]


def numbers(count: int) -> np.ndarray:
    """Return small integers as float32; their sums are exact."""
    return np.random.default_rng(count).integers(0, 16, count).astype(np.float32)


def total(x: np.ndarray) -> np.ndarray:
    """Return the sum in float64, with one element."""
    return np.array([x.sum(dtype=np.float64)])


def one_sum_for_each_block(kernel: str) -> Example:
    """Describe an example that leaves a sum for each block."""

    def run(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
        x = numbers(count)
        expected = total(x)
        blocks = -(-count // 96)
        partials = np.full(blocks, np.nan, np.float32)
        launch(kernel, kernel, blocks, 96, x, partials, np.int64(count))
        return total(partials), expected

    return Example(kernel, run)


def warp_shuffle(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum by warps, in blocks whose last warp is partial."""
    x = numbers(count)
    blocks = -(-count // 80)
    partials = np.full(blocks * 3, np.nan, np.float32)
    launch("warp_shuffle", "warp_shuffle", blocks, 80, x, partials, np.int64(count))
    return total(partials), total(x)


def block_sum(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum with one result for each block."""
    x = numbers(count)
    partials = np.full(5, np.nan)
    launch("block_reduce", "block_sum", 5, 200, x, partials, np.int64(count))
    return total(partials), total(x)


def kps_sum(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum in kernel primitives, with one result for each block."""
    x = numbers(count)
    partials = np.full(3, np.nan)
    launch("kps_sum", "kps_sum", 3, 64, x, partials, np.int64(count))
    return total(partials), total(x)


def two_pass(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum in two launches."""
    x = numbers(count)
    partials, result = np.full(7, np.nan), np.full(1, np.nan, np.float32)
    launch("two_pass", "first_pass", 7, 128, x, partials, np.int64(count))
    launch("two_pass", "second_pass", 1, 64, partials, result, np.int64(7))
    return result, total(x).astype(np.float32)


def last_block(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sum in one launch, twice with the same workspace."""
    x = numbers(count)
    result = np.full(1, np.nan, np.float32)
    partials, ticket = np.full(7, np.nan), np.zeros(1, np.uint32)
    for _ in range(2):
        workspace = (x, result, partials, ticket, np.int64(count))
        launch("last_block", "last_block_sum", 7, 128, *workspace)
    return result, total(x).astype(np.float32)


def higher_dim(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean over H of an NHWC array, the rows split over three blocks."""
    outer, rows, parts = 3, 10, 3
    columns = max(1, count // (outer * rows))
    x = numbers(outer * rows * columns).reshape(outer, rows, columns)
    partials = np.full((outer, parts, columns), np.nan)
    result = np.full((outer, columns), np.nan, np.float32)
    across = -(-columns // 64)
    sizes = map(np.int64, (outer, rows, columns, -(-rows // parts)))
    launch("higher_dim", "higher_dim_partials", (across, parts, outer), 64, x, partials, *sizes)
    sizes = map(np.int64, (outer, parts, columns, rows))
    launch("higher_dim", "higher_dim_mean", (across, 1, outer), 64, partials, result, *sizes)
    return result, x.mean(axis=1, dtype=np.float64)


def softmax(launch: Launch, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Softmax of five rows, with values whose exponentials overflow float32."""
    columns = max(2, count // 5)
    x = 100 * numbers(5 * columns).reshape(5, columns)
    x[1] = -x[1]
    x[2, 0] = -np.inf
    result = np.full_like(x, np.nan)
    launch("softmax", "softmax", 5, 96, x, result, np.int64(columns))
    wide = x.astype(np.float64)
    wide[:, :] -= wide.max(axis=1, keepdims=True)
    return result, np.exp(wide) / np.exp(wide).sum(axis=1, keepdims=True)


EXAMPLES = (
    one_sum_for_each_block("global_tree"),
    one_sum_for_each_block("shared_interleaved"),
    one_sum_for_each_block("shared_adjacent"),
    Example("warp_shuffle", warp_shuffle),
    Example("block_reduce", block_sum),
    Example("kps_sum", kps_sum),
    Example("two_pass", two_pass),
    Example("last_block", last_block),
    Example("higher_dim", higher_dim),
    Example("softmax", softmax),
)


def as_three(dim: Dim) -> tuple[int, int, int]:
    """Extend a launch dimension to x, y and z."""
    x, y, z = (*((dim,) if isinstance(dim, int) else dim), 1, 1)[:3]
    return x, y, z


def cupy_launch() -> Launch:
    """Return a launch function that compiles with CuPy's RawModule."""
    import cupy  # noqa: PLC0415 - either library alone is enough

    modules: dict[str, Any] = {}

    def launch(stem: str, kernel: str, grid: Dim, block: Dim, *arguments: Any) -> None:
        if stem not in modules:
            code = (HERE / f"{stem}.cu").read_text()
            options = ("-std=c++17", f"-I{include_dir()}")
            modules[stem] = cupy.RawModule(code=code, options=options)
        given = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
        modules[stem].get_function(kernel)(as_three(grid), as_three(block), tuple(given))
        for array, there in zip(arguments, given, strict=True):
            if isinstance(array, np.ndarray):
                array[...] = cupy.asnumpy(there)

    return launch


def core_launch() -> Launch:
    """Return a launch function that compiles with NVRTC through cuda.core."""
    from cuda.bindings import driver  # noqa: PLC0415 - either library alone is enough
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions  # noqa: PLC0415
    from cuda.core import launch as start  # noqa: PLC0415

    device = Device()
    device.set_current()
    stream = device.create_stream()
    major, minor = device.compute_capability
    options = ProgramOptions(
        arch=f"sm_{major}{minor}", std="c++17", include_path=[str(include_dir())]
    )
    modules: dict[str, Any] = {}

    def launch(stem: str, kernel: str, grid: Dim, block: Dim, *arguments: Any) -> None:
        if stem not in modules:
            code = (HERE / f"{stem}.cu").read_text()
            modules[stem] = Program(code, "c++", options).compile("cubin")
        given: list[Any] = []
        for array in arguments:
            if isinstance(array, np.ndarray):
                buffer = device.allocate(array.nbytes, stream=stream)
                stream.sync()
                driver.cuMemcpyHtoD(int(buffer.handle), array.ctypes.data, array.nbytes)
                given.append(buffer)
            else:
                given.append(array)
        config = LaunchConfig(grid=as_three(grid), block=as_three(block))
        start(stream, config, modules[stem].get_kernel(kernel), *given)
        stream.sync()
        for array, buffer in zip(arguments, given, strict=True):
            if isinstance(array, np.ndarray):
                driver.cuMemcpyDtoH(array.ctypes.data, int(buffer.handle), array.nbytes)
                buffer.close()

    return launch


def main(arguments: list[str] | None = None) -> int:
    """Run the examples that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(description="Run the header examples on a GPU.")
    parser.add_argument("names", nargs="*", help="examples to run; all by default")
    parser.add_argument(
        "--with", dest="library", choices=("cuda.core", "cupy"), default="cuda.core"
    )
    parser.add_argument("--count", type=int, default=1_000_003, help="elements of the input")
    options = parser.parse_args(arguments)
    known = {example.stem: example for example in EXAMPLES}
    for name in options.names:
        if name not in known:
            parser.error(f"no example {name!r}; there are {', '.join(known)}")
    launch = cupy_launch() if options.library == "cupy" else core_launch()
    wrong = 0
    for example in [known[name] for name in options.names] or EXAMPLES:
        got, expected = example.run(launch, options.count)
        is_right = np.allclose(got, expected, rtol=1e-5, atol=1e-30)
        wrong += not is_right
        print(f"{example.stem:20} {'right' if is_right else 'WRONG'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
