# SPDX-License-Identifier: Apache-2.0
"""Rows of the table as kernels: loops for a CPU, or launches of threads."""

from dataclasses import dataclass

import numpy as np

from axisfold.dtypes import INT64
from axisfold.ir import build
from axisfold.ir.buffer import Buffer, Facts
from axisfold.ir.expr import Load, Ramp, Var
from axisfold.ir.stmt import For, If, Kernel, Launch, Store

PADDING = 24  # a multiple of every number of lanes
THREADS = 64


@dataclass(frozen=True)
class Program:
    """A kernel that computes some rows, and what it is called with."""

    kernel: Kernel
    inputs: tuple[np.ndarray, ...]
    rows: tuple
    counts: tuple[int, ...]

    def arrays(self):
        """Return copies of the inputs, and outputs full of nonsense."""
        made = [a.copy() for a in self.inputs]
        for row, count in zip(self.rows, self.counts, strict=True):
            nonsense = b"\1" * row.result.itemsize * count
            made.append(np.frombuffer(nonsense, row.result.stored).copy())
        return made

    def check(self, outputs):
        """Fail where an output is not what its row expects."""
        for row, output in zip(self.rows, outputs, strict=True):
            row.check(output[: len(row.expected)])


def programs(rows, form="loops", lanes=1, per_kernel=60):
    """Yield programs that compute all rows, ``lanes`` elements at a time.

    ``form``: ``loops``, a kernel for a CPU whose outputs follow its inputs, or ``threads``, one
    launch for each group of rows with the same operands.
    """
    for number, start in enumerate(range(0, len(rows), per_kernel)):
        yield _Maker(form, lanes).program(f"rows_{number}", rows[start : start + per_kernel])


class _Maker:
    def __init__(self, form, lanes):
        self.form, self.lanes = form, lanes
        self.inputs, self.arrays, self.outputs, self.parts = [], [], [], []

    def program(self, name, rows):
        groups = {}
        for row in rows:
            groups.setdefault(row.operands, []).append(row)
        counts = {}
        for operands, group in groups.items():
            counts[operands] = -(-len(operands) // PADDING) * PADDING
            self.group(operands, group, counts[operands])
        ordered = [row for group in groups.values() for row in group]
        params = (*self.inputs, *self.outputs)
        kernel = Kernel(name, params, tuple(self.outputs), build.seq(*self.parts))
        return Program(
            kernel, tuple(self.arrays), tuple(ordered), tuple(counts[r.operands] for r in ordered)
        )

    def group(self, operands, rows, count):
        """Add the loop or the launch that computes rows of the same operands."""
        inputs = []
        for dtype, values in zip(operands.dtypes, operands.arrays, strict=True):
            inputs.append(self.buffer(f"x{len(self.inputs)}", dtype, count))
            self.inputs.append(inputs[-1])
            self.arrays.append(np.resize(values, count))

        def body(i):
            at = i
            if self.lanes > 1:
                at = Ramp(i * self.lanes, build.const(1, INT64), self.lanes)
            loads = [Load(b, at) for b in inputs]
            stores = []
            for row in rows:
                out = self.buffer(f"y{len(self.outputs)}", row.result, count)
                self.outputs.append(out)
                stores.append(Store(out, at, row.make(*loads)))
            return build.seq(*stores)

        rounds = count // self.lanes
        self.parts.append(
            self.threads(rounds, body) if self.form == "threads" else loop(rounds, body)
        )

    def buffer(self, name, dtype, count):
        return Buffer(name, dtype, (build.const(count, INT64),), facts=Facts(align=dtype.itemsize))

    def threads(self, rounds, body):
        block, thread = Var("blockIdx.x", INT64), Var("threadIdx.x", INT64)
        extents = build.const(-(-rounds // THREADS), INT64), build.const(THREADS, INT64)
        i = block * THREADS + thread
        guarded = If(i < build.const(rounds, INT64), body(i))
        name = f"launch_{len(self.parts)}"
        return Launch(name, ("blockIdx.x", "threadIdx.x"), (block, thread), extents, guarded)


def loop(rounds, body):
    i = Var("i", INT64)
    return For(i, build.const(0, INT64), build.const(rounds, INT64), "serial", body(i))
