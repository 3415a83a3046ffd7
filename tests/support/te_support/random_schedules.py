# SPDX-License-Identifier: Apache-2.0
"""Random legal schedules from a seed, and programs to schedule."""

import random

import numpy as np

from axisfold import te
from axisfold.errors import ScheduleError
from axisfold.ir import build
from axisfold.ir.walk import post_order
from axisfold.tensor.tensor import TensorLoad
from te_support.problems import PROBLEMS, Problem

FACTORS = (1, 2, 3, 4, 5, 7, 8, 16)
MAX_LEAVES = 8
MAX_STAGES = 9
MAX_ROUNDS = 16  # of an unrolled or vectorized loop

# Refusals that a random choice may meet; every other error is a bug.
LEGAL_REFUSALS = {
    "split": {"S113", "S114"},
    "tile": {"S113", "S114", "S122", "S123"},
    "fuse": {"S172", "S173", "S174"},
    "reorder": {"S122", "S123"},
    "rfactor": {"S163", "S166", "S167", "S168"},
    "compute_at": {"S152", "S153", "S155"},
    "compute_inline": {"S182", "S183", "S184"},
    "compute_root": set(),
    "vectorize": {"S132"},
    "unroll": {"S141"},
    "parallel": {"S177", "S178"},
    "cache_read": set(),
    "cache_write": {"S263", "S264", "S265"},
    "set_scope": set(),
    "storage_align": set(),
    "pragma": set(),
}
# Primitives called after compute_at or compute_inline may make it impossible.
UNDONE = {"S154", "S185"}


class Generator:
    """Applies random primitives to a schedule."""

    def __init__(self, schedule, rng):
        self.schedule, self.rng = schedule, rng
        self.long = 0

    def run(self, steps):
        names = [name for name in LEGAL_REFUSALS for _ in range(WEIGHTS.get(name, 1))]
        for _ in range(steps):
            name = self.rng.choice(names)
            stage = self.rng.choice([s for s in self.schedule.stages if s.op.body])
            try:
                getattr(self, name)(stage)
            except ScheduleError as error:
                if error.code not in LEGAL_REFUSALS[name]:
                    raise

    def leaf(self, stage, kind=None):
        leaves = [a for a in stage.leaf_axes if kind is None or a.kind == kind]
        return self.rng.choice(leaves) if leaves else None

    def split(self, stage):
        axis = self.leaf(stage)
        if axis is not None and len(stage.leaf_axes) < MAX_LEAVES:
            stage.split(axis, **{self.rng.choice(("factor", "nparts")): self.rng.choice(FACTORS)})

    def tile(self, stage):
        if 2 <= len(stage.leaf_axes) <= MAX_LEAVES - 2:
            x, y = self.rng.sample(stage.leaf_axes, 2)
            stage.tile(x, y, self.rng.choice(FACTORS), self.rng.choice(FACTORS))

    def fuse(self, stage):
        leaves = stage.leaf_axes
        first = self.rng.randrange(len(leaves) + 1)
        stage.fuse(*leaves[first : first + self.rng.choice((0, 1, 2, 2, 2, 3))])

    def reorder(self, stage):
        axes = list(stage.leaf_axes)
        self.rng.shuffle(axes)
        stage.reorder(*axes[: self.rng.randint(0, len(axes))])

    def rfactor(self, stage):
        axis = self.leaf(stage, "reduce")
        if axis is not None and len(self.schedule.stages) < MAX_STAGES:
            rank = len(stage.op.axis)
            tensor = stage.op.output(self.rng.randrange(stage.op.num_outputs))
            self.schedule.rfactor(tensor, axis, factor_axis=self.rng.randint(-rank - 1, rank))

    def compute_at(self, stage):
        parents = [s for s in self.schedule.stages if s is not stage and s.leaf_axes]
        if parents and not stage.is_output:
            parent = self.rng.choice(parents)
            stage.compute_at(parent, self.rng.choice(parent.leaf_axes))

    def compute_inline(self, stage):
        if not stage.is_output:
            stage.compute_inline()

    def compute_root(self, stage):
        stage.compute_root()

    def is_short(self, axis):
        """Whether a loop may be written out, which multiplies the code."""
        extent = None if axis is None else build.as_int(axis.extent)
        if axis is None or self.long > 2 or (extent or 0) > MAX_ROUNDS:
            return False
        self.long += extent is not None
        return True

    def vectorize(self, stage):
        axis = self.leaf(stage, "data")
        if self.is_short(axis):
            stage.vectorize(axis)

    def unroll(self, stage):
        axis = self.leaf(stage)
        if self.is_short(axis):
            stage.unroll(axis)

    def parallel(self, stage):
        axis = self.leaf(stage, "data")
        if axis is not None:
            stage.parallel(axis)

    def cache_read(self, stage):
        if len(self.schedule.stages) < MAX_STAGES:
            tensor = self.rng.choice(stage.op.input_tensors)
            readers = [
                s.origin_op
                for s in self.schedule.stages
                if any(
                    self.schedule[t] is self.schedule[tensor]
                    and t.value_index == tensor.value_index
                    for t in s.op.input_tensors
                    if s.op.body
                )
            ]
            if any(tensor in _bounds(self.schedule[r].op) for r in readers):
                return
            count = self.rng.randint(1, len(readers))
            self.schedule.cache_read(
                tensor, self.rng.choice(("global", "shared", "local")), readers[:count]
            )

    def cache_write(self, stage):
        if len(self.schedule.stages) < MAX_STAGES:
            outputs = list(stage.origin_op.outputs)
            given = outputs if len(outputs) > 1 else outputs[0]
            self.schedule.cache_write(given, self.rng.choice(("global", "shared", "local")))

    def set_scope(self, stage):
        if not stage.is_output:
            stage.set_scope(self.rng.choice(("global", "shared", "local", "warp")))

    def storage_align(self, stage):
        if not stage.is_output and stage.op.axis:
            factor = self.rng.choice((2, 4, 32))
            stage.storage_align(self.rng.choice(stage.op.axis), factor, self.rng.randrange(factor))

    def pragma(self, stage):
        axis = self.leaf(stage)
        if axis is not None and self.long <= 2:
            self.long += 1
            stage.pragma(axis, "auto_unroll_max_step", self.rng.choice((0, 4, 16)))


