# SPDX-License-Identifier: Apache-2.0
"""Strides, axes, empty input, arrays beyond 32-bit counts, order and races."""

import numpy as np

import axisfold
from public_cases import inputs, oracle
from public_cases.case import FLOATS, Case, Refused, Report, of, together, vector
from public_cases.layouts import AS_MADE

NAN = float("nan")


def _far_apart(shape, dtype):
    x = inputs.mapped(shape, dtype)
    x[-1, 2] = 7
    return x[:, :5]


def _expanded(shape, dtype):
    """A transposed matrix with an axis of no stride between."""
    x = inputs.integers(-9, 9)(shape, dtype).T[:, None]
    return np.broadcast_to(x, (shape[1], 3, shape[0]))


def _ends(shape, dtype):
    x = inputs.mapped(shape, dtype)
    x[0, :500] = x[0, -500:] = 1
    return x


PAIRS = ((0, 1), (0, 2), (1, 2), 0, 1, 2)

AXES = (
    Report(
        "B106", "bottleneck#381, xarray#5424",
        "nanmax of a transposed array with an axis of one element crashes, or is huge.", "0",
        (
            Case(call=of("nanmax"), want=0, shape=(1, 500, 2), small=(1, 50, 2), layouts=AS_MADE,
                 make=lambda shape, dtype: np.zeros(shape, dtype).transpose(1, 2, 0),
                 axes=(None, 0, 1, 2)),
        ),
    ),
    Report(
        "B108", "bottleneck#183", "nansum along a new axis counts elements twice.",
        "each element once",
        (
            Case(call=of("nansum"), want=oracle.numpy("nansum"), shape=(2, 2, 1), axes=(1, 0, 2),
                 make=lambda shape, dtype: np.array([[1, 1], [NAN, NAN]], dtype)[..., None]),
            Case(call=of("nansum"), want=oracle.numpy("nansum"), shape=(1, 2, 2), axes=(1, 0, 2),
                 make=lambda shape, dtype: np.array([[1, 1], [NAN, NAN]], dtype, order="F")[None]),
        ),
    ),
    Report(
        "B110", "numpy#20921", "A step of 2^31 elements along the folded axis is a SystemError.",
        "the maximum: strides have 64 bits",
        (
            Case(call=of("max"), want=lambda x, axis: x[-1], make=_far_apart, shape=(2, 1 << 31),
                 small=(2, 1 << 31), dtypes=("uint8",), axes=(0,), layouts=AS_MADE),
        ),
    ),
    Report(
        "B111", "numpy PR 323", "A length-0 axis that is kept makes a maximum an error.",
        "an empty result; ValueError (A308) where the folded axis is empty, without an identity",
        (
            Case(call=of("max"), want=np.zeros(0), make=inputs.full(0), shape=(0, 3), axes=(1,)),
            Case(call=of("max"), want=Refused(axisfold.errors.EmptyError, "A308"), axes=(0, None),
                 make=inputs.full(0), shape=(0, 3)),
            *(
                Case(call=of(name), want=want, make=inputs.full(0), shape=(0, 3), axes=(0, None),
                     dtypes=("float32",))
                for name, want in (("sum", 0), ("prod", 1), ("mean", NAN), ("var", NAN),
                                   ("count_nonzero", 0), ("norm", 0), ("all", 1), ("any", 0))
            ),
        ),
    ),
    Report(
        "B113", "Paddle PR 38476", "max over axes [0, -1] of a matrix is wrong.",
        "all of it; an axis that is named twice is refused (A302)",
        (
            Case(call=of("max"), want=oracle.numpy("max"), make=inputs.normal(), shape=(3, 4),
                 axes=((0, -1), (-1, -2))),
            Case(call=of("max"), want=Refused(axisfold.errors.AxisError, "A302"), axes=((1, -1),),
                 make=inputs.normal(), shape=(3, 4)),
        ),
    ),
    Report(
        "B115", "cutorch#92", "A sum of an array of five axes is empty.", "any rank",
        (
            Case(call=of("sum"), want=oracle.integers, make=inputs.integers(-9, 9),
                 shape=(2, 3, 4, 5, 6), small=(2, 3, 2, 3, 2), dtypes=("int64",),
                 axes=(0, 1, 2, 3, 4, (0, 2, 4), (1, 3))),
        ),
    ),
    Report(
        "B116", "pytorch#189401", "Short sums of a transposed and expanded tensor are wrong.",
        "the sums",
        (
            Case(call=of("sum"), want=oracle.integers, make=_expanded, shape=(5, 7),
                 dtypes=("int64", "float32"), axes=(0, 1, 2, (0, 2)), layouts=AS_MADE),
        ),
    ),
    Report(
        "B118", "pytorch PR 13211, pytorch#13209",
        "A sum down strided columns that several blocks share overruns its buffer.", "the sums",
        (
            Case(call=of("sum"), want=oracle.integers, make=inputs.integers(-9, 9),
                 shape=(20_001, 33), small=(1001, 6), dtypes=("float32", "int8"), axes=(0,),
                 layouts=("record", "steps", "F")),
        ),
    ),
    Report(
        "B120", "dask PR 8637", "Results depend on how three axes are cut into chunks.",
        "each pair of axes gives the same sums, whatever shares the work",
        (
            Case(call=of("sum"), want=oracle.total, make=inputs.normal(), shape=(16, 24, 40),
                 small=(3, 4, 10), dtypes=("float64",), axes=PAIRS, rtol=1e-12),
        ),
    ),
    Report(
        "B121", "triton#3013", "max and sum over an axis of one element are off.", "the element",
        tuple(
            Case(call=of(name), want=oracle.numpy(name), make=inputs.normal(), shape=shape,
                 axes=(0, 1), ulps=2)
            for name in ("max", "sum") for shape in ((16, 1), (1, 16))
        ),
    ),
)  # fmt: skip

