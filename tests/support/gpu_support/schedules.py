# SPDX-License-Identifier: Apache-2.0
"""The schedules with bound loops of tests and benchmarks, in one list.

It drives the simulator and the compiler in CI (tests/sim/test_schedules_list.py) and the device
(tests/gpu/programs).
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cuda_support import programs as kernels
from te_support import bound, scripts

from axisfold import te
from gpu_support.forms import FORMS, elements, numbers

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import hand_schedules as hand

SHAPES = ((1, 1), (5, 7), (33, 37), (3, 0), (0, 5), (32, 64), (2, 257))


@dataclass(frozen=True)
class Entry:
    """A schedule, and what it computes of one array.

    Attributes
    ----------
    make
        Returns the schedule and its arguments: the array, then the outputs.
    answer
        Returns the outputs for an array of float64 or int64.
    shapes
        Of arrays that the simulator folds in a moment.
    is_exact
        Whether the answer is the only right one.
    has_clusters
        Whether it needs an sm_90.
    """

    name: str
    make: Callable[[], tuple[Any, list[Any]]]
    answer: Callable[[np.ndarray], list[Any]]
    shapes: tuple[tuple[int, ...], ...]
    is_exact: bool = True
    has_clusters: bool = False

    def cases(self, args):
        """Yield arrays, the wanted outputs, and outputs full of nonsense."""
        dtype = str(args[0].dtype)
        for shape in self.shapes:
            a = elements(shape, dtype)
            wanted = [np.asarray(w) for w in self.answer(numbers(a, dtype))]
            found = [
                np.full(w.shape, 77, b.dtype.stored) for w, b in zip(wanted, args[1:], strict=True)
            ]
            yield a, wanted, found

    def check(self, args, found, wanted):
        """Fail where outputs are not the wanted ones."""
        for one, expected, tensor in zip(found, wanted, args[1:], strict=True):
            values = numbers(one, str(tensor.dtype))
            if self.is_exact:
                np.testing.assert_array_equal(values, expected)
            else:
                np.testing.assert_allclose(values, expected, rtol=1e-12)


def row_sums(a):
    return [a.sum(axis=1)]


def column_sums(a):
    return [a.sum(axis=0)]


def outer_part():
    """Four threads take consecutive parts of a row."""
    s, A, B = bound.rows()
    outer, _ = s[B].split(B.op.reduce_axis[0], nparts=4)
    s[B].bind(outer, te.thread_axis("threadIdx.x"))
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    return s, [A, B]


def shared_reversed():
    """Threads fill shared memory, and each reads what another has written."""
    A = te.placeholder((8, 64), "int32", name="A")
    T = te.compute((8, 64), lambda i, j: A[i, j] * 2, name="T")
    C = te.compute((8, 64), lambda i, j: T[i, 63 - j], name="C")
    s = te.create_schedule(C.op)
    tx = te.thread_axis("threadIdx.x")
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], tx)
    s[T].compute_at(s[C], C.op.axis[0])
    s[T].set_scope("shared")
    s[T].bind(T.op.axis[1], tx)
    return s, [A, C]


def styled(style):
    """A block for each row, a warp for style "shuffle", in a style of the tree."""
    width = 32 if style == "shuffle" else 256
    A = te.placeholder((te.var("n"), width), name="A")
    k = te.reduce_axis((0, width), "k")
    B = te.compute((A.shape[0],), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    s[B].pragma(k, "reduce_style", style)
    return s, [A, B]


_GOLDEN = {
    "cross_thread_where": (lambda a: [a[:, 1::2].sum(axis=1)], ((1, 16), (5, 16), (0, 16))),
    "cross_thread_mixed": (lambda a: [np.tril(a, -1).sum(axis=1)], SHAPES),
    "cross_thread_tail": (row_sums, ((1, 37), (5, 37), (0, 37))),
}
GOLDEN = [
    Entry(f"golden {f.__name__}", f, *_GOLDEN.get(f.__name__, (row_sums, SHAPES)))
    for f in bound.BOUND
]


def _script(function):
    answer = function()[2]
    is_softmax = function is scripts.softmax
    shapes = ((1, 1), (5, 7), (33, 37), (32, 64), (2, 257))
    return Entry(
        f"script {function.__name__}", lambda: function()[:2], lambda a: [answer(a)], shapes,
        is_exact=not is_softmax,
    )  # fmt: skip


SCRIPTS = [_script(f) for f in scripts.SCHEDULES]
PLACED = [
    Entry("outer_part", outer_part, row_sums, SHAPES),
    Entry("shared_reversed", shared_reversed, lambda a: [2 * a[:, ::-1]], ((8, 64),)),
    *(
        Entry(f"style {style}", lambda style=style: styled(style), row_sums, ((0, m), (3, m)))
        for style, m in (
            ("adjacent", 256),
            ("interleaved", 256),
            ("two-level", 256),
            ("shuffle", 32),
        )
    ),
]
FORM_ENTRIES = [
    Entry(
        f"{name} of {dtype}", lambda make=make, dtype=dtype: make(dtype), answer,
        tuple(shape_of(e) for e in (1, 33, 70)), has_clusters=name == "cluster",
    )
    for name, (make, answer, shape_of) in FORMS.items()
    for dtype in ("float32", "bfloat16")
    if not name.startswith("many")
]  # fmt: skip


def first_places(a):
    return [a.argmax(axis=1)]


HAND = [
    Entry(f"hand {name}", make, answer, (shape,))
    for name, make, answer, shape in (
        (
            "full_sum", lambda: hand.full_sum(10_007, blocks=12, width=64, unroll=2),
            lambda a: [a.sum()], (10_007,),
        ),
        ("row_sum", lambda: hand.row_sum(3, 1003, width=64, unroll=2), row_sums, (3, 1003)),
        (
            "column_sum", lambda: hand.column_sum(131, 132, parts=3, height=4, unroll=2),
            column_sums, (131, 132),
        ),
        (
            "narrow_column_sum",
            lambda: hand.narrow_column_sum(1009, 8, blocks=5, width=64, unroll=2),
            column_sums, (1009, 8),
        ),
        (
            "row_argmax", lambda: hand.row_argmax(3, 1000, width=64, unroll=2), first_places,
            (3, 1000),
        ),
    )
]  # fmt: skip
# As benchmarks/gpu_schedules.py times them.
REAL = [
    Entry(f"real {name}", make, answer, (shape,))
    for name, make, answer, shape in (
        ("full_sum", lambda: hand.full_sum(2**28, blocks=1024), lambda a: [a.sum()], (2**28,)),
        ("row_sum", lambda: hand.row_sum(16384, 16384), row_sums, (16384, 16384)),
        ("column_sum", lambda: hand.column_sum(16384, 16384), column_sums, (16384, 16384)),
        (
            "narrow_column_sum", lambda: hand.narrow_column_sum(2**25, 8, blocks=512), column_sums,
            (2**25, 8),
        ),
        ("row_argmax", lambda: hand.row_argmax(8192, 32000), first_places, (8192, 32000)),
    )
]  # fmt: skip
SMALL = [*GOLDEN, *SCRIPTS, *PLACED, *FORM_ENTRIES, *HAND]


# Programs written by hand at the level of threads: the kernel, and rows of lengths it may have.
KERNELS = {
    "row_sums": (kernels.row_sums, row_sums, ((1, 16), (5, 1024), (33, 4100))),
    "row_sums_bool": (
        lambda: kernels.row_sums(64, "bool", 96), row_sums, ((1, 16), (5, 1024), (33, 4112)),
    ),
    "last_block": (kernels.last_block, lambda a: [a.sum()], ((1,), (1025,), (70_001,))),
    "cluster_sums": (kernels.cluster_sums, row_sums, ((1, 1), (5, 1025), (33, 257))),
    "argmax_of_rows": (kernels.argmax_of_rows, first_places, ((1, 1), (5, 1025), (33, 257))),
}  # fmt: skip


def kernel_cases(name):
    """Yield a kernel, the values of its extents, its two arrays and the wanted output."""
    make, answer, shapes = KERNELS[name]
    for shape in shapes:
        kernel = make()
        source, result = kernel.params
        a = elements(shape, str(source.dtype))
        [wanted] = answer(numbers(a, str(source.dtype)))
        found = np.full(np.shape(wanted), 77, result.dtype.stored)
        yield kernel, dict(zip(source.shape, shape, strict=True)), [a, found], wanted