WEIGHTS = {
    "split": 5, "fuse": 2, "reorder": 3, "rfactor": 3, "compute_at": 5, "vectorize": 2,
    "cache_read": 2, "cache_write": 2, "parallel": 2, "compute_inline": 2,
}  # fmt: skip


def _bounds(op):
    """Return the tensors that the bounds of an operation's axes read."""
    without = {id(t) for t in _read(op.body)}
    return [t for t in op.input_tensors if id(t) not in without]


def _read(roots):
    return [n.tensor for r in roots for n in post_order(r) if isinstance(n, TensorLoad)]


def moments(n, m):
    """Count, mean and squared deviations of each row, merged by Welford's rule."""
    A = te.placeholder((n, m), "float64", name="A")
    k = te.reduce_axis((0, m), "k")

    def merge(a, b):
        count = a[0] + b[0]
        share = te.Select(count > 0, b[0] / te.maximum(count, 1.0), 0.0)
        delta = b[1] - a[1]
        return count, a[1] + delta * share, a[2] + b[2] + delta * delta * a[0] * share

    reducer = te.comm_reducer(merge, lambda *t: tuple(te.const(0, d) for d in t), "welford")
    one, none = te.const(1.0, "float64"), te.const(0.0, "float64")
    count, mean, squares = te.compute(
        (n,), lambda i: reducer((one, A[i, k], none), axis=k), name="B"
    )

    def answer(a):
        if not a.shape[1]:
            return [np.zeros(len(a))] * 3
        size = np.full(len(a), float(a.shape[1]))
        return [size, a.mean(axis=1), a.var(axis=1) * size]

    outputs = [count, mean, squares]
    return Problem([A, *outputs], outputs, [("n", "m")], answer, "float64")


def centred(n, m):
    """Rows less their sums, of a producer that two stages read: the shape of a softmax."""
    A = te.placeholder((n, m), "int64", name="A")
    T = te.compute((n, m), lambda i, j: A[i, j] * 3 + j, name="T")
    U = te.compute((n, m), lambda i, j: T[i, j] - i, name="U")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(U[i, k], axis=k), name="B")
    C = te.compute((n, m), lambda i, j: U[i, j] - B[i], name="C")

    def answer(a):
        i, j = np.indices(a.shape)
        u = a * 3 + j - i
        return [u - u.sum(axis=1, keepdims=True)]

    return Problem([A, C], [C], [("n", "m")], answer)


def blocks(n, m):
    """Sum over two axes of three, one of them of constant extent."""
    A = te.placeholder((n, 6, m), "int64", name="A")
    k = te.reduce_axis((0, 6), "k")
    h = te.reduce_axis((0, m), "h")
    B = te.compute((n,), lambda i: te.sum(A[i, k, h] * (k + 1), axis=[k, h]), name="B")

    def answer(a):
        return [(a * np.arange(1, 7)[:, None]).sum(axis=(1, 2))]

    return Problem([A, B], [B], [("n", 6, "m")], answer)


ALL_PROBLEMS = (*PROBLEMS, moments, centred, blocks)
EXTENTS = (0, 1, 2, 3, 5, 13, 16, 17, 33)


class Case:
    """One random schedule of one program; everything follows from the seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.problem_of = self.rng.choice(ALL_PROBLEMS)
        self.sizes = None if self.rng.random() < 0.5 else self.extents()
        n, m = self.sizes.values() if self.sizes else (te.var("n"), te.var("m"))
        self.problem = self.problem_of(n, m)
        self.schedule = te.create_schedule([t.op for t in self.problem.outputs])
        Generator(self.schedule, self.rng).run(self.rng.randint(1, 14))

    def extents(self):
        """Return extents by name; now and then one is large."""
        sizes = {"n": self.rng.choice(EXTENTS), "m": self.rng.choice(EXTENTS)}
        if self.rng.random() < 0.1:
            sizes[self.rng.choice("nm")] = self.rng.choice((257, 1000, 1009))
        return sizes

    def inputs(self, sizes):
        """Return arrays for given extents, contiguous or not."""
        numbers = np.random.default_rng(self.rng.randrange(2**32))
        arrays = []
        for shape in self.problem.input_shapes:
            known = [e if isinstance(e, int) else sizes.get(e, sizes["n"] + 2) for e in shape]
            dtype = np.dtype(self.problem.dtype)
            low = -50 if dtype.kind != "u" else 0
            array = numbers.integers(low, 50, size=known).astype(dtype)
            if self.rng.random() < 0.3 and array.ndim:  # of any layout
                wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype)
                wide[..., ::2] = array
                array = wide[..., ::2]
            arrays.append(array)
        return arrays