HUGE = (
    Report(
        "B123", "tensorflow#46621", "The maximum of 2^32 elements is the least float32.",
        "the maximum",
        (
            Case(call=of("max"), want=1, make=inputs.endless(1), shape=(2048, 2048, 1024),
                 small=(4, 8, 16), dtypes=("int8",), layouts=AS_MADE, is_huge=True),
        ),
    ),
    Report(
        "B125", "pytorch PR 182986",
        "Of 2^31 + 1024 elements, with 500 ones at each end, the sum is 0.", "1000",
        (
            Case(call=of("sum"), want=1000, make=_ends, shape=(1, (1 << 31) + 1024),
                 small=(1, 3000), dtypes=("uint8",), axes=(1,), layouts=AS_MADE, is_huge=True),
        ),
    ),
    Report(
        "B126", "cccl#9771", "Sums of multiples of 2^31 - 1 elements read out of bounds.",
        "the number of elements",
        tuple(
            Case(call=of("sum"), want=oracle.count, make=inputs.endless(1), small=(3 * 2047,),
                 shape=(times * (2**31 - 1),), dtypes=("float32",), layouts=AS_MADE, is_huge=True)
            for times in (1, 2)
        ),
    ),
    Report(
        "B128", "cccl PR 4366", "More than 2^31 segments of one length are not supported.",
        "a result of any number of elements",
        (
            Case(call=lambda f, x, axis: f.max(x, axis=axis)[-3:], want=1, make=inputs.endless(1),
                 shape=((1 << 31) + 8, 2), small=(400, 2), dtypes=("int8",), axes=(1,),
                 layouts=AS_MADE, is_huge=True),
        ),
    ),
)  # fmt: skip


def _four_times(name):
    """Call four times; all bits have to be the same."""

    def call(f, x, axis):
        found = [np.asarray(getattr(f, name)(x, axis=axis)) for _ in range(4)]
        assert len({each.tobytes() for each in found}) == 1
        return found[0]

    return call


def _into_reversed(name):
    def call(f, x, axis):
        out = np.full(np.delete(x.shape, axis), 7, x.dtype)[::-1]
        return getattr(f, name)(x, axis=axis, out=out)

    return call


