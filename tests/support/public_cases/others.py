# SPDX-License-Identifier: Apache-2.0
"""Values that any library should give, and the rows that say nothing about values."""

import math

import numpy as np

import axisfold
from public_cases import inputs
from public_cases.case import Case, Refused, Report, of, vector

NAN, INF = float("nan"), float("inf")

VALUES = (
    Report(
        "V1", "NumPy", "any and all of NaN and of nothing, sums and products of nothing.",
        "NaN is true; nothing gives the identity",
        (
            vector([NAN], call=of("any"), want=True, dtypes=("float32",)),
            vector([], call=of("any"), want=False, dtypes=("float32",)),
            vector([], call=of("sum"), want=0, dtypes=("float32",), ulps=0),
            vector([], call=of("prod"), want=1, dtypes=("float32",)),
            vector([], call=of("mean"), want=NAN, dtypes=("float32",)),
        ),
    ),
    Report(
        "V2", "NumPy", "Sums of small integers, and products that wrap.",
        "64 bits of the same sign; 21! wraps",
        (
            vector([200] * 9, call=of("sum"), want=1800, dtypes=("uint8",), dtype="uint64"),
            vector([-100] * 9, call=of("sum"), want=-900, dtypes=("int8",), dtype="int64"),
            vector(range(1, 22), call=of("prod"), want=np.prod(np.arange(1, 22, dtype="i8")),
                   dtypes=("int32",), dtype="int64"),
            vector(range(1, 21), call=of("prod"), want=math.factorial(20), dtypes=("int32",)),
        ),
    ),
    Report(
        "V3", "NumPy", "A sum over no axes is a copy; an axis named twice is refused.",
        "a copy; A302",
        (
            Case(call=of("sum"), want=lambda x, axis: x, make=inputs.normal(), shape=(3, 5),
                 axes=((),), ulps=0),
            Case(call=of("sum"), want=Refused(axisfold.errors.AxisError, "A302"), axes=((0, 0),),
                 make=inputs.normal(), shape=(3, 5)),
        ),
    ),
    Report(
        "V4", "NumPy", "nanargmax of nothing but NaN, and max of nothing, have no value.",
        "refused (A350, A344) on the host; on a device nanargmax gives -1, as nothing waits for it",
        (
            vector([NAN] * 3, call=of("nanargmax"), backends=("llvm",),
                   want=Refused(axisfold.errors.EmptyError, "A350")),
            vector([NAN] * 3, call=of("nanargmax"), want=-1, backends=("sim", "gpu")),
            vector([1.0] * 3, call=of("max", where=np.False_), axes=(None,),
                   want=Refused(axisfold.errors.ArgumentError, "A344"), backends=("llvm",)),
        ),
    ),
    Report(
        "V5", "NumPy", "A float32 sum of [3e38, 3e38, -3e38, -3e38] overflows on the way.",
        "0, as float32 is summed in float64",
        (vector([3e38, 3e38, -3e38, -3e38], call=of("sum"), want=0, dtypes=("float32",)),),
    ),
    Report(
        "V6", "NumPy", "Infinity and NaN in one maximum.", "NaN",
        (vector([INF, NAN], call=of("max"), want=NAN, dtypes=("float32", "float16")),),
    ),
)  # fmt: skip

_SPEED = "a speed and no value; shapes of that kind are among the benchmarks"

WITHOUT = (
    Report("B136", "pytorch PR 197311", "The bits of a row's sum change with the batch.",
           "not promised yet: bits are the same for one shape, and a mode of one fixed tree for "
           "any batch has room in the design"),
    Report("B139", "pytorch#18807", "Sums of rows of 4 reach a quarter of the memory's speed.",
           _SPEED),
    Report("B140", "pytorch#57610", "Sums of pairs are ten times slower than additions.", _SPEED),
    Report("B141", "pytorch PR 160466", "Rows of 128 are not read by vectors.", _SPEED),
    Report("B142", "pytorch PR 9214", "A sum down 32768 rows of 32 uses one block.", _SPEED),
    Report("B143", "pytorch#132964", "A sum of 2^30 float32 values is slow on one GPU.", _SPEED),
    Report("B144", "cupy#8092", "Sums of (2^i, 2^(24-i)) are slow for some i.",
           "a speed and no value; the benchmarks draw the same curve"),
    Report("B145", "cupy#2085, cupy#6645", "max is slower than NumPy's.", _SPEED),
    Report("B146", "cupy#2294", "Another library reduces ten times faster.", _SPEED),
    Report("B147", "CUDA.jl#302", "A sum of (10, 100) takes 294 µs.",
           "the cost of a call and no value; the benchmarks measure that of small arrays"),
    Report("B148", "pytorch#144431", "The maximum of a transposed matrix is eight times slower.",
           _SPEED),
    Report("B149", "pytorch PR 179729, pytorch#188578", "Rows are split where they should not be.",
           _SPEED),
    Report("B150", "jax#37511", "A softmax of segments takes three kernels.",
           "ragged rows are no input of axisfold"),
    Report("B151", "jax#13742", "A fused softmax is slower, by its launch.", _SPEED),
    Report("B152", "awkward PR 4143", "Ragged rows ask for their largest length.",
           "ragged rows are no input of axisfold"),
    Report("B153", "pytorch PR 89144", "Vectors are not counted where blocks are.", _SPEED),
    Report("B154", "csarofeen/pytorch#2125", "A softmax of rows of 512 is slow.", _SPEED),
    Report("B155", "pytorch PR 162795", "The set-up of a variance dominates short rows.", _SPEED),
    Report("B156", "tritonbench PR 1268", "A recurrence unrolled in Python takes 99 kernels.",
           "how another library is called; here it is one reducer and one kernel"),
    Report("S8", "CuPy", "One block folds a group of results, so few results use few processors.",
           _SPEED),
)  # fmt: skip

REPORTS = (*VALUES, *WITHOUT)
