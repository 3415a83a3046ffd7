# SPDX-License-Identifier: Apache-2.0
"""Runs a plan for threads in the simulator, and shows what the first block does."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axisfold import sim
from axisfold.api.fold import (
    Planned,
    input_offsets,
    layouts,
    part_offsets,
    result_layouts,
    scalar_values,
)
from axisfold.cli.errors import CommandError
from axisfold.cli.files import Array, check_place, write_whole
from axisfold.dtypes import parse
from axisfold.target import parse as parse_target
from axisfold.tensor.trace import Result

MOST_ELEMENTS: Final = 1 << 20


def check_options(
    target: str,
    only: str | None,
    *,
    style: str | None,
    threads: int | None,
    trace: bool,
    output: Path | None,
) -> None:
    """Refuse options that do not go together."""
    given = {"--style": style, "--threads": threads, "--trace": trace or None}
    for name, value in given.items():
        if value is not None and parse_target(target).kind != "sim":
            raise CommandError(f"{name} is about simulated threads. Add --target sim.")
    if trace and only is not None:
        raise CommandError(f"--trace shows a run and --only {only} a program. Use one of them.")
    if output is None:
        return
    if not trace:
        raise CommandError(f"-o {output} is where a trace is drawn. Add --trace.")
    if output.suffix != ".svg":
        raise CommandError(f"-o {output}: a trace is drawn as SVG. Name a file that ends in .svg.")
    check_place(output)


def trace_of(planned: Planned, shape: tuple[int, ...], dtype: str, order: str) -> sim.Trace:
    """Run a plan on small numbers of a shape, dtype and order."""
    if prod(shape) > MOST_ELEMENTS:
        raise CommandError(
            f"--trace runs every thread on the CPU, and shape {shape} has {prod(shape)} elements. "
            f"Use a shape of at most {MOST_ELEMENTS}."
        )
    numbers = np.arange(prod(shape)) % 7
    element = parse(dtype).to_numpy()
    array = numbers.astype(element).reshape(shape, order="F" if order == "F" else "C")
    program = planned.plan.compiled.device
    return sim.trace(program, _arguments(planned, array), scalar_values(planned, program))


def print_trace(trace: sim.Trace, output: Path | None) -> None:
    """Print a trace, or draw it in a file."""
    if not trace.launches:
        raise CommandError("nothing is launched for a result without elements. Use another shape.")
    if output is None:
        print(trace.text(), end="")  # noqa: T201  (a program's output)
        return
    picture = trace.svg().encode()
    write_whole(output, lambda file: file.write(picture))
    print(f"wrote {output}")  # noqa: T201


def _arguments(planned: Planned, array: Array) -> list[Array]:
    """Return an array for each parameter of the kernel."""
    problem, params = planned.problem, planned.plan.compiled.device.params
    memory = array.ravel(order="K").view(np.uint8)
    offsets = [offset for _, offset in input_offsets(planned, [array])]
    arguments: list[Array] = [
        np.ndarray(shape, buffer.dtype.to_numpy(), memory, offset, strides)
        for offset, buffer, (shape, strides) in zip(offsets, params, layouts(planned), strict=False)
    ]
    if planned.plan.graph.index is not None:
        steps = tuple(axis.index_stride for axis in problem.reduced)
        extents = tuple(axis.extent for axis in problem.reduced)
        arguments.append(as_strided(np.zeros(1, np.int64), extents, steps, writeable=False))
    written = iter(result_layouts(planned))
    for result in planned.traced.results:
        arguments += [_strided(part, next(written)) for part in _parts(result, prod(planned.shape))]
    return arguments


def _parts(result: Result, size: int) -> list[Array]:
    """Return flat memory for the real components of a result, each from its first number on."""
    whole = np.empty(size, result.dtype.to_numpy())
    if len(result.parts) == 1:
        return [whole]
    numbers = whole.view(whole.real.dtype)
    return [numbers[offset // numbers.itemsize :] for offset in part_offsets(result)]


def _strided(memory: Array, layout: list[tuple[int, int]]) -> Array:
    """Return an array of the extents and strides that the kernel is told."""
    extents, steps = zip(*layout, strict=True)
    return as_strided(memory, extents, [step * memory.itemsize for step in steps])