ORDER = (
    Report(
        "B130", "numba#3681, PR 4170", "Sums into one element from a parallel loop vary.",
        "the same bits each time: threads have partial states of their own",
        (
            Case(call=_four_times("sum"), want=oracle.total, make=inputs.normal(5),
                 shape=(300, 400), small=(30, 40), axes=(None, 0, 1), rtol=1e-6,
                 dtypes=("float64", "float32")),
        ),
    ),
    Report(
        "B131", "numba#3522", "Row sums from a parallel loop are wrong, and slow.", "the sums",
        (
            Case(call=_four_times("sum"), want=lambda x, axis: x.shape[1], make=inputs.full(1),
                 shape=(2000, 60), small=(40, 30), axes=(1,), ulps=0),
        ),
    ),
    Report(
        "B133", "numba#1721, numba#3246", "Parallel sums of 10^5 and 10^7 ones lose some.",
        "their number",
        tuple(
            Case(call=_four_times("sum"), want=oracle.count, make=inputs.endless(1), small=(3000,),
                 shape=(size,), dtypes=("float32",), layouts=AS_MADE, ulps=0)
            for size in (10**5, 10**7)
        ),
    ),
    Report(
        "B135", "pytorch#178883", "Several reductions of one tensor share a wrong partial result.",
        "what each gives alone",
        (
            Case(call=together("max", "min", "sum", "argmin"), make=inputs.integers(-99, 99),
                 want=oracle.several(*map(oracle.numpy, ("max", "min", "sum", "argmin"))),
                 shape=(40, 900), small=(4, 70), dtypes=("int64", "float32"), axes=(1, 0, None)),
        ),
    ),
    Report(
        "B138", "numpy PR 27841, 27845",
        "Another order of visits, by negative strides, changes which element a fold starts from.",
        "folds start from an identity, never from an element",
        (
            *(
                Case(call=of(name), want=oracle.numpy(name), make=inputs.integers(1, 60),
                     shape=(3, 4, 5), dtypes=("int32",), axes=(0, 2, None), layouts=("reversed",))
                for name in ("sum", "min", "argmax")
            ),
            Case(call=_into_reversed("max"), want=oracle.numpy("max"), make=inputs.normal(),
                 shape=(4, 5), dtypes=("float32",), axes=(0, 1), layouts=("reversed",),
                 backends=("llvm", "gpu")),
        ),
    ),
)  # fmt: skip

SOURCE = (
    Report(
        "S1", "kernel primitives of Paddle",
        "The minimum of truth values starts from false and the maximum from true.",
        "identities are true and false",
        (
            vector([True, True], call=of("min"), want=True, dtypes=("bool",)),
            vector([False, False], call=of("max"), want=False, dtypes=("bool",)),
        ),
    ),
    Report(
        "S2", "kernel primitives of Paddle",
        "max starts from the least finite number, so a row of -inf gives that.", "-inf",
        (vector([-np.inf] * 9, call=of("max"), want=-np.inf, dtypes=FLOATS),),
    ),
    Report(
        "S3", "strided kernels of Paddle", "all of nothing is filled with 0.", "true",
        (vector([], call=of("all"), want=True, dtypes=("bool", "float32")),),
    ),
    Report(
        "S4", "strided kernels of Paddle",
        "A bfloat16 sum as float32 is overwritten by elements that were not summed.",
        "the sum, in float32",
        (
            vector(range(30), call=of("sum", dtype="float32"), want=435, dtype="float32",
                   dtypes=("bfloat16", "float16")),
        ),
    ),
    Report(
        "S5", "kernel primitives of Paddle",
        "Partial sums of two passes are rounded to 16 bits, where those of a mean overflow.",
        "the mean: partial states are float64",
        (
            Case(call=of("mean"), want=4e4, make=inputs.full(4e4), shape=(2, 70_000),
                 small=(2, 2600), dtypes=("float16", "bfloat16"), axes=(1, None), ulps=0),
        ),
    ),
    Report(
        "S6", "kernel primitives of Paddle", "1 / n of a mean of integers is truncated to 0.",
        "a float64 mean",
        (vector([1, 2, 4, 6], call=of("mean"), want=3.25, dtypes=("int64", "uint8", "bool")[:2]),),
    ),
    Report(
        "S7", "TileLang", "A float16 maximum passes over NaN.", "NaN",
        (vector([1, 5, NAN, 2], call=of("max"), want=NAN, dtypes=("float16", "bfloat16")),),
    ),
)  # fmt: skip

REPORTS = (*AXES, *HUGE, *ORDER, *SOURCE)
